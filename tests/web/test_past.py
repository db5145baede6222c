"""Calls brought back from the record."""

from typing import Any

import pytest

from interlock.core.canonical import argument_digest
from interlock.core.model import Standing, Variant
from interlock.core.safety import Effect, SafetyClass
from interlock.store.protocol import Activity, ActivityType
from interlock.web.past import past_of, reasons_of, ruled, was_ruled
from tests.web.office import activity


def call(body: dict[str, Any] | None = None, **columns: Any) -> Activity:
    known: dict[str, Any] = {
        "server": "up",
        "tool": "write_x",
        "caller": "ci",
        "workspace": "ws",
        "intent_type": "write",
        "safety_class": "write-capable",
        "verdict": "allow",
        "rule_id": "posture:guarded",
    }
    arguments = {"a": 1}
    full = {
        "entry": "mcp",
        "arguments": arguments,
        "digest": argument_digest(arguments),
        "class_source": "name",
        "metadata": {"tool_variant": "call_tool_write"},
        "reasons": [{"code": None, "text": "because"}],
    }
    return activity(1, **(known | columns), body=full | (body or {}))


def test_a_call_comes_back_as_it_was() -> None:
    past = past_of(call())
    assert past is not None

    assert (past.call.caller.name, past.call.caller.workspace) == ("ci", "ws")
    assert (past.call.server, past.call.tool, past.call.arguments) == ("up", "write_x", {"a": 1})
    assert (past.call.variant, past.call.declaration.operation_type) == (Variant.WRITE, "write")
    assert (past.safety_class, past.source, past.exact, past.kept) == (SafetyClass.WRITE_CAPABLE, "name", True, True)


def test_its_tool_is_what_it_was_or_has_another_class() -> None:
    past = past_of(call({"reasons": [{"code": "NEW_TOOL", "text": "it is new"}]}))
    assert past is not None
    known = past.known("upper")

    assert (known.tool.qualified, known.tool.standing) == ("upper__write_x", Standing.NEW)
    assert known.classification.gateway is SafetyClass.WRITE_CAPABLE
    assert past.known("upper", SafetyClass.UNKNOWN).classification.gateway is SafetyClass.UNKNOWN


def test_a_direct_call_declares_nothing() -> None:
    past = past_of(call({"metadata": {"tool_variant": "direct"}}))
    assert past is not None

    assert (past.call.variant, past.call.declaration.given) == (Variant.DIRECT, False)


@pytest.mark.parametrize(
    ("arguments", "kept", "exact"),
    [
        ({"a": "[redacted number]"}, True, False),
        ({"kept": False, "bytes": 70_000, "keys": ["a"]}, False, False),
        ({"kept": False}, True, False),
        ("nonsense", True, False),
    ],
)
def test_what_is_missing_is_told_by_the_digest(arguments: Any, kept: bool, exact: bool) -> None:
    past = past_of(call({"arguments": arguments}))
    assert past is not None

    assert (past.kept, past.exact) == (kept, exact)


def test_arguments_that_look_as_if_they_were_not_kept_are_what_they_are() -> None:
    odd = {"kept": False, "bytes": 1}
    past = past_of(call({"arguments": odd, "digest": argument_digest(odd)}))
    assert past is not None

    assert (past.call.arguments, past.exact) == (odd, True)


@pytest.mark.parametrize(
    "columns",
    [{"type": ActivityType.APPROVAL}, {"safety_class": None}, {"server": None}, {"tool": None}, {"safety_class": "x"}],
)
def test_what_is_no_call_of_a_known_tool_does_not_come_back(columns: dict[str, Any]) -> None:
    assert past_of(call(**columns)) is None


@pytest.mark.parametrize(
    ("body", "columns", "expected"),
    [
        ({}, {}, True),
        ({"entry": "run-tool"}, {}, False),
        ({}, {"verdict": "hold"}, True),
        ({"reasons": [{"code": "DENIED_BY_RULE"}]}, {"verdict": "deny"}, True),
        ({"reasons": [{"code": "FROZEN"}]}, {"verdict": "deny"}, False),
        ({"reasons": "?"}, {"verdict": "deny"}, False),
        ({}, {"verdict": None}, False),
    ],
)
def test_only_what_rules_or_posture_decided_was_ruled(
    body: dict[str, Any], columns: dict[str, Any], expected: bool
) -> None:
    assert was_ruled(call(body, **columns)) is expected


@pytest.mark.parametrize(
    ("columns", "effect"),
    [
        ({}, Effect.ALLOW),
        ({"verdict": "deny"}, Effect.DENY),
        ({"approval_id": "ap_1"}, Effect.HOLD),
        ({"approval_id": "ap_1", "verdict": "hold"}, Effect.HOLD),
    ],
)
def test_a_call_that_passed_by_an_approval_was_held_by_the_rules(columns: dict[str, Any], effect: Effect) -> None:
    assert ruled(call(**columns)) is effect


def test_the_reasons_are_those_of_the_record() -> None:
    assert reasons_of(call()) == ["because"]
