"""One moment of a database, read while others write to it."""

import threading
from contextlib import closing

import pytest

from interlock.store.postgres_snapshot import PAGE, Snapshot, snapshot_of
from interlock.store.protocol import StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.places import InDatabase

COUNT = "SELECT count(*) FROM baseline"


async def test_what_others_write_meanwhile_is_not_seen(database: InDatabase) -> None:
    with snapshot_of(database.address) as seen:
        assert seen.value(COUNT) == 0
        await database.tell("INSERT INTO baseline VALUES ('a', 1)")
        assert seen.value(COUNT) == 0
    with snapshot_of(database.address) as seen:
        assert seen.value(COUNT) == 1


async def test_it_can_only_be_read(database: InDatabase) -> None:
    with snapshot_of(database.address) as seen, pytest.raises(StoreUnavailable, match="read-only transaction"):
        seen.rows("DELETE FROM baseline")


async def test_pages_hold_all_there_is_and_other_statements_may_run_between_them(database: InDatabase) -> None:
    with snapshot_of(database.address) as seen:
        pages = seen.pages("SELECT each FROM generate_series(1, $1) AS each", 2 * PAGE + 1)
        found = [next(pages)]
        assert seen.value(COUNT) == 0
        found += pages

    assert found == [(each,) for each in range(1, 2 * PAGE + 2)]


async def test_a_null_character_comes_back_as_it_was(database: InDatabase) -> None:
    await database.tell("INSERT INTO baseline VALUES ('a' || chr(26) || '0', 1)")
    with snapshot_of(database.address) as seen:
        assert seen.rows("SELECT server FROM baseline") == [("a\0",)]


def test_a_password_is_not_in_what_is_said(postgres: PostgresServer) -> None:
    for each in (f"postgresql://u:hunter2@/nowhere?host={postgres.folder}", "postgresql://u:hunter2@h:port/db"):
        with pytest.raises(StoreUnavailable) as refused, snapshot_of(each):
            pass
        assert "hunter2" not in str(refused.value)


async def test_letting_go_does_not_wait_for_a_statement_that_runs(database: InDatabase) -> None:
    seen = Snapshot(database.address)
    seen.open()
    said: list[Exception] = []

    def wait_long() -> None:
        try:
            seen.rows("SELECT pg_sleep(600)")
        except StoreUnavailable as ended:
            said.append(ended)

    waiting = threading.Thread(target=wait_long)
    waiting.start()
    with closing(Snapshot(database.address)) as other:
        other.open()
        running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)%'"
        while not other.value(running):
            other.rows("ROLLBACK")
    seen.close()
    waiting.join(20)

    assert not waiting.is_alive()
    assert len(said) == 1
