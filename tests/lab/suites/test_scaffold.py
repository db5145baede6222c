"""The pytest suite that is written from drafts."""

import ast
import json
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.core.safety import LabPolicy
from interlock.errors import Reason
from interlock.lab.model import Observed
from interlock.lab.plan import Planned, plan
from interlock.lab.suites.drafts import Draft
from interlock.lab.suites.scaffold import Names, Opening, literal, plain, suite_of
from tests.lab.bench import lab_tools, named

OPENING = Opening(("serve", "--quietly"), "up", "2026-11-16")
ANSWER = {"content": [{"type": "text", "text": "well"}]}
HOSTILE = 'get_x"""\n\nimport os; os.abort()  # \u202e\U0001f600\\'


def planned(tool: str, policy: LabPolicy | None = None) -> Planned:
    return plan(named(tool), policy or LabPolicy(), live=False)[0]


def seen(tool: str, *results: dict[str, Any]) -> Draft:
    return Draft(planned(tool), {}, tuple(Observed(tool, {}, 1.0, result=each) for each in results))


def code_of(*drafts: Draft, opening: Opening = OPENING) -> str:
    return suite_of(drafts, opening)["test_up.py"]


def calls_in(code: str) -> int:
    return sum(
        isinstance(each, ast.Call) and ast.unparse(each.func) == "bench.call" for each in ast.walk(ast.parse(code))
    )


def test_what_only_reads_is_called_twice_and_held_against_its_snapshot() -> None:
    files = suite_of([seen("get_it", ANSWER, ANSWER)], OPENING)
    code = files["test_up.py"]

    assert calls_in(code) == 2
    assert "check_same_shape(first)" in code
    assert "check_output_schema()" in code
    assert json.loads(files["snapshots/get_it.json"])["type"] == "object"


def test_what_changes_something_is_called_once_and_marked_serial() -> None:
    files = suite_of([Draft(planned("set_it"), {"a": 1})], OPENING)

    assert calls_in(files["test_up.py"]) == 1
    assert "\n@pytest.mark.serial\ndef test_set_it(" in files["test_up.py"]
    assert list(files) == ["conftest.py", "test_up.py"]


def test_the_first_line_of_a_test_that_destroys_is_the_word_to_review_it_and_it_is_skipped() -> None:
    drop = planned("drop_it")
    block = code_of(Draft(drop, {}, problem=drop.reason)).split("\n\n\n")[-1].splitlines()

    assert block[:4] == [
        "# review before first run: drop_it is Destructive.",
        "# Then take the skip away, and set EXECUTE_DESTRUCTIVE in conftest.py.",
        "@pytest.mark.serial",
        '@pytest.mark.skip(reason="review before first run")',
    ]


@pytest.mark.parametrize("tool", ["get_it", "set_it"])
def test_the_test_of_a_tool_that_needs_a_task_is_skipped_with_the_reason_and_asks_for_no_review(tool: str) -> None:
    (named_so,) = named(tool)
    tasks = replace(named_so, descriptor={**named_so.descriptor, "execution": {"taskSupport": "required"}})
    (kept_back,) = plan([tasks], LabPolicy(), live=False)
    block = code_of(Draft(kept_back, {}, problem=kept_back.reason)).split("\n\n\n")[-1].splitlines()

    assert block[0] == "@pytest.mark.serial"
    assert block[1].startswith('@pytest.mark.skip(reason="The lab does not call')
    assert "it can only be called as a task" in block[1]


def test_what_changes_something_comes_after_what_only_reads() -> None:
    code = code_of(Draft(planned("set_it"), {}), seen("get_it", ANSWER, ANSWER))

    assert code.index("def test_get_it") < code.index("def test_set_it")


def test_with_the_word_that_allows_it_the_test_that_destroys_runs_once() -> None:
    policy = LabPolicy(execute_destructive=True)
    opening = Opening(("x",), "up", "2026-11-16", execute_destructive=True)
    files = suite_of([Draft(planned("drop_it", policy), {})], opening)

    assert "skip" not in files["test_up.py"]
    assert "@pytest.mark.serial" in files["test_up.py"]
    assert "EXECUTE_DESTRUCTIVE = True" in files["conftest.py"]


ERROR = {**ANSWER, "isError": True}


@pytest.mark.parametrize("results", [(ERROR, ERROR), (ANSWER, ERROR)])
def test_errors_leave_nothing_to_hold_answers_against_but_that_there_are_some(results: tuple[Any, ...]) -> None:
    files = suite_of([seen("get_it", *results)], OPENING)

    assert "check_snapshot" not in files["test_up.py"]
    assert "    assert again.is_answer\n" in files["test_up.py"]
    assert "snapshots/get_it.json" not in files


def test_a_tool_that_gave_no_answer_is_skipped_with_the_reason() -> None:
    code = code_of(Draft(planned("get_it"), {}, problem=Reason("It hangs.", None, "Wait.")))

    assert "@pytest.mark.skip(reason='It hangs. Wait.')" in code


def test_the_conftest_registers_the_mark_and_opens_the_target() -> None:
    conftest = suite_of([], OPENING)["conftest.py"]

    assert "TARGET = ['serve', '--quietly']" in conftest
    assert '"markers", "serial:' in conftest
    ast.parse(conftest)


def test_what_the_run_was_given_is_given_to_the_suite() -> None:
    conftest = suite_of([], Opening(("x",), "up", "2026-11-16", strict=True, config="/c.yaml"))["conftest.py"]

    assert "execute_destructive=EXECUTE_DESTRUCTIVE, config='/c.yaml', strict=True)" in conftest


# Text of strangers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [LabPolicy(), LabPolicy(strict=True)])
def test_no_name_of_a_stranger_becomes_code(policy: LabPolicy) -> None:
    hostile = plan(lab_tools({"name": HOSTILE}, {"name": f"drop {HOSTILE}"}), policy, live=False)
    drafts = [Draft(each, {HOSTILE: HOSTILE}, problem=each.reason) for each in hostile]
    files = suite_of(drafts, Opening((HOSTILE,), HOSTILE, "2026-11-16", config=HOSTILE))

    assert all(path.replace("/", "").replace("_", "").replace(".", "").isalnum() for path in files)
    for text in (each for path, each in files.items() if path.endswith(".py")):
        assert text.isascii()
        top = ast.parse(text).body
        assert {type(each) for each in top} <= {ast.Expr, ast.ImportFrom, ast.Import, ast.Assign, ast.FunctionDef}
        imported = [
            alias.name for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Import) for alias in each.names
        ]
        assert set(imported) <= {"os", "pytest"}


def test_a_tool_is_called_by_its_real_name() -> None:
    tree = ast.parse(code_of(seen(HOSTILE, ANSWER, ANSWER)))
    texts = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)]

    assert texts.count(HOSTILE) == 2


@pytest.mark.parametrize(
    ("text", "name"),
    [("Get-It", "get_it"), ("../../etc/passwd", "etc_passwd"), ("\u202e", "tool"), ("", "tool"), ("x" * 500, "x" * 60)],
)
def test_names_are_made_safe(text: str, name: str) -> None:
    assert plain(text) == name


def test_names_that_would_be_the_same_are_told_apart() -> None:
    names = Names()

    assert [names.take(each) for each in ("a-b", "a_b", "A b")] == ["a_b", "a_b_2", "a_b_3"]


@pytest.mark.parametrize(
    "value",
    [{}, [], None, "a" * 500, {"a": ["b" * 60, {"c": "d" * 60, "e": [1, 2.5, True, None]}], "\u202e": "\n"}],
)
def test_a_literal_is_the_value_it_was_made_of(value: Any) -> None:
    assert ast.literal_eval(literal(value)) == value
