"""The record of a call: opened before the first byte leaves, closed before the answer is given.

For anything above read-only both writes are waited for; reads are not, unless the operator wants to wait for every
call or the last write of the store failed. All that is told gathers and is queued together, in order: reads for a
moment, and what is waited for until the event loop has gone round once, which takes no time when there is nothing else
to do, or until the store has written what it was given before. If the store cannot write, the call is refused: no
record, no call. This is the one place that writes activities of calls; what is kept of them is the matter of `kept`.

INVARIANT: above read-only nothing is sent without a durable record, and nothing is answered without a durable outcome.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from itertools import groupby, islice
from typing import TypeAlias

from msgspec import Struct, structs

from interlock import errors
from interlock.clock import Clock
from interlock.core.lifecycle import CALL, CallEvent, CallState, next_call_state
from interlock.core.model import Allow, Call, Deny, Hold, Json, Micros, Verdict
from interlock.core.redact import KnownSecrets, redact, redact_text
from interlock.core.safety import SafetyClass
from interlock.core.toolbook import ListedTool
from interlock.kept import Chapter, OpenRecord, Origin, Outcome, Unapproved, activities_of, chapter_of, closed_later
from interlock.store.protocol import (
    Activity,
    ActivityType,
    Damaged,
    Store,
    StoreUnavailable,
    Token,
    Uncertain,
    new_id,
)

GATHER_SECONDS = 0.02
MOST_GATHERED = 64
MOST_CHARACTERS = 64 * 1024
"""How long, how many, and how much of them, reads that ended gather before they are queued. They are looked at in one
go, in which nothing else happens; so what takes long to look at does not gather."""


MOST_OWED, MOST_MADE_UP = 10_000, 100
"""So many calls are remembered whose outcome could not be written, and so many are closed by whoever writes next. That
others are open is found by the next start."""


class RecordWait(StrEnum):
    """Which calls wait for the disk."""

    WRITES = "writes"
    ALL = "all"


@contextlib.contextmanager
def _reported(what: str) -> Generator[None]:
    """A value that cannot be kept is a defect of ours: told to whoever watches the process."""
    try:
        yield
    except ValueError as unfit:
        asyncio.get_running_loop().call_exception_handler({"message": what, "exception": unfit})


class GrantSpent(Exception):
    """The grant that a call needs cannot be used any more: nothing was written, and nothing may be sent."""


class Recorder:
    """Writes the activities of calls."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        wait: RecordWait = RecordWait.WRITES,
        *,
        secrets: Callable[[], Collection[str]] = tuple,
        key: bytes = b"",
    ) -> None:
        """`secrets` tells the values that the gateway itself holds, and that must not be stored if a server echoes
        them; there may come to be more of them, and never fewer. With `key`, what is hidden is marked.
        """
        self._store = store
        self._clock = clock
        self._wait = wait
        self.on_end: Callable[[Activity], None] = lambda activity: None
        """Told of every call that ended, refused or sent, once that is on record or queued."""
        self.on_unwritten: Callable[[], None] = lambda: None
        """Told of everything that had to be on record and could not be: the call is refused, or indeterminate."""
        self._secrets = secrets
        self._key = key
        self._known = 0, KnownSecrets((), key)
        self._gathered: list[_Told] = []
        self._characters = 0
        """How much has gathered."""
        self._timer: asyncio.Handle | None = None
        self._hurries = False
        """Whether somebody waits for what has gathered."""
        self._writing: asyncio.Future[bool] | None = None
        """What was last given to the store to be waited for, until it is on disk."""
        self._owed: dict[str, str] = {}
        """The calls that may stand open on record: sent ones whose outcome could not be written, and those that were
        not sent, with why."""

    async def refused(
        self, call: Call, found: ListedTool | None, verdict: Deny, origin: Origin, approval: str | None = None
    ) -> str:
        """Record a call that was refused; returns the id of its activity."""
        record = self._opened(call, found, verdict, origin)
        if approval is not None:
            record = structs.replace(record, approval=approval)
        # A refusal is never lost, whatever it refused: only reads that were let pass may be.
        ended = await self._written(chapter_of(record, next_call_state(CallState.RECEIVED, CallEvent.REFUSE)))
        self.on_end(ended)
        return record.id

    async def unapproved(
        self, call: Call, found: ListedTool, verdict: Hold | Allow, origin: Origin, ended: Unapproved
    ) -> str:
        """Record a call that waited for an approval, or came back for one, and was not let pass."""
        reasons = (ended.reason, *verdict.reasons)
        held = structs.replace(verdict, reasons=reasons) if isinstance(verdict, Hold) else Deny(reasons, verdict.ground)
        record = structs.replace(self._opened(call, found, held, origin), approval=ended.approval)
        self.on_end(await self._written(chapter_of(record, next_call_state(CallState.HELD, ended.event))))
        return record.id

    async def ahead(
        self, call: Call, found: ListedTool, verdict: Allow, origin: Origin, asked: Mapping[str, int] | None = None
    ) -> OpenRecord:
        """Open the record of a call that is about to be sent. A read is written once, with its outcome.

        INVARIANT: a call that needs a grant uses it in the same transaction, or raises GrantSpent.
        """
        record = self._opened(call, found, verdict, origin, asked)
        if verdict.grant is not None:
            record = structs.replace(record, waits=True, approval=verdict.approval)
        if record.waits:
            try:
                await self._open(record, verdict.grant)
            except asyncio.CancelledError:
                # It may be written all the same, and nothing will be sent.
                with contextlib.suppress(StoreUnavailable):
                    await self.outcome(record, Outcome(CallEvent.CANCEL, unsent=True))
                raise
            except Uncertain:  # it may stand there as sent, and was not
                self._owe(record.id, errors.AUDIT_UNAVAILABLE().text)
                raise
            sent = self._clock.ticks()
            record = structs.replace(record, began=sent, recorded=sent - record.began)
        return record

    async def _open(self, record: OpenRecord, grant: str | None) -> None:
        chapter = chapter_of(record, next_call_state(CallState.RECEIVED, CallEvent.SEND))
        if grant is None:
            await self._written(chapter)
            return
        self.settle()
        (activity,) = activities_of([chapter], self.known_secrets())
        try:
            used = await self._store.approvals.use_grant(grant, activity)
        except StoreUnavailable:
            self.on_unwritten()
            raise
        if not used:
            raise GrantSpent

    async def outcome(self, record: OpenRecord, outcome: Outcome) -> None:
        """Close the record of a call that was sent."""
        status, took = next_call_state(CallState.SENT, outcome.event), self._clock.ticks() - record.began
        chapter = chapter_of(record, status, outcome, took)
        if not record.waits:
            self._gather(_Told(chapter))
            return
        try:
            ended = await self._written(chapter)
        except StoreUnavailable:
            self._owe(record.id)
            raise
        self.on_end(ended)

    def _owe(self, activity_id: str, unsent: str = "") -> None:
        if len(self._owed) < MOST_OWED:
            self._owed[activity_id] = unsent

    def settle(self) -> None:
        """Queue what has gathered."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        gathered, self._gathered, self._characters, self._hurries = self._gathered, [], 0, False
        if not gathered:
            return
        waiters = [each.waiter for each in gathered]
        with _never_silent(waiters):
            activities = activities_of([each.chapter for each in gathered], self.known_secrets())
            for waited, stretch in groupby(zip(activities, waiters, strict=True), key=_is_waited_for):
                if waited:
                    self._write(list(stretch))
                else:
                    self._queue([activity for activity, _ in stretch])

    def _queue(self, ended: Sequence[Activity]) -> None:
        """Write what nobody waits for."""
        try:
            self._write_soon(ended)
        except ValueError:  # one of them is such that no database could hold it; the others are none the worse
            for each in ended:
                with _reported("An activity could not be kept."):
                    self._write_soon([each])
        for each in ended:
            self.on_end(each)

    def _write_soon(self, ended: Sequence[Activity]) -> None:
        # What cannot even be queued is counted by the store, which tells of it as soon as it can.
        with contextlib.suppress(StoreUnavailable):
            self._store.write_soon(ended)

    def _write(self, told: Sequence["_Written"]) -> None:
        """Write what is waited for, and tell those who wait."""
        try:
            written = self._store.write([activity for activity, _ in told])
        except (StoreUnavailable, ValueError) as problem:
            if len(told) > 1:  # one of them is perhaps such that no database could hold it
                for each in told:
                    self._write([each])
            else:
                _fail([waiter for _, waiter in told], problem)
        else:
            written.add_done_callback(partial(_tell, told))
            written.add_done_callback(self._wrote)
            self._writing = written

    def _wrote(self, written: asyncio.Future[bool]) -> None:
        """The store has time again, for what has gathered meanwhile."""
        if written is self._writing:
            self._writing = None
            if self._hurries:
                self.settle()

    async def settled(self) -> None:
        """See that everything that has happened is on record; raises StoreUnavailable."""
        self.settle()
        await self._store.write([])

    def _gather(self, told: "_Told") -> None:
        """Keep it for a moment. Many that are told of together cost a fraction of what each would cost alone."""
        self._gathered.append(told)
        self._characters += told.chapter.length
        if len(self._gathered) >= MOST_GATHERED or self._characters > MOST_CHARACTERS:
            self.settle()
        elif told.waiter is not None and not self._hurries:
            self._hurries = True
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._writing is None:
                self._timer = told.waiter.get_loop().call_soon(self.settle)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_SECONDS, self.settle)

    async def find(self, activity_id: str) -> Activity | None:
        """What is on record of a call."""
        return await self._store.get_activity(activity_id)

    async def _written(self, chapter: Chapter) -> Activity:
        waiter = asyncio.get_running_loop().create_future()
        self._gather(_Told(chapter, waiter))
        try:
            written = await waiter
        except StoreUnavailable:
            self.on_unwritten()
            raise
        if self._owed:
            await self._make_up()
        return written

    async def _make_up(self) -> None:
        """Close what the store could not close before, a few at a time, as its callers were told: that the outcome is
        not known, or that it was not sent; unless it is closed after all, here or by another gateway."""
        owed = {each: self._owed.pop(each) for each in list(islice(self._owed, MOST_MADE_UP))}
        try:
            left = [(await self._left_open(each), unsent) for each, unsent in owed.items()]
            closed = [closed_later(each, unsent) for each, unsent in left if each is not None]
            if closed:
                await self._store.write(closed)
        except StoreUnavailable:
            self._owed |= owed
        except asyncio.CancelledError:
            self._owed |= owed
            raise
        else:
            for each in closed:
                self.on_end(each)

    async def _left_open(self, activity_id: str) -> Activity | None:
        try:
            found = await self._store.get_activity(activity_id)
        except Damaged:  # there is nothing left to close, and whoever checks the log is told
            return None
        return found if found is not None and CALL[found.status] else None

    def _opened(
        self,
        call: Call,
        found: ListedTool | None,
        verdict: Verdict,
        origin: Origin,
        asked: Mapping[str, int] | None = None,
    ) -> OpenRecord:
        now = self._clock.now()
        # After a failure only a write that is waited for tells whether the store can write again.
        waits = found is None or self._waits(found) or self._store.ailing
        return OpenRecord(new_id(now), now, call, found, verdict, origin, waits, self._clock.ticks(), questions=asked)

    def _waits(self, found: ListedTool) -> bool:
        return self._wait is RecordWait.ALL or found.classification.gateway is not SafetyClass.READ_ONLY

    def known_secrets(self) -> KnownSecrets:
        """The values that must not be stored, whoever repeats them."""
        values = self._secrets()
        if len(values) != self._known[0]:
            self._known = len(values), KnownSecrets(values, self._key)
        return self._known[1]


class _Told(Struct, frozen=True):
    """What is told of a call, and who waits until it is on disk, if anybody does."""

    chapter: Chapter
    waiter: asyncio.Future[Activity] | None = None


_Written: TypeAlias = tuple[Activity, asyncio.Future[Activity] | None]


def _is_waited_for(told: _Written) -> bool:
    return told[1] is not None


def _tell(told: Sequence[_Written], written: asyncio.Future[bool]) -> None:
    problem = written.exception()
    if problem is not None:
        _fail([waiter for _, waiter in told], problem)
        return
    for activity, waiter in told:
        if waiter is not None and not waiter.done():  # else it was cancelled: the record stands all the same
            waiter.set_result(activity)


def _fail(waiters: Sequence[asyncio.Future[Activity] | None], problem: BaseException) -> None:
    for waiter in waiters:
        if waiter is not None and not waiter.done():
            waiter.set_exception(problem)


@contextlib.contextmanager
def _never_silent(waiters: Sequence[asyncio.Future[Activity] | None]) -> Generator[None]:
    """Whoever waits hears of a defect of ours as well, and does not wait for ever."""
    try:
        yield
    except Exception as defect:  # raised again: what it is, the loop tells whoever watches the process
        _fail(waiters, defect)
        raise


def config_change(problems: Sequence[str], now: Micros) -> Activity:
    """The activity that tells of a configuration file that changed, and why it was not taken up if it was not."""
    body: dict[str, Json] = {"change": "refused" if problems else "taken up", "problems": [*map(redact_text, problems)]}
    status = CallState.ERROR if problems else CallState.SUCCESS
    return Activity(id=new_id(now), at=now, type=ActivityType.CONFIG_CHANGE, status=status, body=body)


def token_change(token: Token, what: str, by: str, now: Micros) -> Activity:
    """The activity that tells of a token that was created or revoked; the secret is no part of it."""
    body: dict[str, Json] = {
        "change": what,
        "token": token.id,
        "principal": token.principal,
        "kind": token.kind,
        "roles": list(token.roles),
        "scope": redact(token.scope),
        "expires_at": token.expires_at,
        "by": by,
    }
    return Activity(
        id=new_id(now), at=now, type=ActivityType.TOKEN_CHANGE, status=CallState.SUCCESS, body=body, caller=by
    )


def signed(way: str, who: str, browser: str, now: Micros) -> Activity:
    """The activity that tells of a browser that signed in or out."""
    body: dict[str, Json] = {"change": f"signed {way}", "browser": browser, "by": who}
    return Activity(id=new_id(now), at=now, type=ActivityType.SYSTEM, status=CallState.SUCCESS, body=body, caller=who)
