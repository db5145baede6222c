"""A whole gateway whose record is in PostgreSQL: the second key, a database that goes away, and what is left."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.core.lifecycle import ApprovalState, CallState
from interlock.store.chain import first_break
from tests.approving import DELETE, Counter, counter, said, text_of, wanted
from tests.postgres_server import PostgresServer
from tests.store.wire import Wire


@pytest.fixture
async def database(postgres: PostgresServer) -> AsyncIterator[str]:
    """The name of a database with nothing in it."""
    name = await postgres.new_database("template1")
    yield name
    await postgres.drop(name)


async def approved(held: Counter, name: str) -> str:
    """What the tool said to a call that waited and was approved."""
    async with held.client() as client, asyncio.TaskGroup() as group:
        calling = group.create_task(client.call_tool(DELETE, wanted(name)))
        waiting = await held.one()
        await held.approve(waiting.id)
        result = await calling
    assert (await held.approval(waiting.id)).status is ApprovalState.APPROVED
    return text_of(result)


async def test_a_call_waits_in_the_database_for_its_second_key_and_runs_once(
    tmp_path: Path, postgres: PostgresServer, database: str
) -> None:
    async with counter(tmp_path, f"store: {postgres.address(database)}") as held:
        told = await approved(held, "a")
        log = await held.running.gateway.store.log_entries(0, 1_000)

    assert (told, held.sends()) == ("No such note.", 1)
    assert first_break(log) is None


async def test_while_the_database_is_gone_nothing_is_sent_and_afterwards_all_is_as_before(
    tmp_path: Path, postgres: PostgresServer, database: str
) -> None:
    async with (
        Wire(tmp_path / "w", postgres.folder) as wire,
        counter(tmp_path, f"store: {wire.address(database)}") as held,
        held.client() as client,
    ):
        wire.cut()
        refused = said(await client.call_tool(DELETE, wanted("a")))
        sent_meanwhile = held.sends()
        await wire.mend()
        async with asyncio.timeout(20):
            told = await approved(held, "b")
        store = held.running.gateway.store
        log, left = await store.log_entries(0, 1_000), await store.open_activities()

    assert (refused["code"], sent_meanwhile) == ("AUDIT_UNAVAILABLE", 0)
    assert (told, held.sends()) == ("No such note.", 1)
    assert first_break(log) is None
    assert [each for each in left if each.status is CallState.SENT] == []
