"""`interlock tool diff`, `trust` and `override`: the operator's word about tools."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Interlock, configure, eventually, gateway_beside
from tests.running import Running, server_yaml
from tests.upstream.running import list_other_tools, received, stdio_argv
from tests.upstream.tools import TOOLS

READ = next(each for each in TOOLS if each["name"] == "read_note")
CHANGED = {**READ, "description": "Read notes.", "annotations": {"readOnlyHint": False}}
POISONED = {**CHANGED, "description": "Read \x1b[2J\u202enotes."}
LATE = {"name": "get_late", "inputSchema": {"type": "object"}}
OTHERS = [each for each in TOOLS if each is not READ]


@dataclass(frozen=True, slots=True)
class Changing:
    """A gateway that runs on the data folder, in front of a server that can be made to list other tools."""

    running: Running
    folder: Path

    def lists(self, *tools: dict[str, Any]) -> None:
        """Have it list these tools besides all that it has but `read_note`; returns when the gateway knows."""
        listed = [*tools, *OTHERS]
        list_other_tools(self.folder / "log", self.folder / "tools", listed)
        eventually(lambda: self._definitions() == listed)

    def _definitions(self) -> list[Any]:
        book = self.running.gateway.pipeline.book
        return [dict(one) for each in book for one in (each.descriptor, *each.others)]

    def sent(self) -> int:
        return len([each for each in received(self.folder / "log") if each.method == "tools/call"])


@pytest.fixture
def changing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Changing]:
    argv = stdio_argv(tmp_path / "log", tools=tmp_path / "tools")
    text = "overrides: {'up:fail': read-only}\nservers:\n" + server_yaml("up", argv) + server_yaml("down", ["/nowhere"])
    with gateway_beside(tmp_path, text) as running:
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
        yield Changing(running, tmp_path)


@pytest.fixture(scope="module")
def shared_gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Running, Path]]:
    folder = tmp_path_factory.mktemp("shared")
    text = "overrides: {'up:fail': read-only}\nservers:\n" + server_yaml("up", stdio_argv(folder / "log"))
    with gateway_beside(folder, text + server_yaml("down", ["/nowhere"])) as running:
        yield running, folder


@pytest.fixture
def shared(shared_gateway: tuple[Running, Path], monkeypatch: pytest.MonkeyPatch) -> Changing:
    """The same for tests that change nothing: all of them share it."""
    running, folder = shared_gateway
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
    return Changing(running, folder)


def test_a_tool_that_is_listed_twice_is_shown_with_both_definitions_and_cannot_be_trusted(
    il: Interlock, changing: Changing
) -> None:
    changing.lists(READ, CHANGED, LATE)
    row = next(line for line in il("tool", "list").lines if line.startswith("up:read_note"))
    shown, difference = il("tool", "show", "up:read_note"), il("tool", "diff", "up:read_note")
    refused, all_others = il("tool", "trust", "up:read_note"), il("tool", "trust", "up", "--all")

    assert row.split()[1] == "twice"
    told = (
        "  the server lists this name 2 times, with definitions that differ, so it is quarantined [name-listed-twice]"
    )
    assert told in shown.lines
    assert difference.lines[0] == "up:read_note is listed more than once, with definitions that differ:"
    assert (refused.exit, "more than once" in refused.err) == (10, True)
    assert (all_others.exit, all_others.lines) == (0, ["up:get_late"])
    assert "The server lists 'up:read_note' more than once" in all_others.err


def test_a_changed_tool_is_shown_and_blocked_until_it_is_trusted(il: Interlock, changing: Changing) -> None:
    changing.lists(CHANGED)
    row = next(line for line in il("tool", "list").lines if line.startswith("up:read_note"))
    shown = il("tool", "diff", "up:read_note")
    blocked = il("call", "tool-read", "--tool-name", "up:read_note", "--json")
    before = changing.sent()
    trusted = il("tool", "trust", "up:read_note")
    run = il("call", "tool-write", "--tool-name", "up:read_note")

    assert row.split()[:3] == ["up:read_note", "changed", "write-capable"]
    assert (shown.exit, shown.lines) == (
        0,
        [
            "up:read_note changed after it was reviewed:",
            "  [grave] It does not say that it only reads: readOnlyHint was true and is false.",
            "  [notable] Its description is described in other words.",
            "  /annotations/readOnlyHint",
            "    - true",
            "    + false",
            "  /description",
            '    - "Read a note."',
            '    + "Read notes."',
        ],
    )
    assert (blocked.exit, blocked.json["error"]["code"], before) == (10, "QUARANTINED", 0)
    assert (trusted.exit, trusted.lines) == (0, ["up:read_note"])
    assert trusted.err.splitlines() == [*shown.lines, "1 tool trusted."]
    assert (run.exit, changing.sent()) == (5, 1)
    assert il("tool", "list").lines[0].split()[1] == "CLASS"


def test_a_tool_with_signs_of_poison_is_shown_without_its_tricks_and_blocked_until_it_is_trusted_by_its_name(
    il: Interlock, changing: Changing
) -> None:
    changing.lists(POISONED, LATE)
    row = next(line for line in il("tool", "list").lines if line.startswith("up:read_note"))
    shown = il("tool", "diff", "up:read_note")
    in_passing, again = il("tool", "trust", "up", "--all"), il("tool", "trust", "up", "--all")
    blocked = il("call", "tool-read", "--tool-name", "up:read_note", "--json")
    unread = il("tool", "trust", "up:read_note")
    before = changing.sent()
    trusted = il("tool", "trust", "up:read_note", "--poisoned")
    run = il("call", "tool-write", "--tool-name", "up:read_note")

    assert row.split()[:3] == ["up:read_note", "poisoned", "write-capable"]
    assert shown.lines == [
        "up:read_note has signs of poison, and nobody has trusted it. Beside what was reviewed:",
        "  [grave] Now it has characters that steer a terminal.",
        "  [grave] Now it has characters that people do not see.",
        "  [grave] It does not say that it only reads: readOnlyHint was true and is false.",
        "  [notable] Its description is described in other words.",
        "  /annotations/readOnlyHint",
        "    - true",
        "    + false",
        "  /description",
        '    - "Read a note."',
        '    + "Read \\u001b[2J<U+202E>notes."',
    ]
    told = "up:read_note has signs of poison and is not trusted in passing: see `interlock tool show`."
    assert (in_passing.exit, in_passing.lines, in_passing.err.splitlines()[0]) == (0, ["up:get_late"], told)
    assert (again.exit, again.out, again.err.splitlines()) == (0, "", [told, "Nothing else is left to trust."])
    assert (blocked.exit, blocked.json["error"]["code"], before) == (10, "QUARANTINED", 0)
    assert (unread.exit, unread.out, unread.err.splitlines()[:-2]) == (10, "", shown.lines)
    assert "add --poisoned to trust exactly this definition all the same" in unread.err
    assert (trusted.exit, trusted.lines) == (0, ["up:read_note"])
    assert trusted.err.splitlines() == [*shown.lines, "1 tool trusted."]
    assert (run.exit, changing.sent()) == (5, 1)


def test_what_is_shown_is_what_is_trusted(il: Interlock, changing: Changing, monkeypatch: pytest.MonkeyPatch) -> None:
    changing.lists({**READ, "title": "Read"})
    shown: list[str] = []

    def look(line: str) -> None:
        """A server that lists something else as soon as somebody looks."""
        if not shown:
            changing.lists(CHANGED)
        shown.append(line)

    monkeypatch.setattr("interlock.cli.tool.note", look)
    done = il("tool", "trust", "up:read_note")

    assert shown == [
        "up:read_note changed after it was reviewed:",
        "  [plain] Its title is described in other words.",
        "  /title",
        '    + "Read"',
    ]
    assert (done.exit, done.out) == (10, "")
    assert done.err.startswith("Tool 'up:read_note' is no longer what was looked at, so nothing was trusted.\n")
    assert il("tool", "show", "up:read_note", "--json").json["standing"] == "changed"


def test_all_that_a_server_lists_is_shown_and_trusted_together(il: Interlock, changing: Changing) -> None:
    changing.lists(CHANGED, LATE)
    shown = il("tool", "diff", "up", "--json").json
    listed = il("tool", "diff", "up")
    refused = il("tool", "trust", "up")
    trusted = il("tool", "trust", "up", "--all")
    again = il("tool", "trust", "up", "--all")

    assert [(each["name"], each["standing"]) for each in shown["items"]] == [
        ("up:read_note", "changed"),
        ("up:get_late", "new"),
    ]
    assert (refused.exit, refused.out) == (2, "")
    assert refused.err.splitlines() == ["'up' names a whole server", "  Name one tool as up:TOOL, or add --all."]
    assert trusted.lines == ["up:read_note", "up:get_late"]
    assert trusted.err.splitlines() == [*listed.lines, "2 tools trusted."]
    assert (again.exit, again.out) == (0, "")
    assert again.err == "Nothing is left to trust: it is as it was reviewed.\n"
    assert il("tool", "diff", "up").err.splitlines()[0] == "Everything that 'up' lists is as it was reviewed."


def test_a_new_tool_is_shown_with_all_that_it_says(il: Interlock, changing: Changing) -> None:
    changing.lists(READ, LATE)
    shown = il("tool", "diff", "up:get_late")
    trusted = il("tool", "trust", "up:get_late", "--json")

    assert shown.lines == [
        "up:get_late is new: nobody has reviewed it. It says:",
        "  /inputSchema",
        '    + {"type": "object"}',
        "  /name",
        '    + "get_late"',
    ]
    assert (trusted.json, trusted.err) == ({"trusted": ["up:get_late"]}, "")
    assert il("tool", "diff", "up:get_late").lines == ["up:get_late is as it was reviewed."]
    assert il("tool", "diff", "up:get_late", "--json").json["standing"] == "known"


def test_a_field_that_was_removed_is_shown_with_what_it_said(il: Interlock, changing: Changing) -> None:
    changing.lists({name: said for name, said in READ.items() if name != "annotations"})

    assert il("tool", "diff", "up:read_note").lines[1:] == [
        "  [grave] It does not say that it only reads: readOnlyHint was true and is missing.",
        "  /annotations",
        '    - {"readOnlyHint": true}',
    ]


def test_a_difference_that_is_too_long_says_so(il: Interlock, changing: Changing) -> None:
    changing.lists({**READ, **{f"field-{number}": number for number in range(600)}})

    assert il("tool", "diff", "up:read_note").lines[-1] == "  and more"


def test_a_class_is_set_for_good_and_unset_again(il: Interlock, changing: Changing) -> None:
    done = il("tool", "override", "up:frobnicate", "read-only")
    run = il("call", "tool-read", "--tool-name", "up:frobnicate")
    undone = il("tool", "override", "up:frobnicate", "none", "--json")

    assert (done.exit, done.out, done.err) == (0, "", "up:frobnicate is read-only now, because of its override.\n")
    assert (run.exit, run.lines) == (0, ["Frobnicated."])
    assert undone.json == {
        "name": "up:frobnicate",
        "override": None,
        "safety_class": "unknown",
        "class_source": "name",
    }


def test_an_override_of_a_tool_that_is_gone_can_be_removed(il: Interlock, changing: Changing) -> None:
    changing.lists(READ, LATE)
    il("tool", "override", "up:get_late", "dangerous")
    changing.lists(READ)

    assert il("tool", "override", "up:get_late", "none").err == "up:get_late has no override any more.\n"


@pytest.mark.parametrize(
    ("words", "errors"),
    [
        (("diff", "up:read_nota"), "Tool 'up:read_nota' not found. Did you mean 'up:read_note'?"),
        (("diff", "upp"), "server 'upp' not found. Did you mean 'up'?"),
        (("diff", ":x"), "':x' is no tool name"),
        (("trust", "up:read_nota"), "Tool 'up:read_nota' not found. Did you mean 'up:read_note'?"),
        (("trust", "up:read_note", "--all"), "--all is for a whole server"),
        (("trust", "upp", "--all"), "Server 'upp' not found. Did you mean 'up'?"),
        (("override", "up:fail", "dangerous"), "The class of 'up:fail' is set in the configuration file, under"),
        (("override", "up:zzz", "none"), "Tool 'up:zzz' not found."),
        (("override", "frobnicate", "none"), "'frobnicate' does not say its server"),
        (("override", "up:frobnicate", "nice"), "argument CLASS: invalid choice: 'nice'"),
    ],
)
def test_a_word_about_what_is_not_there_is_a_usage_error(
    il: Interlock, shared: Changing, words: tuple[str, ...], errors: str
) -> None:
    done = il("tool", *words)

    assert (done.exit, done.out) == (2, "")
    assert any(line.startswith(errors) for line in done.err.splitlines())


def test_a_server_that_is_down_cannot_be_trusted(il: Interlock, shared: Changing) -> None:
    done = il("tool", "trust", "down", "--all")

    assert (done.exit, done.out) == (4, "")
    assert done.err.startswith("Server 'down' is not reachable: it has not listed its tools\n")


def test_where_a_tool_is_missing_servers_that_are_down_are_told(il: Interlock, shared: Changing) -> None:
    assert il("tool", "diff", "down:x").err.startswith("Server 'down' is down: ")


def test_without_a_gateway_everything_is_remembered_from_one_command_to_the_next(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(tmp_path / "data"))
    configure("servers:\n" + server_yaml("up", stdio_argv(tmp_path / "log", tools=tmp_path / "tools")))
    first = il("tool", "show", "up:read_note", "--json").json["standing"]
    (tmp_path / "tools").write_text(json.dumps([CHANGED, LATE]))
    second = il("tool", "list", "--json").json["items"]
    il("tool", "trust", "up:get_late")
    il("tool", "override", "up:get_late", "dangerous")
    third = il("tool", "list", "--json").json["items"]

    assert first == "known"
    assert [each["standing"] for each in second] == ["changed", "new"]
    assert [(each["standing"], each["safety_class"]) for each in third] == [
        ("changed", "write-capable"),
        ("known", "dangerous"),
    ]
