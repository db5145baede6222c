"""`interlock propose`: how often it looks, and what it leaves alone."""

from pathlib import Path

import pytest

from interlock.errors import Exit
from tests.cli.lab.test_scaffold import calls_of
from tests.cli.running import Beside, Interlock


def test_what_reads_is_observed_several_times_and_what_changes_something_once(beside: Beside, il: Interlock) -> None:
    before = len(calls_of(beside))
    done = il("propose", "up", "-o", "made.yaml", "--strict", "--timeout", "5")
    called = calls_of(beside)[before:]

    assert done.exit == Exit.OK
    assert {called.count(each) for each in ("read_note", "echo", "structured", "chatter")} == {3}
    assert {called.count(each) for each in ("write_note", "set_level")} == {1}
    assert "delete_note" not in called


def test_what_is_proposed_passes_at_once(beside: Beside, il: Interlock) -> None:
    il("propose", "up", "-o", "made.yaml", "--strict", "--timeout", "5", "--times", "2")
    done = il("test", "made.yaml", "--strict", "--json")

    assert {each["outcome"] for each in done.json["suites"][0]["tests"]} == {"passed"}
    assert done.exit == Exit.OK


def test_without_a_file_it_is_printed(beside: Beside, il: Interlock) -> None:
    done = il("propose", "up", "--max-calls", "1")

    assert done.out.startswith("# Proposed by `interlock propose`")
    assert list(Path().iterdir()) == []


def test_a_file_that_is_there_is_left_alone(beside: Beside, il: Interlock) -> None:
    Path("mine.yaml").write_text("mine", encoding="utf-8")
    before = beside.sent()

    assert il("propose", "up", "-o", "mine.yaml").exit == Exit.USAGE
    assert Path("mine.yaml").read_text(encoding="utf-8") == "mine"
    assert beside.sent() == before


@pytest.mark.parametrize("times", ["0", "21", "many"])
def test_how_often_is_a_small_number(il: Interlock, times: str) -> None:
    done = il("propose", "up", "--times", times)

    assert done.exit == Exit.USAGE
    assert "from 1 to 20" in done.err


def test_where_nothing_answers_nothing_is_proposed(beside: Beside, il: Interlock) -> None:
    il("freeze", "--server", "up")
    done = il("propose", "up", "-o", "made.yaml")
    il("thaw", "--server", "up")

    assert done.exit == Exit.USAGE
    assert "no tool gave an answer" in done.err
    assert not Path("made.yaml").exists()


def test_the_plan_is_shown_and_nothing_is_called(beside: Beside, il: Interlock) -> None:
    before = beside.sent()
    done = il("propose", "up", "--plan", "--json")
    decisions = {each["tool"]: each["decision"] for each in done.json["items"]}

    assert (decisions["write_note"], decisions["delete_note"]) == ("ExecuteOnce", "Refuse")
    assert beside.sent() == before


def test_as_json_it_has_the_suite_in_it(beside: Beside, il: Interlock) -> None:
    told = il("propose", "up", "--max-calls", "1", "--json").json

    assert (told["file"], told["tests"]) == (None, 1)
    assert told["suite"].startswith("# Proposed")
