"""Ways in which gates like this one have failed elsewhere, each as a test of ours.

Those that are not here have a file of their own: who may answer, and that nothing in a request says who answers
(test_self_approval); a world that changes while a call waits, an answer that is lost after the run, an old approval
that is used again (test_exactly_once); floods, restarts and crashes (test_restart); a gate that nobody listens to
(tests/web/test_approvals); children that outlive those who started them (torture/test_fleet, torture/test_kill).
"""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.core.lifecycle import ApprovalState
from tests.approving import DELETE, Counter, counter, held_config, said, text_of, wanted
from tests.running import serving
from tests.talking import NO_TLS, talking

SHORT = "hold: {answer_after: 50ms}"


@pytest.fixture
async def held(tmp_path: Path) -> AsyncGenerator[Counter]:
    async with counter(tmp_path, SHORT) as made:
        yield made


async def test_calls_that_differ_in_a_secret_only_are_two_calls(held: Counter) -> None:
    """Secrets hidden before the digest is taken would make one approval fit both."""
    async with held.client() as client:
        calls = [wanted("a", token=f"ghp_{'x' * 35}{each}") for each in (1, 2)]
        first, second = [said(await client.call_tool(DELETE, each))["approval_id"] for each in calls]
        await held.approve(first)
        other = await client.call_tool(DELETE, calls[1])
        sent = held.sends()
        ran = await client.call_tool(DELETE, calls[0])

    shown = [str((await held.approval(each)).asked["arguments"]) for each in (first, second)]
    assert first != second
    assert not [each for each in shown if "xxxx" in each], "what reviewers see is redacted"
    assert (said(other)["status"], sent) == ("pending", 0)
    assert text_of(ran) == "No such note."


@pytest.mark.parametrize("hold_priority", [0, 100])
async def test_a_deny_is_never_outranked_by_a_question(tmp_path: Path, hold_priority: int) -> None:
    rules = (
        f"route_rules: [{{id: ask, tool_pattern: 'up__*', effect: hold, priority: {hold_priority}}}, "
        "{id: never, tool_pattern: 'up__delete_*', effect: deny}]"
    )
    async with counter(tmp_path, rules) as held, held.client() as client:
        refused = await client.call_tool(DELETE, wanted())

    assert (said(refused)["code"], len(held.board)) == ("DENIED_BY_RULE", 0)


async def test_a_question_is_no_slow_refusal(tmp_path: Path) -> None:
    """What a rule holds can be approved, and then it runs."""
    rule = "route_rules: [{id: ask, tool_pattern: 'up__read_note', requires_approval: true}]"
    async with counter(tmp_path, rule) as held, held.client() as client, asyncio.TaskGroup() as group:
        calling = group.create_task(client.call_tool("up__read_note", wanted()))
        await held.approve((await held.one()).id)
        result = await calling

    assert (text_of(result), held.sends()) == ("There is no such note.", 1)


# The same gate at every entry -----------------------------------------------------------------------------------

DESTRUCTIVE = {"name": "up:delete_note", "args": {"name": "a"}}
INTENT = {"operation_type": "destructive", "reason": "tidying up"}


async def by_name(held: Counter) -> str:
    async with held.client() as client:
        return said(await client.call_tool(DELETE, wanted()))["status"]


async def by_variant(held: Counter) -> str:
    async with held.client() as client:
        return said(await client.call_tool("call_tool_destructive", {**DESTRUCTIVE, "intent": INTENT}))["status"]


async def by_json_text(held: Counter) -> str:
    async with held.client() as client:
        call = {"name": "up__delete_note", "args_json": '{"name": "a"}', "intent": INTENT}
        return said(await client.call_tool("call_tool_destructive", call))["status"]


async def over_stdio(held: Counter) -> str:
    async with held.client(door="stdio") as client:
        return said(await client.call_tool(DELETE, wanted()))["status"]


def by_rest(**body: Any) -> Any:
    async def ask(held: Counter) -> str:
        headers = {"Authorization": f"Bearer {held.running.folder.credential()}"}
        url = f"http://{held.running.host}/api/v1/tools/up/delete_note/call"
        async with httpx2.AsyncClient(verify=NO_TLS) as http:
            answer = await http.post(url, json={"arguments": wanted(), **body}, headers=headers)
        assert answer.status_code == 202, answer.text
        return {"PENDING": "pending"}[answer.json()["code"]]

    return ask


ENTRIES = {
    "by its name": by_name,
    "by its variant": by_variant,
    "with its arguments as text": by_json_text,
    "over stdio": over_stdio,
    "by the try-it form": by_rest(),
    "by call": by_rest(entry="call", variant="destructive", intent=INTENT),
    "by run-tool": by_rest(entry="run-tool", dangerous=True),
}


@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_rule_that_asks_is_asked_at_every_entry(tmp_path: Path, entry: str) -> None:
    rule = f"route_rules: [{{id: ask, tool_pattern: 'up__*', effect: hold}}]\n{SHORT}"
    async with counter(tmp_path, rule) as held:
        status = await ENTRIES[entry](held)
        (waiting,) = held.board

    assert (status, waiting.key.tool, held.sends()) == ("pending", "delete_note", 0)


async def test_resources_are_held_like_tools(tmp_path: Path) -> None:
    rule = "route_rules: [{id: no, tool_pattern: 'up__resources/read', effect: hold}]"
    async with serving(tmp_path, held_config(tmp_path, rule)) as running:
        held = Counter(running, tmp_path / "up.log", tmp_path)
        async with held.client("legacy") as client:
            listed = (await client.list_resources()).resources
            with pytest.raises(Exception, match="requires approval before execution"):
                await client.read_resource(listed[0].uri)

    assert not [each for each in held.log.read_text().splitlines() if '"resources/read"' in each]


async def test_a_bridge_says_nothing_before_the_gateway_does(tmp_path: Path) -> None:
    async with counter(tmp_path) as held, talking(tmp_path) as talk:
        await talk.handshake()
        talk.send("tools/call", 1, name=DELETE, arguments=wanted())
        waiting = await held.one()
        pong = await talk.ask("ping", 2)
        await held.deny(waiting.id, "no")
        answer = await talk.hear()

    assert pong["id"] == 2, "nothing was answered before the ping"
    assert answer["id"] == 1
    assert answer["result"]["content"][0]["text"].startswith("Tool call denied. Reason: no")


async def test_a_tool_that_says_nothing_of_itself_is_not_taken_for_safe(held: Counter) -> None:
    async with held.client() as client:
        asked = await client.call_tool("up__frobnicate", {"_justification": "curious"})

    (waiting,) = held.board
    assert (said(asked)["status"], waiting.key.safety_class) == ("pending", "unknown")


# Nobody is asked in vain ----------------------------------------------------------------------------------------


async def test_nobody_is_asked_about_a_call_that_would_be_refused_anyway(tmp_path: Path) -> None:
    text = f"{SHORT}\nlimits: {{calls_per_minute: 1}}"
    async with counter(tmp_path, text) as held:
        narrow = await held.token("narrow", tools=["read_*"])
        async with held.client(token=narrow) as client:
            out_of_scope = await client.call_tool(DELETE, wanted())
        async with held.client() as client:
            invalid = await client.call_tool(DELETE, wanted(name=5))  # pyright: ignore[reportArgumentType]
            unknown = await client.call_tool("up__delete_nothing", wanted())
            await client.call_tool("up__read_note", {"name": "a"})
            too_many = await client.call_tool(DELETE, wanted())
        asked = await held.history()

    codes = [said(each)["code"] for each in (out_of_scope, invalid, unknown, too_many)]
    assert codes == ["UNKNOWN_TOOL", "INVALID_ARGUMENTS", "UNKNOWN_TOOL", "RATE_LIMITED"]
    assert (len(held.board), asked) == (0, [])


async def test_a_call_that_somebody_is_asked_about_counts_once(tmp_path: Path) -> None:
    """An agent in a loop must not fill the desk with questions, however few of its calls ever run."""
    text = f"{SHORT}\nlimits: {{calls_per_minute: 2}}"
    async with counter(tmp_path, text) as held, held.client() as client:
        asked = [said(await client.call_tool(DELETE, wanted(each)))["approval_id"] for each in ("a", "b")]
        third = await client.call_tool(DELETE, wanted("c"))
        again = await client.call_tool(DELETE, wanted("a"))
        for each in asked:
            await held.approve(each)
        ran = await client.call_tool(DELETE, wanted("a"))
        fetched = await client.call_tool(DELETE, {**wanted("b"), "_approval_id": asked[1]})
        fourth = await client.call_tool("up__read_note", {"name": "a"})

    assert [said(each)["code"] for each in (third, fourth)] == ["RATE_LIMITED", "RATE_LIMITED"]
    assert said(again)["approval_id"] == asked[0]
    assert [text_of(each) for each in (ran, fetched)] == ["No such note.", "No such note."]


async def test_naming_an_approval_that_there_is_not_passes_no_limit(tmp_path: Path) -> None:
    text = f"{SHORT}\nlimits: {{calls_per_minute: 3}}"
    async with counter(tmp_path, text) as held, held.client() as client:
        calls = [client.call_tool("up__read_note", {"name": "a", "_approval_id": f"ap_{each}"}) for each in range(20)]
        answers = await asyncio.gather(*calls)

    assert held.sends() == 3
    assert len([each for each in answers if "RATE_LIMITED" in str(each)]) == 17


async def test_nobody_is_asked_about_a_call_of_a_server_that_is_down(held: Counter) -> None:
    async with held.client() as client:
        await client.call_tool("up__crash", {"_justification": "x"})
        (waiting,) = held.board
        (held.folder / "tools").unlink(missing_ok=True)
        (held.folder / "tools").mkdir()  # what it cannot read it cannot start with
        await held.approve(waiting.id)
        await client.call_tool("up__crash", {"_justification": "x"})
        result = await client.call_tool(DELETE, wanted())

    assert (said(result)["code"], len(held.board)) == ("UPSTREAM_DOWN", 0)


# What reviewers see ---------------------------------------------------------------------------------------------


async def test_what_is_too_long_to_be_shown_is_said_to_be(held: Counter) -> None:
    async with held.client() as client:
        short = said(await client.call_tool(DELETE, wanted("x" * 60_000)))["approval_id"]
        long = said(await client.call_tool(DELETE, wanted("y" * 70_000)))["approval_id"]

    whole, counted = [(await held.approval(each)).asked["arguments"] for each in (short, long)]
    assert whole == {"name": "x" * 60_000}
    assert isinstance(counted, dict)
    assert (counted["kept"], counted["keys"], counted["bytes"]) == (False, ["name"], 70_011)


async def test_an_approval_that_was_given_is_not_written_as_a_refusal(held: Counter) -> None:
    async with held.client() as client:
        asked = said(await client.call_tool(DELETE, wanted()))["approval_id"]
        await held.approve(asked)
        await client.call_tool(DELETE, wanted())

    told = [each for each in await held.history() if each.id == asked]
    assert [each.body["change"] for each in told] == ["approved"]
    assert (await held.approval(asked)).status is ApprovalState.APPROVED
