"""The tables that are copied are all that there are, with all their columns."""

import sqlite3
from contextlib import closing

from interlock.store.copying.tables import ACTIVITY, BATCH, SERVER, TABLES, batches
from interlock.store.migrate import migrate, migrations
from interlock.store.postgres_snapshot import snapshot_of
from tests.store.places import InDatabase

COPIED = {table.name: set(table.columns) for table in TABLES}


def test_nothing_in_a_file_is_left_out() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        migrate(made, migrations())
        tables = [name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {each: {row[1] for row in made.execute(f'PRAGMA table_info("{each}")')} for each in tables}

    assert found == COPIED


async def test_nothing_in_a_database_is_left_out_but_what_it_counts_and_which_gateways_run(
    database: InDatabase,
) -> None:
    columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'interlock'"
    found: dict[str, set[str]] = {}
    with snapshot_of(database.address) as seen:
        for table, column in seen.rows(columns):
            found.setdefault(table, set()).add(column)

    for counted in ("version", "gateway", "change"):
        del found[counted]
    numbered = (SERVER.name, "place"), ("approval", "changed"), ("granted", "changed"), ("chain", "number")
    for table, column in numbered:
        found[table].remove(column)
    found[ACTIVITY.name].remove("chain")  # which comes along, beside the others
    assert found == COPIED


def test_rows_come_some_at_a_time() -> None:
    assert [len(each) for each in batches((each,) for each in range(BATCH + 1))] == [BATCH, 1]
