"""The emergency stop: kept in the store, known without asking it, lifted by an admin only.

A stop counts before it is answered, and it outlives a restart. Nothing here calls back what has left already.
"""

from collections.abc import Mapping

from interlock.clock import Clock
from interlock.core.freezes import Freeze, FreezeKind, Frozen, frozen_for
from interlock.core.lifecycle import CallState
from interlock.core.model import Call, Json
from interlock.core.redact import redact_text
from interlock.store.approvals import Approvals
from interlock.store.protocol import Activity, ActivityType, new_id


class Freezer:
    """All stops that are in force."""

    def __init__(self, store: Approvals, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.in_force: Mapping[Frozen, Freeze] = {}

    async def load(self) -> None:
        self.in_force = await self._store.freezes()

    def of(self, call: Call) -> str | None:
        """What of a call is stopped; None when nothing is."""
        return frozen_for(call, self.in_force) if self.in_force else None

    async def freeze(self, what: Frozen, by: str, reason: str) -> Freeze:
        """Stop something. It counts from now on, and is kept before this returns."""
        now = self._clock.now()
        freeze = Freeze(what, now, by, redact_text(reason))
        # INVARIANT: a stop counts at once, even while the store is slow. One that cannot be kept stands until a
        # restart, and whoever ordered it hears that: to take it back would be the worse surprise.
        self.in_force = {**self.in_force, what: freeze}
        await self._store.put_freeze(what, freeze, self._told("frozen", freeze, by))
        return freeze

    async def thaw(self, what: Frozen, by: str) -> bool:
        """Let something go on; False when it was not stopped."""
        freeze = self.in_force.get(what)
        if freeze is None:
            return False
        await self._store.put_freeze(what, None, self._told("thawed", freeze, by))
        # The same may have been stopped anew meanwhile, and that stands.
        self.in_force = {each: kept for each, kept in self.in_force.items() if kept is not freeze}
        return True

    def _told(self, change: str, freeze: Freeze, by: str) -> Activity:
        now = self._clock.now()
        body: dict[str, Json] = {"change": change, "what": freeze.what.shown, "reason": freeze.reason, "by": by}
        server = freeze.what.name if freeze.what.kind is FreezeKind.SERVER else None
        status = CallState.SUCCESS
        return Activity(new_id(now), now, ActivityType.SYSTEM, status, body, server=server, caller=by)
