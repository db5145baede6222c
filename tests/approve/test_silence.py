"""Who is taken for dead by others, and who is not: silence counts only where it could be heard."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from interlock.approve.desk import Approved
from interlock.core.lifecycle import ApprovalState
from interlock.store.protocol import StoreUnavailable
from interlock.store.shared import BEAT, LEASE, Twin
from tests.approve.joined import Company, Joined, waits
from tests.approve.rooms import BOB, caught
from tests.postgres_server import PostgresServer
from tests.store.wire import Wire


async def beats(living: Joined) -> None:
    """Beat as one that lives, whatever the clock of the test says."""
    while True:
        await living.store.shared.look(living.lease.run, beat=True)


async def test_after_a_time_in_which_nobody_could_look_nobody_is_dead_until_it_is_silent_once_more(
    company: Company, two: tuple[Joined, Joined]
) -> None:
    one, other = two
    async with asyncio.TaskGroup() as group:
        waiting = await waits(group, other)
        await other.looks()
        await one.looks()
        await company.forward(LEASE)  # the database was away
        for _ in range(LEASE // BEAT):  # the other one needs a while to notice that it is back
            await one.looks()
            await company.forward(BEAT)
        await other.looks()
        (asked,) = await one.open()
        await one.room.approvers.approve(asked.id, BOB)
        await other.looks()
        answer = await waiting

    assert isinstance(answer, Approved)


async def test_a_look_that_failed_is_no_time_in_which_others_were_silent(
    tmp_path: Path, postgres: PostgresServer, company: Company
) -> None:
    async with (
        Wire(tmp_path / "w", postgres.folder) as wire,
        company.gateway(address=wire.address(company.database.name)) as one,
        company.gateway() as other,
    ):
        for _ in range(LEASE // BEAT):
            await one.looks()
            await company.forward(BEAT)
        wire.cut()
        await caught(one.looks(), StoreUnavailable)
        await wire.mend()
        await one.looks()
        after = await other.store.shared.look(other.lease.run, beat=False)

    assert after.ours


async def test_who_died_while_nobody_could_look_is_settled_a_lease_after_the_database_is_back(
    company: Company,
) -> None:
    async with company.gateway() as one, AsyncExitStack() as life, asyncio.TaskGroup() as group:
        dead = await life.enter_async_context(company.gateway())
        waiting = await waits(group, dead)
        await one.looks()
        await life.aclose()
        await company.forward(2 * LEASE)
        for _ in range(LEASE // BEAT):
            await one.looks()
            await company.forward(BEAT)
        before = await one.rows()
        await one.looks()
        after = await one.rows()
        waiting.cancel()

    assert [each.status for each in before] == [ApprovalState.PENDING]
    assert [(each.status, each.resolution) for each in after] == [(ApprovalState.CANCELLED, "gateway restarted")]


async def test_a_gateway_whose_log_a_copy_goes_on_with_ends_and_does_not_take_it_back(company: Company) -> None:
    async with company.gateway("chain-a") as one, company.gateway("chain-a") as copy, asyncio.timeout(20):
        async with asyncio.TaskGroup() as group:
            beating = group.create_task(beats(copy))
            with pytest.raises(ExceptionGroup) as ended:
                async with one.follow.running():
                    await asyncio.Event().wait()
            beating.cancel()
        seen = await copy.store.shared.look(copy.lease.run, beat=False)

    assert [type(each) for each in ended.value.exceptions] == [Twin]
    assert (seen.ours, seen.others) == (True, [])


async def test_a_gateway_whose_copy_is_dead_goes_on_as_a_new_run(company: Company) -> None:
    async with company.gateway("chain-a") as one:
        async with company.gateway("chain-a"):
            before = one.lease.run
        await one.looks()
        seen = await one.store.shared.look(one.lease.run, beat=False)

    assert one.lease.run != before
    assert (seen.ours, seen.others) == (True, [])


@pytest.mark.parametrize(
    ("count", "says"),
    [(1, "1 of the other gateways is silent; what"), (2, "2 of the other gateways are silent; what")],
)
async def test_how_many_are_silent_is_said_in_plain_words(
    company: Company, caplog: pytest.LogCaptureFixture, count: int, says: str
) -> None:
    async with company.gateway() as one:
        async with AsyncExitStack() as life:
            for _ in range(count):
                dead = await life.enter_async_context(company.gateway())
                await dead.looks()
        await one.looks()
        for _ in range(LEASE // BEAT):
            await company.forward(BEAT)
            await one.looks()

    assert [each for each in caplog.messages if each.startswith(says)]


async def test_why_the_database_cannot_be_looked_at_is_a_sentence_of_its_own(
    tmp_path: Path, postgres: PostgresServer, company: Company, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        Wire(tmp_path / "w", postgres.folder) as wire,
        company.gateway(address=wire.address(company.database.name)) as one,
        one.follow.running(),
        asyncio.timeout(20),
    ):
        wire.cut()
        while not caplog.messages:  # noqa: ASYNC110 - it is said in its own time
            await asyncio.sleep(0.01)

    assert caplog.messages[0].startswith("The database cannot be looked at: ")
    assert caplog.messages[0].endswith("). Calls are refused until it can.")
