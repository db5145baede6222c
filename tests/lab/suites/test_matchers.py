"""Where an expectation looks, and what it takes for a match."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from interlock.lab.model import Observed
from interlock.lab.suites.matchers import (
    MAX_SHOWN,
    BadExpectation,
    Expectation,
    Matcher,
    compile_check,
    follow,
    look,
    schema_check,
    snapshot_of,
    verify,
)

RESULT: dict[str, Any] = {
    "content": [{"type": "text", "text": "one"}, {"type": "image", "data": "x"}, {"type": "text", "text": "two"}],
    "structuredContent": {"a/b": [10, {"m~n": True}], "n": 3},
}
ANSWERED = Observed("t", {}, 5.0, result=RESULT)
REFUSED = Observed("t", {}, 5.0, error={"code": -32602, "message": "no"})


def problem_of(target: str, matcher: str, value: Any = UNSET, observed: Observed = ANSWERED) -> str | None:
    found = verify(observed, Expectation(target, Matcher(matcher), value))
    return None if found is None else found.seen


# Where ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("result", RESULT),
        ("text", "one\ntwo"),
        ("structured", RESULT["structuredContent"]),
        ("isError", False),
        ("error", None),
        ("/content/0/text", "one"),
        ("/structuredContent/a~1b/1/m~0n", True),
    ],
)
def test_a_target_leads_to_its_value(target: str, value: Any) -> None:
    assert look(ANSWERED, target) == (value,)


def test_the_error_of_the_protocol_is_a_target_too() -> None:
    assert look(REFUSED, "error") == ({"code": -32602, "message": "no"},)
    assert look(REFUSED, "text") is None


@pytest.mark.parametrize(
    "pointer", ["/nothing", "/content/3", "/content/-1", "/content/text", "/content/99999999999", "/content/0/text/x"]
)
def test_a_pointer_that_leads_nowhere_finds_nothing(pointer: str) -> None:
    assert follow(RESULT, pointer) is None
    assert problem_of(pointer, "exact", 1) == f"there is nothing at {pointer}"


def test_a_result_without_structured_content_has_none() -> None:
    assert problem_of("structured", "exact", {}, Observed("t", {}, 1.0, result={"content": []})) is not None


@pytest.mark.parametrize("content", [None, "text", [1, None], [{"text": 5}], [{}]])
def test_contents_of_any_form_have_a_text(content: Any) -> None:
    assert look(Observed("t", {}, 1.0, result={"content": content}), "text") == ("",)


# What -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "matcher", "value"),
    [
        ("text", "exact", "one\ntwo"),
        ("/structuredContent/n", "exact", 3.0),
        ("text", "contains", "two"),
        ("/structuredContent/a~1b", "contains", {"m~n": True}),
        ("structured", "contains", {"n": 3}),
        ("structured", "contains", "n"),
        ("text", "regex", "^on[ef]"),
        ("structured", "schema", {"type": "object", "required": ["n"]}),
    ],
)
def test_what_is_as_expected_is_no_problem(target: str, matcher: str, value: Any) -> None:
    assert problem_of(target, matcher, value) is None


@pytest.mark.parametrize(
    ("target", "matcher", "value", "seen"),
    [
        ("text", "exact", "one", '"one\\ntwo"'),
        ("isError", "exact", 0, "false"),
        ("text", "contains", "three", '"one\\ntwo"'),
        ("text", "contains", 1, '"one\\ntwo"'),
        ("/structuredContent/n", "contains", 3, "3"),
        ("structured", "contains", {"n": 4}, '{"a/b": [10, {"m~n": true}], "n": 3}'),
        ("text", "regex", "^two", '"one\\ntwo"'),
        ("/structuredContent/n", "regex", "3", "3"),
        ("structured", "schema", {"properties": {"n": {"type": "string"}}}, '/n: the value is not of type "string"'),
        ("text", "schema", False, "the whole: False schema does not allow the value"),
    ],
)
def test_what_was_seen_instead_is_told(target: str, matcher: str, value: Any, seen: str) -> None:
    assert problem_of(target, matcher, value) == seen


@pytest.mark.parametrize(
    ("matcher", "value"),
    [
        ("exact", UNSET),
        ("regex", "("),
        ("regex", 5),
        ("schema", 5),
        ("schema", {"type": "nonsense"}),
        ("schema", {"$ref": "https://example.invalid/x"}),
        ("snapshot", 1),
    ],
)
def test_an_expectation_that_cannot_be_used_says_so_before_anything_is_called(matcher: str, value: Any) -> None:
    with pytest.raises(BadExpectation):
        compile_check(Expectation("text", Matcher(matcher), value))


def test_a_schema_that_lies_elsewhere_is_not_fetched(tmp_path: Path) -> None:
    elsewhere = tmp_path / "schema.json"
    elsewhere.write_text("{}", encoding="utf-8")
    with pytest.raises(BadExpectation):
        schema_check({"$ref": elsewhere.as_uri()})


def test_a_pattern_that_would_take_for_ever_elsewhere_is_done_at_once() -> None:
    long = Observed("t", {}, 1.0, result={"content": [{"type": "text", "text": "a" * 100_000}]})

    assert problem_of("text", "regex", "(a|aa)+$", long) is None
    assert problem_of("text", "regex", "(a|aa)+b", long) is not None


def test_what_is_shown_of_an_answer_is_short_and_has_no_secrets() -> None:
    result: dict[str, Any] = {"content": [], "structuredContent": {"password": "hunter2-hunter2", "x": "y" * 1000}}
    seen = problem_of("structured", "exact", {}, Observed("t", {}, 1.0, result=result))

    assert seen is not None
    assert "hunter2" not in seen
    assert len(seen) < MAX_SHOWN + 50


# Snapshots ------------------------------------------------------------------------------------------------------


def test_a_snapshot_fits_the_value_it_was_taken_of_and_others_of_its_shape() -> None:
    kept = snapshot_of({"name": "a", "items": [1]})
    check = compile_check(Expectation("structured", Matcher.SNAPSHOT), kept)

    assert check({"name": "b", "items": [2, 3]}) is None
    assert check({"name": 5, "items": [1]}) is not None
    assert check({"items": [1]}) is not None


def test_without_a_snapshot_the_expectation_fails_and_says_how_to_keep_one() -> None:
    assert "--update-snapshots" in str(problem_of("structured", "snapshot"))
