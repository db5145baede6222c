"""The agent's declaration of what it is about to do, checked with two keys.

First key: the variant that was called. Second key: the operation type that was declared. They must agree, whatever the
tool is. Only then, at call time, the server's annotations are held against them. This module answers one question,
"does the declaration hold together?"; it never allows a call, because class, rules and approvals still apply.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from interlock import errors
from interlock.core.model import (
    OPERATION_OF_CLASS,
    Declaration,
    Hints,
    Intent,
    Json,
    JsonObject,
    OperationType,
    Sensitivity,
    Variant,
)
from interlock.core.safety import SafetyClass
from interlock.errors import Reason

MAX_REASON = 1000

OPERATION_OF_VARIANT: Mapping[Variant, OperationType] = {
    Variant.READ: OperationType.READ,
    Variant.WRITE: OperationType.WRITE,
    Variant.DESTRUCTIVE: OperationType.DESTRUCTIVE,
}
_OPERATIONS = {each.value: each for each in OperationType}
_SENSITIVITIES = {each.value: each for each in Sensitivity}


class IntentMode(StrEnum):
    """Whether the operation type must be declared, or is taken from the variant when it is left out."""

    REQUIRED = "required"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True)
class IntentPolicy:
    mode: IntentMode = IntentMode.REQUIRED
    strict_server_validation: bool = True


def read_declaration(params: JsonObject) -> Declaration:
    """Collect the declaration from a call's parameters: the nested object first, the flat fields where it is silent."""
    nested = params.get("intent")
    inner: JsonObject = nested if isinstance(nested, dict) else {}
    flat = {
        "operation_type": params.get("operation_type"),
        "data_sensitivity": params.get("intent_data_sensitivity"),
        "reason": params.get("intent_reason"),
    }
    fields = {name: value if (own := inner.get(name)) is None else own for name, value in flat.items()}
    given = isinstance(nested, dict) or any(value is not None for value in flat.values())
    return Declaration(given, **fields)


def check_declaration(
    variant: Variant, declared: Declaration, mode: IntentMode, derived: SafetyClass
) -> Intent | Reason:
    """The two-key check. A direct call has no variant, so its operation follows from the tool's class."""
    expected = OPERATION_OF_VARIANT.get(variant)
    if expected is None:
        operation: OperationType | Reason = OPERATION_OF_CLASS[derived]
    else:
        operation = _operation_type(variant, expected, declared, mode)
    if isinstance(operation, Reason):
        return operation
    return _with_details(operation, declared)


def _operation_type(
    variant: Variant, expected: OperationType, declared: Declaration, mode: IntentMode
) -> OperationType | Reason:
    given = declared.operation_type
    if given is None or given == "":
        if mode is IntentMode.INFERRED:
            return expected
        message = errors.MISSING_OPERATION_TYPE if declared.given else errors.MISSING_INTENT
        return message(variant=variant.value, expected=expected.value)
    operation = _OPERATIONS.get(given) if isinstance(given, str) else None
    if operation is None:
        return errors.INVALID_OPERATION_TYPE(given=_short(given), variant=variant.value, expected=expected.value)
    if operation is not expected:
        return errors.INTENT_MISMATCH(variant=variant.value, declared=operation.value, expected=expected.value)
    return operation


def _with_details(operation: OperationType, declared: Declaration) -> Intent | Reason:
    sensitivity: Sensitivity | None = None
    if declared.data_sensitivity is not None:
        given = declared.data_sensitivity
        sensitivity = _SENSITIVITIES.get(given) if isinstance(given, str) else None
        if sensitivity is None:
            return errors.INVALID_SENSITIVITY(given=_short(given))
    reason = "" if declared.reason is None else declared.reason
    if not isinstance(reason, str):
        return errors.REASON_NOT_TEXT()
    if len(reason) > MAX_REASON:
        return errors.REASON_TOO_LONG(length=len(reason))
    return Intent(operation, sensitivity, reason)


def _short(value: Json) -> str:
    """What was given, short enough for one line of an error."""
    return str(value)[:60]


class AnnotationCheck(Struct, frozen=True):
    """What came of holding the declaration against the server's annotations."""

    refusal: Reason | None = None
    warning: Reason | None = None


def check_annotations(variant: Variant, hints: Hints, tool: str, *, strict: bool) -> AnnotationCheck:
    """The second phase. Both hints true counts as destructive; without strict validation a refusal is a warning."""
    if variant in (Variant.DESTRUCTIVE, Variant.DIRECT):
        return AnnotationCheck()
    if hints.destructive is True:
        mismatch = errors.SERVER_MISMATCH(tool=tool)
        return AnnotationCheck(refusal=mismatch) if strict else AnnotationCheck(warning=mismatch)
    if variant is Variant.WRITE and hints.read_only is True:
        return AnnotationCheck(warning=Reason(f"'{tool}' is marked read-only by server but was called as a write"))
    return AnnotationCheck()
