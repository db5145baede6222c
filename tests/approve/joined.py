"""Waiting rooms of several gateways on one database, in one process: each has its own store, clock and memory."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from itertools import count

from interlock.approve.board import Board
from interlock.approve.desk import Approved
from interlock.approve.follow import Follow, new_run
from interlock.approve.lease import Lease
from interlock.approve.register import Register
from interlock.approve.room import Room, room_in
from interlock.core.approvals import Approval
from interlock.core.lifecycle import ApprovalState
from interlock.core.redact import KnownSecrets
from interlock.kept import Unapproved
from interlock.store.approvals import ApprovalFilter
from interlock.store.postgres import PostgresStore
from tests.approve.rooms import NOW, call, held, until
from tests.fakes import FakeClock
from tests.store.places import InDatabase

_NUMBERS = count()


class SteppingClock(FakeClock):
    """A clock that goes on by one step whenever it is read, so that what came first has the earlier time."""

    def ticks(self) -> int:
        self.forward(1)
        return super().ticks()


@dataclass
class Joined:
    """One of the gateways."""

    store: PostgresStore
    room: Room
    follow: Follow
    lease: Lease
    told: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def register(self) -> Register:
        return self.room.register

    @property
    def board(self) -> Board:
        return self.register.board

    async def looks(self) -> None:
        await self.follow.look()

    async def asked(self, number: int = 1) -> list[Approval]:
        """All approvals of the database, oldest first, once there are so many."""
        async with asyncio.timeout(20):
            while len(rows := await self.rows()) < number:  # noqa: ASYNC110 - a thread writes them
                await asyncio.sleep(0)
        return rows

    async def open(self) -> list[Approval]:
        """Those that wait."""
        return [each for each in await self.rows() if each.status is ApprovalState.PENDING]

    async def rows(self) -> list[Approval]:
        page = await self.store.approvals.list_approvals(ApprovalFilter(limit=500))
        return list(reversed(page.items))


@dataclass
class Company:
    """All gateways of a database. Time passes for all of them at once, and for the database."""

    database: InDatabase
    clock: FakeClock = field(default_factory=lambda: SteppingClock(NOW))

    async def forward(self, micros: int) -> None:
        self.clock.forward(micros)
        await self.database.turn_clock(self.clock.now())

    @contextlib.asynccontextmanager
    async def gateway(self, chain: str | None = None, address: str | None = None) -> AsyncGenerator[Joined]:
        """One more of them, while the block runs. At its end it is gone without a word, as after a crash."""
        store = PostgresStore(address or self.database.address, chain or f"chain-{next(_NUMBERS)}", self.clock)
        await store.start()
        try:
            clock = store.clock
            lease = Lease(new_run(clock), clock)
            follow = Follow(store.shared, lease, clock)
            await follow.begin()
            room = room_in(store, clock, KnownSecrets, lease)
            follow.keep(room.kept_in_step(), {}, room.settle)
            await room.load()
            made = Joined(store, room, follow, lease)
            room.register.on_change.append(lambda approval, change: made.told.append((approval.id, change)))
            yield made
        finally:
            await store.close()


async def waits(group: asyncio.TaskGroup, at: Joined, number: int = 1) -> "asyncio.Task[Approved | Unapproved]":
    """A call that waits at a gateway, and is on record."""
    before = len(await at.rows())
    waiting = group.create_task(at.room.desk.hold(held(call(number))))
    await at.asked(before + 1)
    await until(lambda: all(each.kept for each in at.board))
    return waiting
