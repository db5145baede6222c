"""Approvals, grants and freezes as rows: what goes in comes out, and what is none is told."""

import pytest

from interlock.core.grants import GrantScope
from interlock.store.approval_rows import (
    approval_of,
    approval_row,
    changed_row,
    freeze_of,
    freeze_row,
    grant_of,
    grant_row,
    waits_for,
)
from interlock.store.protocol import StoreUnavailable
from tests.store.approval_examples import approval, frozen, key, yes


def test_two_calls_wait_for_the_same_only_if_nothing_of_them_differs() -> None:
    assert waits_for(key(1)) == waits_for(key(1))
    assert len({waits_for(each) for each in (key(1), key(2), key(1, "somebody"))}) == 3


def test_an_approval_is_read_from_its_columns_and_its_body() -> None:
    asked = approval()
    row = approval_row(asked)
    identity, status, version, _, approver, _, session, gateway, answered, *times, _, votes, body = row
    shown = (identity, status, version, approver, gateway, answered, *times, votes, body)

    assert approval_of(shown) == asked
    assert session == "s-1"


def test_a_session_that_is_no_text_has_no_column() -> None:
    assert approval_row(approval(asked={"request_session_id": 5}))[6] is None


def test_a_change_names_the_version_that_it_replaces() -> None:
    row = changed_row(yes(approval()).approval)

    assert (row[0], row[1], row[2]) == ("approved", 1, "bob")
    assert row[-2:] == ("ap_0001", 0)


@pytest.mark.parametrize("body", ["{}", "not json", '{"key": 5}'])
def test_a_row_that_is_no_approval_is_told(body: str) -> None:
    with pytest.raises(StoreUnavailable, match="ap_1 cannot be read"):
        approval_of(("ap_1", "pending", 0, None, "gw", 0, 1, None, 2, "[]", body))


def test_a_grant_and_a_freeze_are_read_as_they_were_written() -> None:
    grant = yes(approval(), scope=GrantScope.IDENTICAL).grant
    assert grant is not None
    identity, origin, _, scope, created_at, expires_at, uses_left, uses, body = grant_row(grant)

    assert grant_of((identity, origin, scope, created_at, expires_at, uses_left, uses, None, None, body)) == grant
    assert grant_of((identity, origin, scope, created_at, expires_at, uses_left, uses, 5, None, body)).revoked
    assert freeze_of(freeze_row(frozen())) == frozen()
