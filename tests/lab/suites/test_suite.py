"""What a suite may hold, and how it is told what it may not."""

from typing import Any

import jsonschema_rs
import pytest

from interlock.lab.suites.suite import BadSuite, json_schema, read_suite

CASE: dict[str, Any] = {"name": "a", "tool": "t"}


def problems_of(value: Any) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(BadSuite) as bad:
        read_suite(value)
    return list(bad.value.problems)


def with_expectation(**members: Any) -> dict[str, Any]:
    return {"tests": [{**CASE, "expect": [members]}]}


def test_a_suite_is_read_with_its_defaults() -> None:
    suite = read_suite({"servers": {"up": {"command": "run", "args": ["x"]}}, "tests": [CASE]})

    assert suite.server_of(suite.tests[0]) == "up"
    assert (suite.tests[0].args, suite.tests[0].expect, suite.tests[0].serial) == ({}, [], False)


def test_a_suite_without_servers_is_for_a_target_that_is_given_later() -> None:
    suite = read_suite({"tests": [CASE]})

    assert suite.server_of(suite.tests[0]) == ""


WRONG_FORM: list[tuple[Any, tuple[str | int, ...], str]] = [
    ({"tests": [CASE], "server": {}}, ("server",), "unknown key 'server'; did you mean 'servers'?"),
    ({"tests": [{**CASE, "agrs": {}}]}, ("tests", 0, "agrs"), "unknown key 'agrs'; did you mean 'args'?"),
    (
        {"tests": [CASE], "servers": {"expect": {"comand": "x"}}},
        ("servers", "expect", "comand"),
        "unknown key 'comand'; did you mean 'command'?",
    ),
    (
        with_expectation(target="text", matcher="exact", vaule=1),
        ("tests", 0, "expect", 0, "vaule"),
        "unknown key 'vaule'; did you mean 'value'?",
    ),
    (
        {"tests": [{**CASE, "zzz": 1}]},
        ("tests", 0, "zzz"),
        "unknown key 'zzz'; known are name, tool, server, args, expect, max_duration_ms, serial, skip",
    ),
    (
        with_expectation(target="text", matcher="equals", value=1),
        ("tests", 0, "expect", 0, "matcher"),
        "must be one of exact, contains, regex, schema, snapshot",
    ),
    (
        with_expectation(target="body", matcher="exact", value=1),
        ("tests", 0, "expect", 0, "target"),
        "must be one of result, text, structured, isError, error, or a JSON pointer such as /content/0/text",
    ),
    ({"tests": [{"name": "a"}]}, ("tests", 0), '"tool" is a required property'),
    ({"tests": [{**CASE, "max_duration_ms": "5"}]}, ("tests", 0, "max_duration_ms"), "this is not of type"),
    ({"tests": []}, ("tests",), "this has less than 1 item"),
    ([], (), 'this is not of type "object"'),
    (None, (), 'this is not of type "object"'),
]


@pytest.mark.parametrize(("value", "at", "text"), WRONG_FORM)
def test_what_has_the_wrong_form_is_told_with_its_path(value: Any, at: tuple[str | int, ...], text: str) -> None:
    ((where, told),) = problems_of(value)

    assert where == at
    assert told.startswith(text)


@pytest.mark.parametrize(
    ("value", "at", "text"),
    [
        ({"servers": {"a": {}}, "tests": [CASE]}, ("servers", "a"), "exactly one of"),
        ({"servers": {"a": {"url": "http://x", "id": "y"}}, "tests": [CASE]}, ("servers", "a"), "exactly one of"),
        (
            {"servers": {"a": {"url": "http://x", "env": {"A": "b"}}}, "tests": [CASE]},
            ("servers", "a", "env"),
            "'env' belongs to a server with a 'command'; this one has 'url'",
        ),
        ({"tests": [CASE, CASE]}, ("tests", 1, "name"), "stands here twice"),
        (
            {"servers": {"files": {"id": "files"}}, "tests": [{**CASE, "server": "file"}]},
            ("tests", 0, "server"),
            "unknown server 'file'; did you mean 'files'?",
        ),
        ({"servers": {"a": {"id": "a"}, "b": {"id": "b"}}, "tests": [CASE]}, ("tests", 0), "there are several servers"),
        (with_expectation(target="text", matcher="regex", value="("), ("tests", 0, "expect", 0), "RE2 cannot compile"),
        (with_expectation(target="text", matcher="exact"), ("tests", 0, "expect", 0), "'exact' needs a value"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_path(value: Any, at: tuple[str | int, ...], text: str) -> None:
    ((where, told),) = problems_of(value)

    assert where == at
    assert text in told


def test_all_problems_are_told_at_once() -> None:
    assert len(problems_of({"tests": [{"name": "a", "tol": "t"}, {"name": 5, "tool": "t"}]})) == 3


def test_the_published_schema_says_what_is_read() -> None:
    validator = jsonschema_rs.validator_for(json_schema())

    assert validator.is_valid({"tests": [CASE]})
    assert not validator.is_valid({"tests": [{**CASE, "more": 1}]})
