"""What is kept beside the entries: the list of activities, held against what the log says last of each."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from interlock.core.approvals import Approval, shown
from interlock.core.lifecycle import CallState
from interlock.core.model import Json
from interlock.store.audit.sealer import NotIntact
from interlock.store.audit.seals import Keep
from interlock.store.audit.sqlite_log import open_log
from interlock.store.folder import DATABASE
from interlock.store.protocol import Activity, ActivityType
from tests.store.approval_examples import approval, no
from tests.store.audit.logs import Office, call, check, sealed_folder, tamper
from tests.store.examples import NOW

pytestmark = pytest.mark.anyio

ODD = 'a"b\\c/\n\x01\x7f\u00e9\u2028\U0001f600'
COLUMNS = tuple(name for name in type(call(0)).__struct_fields__ if name != "id")
OTHERWISE = {"at": "at + 1", "body": "body || ' '"}


async def test_characters_that_each_writes_in_its_own_way_raise_no_alarm(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        for number, odd in enumerate((*ODD, ODD, "null", "")):
            given = msgspec.structs.replace(call(number), server=odd, tool=odd, workspace=odd, approval_id=odd)
            await office.store.write([given])
        await office.sealer.checkpoint()

    assert check(tmp_path).intact


@pytest.mark.parametrize("column", COLUMNS)
async def test_every_column_of_the_list_counts(tmp_path: Path, column: str) -> None:
    folder = await sealed_folder(tmp_path, calls=5)
    value = OTHERWISE.get(column, "'null'")  # which is not the same as nothing
    tamper(folder, (f"UPDATE activity SET {column} = {value} WHERE id = 'call-00002'", ()))  # noqa: S608 - of constants

    assert check(folder).beside == ["The activity call-00002 is listed otherwise than record 4 tells of it."]


@pytest.mark.parametrize("column", ["body", "workspace"])
async def test_what_stands_behind_a_zero_byte_counts_too(tmp_path: Path, column: str) -> None:
    folder = await sealed_folder(tmp_path, calls=5)
    behind = f"UPDATE activity SET {column} = coalesce({column}, '') || char(0) || 'x' WHERE id = 'call-00002'"  # noqa: S608
    tamper(folder, (behind, ()))

    assert check(folder).beside == ["The activity call-00002 is listed otherwise than record 4 tells of it."]


async def test_no_column_can_pretend_to_be_several(tmp_path: Path) -> None:
    """An agent sends arguments that look like the end of a record. If nothing told where a column ends, a row that has
    those for its columns, and in its last one all that follows, would read like the entry."""
    after_body = sorted(name for name in (*COLUMNS, "id") if name > "body")
    arguments = {"a": 1, **dict.fromkeys(after_body, "forged"), "id": "call-00001"}
    async with Office(tmp_path) as office:
        await office.store.write([msgspec.structs.replace(call(1), body={"arguments": arguments}, workspace="w")])
        await office.sealer.checkpoint()
    with open_log(tmp_path / DATABASE) as log:
        ((_, _, _, _, text, _, _),) = log.entries(0, None)
    before, _, after = text.decode().partition(',"caller":')
    body = before[before.index('{"arguments"') :]
    last = after.partition('"workspace":"')[2].removesuffix('"}')
    columns = ", ".join(f"{name} = 'forged'" for name in after_body if name != "id")
    forged = f"UPDATE activity SET {columns}, body = ?, workspace = ?".replace("workspace = 'forged', ", "")  # noqa: S608
    assert check(tmp_path).intact
    tamper(tmp_path, (forged, (body, last)))

    assert check(tmp_path).beside == ["The activity call-00001 is listed otherwise than record 1 tells of it."]


async def test_no_more_is_told_than_was_asked_for(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(folder, ("UPDATE activity SET tool = 'other'", ()))
    with open_log(folder / DATABASE) as log:
        told = log.beside(0, 3)()

    assert len(told) == 3


@pytest.mark.parametrize("row", [("at", "'x'"), ("body", "'{'"), ("body", "x'ff'"), ("tool", "x'ff'")])
async def test_a_row_of_the_list_that_is_none_does_not_agree(tmp_path: Path, row: tuple[str, str]) -> None:
    folder = await sealed_folder(tmp_path, calls=5)
    column, value = row
    tamper(
        folder,
        ("CREATE TABLE loose AS SELECT * FROM activity", ()),
        ("DROP TABLE activity", ()),
        ("ALTER TABLE loose RENAME TO activity", ()),
        (f"UPDATE activity SET {column} = {value} WHERE id = 'call-00003'", ()),  # noqa: S608 - of constants
    )

    found = check(folder)

    assert found.broken is None
    assert any("call-00003" in each or "cannot be read" in each for each in found.beside)


# Approvals ------------------------------------------------------------------------------------------------------


def told(about: Approval) -> Activity:
    body: dict[str, Json] = {"change": about.status.value, **shown(about)}
    return Activity(about.id, NOW, ActivityType.APPROVAL, CallState.HELD, body, approval_id=about.id)


async def answered_folder(folder: Path) -> Path:
    """A folder in which one question was answered, and one waits."""
    first, second = approval(1), approval(2)
    answer = no(first)
    async with Office(folder) as office:
        for each in (first, second):
            assert await office.store.approvals.add_approval(each, told(each))
        assert await office.store.approvals.change_approval(answer, told(answer))
        await office.fill(1, 2)
        await office.sealer.checkpoint()
    return folder


async def test_approvals_that_are_kept_as_they_came_about_raise_no_alarm(tmp_path: Path) -> None:
    assert check(await answered_folder(tmp_path)).intact


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE approval SET approver = 'mallory' WHERE id = 'ap_0001'",
        "UPDATE approval SET status = 'approved' WHERE id = 'ap_0001'",
        "UPDATE approval SET requester = 'mallory' WHERE id = 'ap_0001'",
        "UPDATE approval SET decided_at = decided_at + 1 WHERE id = 'ap_0001'",
        "UPDATE approval SET expires_at = expires_at + 1 WHERE id = 'ap_0001'",
        "UPDATE approval SET created_at = created_at - 1 WHERE id = 'ap_0001'",
        "UPDATE approval SET workspace = 'dev' WHERE id = 'ap_0001'",
        "UPDATE approval SET session_id = 's-99' WHERE id = 'ap_0001'",
        "UPDATE approval SET body = json_set(body, '$.key.tool', 'other') WHERE id = 'ap_0001'",
        "UPDATE approval SET body = json_set(body, '$.asked.arguments', 1) WHERE id = 'ap_0001'",
        "UPDATE approval SET body = json_set(body, '$.resolution', 'yes') WHERE id = 'ap_0001'",
        "UPDATE approval SET body = '{}' WHERE id = 'ap_0001'",
        "UPDATE approval SET waits_for = 'else' WHERE id = 'ap_0001'",
        "UPDATE approval SET body = json_set(body, '$.more', 1) WHERE id = 'ap_0001'",
        "UPDATE approval SET body = replace(body, '{\"', '{\"resolution\":\"yes\",\"') WHERE id = 'ap_0001'",
        """UPDATE approval SET votes = '[{"approver":"x","at":1,"scope":"once"}]' WHERE id = 'ap_0001'""",
    ],
)
async def test_who_answered_cannot_be_rewritten_unseen(tmp_path: Path, change: str) -> None:
    folder = await answered_folder(tmp_path)
    tamper(folder, (change, ()))

    assert check(folder).beside == ["The approval ap_0001 is kept otherwise than record 3 tells of it."]


async def test_an_approval_that_was_taken_away_or_made_up_is_found(tmp_path: Path) -> None:
    folder = await answered_folder(tmp_path)
    tamper(
        folder,
        ("CREATE TEMP TABLE made AS SELECT * FROM approval WHERE id = 'ap_0002'", ()),
        ("UPDATE made SET id = 'ap_0009', waits_for = 'else'", ()),
        ("INSERT INTO approval SELECT * FROM made", ()),
        ("DELETE FROM approval WHERE id = 'ap_0002'", ()),
    )

    assert check(folder).beside == [
        "The approval ap_0002 is on record (2) and no longer kept.",
        "The approval ap_0009 is kept, and the log tells nothing of it.",
    ]


async def test_what_was_hidden_on_record_is_not_compared(tmp_path: Path) -> None:
    asked = approval(1, asked={"justification": "with ghp_" + "a1B2" * 9})
    async with Office(tmp_path) as office:
        assert await office.store.approvals.add_approval(asked, told(asked))
        await office.sealer.checkpoint()

    assert check(tmp_path).intact


async def test_after_a_removal_an_approval_that_is_made_up_is_still_found(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        old = approval(1, created_at=NOW - 1)
        assert await office.store.approvals.add_approval(old, told(old))
        await office.fill(1, 30, every=5)
        await office.sealer.prune(Keep(records=10))
    pruned = check(tmp_path)
    tamper(
        tmp_path,
        ("CREATE TEMP TABLE made AS SELECT * FROM approval", ()),
        ("UPDATE made SET id = 'ap_0009', waits_for = 'else', created_at = 9000000000000000", ()),
        ("INSERT INTO approval SELECT * FROM made", ()),
    )

    assert pruned.intact, pruned
    assert pruned.pruned > 0
    assert check(tmp_path).beside == ["The approval ap_0009 is kept, and the log tells nothing of it."]


INDEXES = ("activity_at", "activity_tool", "activity_type", "approval_at")


@pytest.mark.parametrize("index", INDEXES)
async def test_what_an_index_leaves_out_is_found(tmp_path: Path, index: str) -> None:
    """Whoever reads by an index sees only what is in it."""
    folder = await answered_folder(tmp_path)
    hide_by(folder, index)

    assert [each for each in check(folder).beside if index in each]


def hide_by(folder: Path, index: str) -> None:
    """Take everything out of an index, and leave it as it was in the words of the schema."""
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as connection:
        ((sql,),) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchall()
        connection.execute(f"DROP INDEX {index}")
        connection.execute(f"{sql.partition(' WHERE ')[0]} WHERE id = 'none'")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, index))


async def test_nothing_is_removed_while_an_approval_says_something_else(tmp_path: Path) -> None:
    """Without the entries nobody could tell who answered it."""
    folder = await answered_folder(tmp_path)
    tamper(folder, ("UPDATE approval SET approver = 'mallory' WHERE id = 'ap_0001'", ()))
    async with Office(folder) as office:
        await office.fill(3, 30, every=5)
        with pytest.raises(NotIntact, match="The approval ap_0001 is kept otherwise"):
            await office.sealer.prune(Keep(records=5))

    assert check(folder).first == 1
