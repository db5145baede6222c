"""A gateway among others on one store: what it keeps in step with them, and by which part.

Where a gateway is alone, as on SQLite, there is nothing of this.

The configuration file is no part of it: each gateway has its own copy and takes up what is written there. What was
changed at run time is in the store, and so it is the same for all.
"""

from interlock.approve.follow import Follow, new_run
from interlock.approve.lease import Lease
from interlock.approve.room import Room
from interlock.clock import Clock
from interlock.config.roster import Roster
from interlock.forward.drift import Drift
from interlock.receive.identify import Callers
from interlock.store.protocol import Store
from interlock.store.shared import Kind, Twin


class Sharing:
    """The run of this gateway among those of the others."""

    def __init__(self, follow: Follow, lease: Lease, store: Store) -> None:
        self.lease = lease
        self.follow = follow
        self._store = store

    async def keep(self, room: Room, callers: Callers, drift: Drift, roster: Roster) -> None:
        """Keep these in step from now on, and settle what gateways that are gone have left."""

        async def tokens(after: int) -> None:
            await callers.read(self._store.list_tokens)

        async def reviews(after: int) -> None:
            await drift.follow()

        async def servers(after: int) -> None:
            await roster.follow()

        at_once = {Kind.TOKEN: tokens, **room.kept_in_step()}
        beside = {Kind.REVIEW: reviews, Kind.OVERRIDE: reviews, Kind.SERVER: servers}
        self.follow.keep(at_once, beside, room.settle)
        await room.settle()


async def see_that_it_is_the_only_one(store: Store) -> None:
    """Refuse to go on with the log of a gateway that lives: its data folder was copied, and what it does would be
    settled here as if it had died. Raises Twin."""
    if store.shared is not None and await store.shared.has_twin():
        raise Twin


async def begun(store: Store, clock: Clock) -> Sharing | None:
    """Begin a run of a gateway, before anything is read that it keeps in step; None where it is alone."""
    if store.shared is None:
        return None
    lease = Lease(new_run(clock), clock)
    follow = Follow(store.shared, lease, clock)
    await follow.begin()
    return Sharing(follow, lease, store)
