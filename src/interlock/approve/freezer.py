"""The emergency stop: kept in the store, known without asking it, lifted by an admin only.

A stop counts before it is answered, and it outlives a restart. One that the store could not take stands here alone,
and is given to it again until it can, so that other gateways hear of it. Nothing here calls back what has left already.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial

from interlock.approve.lease import Lease
from interlock.clock import Clock
from interlock.core.freezes import Freeze, FreezeKind, Frozen, frozen_for
from interlock.core.lifecycle import CallState
from interlock.core.model import Call, Json
from interlock.core.redact import redact_text
from interlock.store.approvals import Approvals
from interlock.store.protocol import Activity, ActivityType, StoreUnavailable, new_id

AGAIN_SECONDS = 1.0
"""How long to wait before a store that could not take a stop is asked again."""


class Freezer:
    """All stops that are in force."""

    def __init__(self, store: Approvals, clock: Clock, lease: Lease | None = None) -> None:
        """With a lease, nothing passes that this gateway cannot know to be let."""
        self._store = store
        self._clock = clock
        self._lease = lease
        self.in_force: Mapping[Frozen, Freeze] = {}
        self._unkept: dict[Frozen, Freeze] = {}
        """Stops that the store does not have, or not yet: they stand, whatever it says."""
        self._changing = asyncio.Lock()
        self._left = asyncio.Event()
        """Set while there may be a stop that the store could not take."""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """See while the block runs that every stop is kept as soon as it can be."""
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self._keep_trying())
            try:
                yield
            finally:
                keeping.cancel()

    async def _keep_trying(self) -> None:
        while True:
            await self._left.wait()
            with contextlib.suppress(StoreUnavailable):
                await self.keep()
                continue
            await asyncio.sleep(AGAIN_SECONDS)

    async def keep(self) -> None:
        """Give the store what it could not take; raises StoreUnavailable when it still cannot."""
        async with self._changing:
            for what, freeze in list(self._unkept.items()):
                await self._store.put_freeze(what, freeze, self._told("frozen", freeze, freeze.by))
                if self._unkept.get(what) is freeze:
                    del self._unkept[what]
            self._left.clear()

    async def load(self) -> None:
        async with self._changing:
            await self._read()

    async def _read(self) -> None:
        self.in_force = {**await self._store.freezes(), **self._unkept}

    def of(self, call: Call, run: str | None = None) -> str | None:
        """What of a call is stopped; None when nothing is. Raises OutOfTouch when that is not known, or when the run
        in which the call was decided about has ended."""
        if self._lease is not None:
            self._lease.check(run)
        return frozen_for(call, self.in_force) if self.in_force else None

    def still(self, call: Call) -> Callable[[], str | None]:
        """Tells of a call that is let pass now whether it may still, when its turn comes."""
        return partial(self.of, call, None if self._lease is None else self._lease.run)

    async def freeze(self, what: Frozen, by: str, reason: str) -> Freeze:
        """Stop something. It counts from now on, and is kept before this returns."""
        now = self._clock.now()
        freeze = Freeze(what, now, by, redact_text(reason))
        # INVARIANT: a stop counts at once, even while the store is slow. One that cannot be kept stands
        # here, and whoever ordered it hears that: to take it back would be the worse surprise.
        self.in_force = {**self.in_force, what: freeze}
        self._unkept[what] = freeze
        async with self._changing:
            try:
                await self._store.put_freeze(what, freeze, self._told("frozen", freeze, by))
            except StoreUnavailable:
                self._left.set()
                raise
            if self._unkept.get(what) is freeze:
                del self._unkept[what]
        return freeze

    async def thaw(self, what: Frozen, by: str) -> bool:
        """Let something go on; False when it was not stopped."""
        async with self._changing:
            if what not in self.in_force and self._lease is not None:
                await self._read()  # another gateway may have stopped it in this moment
            freeze = self.in_force.get(what)
            if freeze is None:
                return False
            await self._store.put_freeze(what, None, self._told("thawed", freeze, by))
            # The same may have been stopped anew meanwhile, and that stands.
            self.in_force = {each: kept for each, kept in self.in_force.items() if kept is not freeze}
            if self._unkept.get(what) is freeze:
                del self._unkept[what]
        return True

    def _told(self, change: str, freeze: Freeze, by: str) -> Activity:
        now = self._clock.now()
        body: dict[str, Json] = {"change": change, "what": freeze.what.shown, "reason": freeze.reason, "by": by}
        server = freeze.what.name if freeze.what.kind is FreezeKind.SERVER else None
        status = CallState.SUCCESS
        return Activity(new_id(now), now, ActivityType.SYSTEM, status, body, server=server, caller=by)
