"""The intent matrix, row by row, with its exact texts."""

import pytest

from interlock.core.intent import (
    AnnotationCheck,
    IntentMode,
    check_annotations,
    check_declaration,
    read_declaration,
)
from interlock.core.model import Declaration, Hints, Intent, Json, OperationType, Sensitivity, Variant
from interlock.core.safety import SafetyClass
from interlock.errors import Code, Reason

READ, WRITE, DESTRUCTIVE, DIRECT = Variant
HINTS = {
    "none": Hints(),
    "readOnlyHint": Hints(read_only=True),
    "destructiveHint": Hints(destructive=True),
    "both": Hints(read_only=True, destructive=True),
    "both false": Hints(read_only=False, destructive=False),
}
MISMATCH = "Tool 'github:delete_repo' is marked destructive by server, use call_tool_destructive"


def declared(operation: Json = None, **more: Json) -> Declaration:
    return Declaration(given=True, operation_type=operation, **more)


def check(variant: Variant, declaration: Declaration, mode: IntentMode = IntentMode.REQUIRED) -> Intent | Reason:
    return check_declaration(variant, declaration, mode, SafetyClass.UNKNOWN)


def refusal(checked: Intent | Reason) -> tuple[Code | None, str]:
    assert isinstance(checked, Reason)
    return checked.code, checked.text


# First key and second key ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", IntentMode)
@pytest.mark.parametrize("variant", [READ, WRITE, DESTRUCTIVE])
@pytest.mark.parametrize("operation", OperationType)
def test_variant_and_declared_operation_must_agree(
    variant: Variant, operation: OperationType, mode: IntentMode
) -> None:
    checked = check(variant, declared(operation.value), mode)

    if variant.value == f"call_tool_{operation.value}":
        assert checked == Intent(operation)
    else:
        text = f"Intent mismatch: tool is {variant.value} but intent declares {operation.value}"
        assert refusal(checked) == (Code.INTENT_MISMATCH, text)


@pytest.mark.parametrize("variant", [READ, WRITE, DESTRUCTIVE])
def test_a_call_without_intent_is_refused(variant: Variant) -> None:
    text = f"intent parameter is required for {variant.value}"

    assert refusal(check(variant, Declaration())) == (Code.MISSING_INTENT, text)


@pytest.mark.parametrize("operation", [None, ""])
@pytest.mark.parametrize("variant", [READ, WRITE, DESTRUCTIVE])
def test_an_intent_without_operation_type_is_refused(variant: Variant, operation: Json) -> None:
    assert refusal(check(variant, declared(operation))) == (
        Code.MISSING_OPERATION_TYPE,
        "intent.operation_type is required",
    )


@pytest.mark.parametrize(
    ("given", "shown"), [("unknown", "unknown"), ("Read", "Read"), (" read", " read"), (5, "5"), (["read"], "['read']")]
)
def test_an_operation_type_outside_the_three_is_refused(given: Json, shown: str) -> None:
    text = f"Invalid intent.operation_type '{shown}': must be read, write, or destructive"

    assert refusal(check(READ, declared(given))) == (Code.INVALID_OPERATION_TYPE, text)


@pytest.mark.parametrize(
    ("variant", "operation"),
    [
        (READ, OperationType.READ),
        (WRITE, OperationType.WRITE),
        (DESTRUCTIVE, OperationType.DESTRUCTIVE),
    ],
)
@pytest.mark.parametrize("declaration", [Declaration(), declared(), declared("")])
def test_inferred_mode_takes_a_missing_operation_from_the_variant(
    variant: Variant, operation: OperationType, declaration: Declaration
) -> None:
    assert check(variant, declaration, IntentMode.INFERRED) == Intent(operation)


@pytest.mark.parametrize(
    ("safety_class", "operation"),
    list(zip(SafetyClass, ["read", "write", "destructive", "destructive", "destructive"], strict=True)),
)
def test_a_direct_call_takes_its_operation_from_the_class(safety_class: SafetyClass, operation: str) -> None:
    checked = check_declaration(DIRECT, declared("read"), IntentMode.REQUIRED, safety_class)

    assert checked == Intent(OperationType(operation))


@pytest.mark.parametrize("word", ["public", "internal", "private", "unknown"])
def test_the_four_sensitivities_are_kept(word: str) -> None:
    assert check(READ, declared("read", data_sensitivity=word)) == Intent(OperationType.READ, Sensitivity(word))


@pytest.mark.parametrize("given", ["x", "Public", "", 3, ["public"]])
def test_any_other_sensitivity_is_refused(given: Json) -> None:
    text = f"Invalid intent.data_sensitivity '{given}': must be public, internal, private, or unknown"

    assert refusal(check(READ, declared("read", data_sensitivity=given))) == (Code.INVALID_SENSITIVITY, text)


def test_a_reason_of_1000_characters_is_kept() -> None:
    assert check(READ, declared("read", reason="é" * 1000)) == Intent(OperationType.READ, None, "é" * 1000)


def test_a_reason_of_1001_characters_is_refused() -> None:
    assert refusal(check(READ, declared("read", reason="x" * 1001))) == (
        Code.REASON_TOO_LONG,
        "intent.reason exceeds maximum length of 1000 characters",
    )


def test_a_reason_that_is_no_text_is_refused() -> None:
    assert refusal(check(READ, declared("read", reason=["x"]))) == (Code.BAD_REQUEST, "intent.reason must be a string")


# The server's annotations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "hint", "result"),
    [
        (READ, "destructiveHint", "reject"),
        (READ, "both", "reject"),
        (READ, "readOnlyHint", "allow"),
        (READ, "none", "allow"),
        (READ, "both false", "allow"),
        (WRITE, "destructiveHint", "reject"),
        (WRITE, "both", "reject"),
        (WRITE, "readOnlyHint", "warn"),
        (WRITE, "none", "allow"),
        (WRITE, "both false", "allow"),
        *[(DESTRUCTIVE, hint, "allow") for hint in HINTS],
        *[(DIRECT, hint, "allow") for hint in HINTS],
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_annotations_are_held_against_the_variant(variant: Variant, hint: str, result: str, strict: bool) -> None:
    checked = check_annotations(variant, HINTS[hint], "github:delete_repo", strict=strict)

    if result == "reject" and strict:
        assert checked.refusal is not None
        assert (checked.refusal.code, checked.refusal.text) == (Code.SERVER_MISMATCH, MISMATCH)
    elif result == "reject":
        assert checked.refusal is None
        assert checked.warning is not None
        assert checked.warning.text == MISMATCH
    elif result == "warn":
        assert checked.refusal is None
        assert checked.warning is not None
    else:
        assert checked == AnnotationCheck()


# Reading what the agent sent ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "declaration"),
    [
        ({}, Declaration()),
        ({"intent": None}, Declaration()),
        ({"intent": "read"}, Declaration()),
        ({"intent": {}}, Declaration(given=True)),
        ({"intent": {"operation_type": "read"}}, declared("read")),
        ({"operation_type": "read"}, declared("read")),
        ({"intent": {"operation_type": "read"}, "operation_type": "write"}, declared("read")),
        ({"intent": {"reason": "a"}, "operation_type": "write"}, declared("write", reason="a")),
        (
            {"intent_data_sensitivity": "public", "intent_reason": "why", "operation_type": "read"},
            declared("read", data_sensitivity="public", reason="why"),
        ),
        ({"intent_reason": "why"}, Declaration(given=True, reason="why")),
    ],
)
def test_nested_and_flat_declarations_are_read_and_nested_wins(
    params: dict[str, Json], declaration: Declaration
) -> None:
    assert read_declaration(params) == declaration
