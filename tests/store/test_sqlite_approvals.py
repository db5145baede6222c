"""What SQLite itself refuses, whoever writes to the file: the last line, behind everything that the program checks."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from interlock.core.grants import GrantScope
from interlock.store.protocol import Store, StoreUnavailable
from interlock.store.sqlite import SqliteStore, connect
from tests.store.approval_examples import approval, no, sent, why, yes
from tests.store.examples import TickingClock


@pytest.fixture
async def file(path: Path) -> AsyncIterator[Path]:
    """A database with a pending approval, an approved one whose grant was used, and one with a standing grant."""
    store = SqliteStore(path, TickingClock())
    await store.start()
    await store.approvals.add_approval(approval(1), why(1))
    await _granted(store, 2, GrantScope.ONCE)
    await _granted(store, 3, GrantScope.IDENTICAL)
    await store.approvals.use_grant("gr_0002", sent(2, "d2"))
    yield path
    await store.close()


async def _granted(store: Store, number: int, scope: GrantScope) -> None:
    await store.approvals.add_approval(approval(number), why(number))
    made = yes(approval(number), scope=scope)
    await store.approvals.change_approval(made.approval, why(number), made.grant)


OWN_VOTE = '[{"approver":"agent"}]'
ASKED = "INSERT INTO approval SELECT 'x', {}, NULL, NULL, 'g', 0, 1, {}, 1, 'w', '{}', 'x'"
GRANT = "INSERT INTO granted SELECT 'gr_9', {approval}, 'agent', 'once', 1, 9, 1, 0, NULL, NULL, '{{}}'"


@pytest.mark.parametrize(
    ("statement", "why_not"),
    [
        ("UPDATE approval SET status = 'denied', decided_at = 5, approver = requester WHERE id = 'ap_0001'", "CHECK"),
        ("UPDATE approval SET status = 'approved', decided_at = 5 WHERE id = 'ap_0001'", "CHECK"),
        ("UPDATE approval SET status = 'cancelled' WHERE id = 'ap_0001'", "CHECK"),
        ("UPDATE approval SET status = 'maybe', decided_at = 5 WHERE id = 'ap_0001'", "CHECK"),
        ("UPDATE approval SET decided_at = 5 WHERE id = 'ap_0001'", "CHECK"),
        (f"UPDATE approval SET votes = '{OWN_VOTE}' WHERE id = 'ap_0001'", "votes for a call of its own"),  # noqa: S608
        ("UPDATE approval SET status = 'cancelled', decided_at = 5 WHERE id = 'ap_0002'", "resolved once"),
        ("UPDATE approval SET status = 'pending', decided_at = NULL WHERE id = 'ap_0002'", "resolved once"),
        ("UPDATE approval SET resolution = '' WHERE id = 'ap_0002'", "no such column"),
        ("UPDATE approval SET body = '{}' WHERE id = 'ap_0002'", "resolved once"),
        ("UPDATE approval SET requester = 'x' WHERE id = 'ap_0001'", "never changed"),
        ("UPDATE approval SET waits_for = 'x' WHERE id = 'ap_0001'", "never changed"),
        ("UPDATE approval SET expires_at = 1 WHERE id = 'ap_0001'", "never changed"),
        ("UPDATE approval SET created_at = 1 WHERE id = 'ap_0001'", "never changed"),
        ("UPDATE approval SET id = 'x' WHERE id = 'ap_0001'", "never changed"),
        ("DELETE FROM approval WHERE id = 'ap_0001'", "never deleted"),
        ("DELETE FROM approval WHERE id = 'ap_0002'", "never deleted"),
        ("INSERT OR REPLACE INTO approval SELECT * FROM approval WHERE id = 'ap_0001'", "begins as pending"),
        (
            "INSERT INTO approval SELECT 'x', 'approved', 1, 'a', 'b', NULL, NULL, 'g', 0, 1, 1, 1, 'w', '[]', '{}'",
            "begins",
        ),
        (ASKED.format("'pending', 0, 'a', NULL", "NULL", "[1]"), "begins"),
        (GRANT.format(approval="'ap_0001'"), "needs an approval that was given"),
        (GRANT.format(approval="'ap_none'"), "needs an approval that was given"),
        (GRANT.format(approval="'ap_0002'"), "one of each"),
        ("UPDATE granted SET uses_left = 1 WHERE id = 'gr_0002'", "CHECK"),
        ("UPDATE granted SET uses_left = 1, uses = 0 WHERE id = 'gr_0002'", "only used or revoked"),
        ("UPDATE granted SET uses = 2, uses_left = -1 WHERE id = 'gr_0002'", "CHECK"),
        ("UPDATE granted SET scope = 'tool' WHERE id = 'gr_0003'", "only used or revoked"),
        ("UPDATE granted SET expires_at = 9999999999999999 WHERE id = 'gr_0003'", "only used or revoked"),
        ("UPDATE granted SET caller = 'x' WHERE id = 'gr_0003'", "only used or revoked"),
        ("DELETE FROM granted WHERE id = 'gr_0002'", "never deleted"),
        ("INSERT OR REPLACE INTO granted SELECT * FROM granted WHERE id = 'gr_0002'", "one of each"),
    ],
)
async def test_the_database_refuses_what_must_not_be_whoever_writes(file: Path, statement: str, why_not: str) -> None:
    with closing(connect(file, patience=30)) as connection, pytest.raises(sqlite3.Error, match=why_not):
        connection.execute(statement)


async def test_a_grant_that_was_revoked_stays_revoked(file: Path) -> None:
    with closing(connect(file, patience=30)) as connection:
        connection.execute("UPDATE granted SET revoked_at = 5 WHERE id = 'gr_0003'")
        with pytest.raises(sqlite3.IntegrityError, match="only used or revoked"):
            connection.execute("UPDATE granted SET revoked_at = NULL WHERE id = 'gr_0003'")


async def test_a_row_that_somebody_has_changed_is_told_and_not_taken_for_an_approval(file: Path) -> None:
    store = SqliteStore(file, TickingClock())
    await store.start()
    with closing(connect(file, patience=30)) as connection:
        connection.execute("UPDATE approval SET body = '{}' WHERE id = 'ap_0001'")
    with pytest.raises(StoreUnavailable, match="ap_0001 cannot be read"):
        await store.approvals.get_approval("ap_0001")
    await store.close()


async def test_what_the_database_refuses_of_one_is_no_answer_that_counts(file: Path) -> None:
    store = SqliteStore(file, TickingClock())
    await store.start()
    own = approval(4, caller="bob")
    await store.approvals.add_approval(own, why(4))
    with pytest.raises(StoreUnavailable):
        await store.approvals.change_approval(no(own), why(4))

    assert await store.approvals.get_approval("ap_0004") == own
    await store.close()
