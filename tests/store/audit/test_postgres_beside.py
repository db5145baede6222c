"""What is kept in PostgreSQL beside the logs, and no longer agrees with them."""

import re
from pathlib import Path

import pytest

from interlock.core.grants import GrantScope
from tests.store.approval_examples import approval, no, yes
from tests.store.audit.shared import ONE, OTHER, check, office, tamper, told
from tests.store.places import InDatabase


@pytest.fixture
async def kept(database: InDatabase, tmp_path: Path) -> InDatabase:
    """Calls of a gateway, and approvals that it asked for and another one answered."""
    async with office(database, tmp_path / "one") as one, office(database, tmp_path / "other", OTHER) as other:
        await one.fill(1, 3)
        for each in (approval(1), approval(2), approval(3)):
            assert await one.store.approvals.add_approval(each, told(each))
        denied = no(approval(1))
        assert await other.store.approvals.change_approval(denied, told(denied))
        given = yes(approval(2), scope=GrantScope.IDENTICAL)
        assert await other.store.approvals.change_approval(given.approval, told(given.approval), given.grant)
        for each in (one, other):
            await each.sealer.checkpoint()
    return database


async def test_what_came_about_by_itself_raises_no_alarm(kept: InDatabase, tmp_path: Path) -> None:
    assert check(kept, tmp_path / "one").intact


BACK = f"""
UPDATE activity SET chain = '{ONE}', status = 'held', body = substring(entry.text FROM '"body":(.*),"caller":')
FROM entry
WHERE activity.id = 'ap_0001' AND entry.chain = '{ONE}' AND entry.subject = 'ap_0001'
"""  # noqa: S608 - of constants


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "UPDATE activity SET status = 'error' WHERE id = 'call-00002'",
            "call-00002 is listed otherwise than record 4",
        ),
        ("UPDATE activity SET body = '{}' WHERE id = 'call-00002'", "call-00002 is listed otherwise"),
        ("UPDATE activity SET tool = NULL WHERE id = 'call-00002'", "call-00002 is listed otherwise"),
        ("DELETE FROM activity WHERE id = 'call-00001'", r"call-00001 \(record 2 of the log a+\) is missing"),
        (
            "INSERT INTO activity SELECT 'made', at, type, status, body, NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
            " NULL, NULL, NULL, chain FROM activity WHERE id = 'call-00001'",
            "1 activity is in the list of which the log tells nothing: made",
        ),
        (f"UPDATE activity SET chain = '{OTHER}' WHERE id = 'call-00001'", "the log tells nothing: call-00001"),  # noqa: S608
        (BACK, "ap_0001 is listed as open, and record 1 of the log b+ tells how it ended"),
        ("UPDATE approval SET approver = 'mallory' WHERE id = 'ap_0001'", "ap_0001 is kept otherwise than record 1"),
        ("UPDATE approval SET expires_at = expires_at + 1 WHERE id = 'ap_0003'", "ap_0003 is kept otherwise"),
        ("DELETE FROM approval WHERE id = 'ap_0003'", "ap_0003 is on record .* no longer kept"),
        ("UPDATE approval SET id = 'ap_made' WHERE id = 'ap_0003'", "ap_0003 is on record"),
        ("UPDATE granted SET caller = 'mallory'", "grant gr_0002 is kept, and no approval"),
        ("DELETE FROM chain", "8 records stand in a log that the table of logs does not name|records stand"),
        ("ALTER TABLE entry DISABLE TRIGGER entry_stays", "'entry_stays' of the database is switched off"),
    ],
)
async def test_what_somebody_changed_beside_the_log_is_found(
    kept: InDatabase, tmp_path: Path, statement: str, problem: str
) -> None:
    await tamper(kept, statement)

    found = check(kept, tmp_path / "one")

    assert found.broken is None
    assert found.beside, "nothing was found"
    assert any(re.search(problem, each) for each in found.beside), found.beside
