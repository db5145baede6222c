"""What a scaffolded suite is made of: a server that is opened, and answers that are checked."""

import json
import threading
from pathlib import Path

import pytest

from interlock.cli.lab.testing import NoAnswer, open_bench
from interlock.errors import InterlockError
from tests.cli.running import Beside
from tests.upstream.running import stdio_argv


def test_a_tool_is_called_once_and_its_answer_read(beside: Beside) -> None:
    before = beside.sent()
    with open_bench("up") as bench:
        answer = bench.call("structured", {"a": 1, "b": 2})

    assert (answer.structured, answer.is_error, answer.is_answer, answer.error) == ({"sum": 3}, False, True, None)
    assert answer.milliseconds > 0
    assert beside.sent() - before == 1


def test_an_error_of_the_protocol_is_an_answer_too(beside: Beside) -> None:
    with open_bench(["up"]) as bench:
        answer = bench.call("fail", {"code": -32602})

    assert (answer.is_answer, answer.is_error, answer.result) == (True, True, {})
    assert "-32602" in answer.text


def test_what_destroys_is_refused_unless_the_suite_says_otherwise(beside: Beside) -> None:
    before = beside.sent()
    with open_bench("up") as bench, pytest.raises(NoAnswer, match="Destructive"):
        bench.call("delete_note", {"name": "x"})
    with open_bench("up", execute_destructive=True) as bench:
        bench.call("delete_note", {"name": "x"})

    assert beside.sent() - before == 1


def test_a_server_that_crashes_gives_no_answer_and_is_there_again_for_the_next_test(tmp_path: Path) -> None:
    with open_bench(stdio_argv(tmp_path / "own.log")) as bench:
        with pytest.raises(NoAnswer, match="lost"):
            bench.call("crash")

        assert bench.call("echo").is_answer


def test_a_server_that_cannot_be_had_is_told_to_whoever_opens_it(beside: Beside) -> None:
    with pytest.raises(InterlockError), open_bench("nobody"):
        pass

    assert [each.name for each in threading.enumerate() if each.name == "interlock bench"] == []


# Checks ---------------------------------------------------------------------------------------------------------


def test_an_answer_that_fits_its_output_schema_passes(beside: Beside) -> None:
    with open_bench("up") as bench:
        bench.call("structured", {"a": 1, "b": 2}).check_output_schema()
        bench.call("echo").check_output_schema()


def test_an_answer_that_does_not_fit_its_output_schema_fails(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    schema = {"type": "object", "required": ["total"]}
    tool = {"name": "structured", "inputSchema": {"type": "object"}, "outputSchema": schema}
    tools.write_text(json.dumps([tool]), encoding="utf-8")
    with (
        open_bench(stdio_argv(tmp_path / "own.log", tools=tools)) as bench,
        pytest.raises(AssertionError, match="output schema"),
    ):
        bench.call("structured", {"a": 1, "b": 2}).check_output_schema()


def test_answers_of_one_form_are_told_from_others(beside: Beside) -> None:
    with open_bench("up") as bench:
        one, other = (bench.call("structured", {"a": 1, "b": each}) for each in (2, 3))
        another = bench.call("echo")

    other.check_same_shape(one)
    with pytest.raises(AssertionError, match="another form"):
        another.check_same_shape(one)


def test_a_snapshot_is_taken_when_asked_for_and_then_holds(beside: Beside) -> None:
    folder = Path("snapshots")
    with open_bench("up", snapshots=folder) as bench, pytest.raises(AssertionError, match="UPDATE_SNAPSHOTS"):
        bench.call("echo").check_snapshot("echo")
    with open_bench("up", snapshots=folder, update=True) as bench:
        bench.call("structured", {"a": 1, "b": 2}).check_snapshot("sum")
    with open_bench("up", snapshots=folder) as bench:
        bench.call("structured", {"a": 5, "b": 2}).check_snapshot("sum")
        with pytest.raises(AssertionError, match="snapshot sum"):
            bench.call("echo").check_snapshot("sum")
