"""What a test of a suite expects of one answer: where it looks, and what has to be there.

Answers come from servers, so a matcher is total and takes linear time: any JSON of any shape is looked at, patterns run
on an engine without backtracking, and a schema follows no reference out of itself. What is said of an answer that does
not fit is short, and secrets in it are hidden.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Never, TypeAlias, TypeGuard, cast

import jsonschema_rs
from msgspec import UNSET, Meta, Struct

from interlock.core.globs import BadPattern, compile_regex
from interlock.core.matchers import same
from interlock.core.model import Json
from interlock.core.redact import redact, redact_text
from interlock.lab.model import Observed
from interlock.lab.suites.shape import observe

MAX_SHOWN = 300
"""How many characters of a value are shown."""
MASK = "the value"
TARGETS = ("result", "text", "structured", "isError", "error")
ABOUT_SUCCESS = frozenset({"isError", "error"})
"""Whoever looks at one of these says by that whether the call is to succeed."""

Check: TypeAlias = Callable[[Json], "str | None"]
"""What is wrong with a value that was found; None when nothing is."""


class Matcher(StrEnum):
    """How a value is held against what is expected."""

    EXACT = "exact"
    CONTAINS = "contains"
    REGEX = "regex"
    SCHEMA = "schema"
    SNAPSHOT = "snapshot"


class Expectation(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that has to hold of the answer."""

    target: Annotated[
        str,
        Meta(
            pattern="^(result|text|structured|isError|error|/.*)$",
            description="What is looked at: `result`, `text`, `structured`, `isError`, `error`, or a JSON pointer into "
            "the result",
        ),
    ]
    matcher: Annotated[Matcher, Meta(description="How it is held against the value")]
    value: Annotated[Any, Meta(description="What is expected; `snapshot` takes none")] = UNSET


class Mismatch(Struct, frozen=True):
    """Something that was expected and not seen."""

    target: str
    expected: str
    seen: str


class BadExpectation(ValueError):
    """An expectation that cannot be used; the message says why."""


def compile_check(expectation: Expectation, kept: Mapping[str, Any] | None = None) -> Check:
    """The check that an expectation asks for, or BadExpectation. `kept` is the snapshot, where there is one."""
    if expectation.matcher is Matcher.SNAPSHOT:
        if expectation.value is not UNSET:
            raise BadExpectation("a snapshot takes no value; it is kept beside the suite")
        return _no_snapshot if kept is None else schema_check(kept)
    if expectation.value is UNSET:
        raise BadExpectation(f"'{expectation.matcher}' needs a value")
    return _CHECKS[expectation.matcher](expectation.value)


def verify(observed: Observed, expectation: Expectation, kept: Mapping[str, Any] | None = None) -> Mismatch | None:
    """Hold one answer against one expectation."""
    found = look(observed, expectation.target)
    if found is None:
        return Mismatch(expectation.target, _wanted(expectation), f"there is nothing at {expectation.target}")
    problem = compile_check(expectation, kept)(found[0])
    return None if problem is None else Mismatch(expectation.target, _wanted(expectation), problem)


def _wanted(expectation: Expectation) -> str:
    shown = "" if expectation.value is UNSET else f" {brief(expectation.value)}"
    return f"{expectation.matcher}{shown}"


# Where ----------------------------------------------------------------------------------------------------------


def look(observed: Observed, target: str) -> tuple[Json] | None:
    """The value that a target names, in a tuple; None where there is none."""
    if target == "error":
        return (cast("Json", observed.error),)
    if observed.result is None:
        return None
    if target.startswith("/"):
        return follow(observed.result, target)
    return _LOOKS[target](observed.result)


def text_of(result: Mapping[str, Any]) -> str:
    """The texts among the contents of a result, a line each."""
    contents = result.get("content")
    parts = cast("list[Any]", contents) if isinstance(contents, list) else []
    found = [cast("dict[str, Any]", each).get("text") for each in parts if isinstance(each, dict)]
    return "\n".join(each for each in found if isinstance(each, str))


def said_by_tool(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what the protocol puts into it, which differs from one version of it to the next."""
    return {key: value for key, value in result.items() if key not in _OF_THE_PROTOCOL}


_OF_THE_PROTOCOL = frozenset({"_meta", "resultType"})


def _structured(result: Mapping[str, Any]) -> tuple[Json] | None:
    return (result["structuredContent"],) if "structuredContent" in result else None


_LOOKS: Mapping[str, Callable[[Mapping[str, Any]], "tuple[Json] | None"]] = {
    "result": lambda result: (said_by_tool(result),),
    "text": lambda result: (text_of(result),),
    "structured": _structured,
    "isError": lambda result: (result.get("isError") is True,),
}


def follow(value: Json, pointer: str) -> tuple[Json] | None:
    """The value at a JSON pointer, in a tuple; None where it leads nowhere."""
    here: Json = value
    for part in pointer.split("/")[1:]:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping) and step in here:
            here = here[step]
        elif _is_list(here) and step.isdecimal() and len(step) < 10 and int(step) < len(here):
            here = here[int(step)]
        else:
            return None
    return (here,)


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


# What -----------------------------------------------------------------------------------------------------------


def _exact(wanted: Json) -> Check:
    return lambda value: None if same(value, wanted) else brief(value)


def _contains(wanted: Json) -> Check:
    def check(value: Json) -> str | None:
        if isinstance(value, str):
            holds = isinstance(wanted, str) and wanted in value
        elif isinstance(value, Mapping):
            holds = _within(wanted, value)
        else:
            holds = _is_list(value) and any(same(each, wanted) for each in value)
        return None if holds else brief(value)

    return check


def _within(wanted: Json, value: Mapping[str, Json]) -> bool:
    """Whether an object has all members of another one."""
    if not isinstance(wanted, Mapping):
        return isinstance(wanted, str) and wanted in value
    return all(key in value and same(value[key], each) for key, each in wanted.items())


def _regex(wanted: Json) -> Check:
    if not isinstance(wanted, str):
        raise BadExpectation("a regex must be a text")
    try:
        occurs = compile_regex(wanted)
    except BadPattern as problem:
        raise BadExpectation(str(problem)) from None
    return lambda value: None if isinstance(value, str) and occurs(value) else brief(value)


def schema_check(schema: object) -> Check:
    """A check by JSON Schema, or BadExpectation when it does not compile."""
    if not isinstance(schema, dict | bool):
        raise BadExpectation("a schema must be an object")
    try:
        validator = jsonschema_rs.validator_for(
            schema,  # pyright: ignore[reportUnknownArgumentType]
            retriever=_no_reference,
            pattern_options=jsonschema_rs.RegexOptions(),
            mask=MASK,
        )
    except (ValueError, jsonschema_rs.ValidationError, RecursionError):
        raise BadExpectation("this is not a JSON Schema that can be used; references must stay inside it") from None

    def check(value: Json) -> str | None:
        error = next(validator.iter_errors(value), None)
        if error is None:
            return None
        at = "".join(f"/{step}" for step in error.instance_path)
        return cut(redact_text(f"{at or 'the whole'}: {error.message}"))

    return check


def _no_reference(uri: str) -> Never:
    raise ValueError(f"references outside the schema are not followed: {uri}")


def _no_snapshot(value: Json) -> str:
    return f"{brief(value)}, and no snapshot is kept of it; `--update-snapshots` keeps one"


def snapshot_of(value: Json) -> dict[str, Any]:
    """What is kept of a value: its shape, without anything that may be different next time."""
    return observe([value]).schema(strict=False)


_CHECKS: Mapping[Matcher, Callable[[Any], Check]] = {
    Matcher.EXACT: _exact,
    Matcher.CONTAINS: _contains,
    Matcher.REGEX: _regex,
    Matcher.SCHEMA: schema_check,
}


def brief(value: Json) -> str:
    """A value in short, as JSON, without its secrets."""
    return cut(json.dumps(redact(value), ensure_ascii=False, default=str))


def cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text)} characters)"
