"""The emergency stop: it counts at once, outlives a restart, and is on record."""

import asyncio
from pathlib import Path

import pytest

from interlock.approve.freezer import Freezer
from interlock.approve.lease import Lease
from interlock.core.freezes import FreezeKind, Frozen
from interlock.store.protocol import ActivityType, StoreUnavailable
from tests.approve.rooms import Waiting, call
from tests.stores import allow, forbid

ALL, UP = Frozen(FreezeKind.ALL), Frozen(FreezeKind.SERVER, "up")


async def test_a_stop_counts_is_kept_and_is_lifted(room: Waiting) -> None:
    freezer = room.room.freezer
    await freezer.freeze(UP, "olga", "incident")
    after = Freezer(room.store.approvals, room.clock)
    await after.load()

    assert freezer.of(call()) == after.of(call()) == "server 'up' (incident)"
    assert await freezer.thaw(UP, "olga")
    assert not await freezer.thaw(UP, "olga")
    assert freezer.of(call()) is None
    await after.load()
    assert after.of(call()) is None


async def test_a_stop_that_another_gateway_has_just_ordered_is_lifted_too(room: Waiting) -> None:
    other = Freezer(room.store.approvals, room.clock, Lease("run", room.clock))
    await room.room.freezer.freeze(UP, "olga", "incident")

    assert await other.thaw(UP, "olga")
    assert not await other.thaw(UP, "olga")


async def test_one_of_two_stops_is_lifted_by_itself(room: Waiting) -> None:
    freezer = room.room.freezer
    await freezer.freeze(ALL, "olga", "")
    await freezer.freeze(UP, "olga", "")
    await freezer.thaw(ALL, "olga")

    assert freezer.of(call()) == "server 'up'"


async def test_who_stopped_what_and_why_is_on_record_without_secrets(room: Waiting) -> None:
    await room.room.freezer.freeze(UP, "olga", "leaked ghp_0123456789abcdefghijABCDEFGHIJ012345")
    room.clock.forward(1)
    await room.room.freezer.thaw(UP, "paul")
    stopped, lifted = await room.activities(ActivityType.SYSTEM)

    assert (stopped.caller, stopped.server, stopped.body["change"]) == ("olga", "up", "frozen")
    assert "ghp_" not in str(stopped.body)
    assert (lifted.caller, lifted.body["change"], lifted.body["what"]) == ("paul", "thawed", "server 'up'")


async def test_a_stop_that_could_not_be_kept_is_kept_as_soon_as_it_can_be(
    room: Waiting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.approve.freezer.AGAIN_SECONDS", 0)
    freezer, after = room.room.freezer, Freezer(room.store.approvals, room.clock)
    forbid(tmp_path)
    async with freezer.running():
        with pytest.raises(StoreUnavailable):
            await freezer.freeze(UP, "olga", "incident")
        allow(tmp_path)
        async with asyncio.timeout(20):
            while not after.in_force:
                await after.load()
    (stopped,) = [each for each in await room.activities(ActivityType.SYSTEM) if "change" in each.body]

    assert freezer.of(call()) == after.of(call()) == "server 'up' (incident)"
    assert (stopped.caller, stopped.body["change"]) == ("olga", "frozen")


async def test_a_stop_that_cannot_be_kept_stands_and_one_that_cannot_be_lifted_too(room: Waiting) -> None:
    freezer = room.room.freezer
    await freezer.freeze(UP, "olga", "")
    await room.store.close()
    with pytest.raises(StoreUnavailable):
        await freezer.freeze(ALL, "olga", "")
    with pytest.raises(StoreUnavailable):
        await freezer.thaw(UP, "olga")

    assert freezer.of(call()) == "everything"
    assert set(freezer.in_force) == {ALL, UP}


async def test_a_stop_that_is_ordered_while_the_one_before_is_lifted_stands(room: Waiting) -> None:
    freezer = room.room.freezer
    await freezer.freeze(UP, "olga", "first")
    lifting = asyncio.ensure_future(freezer.thaw(UP, "paul"))
    await asyncio.sleep(0)
    await freezer.freeze(UP, "olga", "second")
    await lifting
    after = Freezer(room.store.approvals, room.clock)
    await after.load()

    assert freezer.of(call()) == after.of(call()) == "server 'up' (second)"
