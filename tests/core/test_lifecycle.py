"""The tables of states: what may follow what."""

from itertools import product

import pytest

from interlock.core.lifecycle import (
    APPROVAL,
    CALL,
    ApprovalEvent,
    ApprovalState,
    CallEvent,
    CallState,
    next_approval_state,
    next_call_state,
)


@pytest.mark.parametrize(
    ("event", "state"),
    [("approve", "approved"), ("deny", "denied"), ("expire", "timeout"), ("cancel", "cancelled")],
)
def test_a_pending_approval_makes_one_transition(event: str, state: str) -> None:
    assert next_approval_state(ApprovalState.PENDING, ApprovalEvent(event)) is ApprovalState(state)


def test_a_resolved_approval_never_changes_again() -> None:
    resolved = [state for state in ApprovalState if state is not ApprovalState.PENDING]

    assert {next_approval_state(state, event) for state, event in product(resolved, ApprovalEvent)} == {None}


def test_every_state_has_a_row() -> None:
    assert set(APPROVAL) == set(ApprovalState)
    assert set(CALL) == set(CallState)


def test_a_call_ends_in_exactly_the_statuses_of_the_record() -> None:
    ends = {state.value for state in CallState if not CALL[state]}

    assert ends == {"success", "error", "blocked", "denied", "timeout", "cancelled", "indeterminate"}


def test_only_a_call_that_was_sent_can_succeed_fail_or_be_lost() -> None:
    outcomes = (CallEvent.SUCCEED, CallEvent.FAIL, CallEvent.LOSE)
    able = {state for state, event in product(CallState, outcomes) if next_call_state(state, event)}

    assert able == {CallState.SENT}


def test_a_call_is_never_sent_twice() -> None:
    reachable = {CallState.SENT}
    while more := {state for one in reachable for state in CALL[one].values()} - reachable:
        reachable |= more

    assert [state for state in reachable if CallEvent.SEND in CALL[state]] == []


def test_a_held_call_can_still_be_refused() -> None:
    assert next_call_state(CallState.HELD, CallEvent.REFUSE) is CallState.BLOCKED
