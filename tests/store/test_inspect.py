"""Looking into a database that may be in use, broken or not ours."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from interlock.store.inspect import Looked, kept_servers, look, versions_of
from interlock.store.migrate import migrations
from interlock.store.protocol import KeptServer, Store, StoreUnavailable
from tests.store.examples import activity, log_of


async def test_the_newest_part_of_a_log_is_looked_at_while_it_is_written(store: Store, path: Path) -> None:
    assert look(path, 5) == Looked(0, None, None)
    await store.write([activity(number) for number in range(3)])
    assert look(path, 5) == Looked(3, (await log_of(store))[-1].at, None)
    await store.write([activity(number) for number in range(3, 20)])
    assert look(path, 5) == Looked(5, (await log_of(store))[-1].at, None)


@pytest.mark.parametrize(("number", "found"), [(18, True), (5, False)])
async def test_what_was_changed_is_found_where_it_was_looked(
    store: Store, path: Path, number: int, found: bool
) -> None:
    await store.write([activity(each) for each in range(20)])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER entry_stays")
        connection.execute("UPDATE entry SET text = 'x' WHERE seq = ?", (number,))
    broken = look(path, 5).broken

    assert (broken is not None) == found
    assert broken is None or broken.seq == number


def test_what_is_no_database_of_ours_is_told_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with pytest.raises(StoreUnavailable):
        look(file, 5)
    assert not file.exists()
    file.write_text("no database at all, not even nearly, whatever its name may promise to whoever reads it")
    with pytest.raises(StoreUnavailable, match="not a database"):
        look(file, 5)


async def test_the_servers_that_are_kept_are_seen_while_it_is_written(store: Store, path: Path) -> None:
    kept = KeptServer(enabled=False, definition={"command": "p"})
    await store.put_server("a", kept, activity(1))

    assert kept_servers(path) == {"a": kept}


def test_without_a_database_nothing_is_kept(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_text("no database")

    assert kept_servers(tmp_path / "none.db") == {}
    with pytest.raises(StoreUnavailable):
        kept_servers(other)


async def test_the_version_is_told_beside_the_one_that_is_known(store: Store, path: Path) -> None:
    known = migrations()[-1].version
    assert versions_of(path) == (known, known)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")

    assert versions_of(path) == (1, known)


@pytest.mark.parametrize("statement", ["CREATE TABLE theirs (a)", "PRAGMA user_version = 9"])
def test_the_version_of_what_is_not_ours_is_refused(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute(statement)
    with pytest.raises(StoreUnavailable, match="belongs to another program"):
        versions_of(tmp_path / "other.db")
    with pytest.raises(StoreUnavailable):
        versions_of(tmp_path / "none.db")
