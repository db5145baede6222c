"""Whoever sets the seals: while the gateway runs, a checkpoint every thousand entries or every minute, whichever comes
first, one at the start for what a crash left, one on the first entry of a log, and one at the end, so that a log that
was closed in order is sealed to its last entry. Whether the log has what its anchor saw is looked at with the start,
and again before a checkpoint when the one before it is gone: a database may be put back while the gateway runs.

Sealing never holds up a call. If it fails, that is said aloud and tried again: the entries hang together without it,
and only how much of their end could be cut off unseen grows.

What is older than the operator wants to keep is removed by whole sealed stretches, a minute after the start, once a
day and when asked for. The seal that says so is written, and anchored, before the first entry goes.

This module refuses to remove what does not hold against its seals and the anchor: with it the proof would go that
somebody changed it.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

from interlock.clock import Clock
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, Micros
from interlock.errors import NOT_REMOVED, sentence
from interlock.store.audit.anchor import Anchor
from interlock.store.audit.keys import SealKey, folder_keys, open_key, publish
from interlock.store.audit.place import LogPlace
from interlock.store.audit.seal import Seal, SealKind
from interlock.store.audit.seals import Keep, Place
from interlock.store.audit.verify import Span
from interlock.store.protocol import Activity, ActivityType, Store, StoreUnavailable, new_id

RECORDS = 1000
SECONDS = 60.0
"""After how many entries, or how much time, there is another checkpoint."""
AGAIN_SECONDS = 5.0
"""How long after a failure it is tried again."""
PRUNE_AFTER_SECONDS = 60.0
"""How long after the start what is too old goes: a command that only looks into an old log is over by then."""
DAY: Micros = 24 * 3600 * 1_000_000
SHEET = 50_000
STEP = 500
"""How many activities are looked up, and how many rows removed, at once: calls wait for the writer meanwhile."""
_LOG = logging.getLogger("interlock")


class MayNotRemove(Exception):
    """Whoever the gateway is for the database has no right to remove anything there."""


class NotIntact(Exception):
    """What was to be removed does not hold. The message says where and why."""


class Sealer:
    """The seals of one gateway."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        anchor: Anchor,
        clock: Clock,
        keep_days: Callable[[], int | None] = lambda: None,
        place: LogPlace | None = None,
    ) -> None:
        self._store = store
        self.folder = folder
        self.place = place or LogPlace(folder)
        self._key: SealKey | None = None
        """Read when the first seal is set: whoever only looks needs none."""
        self._begun: Seal | None = None
        """A checkpoint that may be in the anchor, and is not known to be in the store."""
        self._newest: Seal | None = None
        """The checkpoint that was set last."""
        self._anchor = anchor
        self._clock = clock
        self._turn = asyncio.Lock()
        self.keep_days = keep_days
        self.problem: str | None = None
        """Why the last try to seal failed."""
        self.disagreement: str | None = None
        """What the log and its anchor disagree about."""

    @property
    def anchor(self) -> Path:
        """Where seals are written to as well."""
        return self._anchor.file

    @property
    def is_anchored(self) -> bool:
        """Whether anything was written there yet."""
        return self.anchor.exists()

    @property
    def is_elsewhere(self) -> bool:
        """Whether that is outside the data folder, where whoever can write to the log may not reach."""
        return not self.anchor.resolve().is_relative_to(self.folder.resolve())

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Seal while the block runs, and once more at its end."""
        await self.compare_with_anchor()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._sealing()), group.create_task(self._pruning())]
            try:
                yield
            finally:
                for each in tasks:
                    each.cancel()
        await self._try()

    # Sealing ----------------------------------------------------------------------------------------------------

    async def checkpoint(self) -> Seal | None:
        """Seal what there is; the newest seal, which may be an older one if nothing came since. Raises."""
        async with self._turn:
            await self._end_begun()
            last, tip = await self._last(), await self._store.seals.place()
            if self._newest is not None and (last is None or last.seq < self._newest.seq):
                await self.compare_with_anchor()  # somebody has put an older database in the place of this one
                self._newest = None
            if tip is None or (last is not None and last.seq >= tip.seq):
                return last
            return await self._set(SealKind.CHECKPOINT, tip)

    async def _last(self) -> Seal | None:
        return await self._store.seals.last(SealKind.CHECKPOINT)

    async def _set(self, kind: SealKind, place: Place, why: Activity | None = None) -> Seal:
        key = self._key or await asyncio.to_thread(open_key, self.folder)
        seal = key.seal(kind, self._store.seals.chain, place.seq, place.hash, self._clock.now())
        if kind is SealKind.CHECKPOINT:
            self._begun = seal
        # The anchor first: a seal that only the anchor knows is true all the same, the other way round it is a hole.
        await asyncio.to_thread(self._anchor.append, seal)
        await self._store.seals.add(seal, why)
        if kind is SealKind.CHECKPOINT:
            self._begun, self._newest = None, seal
        if self._key is None:
            await asyncio.to_thread(publish, self.folder)
            self._key = key
        return seal

    async def _end_begun(self) -> None:
        """See a checkpoint into anchor and store before there is another. So the anchor never has more than one that
        the store lacks, and it is the newest: any other that is missing there was taken out."""
        seal, last = self._begun, await self._last()
        if seal is not None and (last is None or last.seq < seal.seq):
            await asyncio.to_thread(self._anchor.append, seal)
            await self._store.seals.add(seal)
        self._begun = None

    async def _sealing(self) -> None:
        await self._try()
        while True:
            try:
                last = await self._last()
                sealed = 0 if last is None else last.seq
                await self._store.seals.grown(sealed + 1)
                with contextlib.suppress(TimeoutError):
                    # At once if there is none: what no seal is on at all, looks as if somebody had taken them away.
                    async with asyncio.timeout(SECONDS if sealed else 0):
                        await self._store.seals.grown(sealed + RECORDS)
            except StoreUnavailable as failed:
                self._failed(failed)
            await self._try()
            if self.problem is not None:
                await asyncio.sleep(AGAIN_SECONDS)

    async def _try(self) -> None:
        try:
            await self._store.write([])  # what is queued is part of it
            await self.checkpoint()
        except (StoreUnavailable, OSError) as failed:
            self._failed(failed)
        else:
            self.problem = None

    def _failed(self, why: Exception) -> None:
        if self.problem is None:
            _LOG.warning("The log could not be sealed: %s It is tried again.", sentence(str(why)))
        self.problem = str(why)

    # The anchor -------------------------------------------------------------------------------------------------

    async def anchor_in(self, file: Path) -> None:
        """Write seals to this file from now on."""
        if file == self.anchor:
            return
        async with self._turn:
            self._anchor = Anchor(file)
        try:
            await self.compare_with_anchor()
        except StoreUnavailable as failed:
            self._failed(failed)

    async def compare_with_anchor(self) -> None:
        """See whether the log has what the anchor saw of it; if not, that is put on record and said aloud."""
        try:
            seen = await asyncio.to_thread(self._anchor.newest)
        except OSError as failed:
            self._failed(failed)
            return
        self.disagreement = await self._disagreement(seen)
        if self.disagreement is not None:
            await self._alarm(self.disagreement)
        else:
            await self._take_up(seen)

    async def _take_up(self, seen: Sequence[Seal]) -> None:
        """Go on with the checkpoint that a process which was killed had in the anchor and not in the store yet."""
        last = await self._last()
        since = [each for each in seen if each.kind is SealKind.CHECKPOINT and (last is None or each.seq > last.seq)]
        try:
            if since and not (await asyncio.to_thread(folder_keys, self.folder)).problem(since[-1]):
                self._begun = since[-1]
        except (OSError, ValueError) as unreadable:
            self._failed(unreadable)

    async def _alarm(self, problem: str) -> None:
        _LOG.error("%s `interlock audit verify` looks closer.", problem)
        await self._store.write([self._told("log_disagrees", CallState.ERROR, text=problem)])

    async def _disagreement(self, seen: Sequence[Seal]) -> str | None:
        """Every seal counts, not the last alone: a log that was cut off goes on, and its next seals agree with it."""
        seals = self._store.seals
        pruned = await seals.last(SealKind.PRUNED)
        due = [each for each in seen if each.chain == seals.chain and (pruned is None or each.seq > pruned.seq)]
        found = await seals.hashes({each.seq for each in due})
        wrong = sorted((each for each in due if found.get(each.seq) != each.hash), key=lambda each: each.seq)
        if wrong and wrong[-1].seq > await self._store.log_end():
            upto = wrong[-1].seq
            return f"The log ends before entry {upto}, which the anchor {self.anchor} has a seal of: it was cut off."
        if wrong:
            return f"Entry {wrong[0].seq} of the log is not the one that the anchor {self.anchor} has a seal of."
        if any(each.chain != seals.chain for each in seen):
            return f"The anchor {self.anchor} tells of another log: this one was begun anew."
        return None

    # Pruning ----------------------------------------------------------------------------------------------------

    async def prune(self, keep: Keep, by: str | None = None) -> Seal | None:
        """Remove what need not be kept, up to a checkpoint; the seal on that, None when there was nothing. Without
        anybody who asked for it, the configuration did. Raises, also NotIntact and MayNotRemove."""
        if not await self._store.seals.may_remove():
            raise MayNotRemove
        cut = await self._store.seals.cut(keep)
        if cut is None:
            return None
        await self._must_hold(cut.seq)
        async with self._turn:
            place = await self._store.seals.place(cut.seq)
            if place is None:
                return None
            text = f"Entries up to {cut.seq} of the log were removed."
            why = self._told("log_pruned", CallState.SUCCESS, caller=by, text=text, upto=cut.seq, by=by or "keep_days")
            pruned = await self._set(SealKind.PRUNED, place, why)
        await self._remove(pruned.seq)
        return pruned

    async def _must_hold(self, upto: int) -> None:
        """Check all that would go, and what is kept beside the log: without the entries nobody could say what was wrong
        with that. Others work meanwhile."""
        anchor = self.anchor if self.is_anchored else None
        try:
            only = self._store.seals.chain
            found = await asyncio.to_thread(self.place.check, anchor, Span(last=upto), own=True, only=only)
        except ValueError as unusable:
            raise NotIntact(str(unusable)) from None
        if found.broken is not None:
            raise NotIntact(f"record {found.broken.seq}: {found.broken.problem}")
        if disagreeing := await asyncio.to_thread(self.place.first_disagreement, found.pruned):
            raise NotIntact(disagreeing.removesuffix("."))

    async def _remove(self, upto: int) -> None:
        """Do what a pruned seal says was done. The list goes before the log that tells of it."""
        seals = self._store.seals
        while doomed := await seals.doomed(upto, SHEET):
            for at in range(0, len(doomed), STEP):
                await seals.forget(doomed[at : at + STEP])
        while await seals.shed(upto, STEP):
            pass

    async def _pruning(self) -> None:
        """Finish what was begun, and then remove what is older than is to be kept, once a day."""
        await self._finish()
        await asyncio.sleep(PRUNE_AFTER_SECONDS)
        while True:
            await self._finish()
            days = self.keep_days()
            if days is not None:
                with contextlib.suppress(StoreUnavailable, OSError):
                    await self._prune_older(days)
            await asyncio.sleep(DAY / 1_000_000)

    async def _finish(self) -> None:
        with contextlib.suppress(StoreUnavailable):
            begun = await self._store.seals.last(SealKind.PRUNED)
            if begun is not None and await self._store.seals.may_remove():
                await self._remove(begun.seq)

    async def _prune_older(self, days: int) -> None:
        try:
            await self.prune(Keep(since=self._clock.now() - days * DAY))
        except NotIntact as broken:
            await self._alarm(f"Nothing was removed by keep_days, because the log does not hold: {broken}.")
        except MayNotRemove:
            _LOG.warning("%s", NOT_REMOVED().text)

    def _told(self, event: str, status: CallState, caller: str | None = None, **body: Json) -> Activity:
        now = self._clock.now()
        return Activity(new_id(now), now, ActivityType.SYSTEM, status, {"event": event, **body}, caller=caller)
