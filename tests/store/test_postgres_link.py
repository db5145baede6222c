"""Connections: how they are set up, and how many there are."""

import asyncio
import socket
from pathlib import Path

import pytest

from interlock.store.postgres_link import Address, Lines, Patience, turn_of
from interlock.store.protocol import StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.places import InDatabase
from tests.store.wire import Wire


def address_of(database: InDatabase) -> Address:
    return Address(database.address, Patience())


async def test_a_connection_sees_our_schema_waits_for_the_disk_and_never_for_long(database: InDatabase) -> None:
    await database.tell(f"ALTER DATABASE {database.name} SET synchronous_commit = off")
    connection = await address_of(database).connect()
    names = "search_path synchronous_commit transaction_isolation lock_timeout idle_in_transaction_session_timeout"
    found = {each: await connection.fetchval(f"SHOW {each}") for each in names.split()}
    await connection.close()

    assert found == {
        "search_path": "interlock, pg_temp",
        "synchronous_commit": "on",
        "transaction_isolation": "read committed",
        "lock_timeout": "3s",
        "idle_in_transaction_session_timeout": "2s",
    }


async def test_what_is_more_durable_than_we_ask_for_stays_so(database: InDatabase) -> None:
    await database.tell(f"ALTER DATABASE {database.name} SET synchronous_commit = remote_apply")
    connection = await address_of(database).connect()
    found = await connection.fetchval("SHOW synchronous_commit")
    await connection.close()

    assert found == "remote_apply"


async def test_no_more_connections_are_opened_than_are_allowed_and_they_are_used_again(database: InDatabase) -> None:
    lines = Lines(address_of(database), 2)

    async def read() -> int:
        async with lines.use() as connection:
            return connection.get_server_pid()

    used = await asyncio.gather(*(read() for _ in range(20)))
    await lines.close()

    assert len(set(used)) <= 2


async def test_a_connection_in_use_is_let_go_of_after_the_end(database: InDatabase) -> None:
    lines = Lines(address_of(database), 2)
    async with lines.use() as connection:
        await lines.close()

    assert connection.is_closed()


async def test_a_failed_statement_costs_the_connection_and_nothing_more(database: InDatabase) -> None:
    lines = Lines(address_of(database), 1)
    async with lines.use() as first:
        pass
    with pytest.raises(StoreUnavailable, match=r"division by zero \(22012\)"):
        async with lines.use() as failing:
            await failing.fetchval("SELECT 1 / 0")
    async with lines.use() as another:
        found = await another.fetchval("SELECT 1")
    await lines.close()

    assert first.is_closed()
    assert found == 1


async def test_an_address_at_which_nobody_ever_answers_is_given_up(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / ".s.PGSQL.5432"))
        silent.listen()
        lines = Lines(Address(f"postgresql:///db?host={tmp_path}", Patience(connect=0.1)), 1)
        async with asyncio.timeout(20):
            with pytest.raises(StoreUnavailable, match="did not answer in time"):
                async with lines.use():
                    pass


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("db/x?sslmode=banana", "an sslmode that there is not: write one of disable, "),
        ("db/x?sslmode=verify-full", "There is no root certificate .* add sslrootcert=FILE"),
        ("db/x?sslmode=verify-ca", "There is no root certificate .* add sslrootcert=FILE"),
        ("db:port/x", "The address cannot be read: write postgresql://USER:PASSWORD@HOST"),
    ],
)
async def test_what_is_wrong_with_an_address_is_said_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, says: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # where the client looks for certificates
    monkeypatch.delenv("PGSSLROOTCERT", raising=False)
    with pytest.raises(StoreUnavailable, match=says) as refused:
        await Address(f"postgresql://u:hunter2@{address}", Patience()).connect()

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("sslmode=verify-full&sslrootcert=/not/there", "The file /not/there, which sslrootcert names,"),
        ("sslmode=require&sslcert=/not/there", "The file /not/there, which sslcert names,"),
        ("sslmode=require&sslrootcert=/not/the@re", "The file that sslrootcert names"),
    ],
)
async def test_a_file_that_an_address_names_and_nobody_can_read_is_named(query: str, says: str) -> None:
    with pytest.raises(StoreUnavailable, match=f"{says} cannot be read: No such file or directory") as refused:
        await Address(f"postgresql://u:hunter2@127.0.0.1:1/db?{query}", Patience()).connect()

    assert "Check sslrootcert, sslcert and sslkey of the address" in str(refused.value)
    assert not any(secret in str(refused.value) for secret in ("hunter2", "@"))


@pytest.mark.parametrize("mode", ["disable", "prefer"])
async def test_a_file_that_nobody_reads_is_not_blamed_for_a_server_that_is_not_there(mode: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await Address(f"postgresql:///db?host={tmp_path}&sslmode={mode}&sslrootcert=/not/there", Patience()).connect()


async def test_a_connection_that_is_lost_is_told_in_plain_words(
    database: InDatabase, postgres: PostgresServer, tmp_path: Path
) -> None:
    async with Wire(tmp_path / "w", postgres.folder) as wire:
        lines = Lines(Address(wire.address(database.name), Patience()), 1)

        async def lost_in_a_statement() -> None:
            async with lines.use() as connection:
                asyncio.get_running_loop().call_soon(wire.cut)
                await connection.execute("SELECT pg_sleep(60)")

        with pytest.raises(StoreUnavailable) as between:
            async with lines.use() as connection, connection.transaction():
                connection.terminate()
        with pytest.raises(StoreUnavailable) as during:
            await lost_in_a_statement()
        await lines.close()

    assert str(between.value) == "The connection to the database was lost (InterfaceError)"
    assert str(during.value) == "The connection to the database was lost (08003)"


def test_turns_have_numbers_that_the_database_can_hold_and_each_its_own() -> None:
    numbers = {turn_of(f"chain {each}") for each in range(1000)}

    assert len(numbers) == 1000
    assert all(-(2**63) <= each < 2**63 for each in numbers)
