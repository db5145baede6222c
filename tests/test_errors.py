"""The words that users, scripts and agents rely on: codes, sentences, fixes, exit codes."""

import shlex
from string import Formatter

import pytest

from interlock import errors
from interlock.errors import ANSWERS, BudgetExhausted, Code, ConfigError, Exit, InterlockError, Message, Reason

MESSAGES: dict[str, Message] = {name: each for name, each in vars(errors).items() if isinstance(each, Message)}


def filled(message: Message) -> Reason:
    """The message with every blank filled in by its own name."""
    blanks = {name for text in (message.text, message.fix) for _, name, _, _ in Formatter().parse(text) if name}
    return message(**{name: f"<{name}>" for name in blanks})


def test_the_codes_are_the_promised_ones() -> None:
    assert [code.value for code in Code] == (
        "MISSING_INTENT MISSING_OPERATION_TYPE INVALID_OPERATION_TYPE INTENT_MISMATCH SERVER_MISMATCH"
        " INVALID_SENSITIVITY REASON_TOO_LONG UNKNOWN_TOOL OUT_OF_SCOPE CEILING FROZEN QUARANTINED NEW_TOOL"
        " INVALID_ARGUMENTS DENIED_BY_RULE UNKNOWN_CLASS JUSTIFICATION_REQUIRED PENDING DENIED TIMEOUT CANCELLED"
        " STALE_APPROVAL SELF_APPROVAL ALREADY_RESOLVED QUOTA RATE_LIMITED UPSTREAM_DOWN UPSTREAM_TIMEOUT"
        " AUDIT_UNAVAILABLE INDETERMINATE BAD_REQUEST UNAUTHENTICATED FORBIDDEN NOT_FOUND BUDGET_EXHAUSTED"
    ).split()


def test_the_exit_codes_are_the_promised_ones() -> None:
    assert {each.name: each.value for each in Exit} == {
        "OK": 0,
        "INTERNAL": 1,
        "USAGE": 2,
        "NOT_AUTHORISED": 3,
        "UNREACHABLE": 4,
        "TOOL_ERROR": 5,
        "BLOCKED": 10,
        "DENIED": 11,
        "TIMED_OUT": 12,
        "PENDING": 13,
        "INTENT_MISMATCH": 14,
        "UNKNOWN_CLASS": 15,
        "FINDINGS": 20,
        "CHAIN_BROKEN": 21,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize("code", Code)
def test_every_code_is_answered_over_http_and_in_the_shell(code: Code) -> None:
    answer = ANSWERS[code]
    assert 200 <= answer.http < 600
    assert answer.exit is not Exit.OK


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_sentence(code: Code) -> None:
    assert [name for name, message in MESSAGES.items() if message.code is code]


@pytest.mark.parametrize("name", MESSAGES)
def test_every_message_says_something_and_offers_a_way_out(name: str) -> None:
    reason = filled(MESSAGES[name])
    assert reason.code is MESSAGES[name].code
    assert reason.text.strip()
    assert reason.fix.strip()


@pytest.mark.parametrize("name", MESSAGES)
def test_no_blank_and_no_brace_is_left_in_a_sentence(name: str) -> None:
    reason = filled(MESSAGES[name])
    assert "{{" not in reason.text + reason.fix
    assert "}}" not in reason.text + reason.fix


@pytest.mark.parametrize(
    ("code", "http", "exit_code"),
    [
        (Code.INTENT_MISMATCH, 400, 14),
        (Code.SERVER_MISMATCH, 400, 14),
        (Code.UNKNOWN_TOOL, 404, 2),
        (Code.FORBIDDEN, 403, 3),
        (Code.UNAUTHENTICATED, 401, 3),
        (Code.SELF_APPROVAL, 403, 3),
        (Code.ALREADY_RESOLVED, 409, 11),
        (Code.UPSTREAM_DOWN, 502, 4),
        (Code.DENIED_BY_RULE, 403, 10),
        (Code.DENIED, 403, 11),
        (Code.TIMEOUT, 403, 12),
        (Code.PENDING, 202, 13),
        (Code.UNKNOWN_CLASS, 403, 15),
        (Code.BAD_REQUEST, 400, 2),
    ],
)
def test_a_code_is_told_to_clients_and_to_the_shell(code: Code, http: int, exit_code: int) -> None:
    assert (ANSWERS[code].http, int(ANSWERS[code].exit)) == (http, exit_code)


@pytest.mark.parametrize(
    ("message", "blanks", "code", "text"),
    [
        (
            errors.INTENT_MISMATCH,
            {"variant": "call_tool_read", "declared": "write", "expected": "read"},
            "INTENT_MISMATCH",
            "Intent mismatch: tool is call_tool_read but intent declares write",
        ),
        (
            errors.MISSING_INTENT,
            {"variant": "call_tool_read", "expected": "read"},
            "MISSING_INTENT",
            "intent parameter is required for call_tool_read",
        ),
        (
            errors.MISSING_OPERATION_TYPE,
            {"expected": "read"},
            "MISSING_OPERATION_TYPE",
            "intent.operation_type is required",
        ),
        (
            errors.SERVER_MISMATCH,
            {"tool": "github:delete_repo"},
            "SERVER_MISMATCH",
            "Tool 'github:delete_repo' is marked destructive by server, use call_tool_destructive",
        ),
        (
            errors.INVALID_OPERATION_TYPE,
            {"given": "unknown", "expected": "read", "variant": "call_tool_read"},
            "INVALID_OPERATION_TYPE",
            "Invalid intent.operation_type 'unknown': must be read, write, or destructive",
        ),
        (
            errors.INVALID_SENSITIVITY,
            {"given": "x"},
            "INVALID_SENSITIVITY",
            "Invalid intent.data_sensitivity 'x': must be public, internal, private, or unknown",
        ),
        (
            errors.REASON_TOO_LONG,
            {"length": 1001},
            "REASON_TOO_LONG",
            "intent.reason exceeds maximum length of 1000 characters",
        ),
        (
            errors.CALL_TOOL_GONE,
            {},
            "UNKNOWN_TOOL",
            "Tool 'call_tool' not found. Use call_tool_read, call_tool_write, or call_tool_destructive with matching "
            "intent.operation_type. See retrieve_tools for annotations and recommendations.",
        ),
        (
            errors.JUSTIFICATION_REQUIRED,
            {"field": "_justification"},
            "JUSTIFICATION_REQUIRED",
            "This tool requires approval before execution. Retry your call with an additional `_justification` field "
            "explaining why you need to use this tool.",
        ),
        (
            errors.JUSTIFICATION_REQUIRED,
            {"field": "intent.reason"},
            "JUSTIFICATION_REQUIRED",
            "This tool requires approval before execution. Retry your call with an additional `intent.reason` field "
            "explaining why you need to use this tool.",
        ),
        (errors.DENIED, {"resolution": "not on a Friday"}, "DENIED", "Tool call denied. Reason: not on a Friday"),
        (errors.TIMEOUT, {}, "TIMEOUT", "Tool call denied. Reason: timed out"),
        (errors.SELF_APPROVAL, {}, "SELF_APPROVAL", "You cannot approve your own tool call request."),
        (
            errors.ALREADY_RESOLVED,
            {"status": "denied", "approver": "operator"},
            "ALREADY_RESOLVED",
            "approval already resolved",
        ),
        (
            errors.BLOCKED_BY_FLAG,
            {"tool": "update_repo_file", "safety_class": "write-capable", "flag": "--approve"},
            "DENIED_BY_RULE",
            "Blocked: tool 'update_repo_file' is classified write-capable. Add --approve to run it.",
        ),
        (
            errors.BLOCKED_BY_FLAG,
            {"tool": "remove_device", "safety_class": "dangerous", "flag": "--dangerous"},
            "DENIED_BY_RULE",
            "Blocked: tool 'remove_device' is classified dangerous. Add --dangerous to run it.",
        ),
        (
            errors.BLOCKED_UNKNOWN,
            {"tool": "mystery_tool"},
            "UNKNOWN_CLASS",
            "Blocked: tool 'mystery_tool' has unknown safety class.",
        ),
    ],
)
def test_a_promised_sentence_is_exact(message: Message, blanks: dict[str, object], code: str, text: str) -> None:
    reason = message(**blanks)
    assert (reason.code, reason.text) == (code, text)


def test_the_fix_of_a_missing_intent_shows_the_object_to_add() -> None:
    reason = errors.MISSING_INTENT(variant="call_tool_read", expected="read")
    assert reason.fix == "Add intent: {operation_type: read, reason: why you need this}."


def test_the_winner_is_named_when_an_approval_is_already_resolved() -> None:
    reason = errors.ALREADY_RESOLVED(status="denied", approver="operator")
    assert reason.fix == "It was denied by operator; nothing is left to answer."


def test_braces_in_what_is_filled_in_are_left_alone() -> None:
    assert errors.BLOCKED_UNKNOWN(tool="{tool.__class__}").text == (
        "Blocked: tool '{tool.__class__}' has unknown safety class."
    )


def test_in_a_command_that_is_to_be_pasted_a_name_cannot_run_anything() -> None:
    reason = errors.QUARANTINED(tool="s:get_x; rm -rf ~ #`id`")

    commands = reason.fix.replace("`id`", "").split("`")[1::2]
    assert [shlex.split(each)[-1] for each in commands] == ["s:get_x; rm -rf ~ #"] * 2
    assert errors.QUARANTINED(tool="s:get_x").fix.count("interlock tool trust s:get_x`") == 1


def test_a_forgotten_blank_is_an_error_and_no_half_sentence() -> None:
    with pytest.raises(KeyError):
        errors.DENIED()


@pytest.mark.parametrize("code", errors.SHELL_FIXES)
def test_a_fix_for_the_shell_names_a_command_or_an_option(code: Code) -> None:
    fix = errors.SHELL_FIXES[code].format(tool="s:t", approval="ap_1")
    assert "`interlock " in fix or "--" in fix


def test_a_plain_explanation_has_no_code_and_no_fix() -> None:
    assert Reason("because") == Reason("because", None, "")


def test_an_error_carries_its_reason_and_reads_like_it() -> None:
    reason = errors.FORBIDDEN(role="admin")
    error = InterlockError(reason)
    assert (error.reason, str(error)) == (reason, "This needs the role admin.")


def test_an_empty_budget_knows_its_limit() -> None:
    error = BudgetExhausted(3)
    assert error.limit == 3
    assert error.reason == errors.BUDGET_EXHAUSTED(limit=3)
    assert str(error) == "The budget of 3 calls is used up."


def test_a_bad_configuration_tells_every_problem_on_a_line_of_its_own() -> None:
    error = ConfigError(("a.yaml:1:1: one", "a.yaml:2:2: two"))
    assert error.problems == ("a.yaml:1:1: one", "a.yaml:2:2: two")
    assert error.reason.code is Code.BAD_REQUEST
    assert str(error) == "a.yaml:1:1: one\na.yaml:2:2: two"


@pytest.mark.parametrize("name", MESSAGES)
def test_a_sentence_is_known_again_whatever_stands_in_its_blanks(name: str) -> None:
    assert MESSAGES[name].made(filled(MESSAGES[name]))


def test_another_sentence_with_the_same_code_is_not_taken_for_it() -> None:
    lost = errors.UPSTREAM_LOST(server="it", problem="it ended")
    assert not errors.UPSTREAM_DOWN.made(lost)
    assert not errors.UPSTREAM_LOST.made(Reason(lost.text))


@pytest.mark.parametrize("problem", ["it does not answer (08003)", "It does not answer."])
def test_what_others_said_ends_with_one_full_stop_whether_they_set_one_or_not(problem: str) -> None:
    for message in (errors.STORE_UNUSABLE, errors.DATABASE_UNREADY, errors.GATEWAY_GONE, errors.RECORD_DAMAGED):
        text = message(folder="/data", place="The database", what="It", problem=problem).text

        assert text.endswith(errors.sentence(problem))
        assert not text.endswith("..")


def test_a_sentence_has_one_full_stop() -> None:
    assert errors.sentence("It is so") == errors.sentence("It is so.") == "It is so."
