"""A suite: the tests that a person wrote, or reviewed, for the tools of some servers.

The types here are the format, and the published JSON Schema is made of them, so neither can drift from the other. A key
that is not known is refused, because a misspelt expectation that is silently left out would make a test that cannot
fail. This module reads plain values and knows no files: each problem comes with the path of what is wrong, and whoever
has the file says where that stands.
"""

import difflib
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeAlias, cast

import jsonschema_rs
import msgspec
from msgspec import Meta, Struct, field

from interlock.core.model import Json
from interlock.lab.suites.matchers import TARGETS, BadExpectation, Expectation, Matcher, compile_check

MAX_TESTS = 10_000
Path: TypeAlias = tuple[str | int, ...]
Problem: TypeAlias = tuple[Path, str]

Name = Annotated[str, Meta(min_length=1, max_length=200)]


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a server of a suite is: exactly one of `command`, `url` and `id`."""

    command: Annotated[str, Meta(description="The program to start")] = ""
    args: Annotated[list[str], Meta(description="Its arguments")] = field(default_factory=list[str])
    env: Annotated[dict[str, str], Meta(description="Its environment")] = field(default_factory=dict[str, str])
    cwd: Annotated[str, Meta(description="Its working directory")] = ""
    url: Annotated[str, Meta(description="The address of a server over HTTP")] = ""
    headers: Annotated[dict[str, str], Meta(description="Headers to send")] = field(default_factory=dict[str, str])
    id: Annotated[str, Meta(description="A server of the configuration")] = ""


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """One test: one call, and what is expected of its answer. Unless an expectation looks at `isError` or `error`, the
    call has to succeed."""

    name: Annotated[Name, Meta(description="What the test is called; unique in the suite")]
    tool: Annotated[Name, Meta(description="The tool to call")]
    server: Annotated[str, Meta(description="A name under `servers`; may be left out where there is one")] = ""
    args: Annotated[dict[str, Any], Meta(description="Its arguments")] = field(default_factory=dict[str, Any])
    expect: Annotated[list[Expectation], Meta(description="What has to hold of the answer")] = field(
        default_factory=list[Expectation]
    )
    max_duration_ms: Annotated[int, Meta(ge=0, description="The longest the call may take; 0 sets no limit")] = 0
    serial: Annotated[bool, Meta(description="Run it while no other test runs")] = False
    skip: Annotated[str, Meta(description="Why it is not to run now")] = ""


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of tests."""

    tests: Annotated[list[Case], Meta(min_length=1, max_length=MAX_TESTS, description="The tests, in their order")]
    servers: Annotated[dict[str, Place], Meta(description="The servers that they are for, by names of your choice")] = (
        field(default_factory=dict[str, Place])
    )

    def server_of(self, case: Case) -> str:
        """The name of the server that a test is for; empty where the suite names none."""
        return case.server or next(iter(self.servers), "")


class BadSuite(Exception):
    """A suite that cannot be used, with everything that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(text for _, text in problems))
        self.problems = tuple(problems)


_EMPTY: dict[str, list[Any] | dict[str, Any]] = {"array": [], "object": {}}


def json_schema() -> dict[str, Any]:
    """The format as JSON Schema, for editors and for people."""
    made = msgspec.json.schema(Suite)
    for part in made["$defs"].values():
        for key, each in part.get("properties", {}).items():
            if key not in part["required"] and each.get("type") in _EMPTY:
                each.setdefault("default", _EMPTY[each["type"]])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Interlock test suite",
        "$ref": made["$ref"],
        "$defs": made["$defs"],
    }


def read_suite(value: Json) -> Suite:
    """The suite that a plain value is, or BadSuite with all its problems."""
    found = list(_formal(value))
    if found:
        raise BadSuite(found)
    suite = msgspec.convert(value, Suite)
    found = [*_servers(suite), *_tests(suite)]
    if found:
        raise BadSuite(found)
    return suite


_SAID = {
    "enum": f"must be one of {', '.join(Matcher)}",
    "pattern": f"must be one of {', '.join(TARGETS)}, or a JSON pointer such as /content/0/text",
}
"""What is wrong, where the validator would say it in its own words; there is one enum and one pattern in the format."""


# Form -----------------------------------------------------------------------------------------------------------


def _formal(value: Json) -> Iterator[Problem]:
    validator = jsonschema_rs.validator_for(json_schema(), mask="this")
    for error in validator.iter_errors(value):
        at: Path = tuple(error.instance_path)
        unknown = getattr(error.kind, "unexpected", None)
        if unknown is None:
            yield at, _SAID.get(error.kind.name, str(error.message))
            continue
        known = _keys_at(error)
        for key in cast("list[str]", unknown):
            yield (*at, key), f"unknown key '{key}'{_nearest(key, known)}"


def _keys_at(error: jsonschema_rs.ValidationError) -> list[str]:
    """The keys that are known where one was not."""
    at = error.instance_path
    if not at:
        kind = Suite
    elif at[0] == "servers":
        kind = Place
    else:
        kind = Case if len(at) == 2 else Expectation
    return list(kind.__struct_fields__)


def _nearest(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else f"; known are {', '.join(known)}"


# Sense ----------------------------------------------------------------------------------------------------------


_WAYS = ("command", "url", "id")
_BELONGS = {"args": "command", "env": "command", "cwd": "command", "headers": "url"}


def _servers(suite: Suite) -> Iterator[Problem]:
    for name, place in suite.servers.items():
        given = [way for way in _WAYS if getattr(place, way)]
        if len(given) != 1:
            yield ("servers", name), "needs exactly one of 'command', 'url' and 'id'"
            continue
        for key, way in _BELONGS.items():
            if getattr(place, key) and way != given[0]:
                yield ("servers", name, key), f"'{key}' belongs to a server with a '{way}'; this one has '{given[0]}'"


def _tests(suite: Suite) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, case in enumerate(suite.tests):
        at: Path = ("tests", number)
        if case.name in seen:
            yield (*at, "name"), f"the name '{case.name}' stands here twice; names must differ"
        seen.add(case.name)
        if case.server and case.server not in suite.servers:
            yield (*at, "server"), f"unknown server '{case.server}'{_nearest(case.server, list(suite.servers))}"
        elif not case.server and len(suite.servers) > 1:
            yield at, f"there are several servers; say which with 'server': {', '.join(suite.servers)}"
        yield from _expectations(at, case)


def _expectations(at: Path, case: Case) -> Iterator[Problem]:
    for number, expectation in enumerate(case.expect):
        try:
            compile_check(expectation)
        except BadExpectation as problem:
            yield (*at, "expect", number), str(problem)
