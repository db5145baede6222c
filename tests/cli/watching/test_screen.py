"""The screen of `approval watch`, with real keys, in front of a real gateway."""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static
from textual.worker import WorkerFailed

from interlock.cli.gateway import Api
from interlock.cli.prompts import DenyPrompt, ScopePrompt
from interlock.cli.watching.follow import present_api
from interlock.cli.watching.pane import Pane
from interlock.cli.watching.screen import WatchApp
from interlock.errors import Exit, InterlockError
from interlock.receive.identify import mint
from tests.fakes import FakeClock
from tests.running import Running, keep_token, server_yaml, serving
from tests.talking import NO_TLS
from tests.upstream.running import stdio_argv

SECONDS = 30
HOSTILE = "\x1b[2J\u202eback\nAPPROVED [red]x[/red] [@click=app.quit]y[/]"
RULES = """
route_rules:
  - {id: two, tool_pattern: "*__run_command", args: {command: two}, effect: hold, approvals_needed: 2}
  - {id: once, tool_pattern: "*__run_command", args: {command: once}, effect: hold, max_grant: 0}
servers:
"""
_numbers = count()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


pytestmark = pytest.mark.anyio


@dataclass
class Stage:
    """A gateway, the screen before it, and a clock that only tests turn."""

    running: Running
    app: WatchApp
    pilot: Pilot[Exit | InterlockError]
    clock: FakeClock
    calls: asyncio.TaskGroup
    http: httpx2.AsyncClient

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def sees(self, what: Callable[[], bool]) -> None:
        """Wait until the screen shows something."""
        async with asyncio.timeout(SECONDS):
            while not what():
                await self.pilot.pause()
                await asyncio.sleep(0.01)

    async def held(
        self, tool: str = "run_command", reason: str = "to tidy up", **arguments: Any
    ) -> "asyncio.Task[httpx2.Response]":
        """A call that waits; returns when the screen shows it."""
        given = arguments or {"command": f"number {next(_numbers)}"}
        before = {each["id"] for each in self.app.queue.items}
        intent = {"operation_type": "destructive", "reason": reason}
        body = {"arguments": given, "entry": "call", "variant": "destructive", "intent": intent}
        call = self.calls.create_task(self.http.post(f"/tools/up/{tool}/call", json=body))
        await self.sees(lambda: bool({each["id"] for each in self.app.queue.items} - before))
        self.clock.forward(1_000_000)
        return call

    async def message(self, text: str) -> None:
        await self.sees(lambda: text in shown(self.app.query_one("#message", Static)))

    @property
    def rows(self) -> list[str]:
        return self.app.query_one("#list", Pane).lines

    @property
    def detail(self) -> list[str]:
        return self.app.query_one("#detail", Pane).lines

    @property
    def chosen(self) -> dict[str, Any]:
        assert self.app.queue.chosen is not None
        return dict(self.app.queue.chosen)

    async def as_alice(self, path: str) -> httpx2.Response:
        token, text = mint("alice", "human", ("approver",), 0, None)
        await keep_token(self.running.gateway, token)
        return await self.http.post(path, json={}, headers={"Authorization": f"Bearer {text}"})


def shown(widget: Static) -> str:
    return str(widget.render())


class Clock(FakeClock):
    """A clock whose time of day is that of the gateway, but whose ticks stand still until a test turns them."""

    def now(self) -> int:
        from interlock.clock import SystemClock

        return SystemClock().now()


@contextlib.asynccontextmanager
async def watching(folder: Path, size: tuple[int, int] = (80, 24), *, bell: bool = False) -> AsyncGenerator[Stage]:
    text = RULES + server_yaml("up", stdio_argv(folder / "up.log"), trusted=True)
    clock = Clock()
    async with serving(folder, text) as running, contextlib.AsyncExitStack() as stack:
        headers = {"Authorization": f"Bearer {running.folder.credential()}"}
        url = f"http://{running.host}/api/v1"
        http = await stack.enter_async_context(
            httpx2.AsyncClient(base_url=url, headers=headers, timeout=SECONDS, verify=NO_TLS)
        )
        app = WatchApp(lambda: present_api(running.folder), clock, bell=bell)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        async with app.run_test(size=size) as pilot:
            stage = Stage(running, app, pilot, clock, group, http)
            await stage.sees(lambda: "live" in shown(app.query_one("#head", Static)))
            yield stage
        for each in (await http.get("/approvals", params={"status": "pending"})).json()["items"]:
            await http.post(f"/approvals/{each['id']}/deny", json={})


# What is shown --------------------------------------------------------------------------------------------------


async def test_what_is_held_appears_by_itself_with_its_time_and_in_full(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        nothing = stage.detail
        await stage.held(command="listed", reason="Because I say so.")
        await stage.pilot.pause()

        assert "Nothing waits for approval" in nothing[1]
        assert re.fullmatch(r"▶ (5m|4m \d+s) +subprocess +up__run_command +operator-agent +[0-9a-f]{8}", stage.rows[0])
        assert "    > Because I say so." in stage.detail
        assert '      "command": "listed"' in stage.detail
        assert "1 waiting" in shown(stage.app.query_one("#head", Static))


async def test_hostile_words_are_drawn_harmlessly(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held(reason=HOSTILE, command="x", **{HOSTILE: HOSTILE})
        await stage.press("d")
        drawn = stage.app.export_screenshot(simplify=True)

        assert "    > APPROVED [red]x[/red] [@click=app.quit]y[/]" in stage.detail
        assert "    > <U+001B>[2J<U+202E>back" in stage.detail
        assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", "\n".join((*stage.detail, *stage.rows)) + drawn)


async def test_sixty_kilobytes_of_arguments_are_there_to_the_last_line(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        text = "".join(f"{at:06}" for at in range(10_000))
        await stage.held(command=text)
        pane = stage.app.query_one("#detail", Pane)
        await stage.sees(lambda: text in "".join(line[4:].strip() for line in stage.detail).replace('"', ""))
        await stage.sees(lambda: pane.max_scroll_y > 0)
        await stage.press("space")
        await stage.sees(lambda: pane.scroll_offset.y > 0)
        await stage.press("pageup")
        await stage.sees(lambda: pane.scroll_offset.y == 0)


async def test_whoever_reads_a_long_card_stays_where_he_is_when_the_window_changes(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held(command="word " * 2_000)
        pane = stage.app.query_one("#detail", Pane)
        await stage.sees(lambda: pane.max_scroll_y > 0)
        await stage.press("space")
        await stage.sees(lambda: pane.scroll_offset.y > 0)
        lines, read_to = len(stage.detail), pane.scroll_offset.y
        await stage.pilot.resize_terminal(70, 24)
        await stage.sees(lambda: len(stage.detail) > lines)
        await stage.pilot.pause()

        assert pane.scroll_offset.y == read_to


async def test_on_a_wide_screen_list_and_card_stand_side_by_side(tmp_path: Path) -> None:
    async with watching(tmp_path, (140, 40)) as stage:
        await stage.held()
        regions = [stage.app.query_one(each, Pane).region for each in ("#list", "#detail")]

        assert regions[0].right <= regions[1].x
        assert regions[0].y == regions[1].y


async def test_a_bell_rings_for_each_arrival_unless_it_is_to_be_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[str] = []

    def ring(app: WatchApp) -> None:
        rung.append("bell")

    monkeypatch.setattr(WatchApp, "bell", ring)
    for name, bell in (("loud", True), ("quiet", False)):
        folder = tmp_path / name
        folder.mkdir()
        async with watching(folder, bell=bell) as stage:
            await stage.held()
            await stage.held()

    assert len(rung) == 2


# Keys -----------------------------------------------------------------------------------------------------------


async def test_one_key_approves_and_the_call_runs(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        call = await stage.held()
        await stage.press("a")
        answer = await call
        await stage.message("Approved: up__run_command of operator-agent")

        assert "result" in answer.json()
        assert stage.rows[0].startswith("▶ approved")


async def test_a_dangerous_call_takes_the_key_twice(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        call = await stage.held("delete_note", name="a")
        await stage.press("a")
        await stage.message("up__delete_note is dangerous: press a again to approve it.")
        pending = (await stage.http.get(f"/approvals/{stage.chosen['id']}")).json()["status"]
        await stage.press("a")
        answer = await call

        assert pending == "pending"
        assert "result" in answer.json()


@pytest.mark.parametrize("between", ["j", "k", "too long"])
async def test_the_first_press_counts_only_for_the_next_one(tmp_path: Path, between: str) -> None:
    async with watching(tmp_path) as stage:
        await stage.held("delete_note", name="a")
        await stage.press("a")
        if between == "too long":
            stage.clock.forward(11_000_000)
        else:
            await stage.press(between)
        await stage.press("a")
        await stage.message("press a again")

        assert stage.chosen["status"] == "pending"


async def test_arrows_and_letters_choose_what_is_looked_at(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held(command="one")
        await stage.held(command="two more")
        seen: list[Any] = []
        for key in ("down", "up", "j", "k", "k"):
            await stage.press(key)
            seen.append(stage.chosen["arguments"]["command"])

        assert seen == ["two more", "one", "two more", "one", "one"]


async def test_a_click_chooses_too(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held(command="one")
        await stage.held(command="two more")
        await stage.pilot.click("#list", offset=(5, 1))
        await stage.pilot.pause()

        assert stage.chosen["arguments"] == {"command": "two more"}


async def test_a_denial_asks_for_a_reason_and_the_requester_is_told_it(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        call = await stage.held()
        await stage.press("d", *"no way", "enter")
        answer = await call

        assert answer.json()["detail"] == "Tool call denied. Reason: no way"
        await stage.message("Denied: up__run_command")


async def test_enter_denies_without_a_reason(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        call = await stage.held()
        await stage.press("d", "enter")

        assert (await call).json()["detail"] == "Tool call denied. Reason: no reason given"


@pytest.mark.parametrize(("key", "prompt"), [("d", DenyPrompt), ("A", ScopePrompt)])
async def test_escape_leaves_everything_as_it_was(tmp_path: Path, key: str, prompt: type[Any]) -> None:
    async with watching(tmp_path) as stage:
        await stage.held()
        await stage.press(key)
        asked = isinstance(stage.app.screen, prompt)
        await stage.press("escape")

        assert asked
        assert not isinstance(stage.app.screen, prompt)
        assert (await stage.http.get(f"/approvals/{stage.chosen['id']}")).json()["status"] == "pending"


async def test_letters_in_a_reason_are_no_keys(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held()
        await stage.press("d", *"aAdjkq")

        assert stage.app.screen.query_one(Input).value == "aAdjkq"
        assert stage.chosen["status"] == "pending"


async def test_a_wider_scope_is_chosen_from_a_list(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        call = await stage.held(command="wide")
        await stage.press("A", "down", "j", "j", "k", "enter")
        await call
        (grant,) = (await stage.http.get("/grants")).json()["items"]

        assert (grant["scope"], grant["uses_left"]) == ("identical", None)


async def test_where_only_one_call_may_be_approved_the_list_has_one_line(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held(command="once")
        await stage.press("A")

        assert stage.app.screen.query_one(OptionList).option_count == 1


@pytest.mark.parametrize(("key", "code"), [("q", Exit.OK), ("ctrl+c", Exit.INTERRUPTED)])
async def test_a_key_leaves(tmp_path: Path, key: str, code: Exit) -> None:
    async with watching(tmp_path) as stage:
        await stage.press(key)

        assert stage.app.return_value == code


# Others, and accidents ------------------------------------------------------------------------------------------


async def test_when_somebody_else_was_faster_it_says_who_and_nothing_moves(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held(command="first")
        await stage.held(command="second")
        await stage.as_alice(f"/approvals/{stage.chosen['id']}/deny")
        await stage.message("up__run_command was denied by alice.")
        await stage.press("a")
        await stage.message("Move on with the arrows.")
        waiting = (await stage.http.get("/approvals", params={"status": "pending"})).json()["items"]

        assert stage.chosen["arguments"] == {"command": "first"}
        assert stage.rows[0].startswith("▶ denied")
        assert [each["arguments"] for each in waiting] == [{"command": "second"}]


async def test_a_key_that_was_pressed_before_a_call_came_does_not_answer_it(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held()
        stage.clock.forward(-900_000)
        await stage.press("a")
        await stage.message("This call has only just come: look at it first.")

        assert stage.chosen["status"] == "pending"


async def test_a_vote_that_is_not_enough_is_told_and_the_call_waits_on(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held(command="two")
        await stage.press("a")
        await stage.message("1 of 2 are there")
        await stage.sees(lambda: any(line.startswith("Vote") for line in stage.detail))

        assert stage.chosen["status"] == "pending"


async def test_a_refusal_of_the_gateway_is_shown(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held(command="two")
        await stage.press("a")
        await stage.message("1 of 2 are there")
        await stage.press("a")
        await stage.message("You have approved this call already")


async def test_keys_without_anything_to_answer_do_nothing(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.press("a", "A", "d", "j", "k", "space")

        assert len(stage.app.screen_stack) == 1


async def test_a_reader_that_is_cut_off_is_there_again_by_itself(tmp_path: Path) -> None:
    async with watching(tmp_path) as stage:
        await stage.held(command="before")
        stage.running.gateway.parts.feed.end()
        await stage.held(command="after")

        assert [each["arguments"]["command"] for each in stage.app.queue.items] == ["before", "after"]


async def test_a_defect_of_ours_prints_no_variable(capsys: pytest.CaptureFixture[str]) -> None:
    def connect() -> Api:
        credential = "il_operator_swordfish"
        raise RuntimeError(len(credential))

    app = WatchApp(connect, FakeClock(), bell=False)
    with pytest.raises(WorkerFailed):
        async with app.run_test() as pilot:
            await pilot.pause()
    written = capsys.readouterr()

    assert app.return_code == 1
    assert app.failure is not None
    assert "swordfish" not in written.out + written.err
