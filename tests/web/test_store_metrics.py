"""The figures of the record for Prometheus."""

import asyncio
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from interlock.approve.lease import Lease
from interlock.clock import SystemClock
from interlock.store.shared import IN_TOUCH
from interlock.web.readiness import is_ready
from interlock.web.store_metrics import StoreMetrics
from tests.postgres_server import running_server
from tests.running import Running, serving, started
from tests.stores import allow, forbid
from tests.talking import NO_TLS

SOON = 20.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def figures(running: Running) -> dict[str, float]:
    """What somebody who collects them reads of the record."""
    families = text_string_to_metric_families(running.gateway.parts.metrics.text()[0].decode())
    wanted = ("interlock_store_failing", "interlock_unrecorded", "interlock_seal_failing", "interlock_log_disagrees")
    return {each.name: each.value for family in families if family.name in wanted for each in family.samples}


WELL = {
    "interlock_store_failing": 0,
    "interlock_unrecorded_total": 0,
    "interlock_seal_failing": 0,
    "interlock_log_disagrees": 0,
}


async def test_a_record_that_cannot_be_written_is_told_until_it_can(tmp_path: Path) -> None:
    async with serving(tmp_path, "posture: open\n") as running, httpx2.AsyncClient(verify=NO_TLS) as http:

        async def write() -> int:
            url = f"http://{running.host}/api/v1/tools/sample/write_note/call"
            headers = {"authorization": f"Bearer {running.folder.credential()}"}
            arguments = {"name": "x", "text": "y"}
            return (await http.post(url, json={"arguments": arguments}, headers=headers)).status_code

        before = figures(running)
        forbid(running.folder.path)
        refused, during = await write(), figures(running)
        allow(running.folder.path)
        passed, after = await write(), figures(running)

    assert (before, refused, passed) == (WELL, 503, 200)
    assert (during["interlock_store_failing"], during["interlock_unrecorded_total"]) == (1, 1)
    assert (after["interlock_store_failing"], after["interlock_unrecorded_total"]) == (0, 1)


async def until_ready_is(wanted: bool, running: Running) -> None:
    """Wait until a gateway that looks at its database by itself has found it gone, or there again."""
    async with asyncio.timeout(SOON):
        while is_ready(running.gateway.parts) is not wanted:  # noqa: ASYNC110 - time alone ends a lease
            await asyncio.sleep(0.02)


async def test_a_database_that_is_gone_is_told(tmp_path: Path) -> None:
    with running_server() as database:
        name = await database.new_database()
        async with serving(tmp_path, f"store: {database.address(name)}") as running:
            before, peers = figures(running), running.gateway.parts.room.peers
            assert peers is not None
            peers.lease.looked(running.gateway.store.clock.ticks() - IN_TOUCH)
            unseen, ailing = figures(running)["interlock_store_failing"], running.gateway.store.ailing
            await asyncio.to_thread(database.stop)
            await until_ready_is(False, running)
            during = figures(running)
            await asyncio.to_thread(database.start)
            await until_ready_is(True, running)

    assert (before, unseen, ailing) == (WELL, 1, False)
    assert during["interlock_store_failing"] == 1


async def test_a_store_that_was_not_looked_at_fails_although_no_write_of_it_did(tmp_path: Path) -> None:
    async with started(tmp_path) as gateway:
        clock, store = SystemClock(), gateway.store
        lease = Lease("run", clock)
        told = StoreMetrics(store, lambda: None, lease)
        unseen, ailing = next(told.collect()).samples[0].value, store.ailing
        lease.looked(clock.ticks())
        seen = next(told.collect()).samples[0].value

    assert (unseen, ailing, seen) == (1, False, 0)


async def test_seals_that_fail_and_a_log_that_was_changed_are_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        sealer = running.gateway.parts.sealer
        assert sealer is not None
        sealer.problem, sealer.disagreement = "the disk is full", "record 7 is gone"
        told = figures(running)

    assert told == WELL | {"interlock_seal_failing": 1, "interlock_log_disagrees": 1}
