"""Which log a database has, whatever somebody made the row say that names it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from interlock.store.migrate import migrate, migrations
from interlock.store.protocol import StoreUnavailable
from interlock.store.sqlite_chain import begin_chain, chain_found, chain_names, misnamed

ENTRY = "INSERT INTO entry VALUES ('mine', 1, 0, '', '', '', zeroblob(32), zeroblob(32))"


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, migrations())
        yield connection


def test_a_chain_is_begun_once_and_then_continued(database: sqlite3.Connection) -> None:
    assert [begin_chain(database, name, 0) for name in ("mine", "other")] == ["mine", "mine"]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM chain", "The row is gone that says which log this is"),
        ("INSERT INTO chain VALUES ('', 0)", "2 rows say which log this is, where there is one"),
        ("UPDATE chain SET id = 'other'", "The row that says which log this is names another"),
    ],
)
def test_a_log_whose_row_was_changed_is_not_continued_nor_begun_anew(
    database: sqlite3.Connection, statement: str, told: str
) -> None:
    begin_chain(database, "mine", 0)
    database.execute(ENTRY)
    database.execute(statement)
    before = chain_names(database)

    with pytest.raises(StoreUnavailable, match=told):
        begin_chain(database, "new", 0)
    assert chain_names(database) == before


def test_a_log_of_which_only_seals_are_left_is_not_begun_anew(database: sqlite3.Connection) -> None:
    begin_chain(database, "mine", 0)
    database.execute(ENTRY)
    database.execute("INSERT INTO seal VALUES ('mine', 'checkpoint', 1, 0, '', '', x'')")
    database.execute("DROP TRIGGER entry_remains")
    database.execute("DELETE FROM entry")
    database.execute("DELETE FROM chain")

    with pytest.raises(StoreUnavailable, match="The row is gone"):
        begin_chain(database, "new", 0)


def test_where_there_is_no_log_nothing_is_wrong_with_its_name(database: sqlite3.Connection) -> None:
    assert misnamed(database, []) is None
    assert chain_found(database, []) is None


@pytest.mark.parametrize("names", [[], ["", "mine"], [None], ["a", "b"]])
def test_a_chain_is_found_by_what_is_in_it(database: sqlite3.Connection, names: list[str | None]) -> None:
    database.execute(ENTRY)

    assert chain_found(database, names) == "mine"
