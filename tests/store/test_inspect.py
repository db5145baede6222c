"""Looking into a database that may be in use, broken or not ours."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from interlock.core.drift import Reviewed, definition_of
from interlock.core.safety import SafetyClass
from interlock.store.audit.seals import Keep
from interlock.store.chain import Break
from interlock.store.inspect import Looked, Remembered, kept_servers, look, remembered, versions_of
from interlock.store.migrate import migrate, migrations
from interlock.store.protocol import KeptServer, Store, StoreUnavailable
from interlock.store.sqlite import SqliteStore
from tests.postgres_server import PostgresServer
from tests.store.audit.logs import Office, sealed_folder, tamper
from tests.store.examples import TickingClock, activity, log_of
from tests.store.places import InDatabase, opened


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    """What writes to the file that is looked into."""
    opened = SqliteStore(path, TickingClock())
    await opened.start()
    yield opened
    await opened.close()


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


async def _pruned(folder: Path) -> Path:
    """A database whose log begins with entry 21, because what was before it was removed on purpose."""
    async with Office(await sealed_folder(folder)) as office:
        assert await office.sealer.prune(Keep(records=15), "olga") is not None
        return office.folder / "interlock.db"


async def test_a_log_whose_beginning_was_removed_on_purpose_is_whole(tmp_path: Path) -> None:
    path = await _pruned(tmp_path)

    assert look(path, 1_000).broken is None
    assert look(path, 1_000).entries == 21  # of 40, and the one that tells of the removal


async def test_a_removal_that_was_cut_short_leaves_a_log_that_is_whole(tmp_path: Path) -> None:
    class Died(Exception):
        pass

    async with Office(await sealed_folder(tmp_path)) as office:
        shed = office.store.seals.shed

        async def die(upto: int, most: int) -> int:
            await shed(upto, 10)
            raise Died

        office.store.seals.shed = die  # type: ignore[method-assign] - the process dies here
        with pytest.raises(Died):
            await office.sealer.prune(Keep(records=15), "olga")
        (first,) = await office.store.log_entries(0, 1)

    assert first.seq == 11
    assert look(tmp_path / "interlock.db", 1_000).broken is None


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("DELETE FROM entry WHERE seq = 21", Break(1, "it is missing")),
        ("UPDATE entry SET prev = zeroblob(32) WHERE seq = 21", Break(21, "it does not follow the entry before it")),
        ("DELETE FROM seal WHERE kind = 'pruned'", Break(1, "it is missing")),
        ("UPDATE seal SET text = 'x' WHERE kind = 'pruned'", Break(1, "it is missing")),
    ],
)
async def test_what_no_seal_says_was_removed_is_missing(tmp_path: Path, what: str, found: Break) -> None:
    path = await _pruned(tmp_path)
    tamper(tmp_path, (what, ()))

    assert look(path, 1_000).broken == found


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
    older = path.with_name("older.db")
    with closing(sqlite3.connect(older, isolation_level=None)) as connection:
        migrate(connection, migrations()[:1])

    assert versions_of(older) == (1, known)


@pytest.mark.parametrize("version", [0, 5])
async def test_a_version_that_the_tables_contradict_is_refused(store: Store, path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")

    with pytest.raises(StoreUnavailable, match=f"says version {version}, and it has the parts of version 6"):
        versions_of(path)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM chain", "the row is gone"),
        ("INSERT INTO chain VALUES ('', 0)", "2 rows say"),
        ("UPDATE chain SET id = 'other'", "names another"),
    ],
)
async def test_a_log_whose_name_is_gone_is_broken(store: Store, path: Path, statement: str, told: str) -> None:
    await store.write([activity(1)])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
    found = look(path, 10).broken

    assert found is not None
    assert told in found.problem


@pytest.mark.parametrize("statement", ["CREATE TABLE theirs (a)", "PRAGMA user_version = 9"])
def test_the_version_of_what_is_not_ours_is_refused(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute(statement)
    with pytest.raises(StoreUnavailable, match="belongs to another program"):
        versions_of(tmp_path / "other.db")
    with pytest.raises(StoreUnavailable):
        versions_of(tmp_path / "none.db")


async def test_what_is_known_of_servers_is_seen_while_it_is_written(store: Store, path: Path) -> None:
    known = {"t": Reviewed(definition_of('{"name":"t"}')), "gone": Reviewed(None)}
    await store.begin_baseline("a", known, activity(1))
    await store.put_override("a", "t", SafetyClass.DANGEROUS, activity(2))
    await store.put_server("a", KeptServer(enabled=False), activity(3))

    assert remembered(path) == Remembered(
        {"a": [{"name": "t"}]}, {"a": {"t": SafetyClass.DANGEROUS}}, {"a": KeptServer(enabled=False)}
    )


def test_without_a_database_nothing_is_known_of_servers(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_text("no database")

    assert remembered(tmp_path / "none.db") == Remembered()
    with pytest.raises(StoreUnavailable):
        remembered(other)


async def test_what_is_known_of_servers_is_read_from_the_database_at_an_address_too(
    database: InDatabase, postgres: PostgresServer, tmp_path: Path
) -> None:
    tool = '{"inputSchema":{},"name":"t"}'
    async with opened(database) as store:
        await store.put_server("added", KeptServer(True, {"url": "http://x"}), activity(1))
        await store.begin_baseline("added", {"t": Reviewed(definition_of(tool), None)}, activity(2))
        await store.put_override("added", "t", SafetyClass.DANGEROUS, activity(3))

    found = remembered(tmp_path / "none.db", database.address)
    assert found.tools == {"added": [{"inputSchema": {}, "name": "t"}]}
    assert found.overrides == {"added": {"t": SafetyClass.DANGEROUS}}
    assert found.servers == kept_servers(tmp_path / "none.db", database.address)
    assert list(found.servers) == ["added"]
    assert remembered(tmp_path / "none.db", postgres.address("postgres")) == Remembered()
    with pytest.raises(StoreUnavailable):
        kept_servers(tmp_path / "none.db", postgres.address("nowhere"))
