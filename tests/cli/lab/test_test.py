"""`interlock test`: suites against a real server, through a gateway."""

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema_rs
import pytest

from interlock.errors import Exit
from interlock.lab.run import read_run
from tests.cli.running import Beside, Interlock
from tests.upstream.running import received, stdio_argv

UP = "servers: {up: {id: up}}\n"


def suite(tests: str, head: str = UP, name: str = "suite.yaml") -> str:
    Path(name).write_text(f"{head}tests:\n{tests}", encoding="utf-8")
    return name


ECHO = "  - {name: echo, tool: echo, args: {a: 1}, expect: [{target: text, matcher: contains, value: a}]}\n"
WRONG = "  - {name: wrong, tool: echo, expect: [{target: text, matcher: exact, value: never}]}\n"
DELETE = "  - {name: gone, tool: delete_note, args: {name: x}}\n"
WRITE = "  - {name: first, tool: write_note, args: {name: a}}\n  - {name: second, tool: write_note, args: {name: b}}\n"
SNAPSHOT = "  - {name: sum, tool: structured, args: {a: 1, b: 2}, expect: [{target: structured, matcher: snapshot}]}\n"


def test_a_suite_that_passes_says_so(beside: Beside, il: Interlock) -> None:
    done = il("test", suite(ECHO))

    assert done.exit == Exit.OK
    assert done.lines[0].split() == ["test", "server", "tool", "outcome", "ms"]
    assert done.lines[1].split()[:4] == ["echo", "up", "echo", "passed"]
    assert done.lines[-1] == "1 test: 1 passed"


def test_the_folder_in_which_the_run_is_kept_is_told(beside: Beside, il: Interlock) -> None:
    done = il("test", suite(ECHO), "--json")
    told = [line.removeprefix("The report is kept in ")[:-1] for line in done.err.splitlines() if "is kept in" in line]

    assert [read_run(Path(each)).verb for each in told] == ["test"]


def test_where_nothing_was_called_no_folder_is_told(beside: Beside, il: Interlock) -> None:
    assert "is kept in" not in il("test", suite(DELETE)).err


def test_a_failure_is_told_with_what_was_expected_and_seen(beside: Beside, il: Interlock) -> None:
    done = il("test", suite(ECHO + WRONG))

    assert done.exit == Exit.FINDINGS
    assert '  text: expected exact "never"' in done.lines
    assert "        saw " in done.out
    assert done.lines[-1] == "2 tests: 1 passed, 1 failed"


def test_each_test_is_one_call_on_record_as_the_labs(beside: Beside, il: Interlock) -> None:
    before = beside.sent()
    done = il("test", suite(ECHO + WRITE), "--json")
    (answered,) = [each for each in done.json["suites"][0]["tests"] if each["name"] == "echo"]
    shown = il("activity", "show", answered["activity"], "--json").json

    assert beside.sent() - before == 3
    assert shown["entry"] == "lab"


def test_a_destructive_tool_is_refused_and_not_called(beside: Beside, il: Interlock) -> None:
    before = beside.sent()
    done = il("test", suite(ECHO + DELETE), "--json")
    outcomes = {each["name"]: each for each in done.json["suites"][0]["tests"]}

    assert done.exit == Exit.BLOCKED
    assert outcomes["gone"]["outcome"] == "refused"
    assert "--execute-destructive" in outcomes["gone"]["reason"]["fix"]
    assert beside.sent() - before == 1


def test_with_the_word_that_allows_it_a_destructive_tool_is_called(beside: Beside, il: Interlock) -> None:
    before = beside.sent()
    done = il("test", suite(DELETE), "--execute-destructive")

    assert done.exit == Exit.OK
    assert beside.sent() - before == 1


def test_one_budget_is_for_all_suites(beside: Beside, il: Interlock) -> None:
    before = beside.sent()
    done = il("test", suite(ECHO, name="a.yaml"), suite(WRITE, name="b.yaml"), "--max-calls", "2")

    assert (done.exit, done.lines[-1]) == (Exit.BLOCKED, "3 tests: 2 passed, 1 refused")
    assert beside.sent() - before == 2


def test_a_server_that_is_down_fails_its_own_tests_only(beside: Beside, il: Interlock) -> None:
    head = "servers: {up: {id: up}, down: {id: down}}\n"
    tests = "  - {name: a, server: down, tool: x}\n  - {name: b, server: up, tool: echo}\n"
    done = il("test", suite(tests, head), "--json")
    outcomes = [each["outcome"] for each in done.json["suites"][0]["tests"]]

    assert (done.exit, outcomes) == (Exit.FINDINGS, ["failed", "passed"])


def test_a_program_that_is_configured_nowhere_is_run_behind_a_gateway_of_its_own(il: Interlock, tmp_path: Path) -> None:
    log = tmp_path / "up.log"
    command, *args = stdio_argv(log)
    head = f"servers: {{own: {{command: '{command}', args: {json.dumps(args)}, env: {{MINE: here}}}}}}\n"
    done = il("test", suite(ECHO, head), "--data-dir", str(tmp_path / "data"))
    (folder,) = (tmp_path / "data" / "lab").iterdir()

    assert done.exit == Exit.OK
    assert [each.method for each in received(log)].count("tools/call") == 1
    assert read_run(folder).verb == "test"


# Snapshots ------------------------------------------------------------------------------------------------------


def test_a_snapshot_is_kept_beside_the_suite_and_holds(beside: Beside, il: Interlock) -> None:
    name = suite(SNAPSHOT)
    missing = il("test", name)
    taken = il("test", name, "--update-snapshots")
    again = il("test", name)
    kept = json.loads(Path(f"{name}.snapshots.json").read_text(encoding="utf-8"))

    assert [missing.exit, taken.exit, again.exit] == [Exit.FINDINGS, Exit.OK, Exit.OK]
    assert kept["sum"]["structured"]["required"] == ["sum"]


def test_a_snapshot_that_does_not_fit_any_more_fails_the_test(beside: Beside, il: Interlock) -> None:
    name = suite(SNAPSHOT)
    Path(f"{name}.snapshots.json").write_text('{"sum": {"structured": {"required": ["total"]}}}', encoding="utf-8")

    assert il("test", name).exit == Exit.FINDINGS


def test_the_snapshots_of_tests_that_are_gone_are_forgotten(beside: Beside, il: Interlock) -> None:
    name = suite(SNAPSHOT)
    file = Path(f"{name}.snapshots.json")
    file.write_text('{"old": {"text": {}}}', encoding="utf-8")
    il("test", name, "--update-snapshots")

    assert list(json.loads(file.read_text(encoding="utf-8"))) == ["sum"]


# What is asked for ----------------------------------------------------------------------------------------------


def test_only_the_tests_that_were_asked_for_run(beside: Beside, il: Interlock) -> None:
    done = il("test", suite(ECHO + WRONG), "--only", "ech")

    assert (done.exit, done.lines[-1]) == (Exit.OK, "1 test: 1 passed")


def test_a_suite_without_a_server_runs_against_the_target(beside: Beside, il: Interlock) -> None:
    assert il("test", suite(ECHO, ""), "--target", "up").exit == Exit.OK


@pytest.mark.parametrize(
    ("head", "words", "problem"),
    [
        (UP, ["--only", "nothing has this"], "no test is selected"),
        ("", [], "suite.yaml names no server"),
        ("servers: {a: {id: a}, b: {id: b}}\n", ["--target", "up"], "suite.yaml has several servers"),
    ],
)
def test_what_cannot_be_run_is_told(il: Interlock, head: str, words: list[str], problem: str) -> None:
    tests = ECHO.replace("tool:", "server: a, tool:") if "b:" in head else ECHO
    done = il("test", suite(tests, head), *words)

    assert done.exit == Exit.USAGE
    assert done.err.startswith(problem)


def test_without_a_path_it_says_what_is_missing(il: Interlock) -> None:
    assert il("test").exit == Exit.USAGE


def test_a_mistake_is_told_with_its_place_and_nothing_is_called(beside: Beside, il: Interlock) -> None:
    before = beside.sent()
    Path("bad.yaml").write_text(f"{UP}tests:\n  - name: a\n    tool: echo\n    expct: []\n", encoding="utf-8")
    done = il("test", suite(ECHO), "bad.yaml")

    assert done.exit == Exit.USAGE
    assert done.err.startswith("bad.yaml:5:5: unknown key 'expct'; did you mean 'expect'?")
    assert "interlock test --schema" in done.err
    assert beside.sent() == before


def test_the_schema_is_published_and_fits_what_is_read(il: Interlock) -> None:
    schema = il("test", "--schema").json

    assert jsonschema_rs.validator_for(schema).is_valid({"tests": [{"name": "a", "tool": "b"}]})


def test_a_junit_report_is_written(beside: Beside, il: Interlock) -> None:
    il("test", suite(ECHO + WRONG + DELETE), "--junit", "out/report.xml")
    root = ElementTree.parse("out/report.xml").getroot()  # noqa: S314 - we wrote it

    assert root.find("testsuite").attrib["failures"] == "1"  # pyright: ignore[reportOptionalMemberAccess]
    assert [each.attrib["name"] for each in root.iter("testcase")] == ["echo", "wrong", "gone"]
    assert len(list(root.iter("skipped"))) == 1
