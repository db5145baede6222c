"""Keeping the memory of one gateway in step with a database that others change too.

What a gateway decides by is in its memory. Whoever changes something tells the others, and all look twice a second
whether they were told or not, so that a word that got lost costs time and nothing else. A look shows numbers; what has
a new number is read anew. INVARIANT: the row decides; what is told only wakes.

What a call depends on directly is taken up before the gateway may act on that look. What takes longer, because servers
have to be asked or started, goes on beside it, one at a time, and is tried again until it is done.

Whoever sees the beat of another gateway stand still for too long, by its own measure of time, takes it for dead, and
the first to write that down settles what it left. A time in which it could not look itself does not count: the others
may not have been able to beat. A gateway that was taken for dead itself begins another run, unless a copy of it lives.

This module refuses to know what it has taken up, and to act.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from interlock.approve.lease import Lease
from interlock.clock import Clock
from interlock.core.model import Micros
from interlock.errors import sentence
from interlock.store.protocol import Damaged, StoreUnavailable, new_id
from interlock.store.shared import BEAT, LEASE, NEXT_BEAT, Kind, Look, Run, Shared, Twin

LOOK_SECONDS = 0.5
"""How often to look, told or not."""
AGAIN_SECONDS = 0.1
"""How long to wait before a database that could not be looked at is looked at again."""
_LOG = logging.getLogger("interlock")

TakeUp = Callable[[int], Awaitable[None]]
"""Reads what has changed after a number, and knows it from then on."""
Settle = Callable[[Sequence[str]], Awaitable[None]]
"""Settles what runs that have ended have left; given the chains of those that were found dead now."""


def new_run(clock: Clock) -> str:
    """The name of a run of a gateway."""
    return f"gw_{new_id(clock.now())}"


class Follow:
    """One gateway that follows the others. `begin` has to be awaited before anything is read that it keeps in step."""

    def __init__(self, shared: Shared, lease: Lease, clock: Clock) -> None:
        self._shared = shared
        self._lease = lease
        self._clock = clock
        self._seen: dict[Kind, int] = {}
        self._at_once: Mapping[Kind, TakeUp] = {}
        self._beside: Mapping[Kind, TakeUp] = {}
        self._settle: Settle | None = None
        self._beats: dict[Run, Micros] = {}
        """The others, each with the beat that it had, and since when it has it."""
        self._watched: Micros | None = None
        """When the others were last seen, if the last look was one."""
        self._beaten: Micros | None = None
        self._fresh = asyncio.Event()
        """Set after each look."""
        self._failing = False
        self._newest: Mapping[Kind, int] = {}

    async def begin(self) -> None:
        """Begin the run: what is read from now on is at least as new as what was seen."""
        began = self._clock.ticks()
        look = await self._shared.begin(self._lease.run)
        self._seen = dict(look.changes)
        self._lease.looked(began, len(look.others))

    def keep(self, at_once: Mapping[Kind, TakeUp], beside: Mapping[Kind, TakeUp], settle: Settle) -> None:
        """Keep these in step."""
        self._at_once, self._beside, self._settle = at_once, beside, settle

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Follow while the block runs, and end the run in order."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._follow())]
            tasks += [group.create_task(self._keep_up(kind, each)) for kind, each in self._beside.items()]
            try:
                yield
            finally:
                for each in tasks:
                    each.cancel()
                with contextlib.suppress(StoreUnavailable):  # then the others find it dead, and it left nothing
                    await self._shared.end(self._lease.run)

    async def _follow(self) -> None:
        while True:
            try:
                await self.look()
                self._works(None)
                await self._shared.told(LOOK_SECONDS)
            except Twin:  # and the gateway ends: two would take the log from each other for ever
                raise
            except Exception as failed:  # of the store, or a defect of ours: without looks no call is served
                self._works(failed)
                await asyncio.sleep(AGAIN_SECONDS)

    def _works(self, failed: Exception | None) -> None:
        """Say once that looking fails, and once that it works again."""
        if failed is not None:
            _report(failed)
        if self._failing == (failed is not None):
            return
        self._failing = failed is not None
        if failed is None:
            _LOG.warning("The database can be looked at again.")
        else:
            why = sentence(str(failed) or type(failed).__name__)
            _LOG.error("The database cannot be looked at: %s Calls are refused until it can.", why)

    async def look(self) -> None:
        """Look once, and take up what is new."""
        began = self._clock.ticks()
        watched, self._watched = self._watched, None
        beat = self._beaten is None or began - self._beaten >= BEAT
        look = await self._shared.look(self._lease.run, beat=beat)
        seen = self._clock.ticks()
        if beat:
            self._beaten = began
        if not look.ours:
            look = await self._begin_anew()
        for kind, take_up in self._at_once.items():
            if (number := look.changes[kind]) != self._seen.get(kind):
                try:
                    await take_up(self._seen.get(kind, 0))
                    self._seen[kind] = number
                except Damaged as failed:  # somebody has changed a row by hand: no reason to stop all gateways
                    _report(failed)
        self._lease.looked(began, len(look.others))
        self._newest = look.changes
        self._fresh.set()
        self._fresh = asyncio.Event()
        if watched is None or seen - watched > NEXT_BEAT:
            self._beats.clear()  # we were away, and so may the database have been, for all of them
        self._watched = seen
        await self._watch(look.others, seen)

    async def _begin_anew(self) -> Look:
        """Others took us for dead: what they found of us is settled, and we go on as somebody else; unless somebody
        goes on as us, with a copy of our folder, and then that one does. Raises Twin."""
        if await self._shared.has_twin():
            raise Twin
        run = new_run(self._clock)
        look = await self._shared.begin(run)
        _LOG.warning("This gateway was silent for too long and was taken for dead; it goes on as a new run.")
        self._lease.run = run
        return look

    async def _keep_up(self, kind: Kind, take_up: TakeUp) -> None:
        """Take up one kind beside the looks, again until it is done."""
        while True:
            number = self._newest.get(kind, self._seen.get(kind))
            if number == self._seen.get(kind):
                await self._fresh.wait()
                continue
            try:
                await take_up(self._seen.get(kind, 0))
                self._seen[kind] = number or 0
            except Exception as failed:  # as above
                _report(failed)
                await asyncio.sleep(AGAIN_SECONDS)

    async def _watch(self, others: Sequence[Run], seen: Micros) -> None:
        """See whose beat stands still."""
        self._beats = {each: self._beats.get(each, seen) for each in others}
        still = [each for each, since in self._beats.items() if seen - since >= LEASE]
        gone = [each for each in still if await self._shared.take_over(each, self._lease.run)]
        if gone and self._settle is not None:
            silent = "1 of the other gateways is" if len(gone) == 1 else f"{len(gone)} of the other gateways are"
            _LOG.warning("%s silent; what was left there is settled here.", silent)
            await self._settle([each.chain for each in gone])


def _report(failed: Exception) -> None:
    """Tell of a defect of ours, or of a row that was tampered with. That the database is gone is told elsewhere."""
    if isinstance(failed, Damaged) or not isinstance(failed, StoreUnavailable):
        context = {"message": "the other gateways could not be followed", "exception": failed}
        asyncio.get_running_loop().call_exception_handler(context)
