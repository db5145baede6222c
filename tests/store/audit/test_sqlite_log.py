"""Reading a log as bytes, whatever somebody has put into it."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from interlock.store import queries
from interlock.store.audit.anchor import ANCHOR, seals_in
from interlock.store.audit.keys import PUBLIC, known_keys
from interlock.store.audit.seals import Keep
from interlock.store.audit.sqlite_log import NoLog, SqliteLog, open_log
from interlock.store.audit.verify import verify
from interlock.store.folder import DATABASE
from interlock.store.migrate import migrate, migrations
from interlock.store.protocol import StoreUnavailable
from interlock.store.sqlite import PATIENCE, connect
from tests.store.audit.logs import Office, call, check, sealed_folder, tamper

pytestmark = pytest.mark.anyio


async def test_what_is_written_while_it_is_read_is_not_part_of_it(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        await office.fill(1, 3)
        with open_log(tmp_path / DATABASE) as log:
            before = log.end
            await office.store.write([call(9)])
            after = log.end, len(list(log.entries(0, None)))

    assert (before, after) == (6, (6, 6))


async def test_a_file_that_is_not_there_or_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("no database" * 1000)

    for name in ("none", "other"):
        with pytest.raises(StoreUnavailable, match=name), open_log(tmp_path / name):
            pass
    assert not (tmp_path / "none").exists()


def test_a_database_of_an_older_version_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as connection:
        migrate(connection, migrations()[:5])

    older = pytest.raises(StoreUnavailable, match="version 5, and this Interlock reads version")
    with older, open_log(tmp_path / DATABASE):
        pass


@pytest.mark.parametrize("head", ["user_version = 5", "user_version = 0", "application_id = 1"])
async def test_a_head_that_the_tables_contradict_was_changed(tmp_path: Path, head: str) -> None:
    folder = await sealed_folder(tmp_path)
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.execute(f"PRAGMA {head}")
    found = check(folder)
    (told,) = found.beside

    assert (found.records, found.broken) == (40, None)
    assert told.startswith("The head of the database ")
    assert told.endswith("version 6: somebody changed the head.")


async def test_a_database_in_which_nothing_is_has_no_log(tmp_path: Path) -> None:
    (tmp_path / "none").touch()
    async with Office(tmp_path):
        pass
    tamper(tmp_path, ("DELETE FROM chain", ()))
    for name in ("none", DATABASE):
        with pytest.raises(NoLog, match="no log"), open_log(tmp_path / name):
            pass


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM chain", "The row is gone that says which log this is."),
        ("INSERT INTO chain VALUES ('', 0)", "2 rows say which log this is, where there is one."),
        ("INSERT INTO chain VALUES ('zz', 0)", "2 rows say which log this is, where there is one."),
    ],
)
async def test_a_log_is_found_whatever_the_row_says_that_names_it(tmp_path: Path, statement: str, told: str) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(folder, (statement, ()))
    found = check(folder)

    assert (found.records, found.broken, found.beside) == (40, None, [told])


async def test_a_page_that_was_destroyed_is_told_at_the_record_where_reading_ends(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path, calls=200, every=50)
    file = folder / DATABASE
    content = bytearray(file.read_bytes())
    with sqlite3.connect(file) as connection:
        pages = "SELECT pageno FROM dbstat WHERE name = 'entry' AND pagetype = 'leaf' ORDER BY path"
        page = connection.execute(pages).fetchall()[10][0]
    connection.close()
    content[(page - 1) * 4096 : page * 4096] = bytes(range(256)) * 16
    file.write_bytes(content)
    found = check(folder)

    assert found.broken is not None
    assert found.broken.problem.startswith("it cannot be read: ")
    assert found.broken.seq == (found.last or 0) + 1 > 1


async def test_what_a_gateway_does_between_the_two_snapshots_raises_no_alarm(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        await office.fill(1, 20, every=5)
        with closing(connect(tmp_path / DATABASE, PATIENCE, one_thread=False)) as earlier:
            earlier.text_factory = bytes
            earlier.execute("BEGIN")
            earlier.execute("SELECT count(*) FROM entry").fetchall()
            await office.fill(20, 22)
            await office.sealer.prune(Keep(records=15), "operator")
            with closing(connect(tmp_path / DATABASE, PATIENCE)) as connection:
                connection.text_factory = bytes
                log = SqliteLog(connection, earlier)
                found = verify(log, known_keys(tmp_path / PUBLIC), seals_in(tmp_path / ANCHOR))
                log.leave()

    assert found.intact, found
    assert found.pruned > 0


async def test_whoever_leaves_does_not_wait_for_a_list_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(folder, ("UPDATE entry SET text = '{}' WHERE seq = 7", ()))
    endless = "WITH RECURSIVE latest (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM latest) SELECT count(*) FROM latest"
    monkeypatch.setattr(queries, "LISTED", endless)
    found = await asyncio.to_thread(check, folder)

    assert found.broken is not None
    assert found.broken.seq == 7


@pytest.mark.parametrize("table", ["activity", "entry", "seal"])
async def test_a_view_without_end_in_the_place_of_a_table_is_found_and_not_read(tmp_path: Path, table: str) -> None:
    folder = await sealed_folder(tmp_path)
    endless = "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT kept.* FROM n, kept"
    tamper(
        folder,
        (f"CREATE TABLE kept AS SELECT * FROM {table}", ()),  # noqa: S608 - of constants
        (f"DROP TABLE {table}", ()),
        (f"CREATE VIEW {table} AS {endless}", ()),
        guarded=False,
    )
    found = await asyncio.to_thread(check, folder)

    assert not found.intact


@pytest.mark.parametrize(
    "change",
    ["seq = 'five'", "seq = x'00'", "kind = 'zzz'", "kind = NULL", "text = NULL", "signature = 5", "key = x'ff'"],
)
async def test_a_row_that_is_no_seal_is_found_whatever_stands_in_it(tmp_path: Path, change: str) -> None:
    folder = await sealed_folder(tmp_path)
    loose = "CREATE TABLE loose (chain, kind, seq, at, text, key, signature)"
    tamper(
        folder,
        (loose, ()),
        ("INSERT INTO loose SELECT chain, kind, seq, at, text, key, signature FROM seal", ()),
        ("DROP TABLE seal", ()),
        ("ALTER TABLE loose RENAME TO seal", ()),
        (f"UPDATE seal SET {change} WHERE seq = 10", ()),  # noqa: S608 - of constants
        guarded=False,
    )
    found = await asyncio.to_thread(check, folder)

    assert found.broken is not None


async def test_a_chain_without_a_name_is_found_by_what_is_in_it(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    tamper(
        folder,
        ("DROP TABLE chain", ()),
        ("CREATE TABLE chain (id, created_at)", ()),
        ("INSERT INTO chain VALUES (NULL, 1)", ()),
        guarded=False,
    )

    found = await asyncio.to_thread(check, folder)
    assert (found.records, found.broken, found.intact) == (40, None, False)
