"""What is particular to SQLite: the file, the threads, and everything that can go wrong with a disk."""

import asyncio
import itertools
import os
import random
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from interlock.core.lifecycle import CallState
from interlock.store import sqlite
from interlock.store.chain import Break, first_break
from interlock.store.inspect import look
from interlock.store.migrate import migrate, migrations
from interlock.store.protocol import ActivityFilter, ActivityType, LogEntry, StoreUnavailable
from interlock.store.sqlite import PATIENCE, READER_PRAGMAS, WRITER_PRAGMAS, SqliteStore, connect, prepare
from interlock.store.writer import Limits
from tests.store.examples import (
    ALLOW,
    FORBID,
    NOW,
    StoppedClock,
    TickingClock,
    activity,
    assert_sound,
    held_by_another,
    ids_of,
    insist,
    log_of,
    run_elsewhere,
    token,
    told,
    write_and_be_killed,
)

ROOT = Path(__file__).parent.parent.parent
KILLS = 40 if os.environ.get("HYPOTHESIS_PROFILE") == "torture" else 6


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    """A store that waits as long as it takes for another process, and can queue only a little."""
    opened = SqliteStore(path, TickingClock(), limits=Limits(records=50), patience=30)
    await opened.start()
    yield opened
    await opened.close()


# Group commit ---------------------------------------------------------------------------------------------------
async def test_many_writes_take_few_transactions(store: SqliteStore, path: Path) -> None:
    with held_by_another(path):
        writing = [store.write([activity(number)]) for number in range(40)]
    await asyncio.gather(*writing)

    # The clock is read once in a transaction. The first write may have been taken alone.
    assert len({entry.at for entry in await log_of(store)}) <= 2
    await assert_sound(store)


async def test_reading_does_not_wait_for_the_writer(store: SqliteStore, path: Path) -> None:
    await store.write([activity(1)])
    with held_by_another(path):
        writing = store.write([activity(2)])
        assert await ids_of(store) == ["act-000001"]
        assert not writing.done()
    await writing


async def test_a_queue_that_the_disk_cannot_follow_is_full_at_last(store: SqliteStore, path: Path) -> None:
    with held_by_another(path):
        for number in range(50):
            store.write_soon([activity(number)])
        with pytest.raises(StoreUnavailable, match="queue"):
            store.write_soon([activity(50)])
        with pytest.raises(StoreUnavailable, match="queue"):
            await store.write([activity(50)])
    await insist(lambda: store.write([activity(51)]))

    (loss,) = (await store.list_activities(ActivityFilter(types=(ActivityType.SYSTEM,)))).items
    assert loss.body["records"] == 1
    assert len(await ids_of(store)) == 52


# The file -------------------------------------------------------------------------------------------------------
async def test_only_the_owner_can_read_what_is_stored(store: SqliteStore, path: Path) -> None:
    await store.write([activity(1)])
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert modes == {"interlock.db": 0o600, "interlock.db-wal": 0o600, "interlock.db-shm": 0o600}


def test_a_commit_is_synced_and_the_reader_cannot_write(path: Path) -> None:
    prepare(path, TickingClock(), patience=1)
    with closing(connect(path, 1, WRITER_PRAGMAS)) as writer, closing(connect(path, 1, READER_PRAGMAS)) as reader:
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert writer.execute("PRAGMA synchronous").fetchone() == (2,)
        assert writer.execute("PRAGMA fullfsync").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("DELETE FROM token")


def test_a_setting_that_the_database_refuses_is_an_error(path: Path) -> None:
    prepare(path, TickingClock(), patience=1)

    with pytest.raises(sqlite3.OperationalError, match="syntax error"):
        connect(path, 1, ["PRAGMA synchronous = ?!"])


@pytest.mark.parametrize("name", ["with space", "per%20cent", "what?mode=ro#x", "é"])
async def test_a_path_may_have_any_name(tmp_path: Path, name: str) -> None:
    store = SqliteStore(tmp_path / name / f"{name}.db", TickingClock())
    await store.start()
    await store.write([activity(1)])
    await store.close()

    assert [file.name for file in (tmp_path / name).iterdir()] == [f"{name}.db"]


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database " * 1_000)

    with pytest.raises(StoreUnavailable, match=r"interlock\.db: file is not a database"):
        prepare(path, TickingClock(), patience=1)
    assert path.read_bytes() == b"no database " * 1_000


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreUnavailable, match=r"interlock\.db: .*file"):
        prepare(tmp_path / "file" / "interlock.db", TickingClock(), patience=1)


def test_processes_that_start_at_once_share_one_chain(tmp_path: Path) -> None:
    def start(number: int) -> str:
        return prepare(tmp_path / f"{number // 4}" / "interlock.db", TickingClock(), patience=30)

    with ThreadPoolExecutor(4) as four:
        chains = list(four.map(start, range(40)))

    assert len(set(chains)) == 10


def test_a_database_that_somebody_reads_in_the_old_way_is_refused_until_it_is_free(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        migrate(reader, migrations())
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM chain").fetchall()
        with pytest.raises(StoreUnavailable, match="database is locked"):
            prepare(path, TickingClock(), patience=0.01)

    assert prepare(path, TickingClock(), patience=0.01)


async def test_a_store_that_could_not_start_refuses_and_can_be_closed(path: Path) -> None:
    store = SqliteStore(path, TickingClock())
    await store.start()
    await store.close()
    run_elsewhere(path, "PRAGMA user_version = 9")
    newer = SqliteStore(path, TickingClock())

    with pytest.raises(StoreUnavailable, match="install the Interlock that wrote it"):
        await newer.start()
    with pytest.raises(StoreUnavailable, match="not open"):
        await newer.write([activity(1)])
    await newer.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("PRAGMA user_version = 0", "says version 0, and it has the parts of version 6: somebody changed the head"),
        ("PRAGMA user_version = 5", "says version 5, and it has the parts of version 6: somebody changed the head"),
        ("PRAGMA application_id = 1", "names another program, and it has the parts of our version 6"),
        ("DELETE FROM chain", "The row is gone that says which log this is"),
        ("INSERT INTO chain VALUES ('', 0)", "2 rows say which log this is"),
        ("UPDATE chain SET id = 'other'", "The row that says which log this is names another"),
    ],
)
async def test_a_database_that_says_something_else_than_it_has_is_not_started_on(
    path: Path, statement: str, told: str
) -> None:
    store = SqliteStore(path, TickingClock())
    await store.start()
    await store.write([activity(1)])
    await store.close()
    run_elsewhere(path, statement)

    with pytest.raises(StoreUnavailable, match=told):
        await SqliteStore(path, TickingClock()).start()


def test_a_folder_that_may_only_be_read_is_refused_and_checked_and_works_once_it_may_be_written() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        folder = Path(name) / "data"
        folder.mkdir()
        command = [sys.executable, "-m", "tests.store.child_without_rights", str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    first, again, other, deeper, checked, mended = done.stdout.splitlines()
    assert (first, checked, mended) == ("open", "1 records", "open")
    assert "interlock.db: " in again
    assert "Permission denied" in other
    assert "Permission denied" in deeper


# The log only grows ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET text = '{}' WHERE seq = 2",
        "DELETE FROM entry WHERE seq = 3",
        "INSERT OR REPLACE INTO entry SELECT chain, seq, at, kind, subject, '{}', prev, hash FROM entry WHERE seq = 2",
        "INSERT OR REPLACE INTO entry SELECT chain, 4, at, kind, subject, '{}', prev, hash FROM entry WHERE seq = 2",
        "INSERT INTO entry SELECT chain, 5, at, kind, subject, text, hash, prev FROM entry WHERE seq = 3",
    ],
)
async def test_the_log_only_grows(store: SqliteStore, path: Path, statement: str) -> None:
    await store.write([activity(number) for number in range(3)])

    with pytest.raises(sqlite3.IntegrityError, match="the log only grows"):
        run_elsewhere(path, statement)
    await assert_sound(store)


@pytest.mark.parametrize(
    ("tampering", "found"),
    [
        ("UPDATE entry SET text = replace(text, 'github', 'gitlab') WHERE seq = 3", 3),
        ("UPDATE entry SET text = CAST(x'7BFF7D' AS TEXT) WHERE seq = 3", 3),
        ("UPDATE entry SET at = at + 1 WHERE seq = 3", 3),
        ("DELETE FROM entry WHERE seq = 3", 3),
        ("DELETE FROM entry WHERE seq = 1", 1),
    ],
)
async def test_whoever_gets_round_the_triggers_is_found(
    store: SqliteStore, path: Path, tampering: str, found: int
) -> None:
    await store.write([activity(number) for number in range(5)])
    run_elsewhere(path, "DROP TRIGGER entry_stays", "DROP TRIGGER entry_remains", tampering)

    problem = first_break(await log_of(store))
    assert isinstance(problem, Break)
    assert problem.seq == found


# Failures -------------------------------------------------------------------------------------------------------
async def test_a_batch_that_fails_leaves_nothing_and_the_next_one_works(store: SqliteStore, path: Path) -> None:
    await store.write([activity(1)])
    run_elsewhere(path, FORBID)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="forbidden by a test"):
            await store.write([activity(2), activity(3)])
        with pytest.raises(StoreUnavailable, match="forbidden by a test"):
            await store.add_token(token(1), told(1))
    run_elsewhere(path, ALLOW)
    await store.write([activity(4)])

    assert await ids_of(store) == ["act-000004", "act-000001"]
    assert await store.list_tokens() == []
    await assert_sound(store)


async def test_an_error_in_the_middle_of_a_transaction_undoes_it(path: Path) -> None:
    clock = StoppedClock()
    store = SqliteStore(path, clock)
    await store.start()
    clock.stopped = True
    with pytest.raises(StoreUnavailable, match="the clock has stopped"):
        await store.add_token(token(1), told(1))
    clock.stopped = False
    await store.add_token(token(2), told(2))

    assert list(await store.list_tokens()) == [token(2)]
    await assert_sound(store)
    await store.close()


async def test_everyone_in_a_failed_batch_hears_of_it(store: SqliteStore, path: Path) -> None:
    run_elsewhere(path, FORBID)
    told = await asyncio.gather(*(store.write([activity(number)]) for number in range(20)), return_exceptions=True)

    assert {str(each) for each in told} == {"forbidden by a test (SQLITE_CONSTRAINT_TRIGGER)"}


async def test_records_that_nobody_waited_for_are_not_lost_silently(store: SqliteStore, path: Path) -> None:
    run_elsewhere(path, FORBID)
    store.write_soon([activity(1), activity(2)])
    with pytest.raises(StoreUnavailable, match="forbidden"):
        await store.write([])
    with pytest.raises(StoreUnavailable, match="forbidden"):
        store.write_soon([activity(3)])
    run_elsewhere(path, ALLOW)
    await insist(lambda: store.write([activity(4)]))

    (loss,) = (await store.list_activities(ActivityFilter(types=(ActivityType.SYSTEM,)))).items
    assert loss.status is CallState.ERROR
    assert loss.body["event"] == "records_lost"
    assert loss.body["records"] == 3
    assert [entry.subject for entry in await log_of(store)] == [loss.id, "act-000004"]
    await assert_sound(store)


async def test_a_database_that_another_process_keeps_is_refused_and_works_again(path: Path) -> None:
    store = SqliteStore(path, TickingClock(), patience=0.01)
    await store.start()
    with held_by_another(path), pytest.raises(StoreUnavailable, match="database is locked"):
        await store.write([activity(1)])
    await store.write([activity(2)])

    assert await ids_of(store) == ["act-000002"]
    await store.close()


async def test_a_full_disk_refuses_and_keeps_everything_that_was_acknowledged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "WRITER_PRAGMAS", (*WRITER_PRAGMAS, "PRAGMA max_page_count = 100"))
    store = SqliteStore(path, TickingClock())
    await store.start()
    run_elsewhere(path, "CREATE TABLE filler (bytes)", "INSERT INTO filler VALUES (zeroblob(200000))")
    acknowledged, said = await _write_until_refused(store)
    assert "database or disk is full" in said
    assert 0 < acknowledged == len(await ids_of(store))
    with pytest.raises(StoreUnavailable, match="full"):
        await store.write([activity(acknowledged, text="x" * 10_000)])

    run_elsewhere(path, "DROP TABLE filler")
    await store.write([activity(acknowledged, text="x" * 10_000)])
    assert len(await ids_of(store)) == acknowledged + 1
    await assert_sound(store)
    await store.close()


async def _write_until_refused(store: SqliteStore) -> tuple[int, str]:
    for number in itertools.count():
        try:
            await store.write([activity(number, text="x" * 1_000)])
        except StoreUnavailable as refusal:
            return number, str(refusal)
    raise AssertionError


async def test_a_database_that_has_gone_is_not_made_anew(store: SqliteStore, path: Path) -> None:
    os.unlink(path)

    with pytest.raises(StoreUnavailable, match="was removed or replaced"):
        await store.write([activity(1)])
    with pytest.raises(StoreUnavailable, match="was removed or replaced"):
        await store.list_activities(ActivityFilter())
    assert list(path.parent.iterdir()) == []


async def test_nothing_is_written_to_a_database_that_was_taken_away_until_it_is_back(
    store: SqliteStore, path: Path
) -> None:
    await store.write([activity(1)])
    os.rename(path, path.with_name("elsewhere"))
    with pytest.raises(StoreUnavailable, match="was removed or replaced"):
        await store.write([activity(2)])
    os.rename(path.with_name("elsewhere"), path)
    await store.write([activity(3)])

    assert [each.id for each in (await store.list_activities(ActivityFilter())).items] == [
        activity(3).id,
        activity(1).id,
    ]


async def test_nothing_is_written_to_a_database_that_took_the_place_of_ours(store: SqliteStore, path: Path) -> None:
    await store.write([activity(1)])
    other = path.with_name("other")
    prepare(other, TickingClock(), PATIENCE)
    os.rename(other, path)

    with pytest.raises(StoreUnavailable, match="was removed or replaced"):
        await store.write([activity(2)])


async def test_what_is_written_ahead_is_not_written_into_nothing(path: Path) -> None:
    store = SqliteStore(path, TickingClock())
    await store.start()
    await store.write([activity(1)])
    await store.write([activity(2)])
    os.unlink(path.with_name(f"{path.name}-wal"))
    with pytest.raises(StoreUnavailable, match="-wal was removed"):
        await store.write([activity(3)])
    await store.close()

    assert look(path, 10).entries == 2


async def test_a_trigger_that_leaves_records_out_is_told_and_nothing_is_written(store: SqliteStore, path: Path) -> None:
    await store.write([activity(1)])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TRIGGER sqlitex BEFORE INSERT ON activity BEGIN SELECT RAISE(IGNORE); END")

    with pytest.raises(StoreUnavailable, match="Of 1 rows 0 were taken"):
        await store.write([activity(2)])
    assert len(await store.log_entries(0, 10)) == 1


async def test_a_store_that_was_never_started_can_be_closed(path: Path) -> None:
    store = SqliteStore(path, TickingClock())
    with pytest.raises(StoreUnavailable, match="not open"):
        await store.write([activity(1)])
    await store.close()

    assert list(path.parent.parent.iterdir()) == []


async def test_closing_tells_of_records_that_were_lost(path: Path) -> None:
    store = SqliteStore(path, TickingClock())
    await store.start()
    run_elsewhere(path, FORBID)
    store.write_soon([activity(1)])

    with pytest.raises(StoreUnavailable, match="forbidden"):
        await store.close()


# Crashes --------------------------------------------------------------------------------------------------------
def test_whatever_was_acknowledged_survives_a_kill_at_any_moment(path: Path) -> None:
    chosen = random.Random(11)
    acknowledged: set[str] = set()
    for life in range(KILLS):
        acknowledged |= write_and_be_killed(str(path), f"life-{life}", after=chosen.randrange(1, 120))
        asyncio.run(_check(path, acknowledged))


async def _check(path: Path, acknowledged: set[str]) -> None:
    store = SqliteStore(path, TickingClock())
    await store.start()
    found = set(await ids_of(store))
    await assert_sound(store)
    unfinished = {each.id for each in await store.open_activities()}
    await store.close()
    assert acknowledged <= found
    assert not acknowledged & unfinished


async def test_no_more_is_counted_than_anybody_should_wait_for(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.write([activity(number) for number in range(5)])
    monkeypatch.setattr("interlock.store.sql.MAX_COUNTED", 3)
    counted = await store.activity_stats(ActivityFilter(), 1)

    assert not counted.complete
    assert max(each.at for each in counted.counts) == NOW + 4


class _Racing(SqliteStore):
    """A store to which something is written just after somebody has read that there is nothing."""

    async def log_entries(self, after: int, limit: int) -> Sequence[LogEntry]:
        found = await super().log_entries(after, limit)
        if not found:
            await self.write([activity(1)])
        return found


async def test_an_entry_that_is_written_while_somebody_looks_is_not_waited_for_in_vain(path: Path) -> None:
    store = _Racing(path, TickingClock())
    await store.start()
    try:
        async with asyncio.timeout(20):
            assert [each.seq for each in await store.next_entries(0, 5)] == [1]
    finally:
        await store.close()


# Giving up ------------------------------------------------------------------------------------------------------
async def test_whoever_gives_up_starting_leaves_nobody_at_work_in_the_folder(path: Path) -> None:
    loop, given_up, before = asyncio.get_running_loop(), threading.Event(), set(threading.enumerate())

    class Meanwhile(StoppedClock):
        """Asked for the time while the database is made, it has the start given up."""

        def now(self) -> int:
            loop.call_soon_threadsafe(lambda: (starting.cancel(), given_up.set()))
            given_up.wait(10)
            return super().now()

    starting = asyncio.ensure_future(SqliteStore(path, Meanwhile()).start())
    with pytest.raises(asyncio.CancelledError):
        await starting

    begun = set(threading.enumerate()) - before
    assert [each.name for each in begun if each.name.startswith("interlock-store-reader")] == []
