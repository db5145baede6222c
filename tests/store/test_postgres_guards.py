"""Whether the tables still refuse what they were made to refuse."""

import re

import pytest

from interlock.store.postgres_guards import functions_due, missing_guards, tables_due, triggers_due
from interlock.store.postgres_snapshot import snapshot_of
from tests.store.places import InDatabase


async def guards(database: InDatabase) -> list[str]:
    with snapshot_of(database.address) as seen:
        return [*missing_guards(seen.rows)]


async def test_a_database_as_it_was_made_has_all_its_guards(database: InDatabase) -> None:
    assert await guards(database) == []
    with snapshot_of(database.address) as seen:
        made = seen.value("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal")
    assert made == len(triggers_due()) > 10
    assert len(functions_due()) > 5
    assert {"entry", "seal", "approval", "granted", "freeze"} <= tables_due()


NOTHING = "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
STAYS = "CREATE TRIGGER entry_stays BEFORE UPDATE ON entry FOR EACH {} EXECUTE FUNCTION {}"
ALWAYS = "ALTER TABLE approval DROP CONSTRAINT approval_by_another, ADD CONSTRAINT approval_by_another CHECK ({})"


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["DROP TRIGGER entry_stays ON entry"], "'entry_stays' of the database is gone"),
        (["ALTER TABLE seal DISABLE TRIGGER seal_stays"], "'seal_stays' of the database is switched off"),
        (["ALTER TABLE seal ENABLE REPLICA TRIGGER seal_stays"], "'seal_stays' of the database is switched off"),
        ([NOTHING, "CREATE TRIGGER mine BEFORE INSERT ON entry EXECUTE FUNCTION nothing()"], "'mine' .* not ours"),
        (
            [NOTHING, "DROP TRIGGER entry_stays ON entry", STAYS.format("STATEMENT", "nothing()")],
            "'entry_stays' of the database was changed",
        ),
        (["DROP TRIGGER entry_stays ON entry", STAYS.format("ROW", "never('x')")], "'entry_stays' .* was changed"),
        (
            ["DROP TRIGGER entry_stays ON entry", STAYS.format("ROW WHEN (false)", "never('x')")],
            "'entry_stays' .* was changed",
        ),
        (
            ["CREATE OR REPLACE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"],
            "'never' of the database was changed",
        ),
        (["ALTER FUNCTION entry_remains() RESET search_path"], "'entry_remains' of the database was changed"),
        (["ALTER TABLE approval DROP CONSTRAINT approval_by_another"], "'approval_by_another' .* is gone"),
        ([ALWAYS.format("true")], "'approval_by_another' of the database was changed"),
        (["ALTER TABLE entry ENABLE ROW LEVEL SECURITY"], "'entry' of the database shows something else"),
        (["CREATE RULE quiet AS ON DELETE TO entry DO INSTEAD NOTHING"], "'entry' .* shows something else"),
        (["CREATE TABLE more () INHERITS (entry)"], "'entry' of the database shows something else"),
        (["CREATE VIEW more AS SELECT 1"], "'more' of the database is not ours"),
    ],
)
async def test_a_guard_that_was_taken_off_or_replaced_is_missed(
    database: InDatabase, statements: list[str], told: str
) -> None:
    await database.tell(*statements)
    found = await guards(database)

    assert any(re.search(told, each) for each in found), found
