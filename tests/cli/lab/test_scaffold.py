"""`interlock scaffold`: what is called for it, what is written, and what is left alone."""

from pathlib import Path

import pytest

from interlock.errors import Exit
from tests.cli.running import Beside, Interlock
from tests.upstream.running import received

CALLED = {"read_note", "remove_cache", "echo", "slow", "huge", "structured", "ask", "ask_later", "chatter"}
"""The tools of the upstream that say they only read."""


def calls_of(beside: Beside) -> list[str]:
    messages = [each.message for each in received(beside.folder / "up.log") if each.method == "tools/call"]
    return [each["params"]["name"] for each in messages]


def test_only_what_reads_is_called_and_no_more_than_twice(beside: Beside, il: Interlock) -> None:
    before = len(calls_of(beside))
    done = il("scaffold", "up", "-o", "made", "--strict", "--timeout", "5")
    called = calls_of(beside)[before:]

    assert done.exit == Exit.OK
    assert set(called) == CALLED
    assert max(map(called.count, called)) == 2
    assert sorted(each.name for each in Path("made").iterdir()) == ["conftest.py", "snapshots", "test_up.py"]


def test_every_tool_has_its_test(beside: Beside, il: Interlock) -> None:
    il("scaffold", "up", "-o", "made", "--max-calls", "1")
    listed = il("tool", "list", "--server", "up", "--json").json["items"]
    code = Path("made/test_up.py").read_text(encoding="utf-8")

    assert code.count("\ndef test_") == len(listed)
    assert "# review before first run: delete_note is Destructive.\n" in code


def test_the_budget_holds(beside: Beside, il: Interlock) -> None:
    before = beside.sent()
    il("scaffold", "up", "-o", "made", "--max-calls", "3")

    assert beside.sent() - before == 3


def test_what_is_there_is_left_alone_and_nothing_is_called(beside: Beside, il: Interlock) -> None:
    Path("made").mkdir()
    Path("made/conftest.py").write_text("mine", encoding="utf-8")
    before = beside.sent()
    done = il("scaffold", "up", "-o", "made")

    assert done.exit == Exit.USAGE
    assert "--force" in done.err
    assert Path("made/conftest.py").read_text(encoding="utf-8") == "mine"
    assert beside.sent() == before


def test_by_force_it_is_written_over(beside: Beside, il: Interlock) -> None:
    Path("made").mkdir()
    Path("made/conftest.py").write_text("mine", encoding="utf-8")
    done = il("scaffold", "up", "-o", "made", "--force", "--max-calls", "1", "--json")

    assert done.json["files"][0] == "conftest.py"
    assert "open_bench" in Path("made/conftest.py").read_text(encoding="utf-8")


def test_the_configuration_that_was_given_is_found_from_anywhere(beside: Beside, il: Interlock) -> None:
    Path("mine.yaml").write_text("", encoding="utf-8")
    il("scaffold", "up", "-o", "made", "--max-calls", "1", "--config", "mine.yaml")

    assert f"config={str(Path('mine.yaml').absolute())!r}" in Path("made/conftest.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(("words", "code"), [(["nobody"], Exit.USAGE), (["down"], Exit.UNREACHABLE)])
def test_without_a_server_nothing_is_written(beside: Beside, il: Interlock, words: list[str], code: Exit) -> None:
    assert il("scaffold", *words, "-o", "made").exit == code
    assert not Path("made").exists()


def test_the_plan_is_shown_and_nothing_is_called_or_written(beside: Beside, il: Interlock) -> None:
    before = beside.sent()
    done = il("scaffold", "up", "--plan", "--json")
    decisions = {each["tool"]: each["decision"] for each in done.json["items"]}

    assert (decisions["echo"], decisions["write_note"]) == ("Execute", "ExecuteOnce")
    assert decisions["delete_note"] == "GenerateOnly"
    assert beside.sent() == before
    assert list(Path().iterdir()) == []


def test_without_a_place_for_it_nothing_is_called(beside: Beside, il: Interlock) -> None:
    before = beside.sent()

    assert il("scaffold", "up").exit == Exit.USAGE
    assert beside.sent() == before
