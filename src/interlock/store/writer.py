"""The one writer: a thread that takes everything that is queued into one transaction and wakes all who wait for it.

A commit costs a sync of the disk, however much is in it; so while one batch is being written the next one gathers, and
thirty-two callers pay for one sync. Order is the order of queueing, for those who wait and for those who do not.

Nothing is lost without a word. Whoever waits hears of a failure at once. Records that nobody waited for are counted,
whether they failed or did not even get into the queue; from then on no more of them are taken, until the writer has
written down, as an activity of its own and in the log, how many records are missing, of which time, and why. Whoever
waits may still try, behind that activity and in one transaction with it: so the first who can be served is. That it
begins to fail, and that it works again, is said on stderr too, once each.

This module refuses to know a database, to retry a record, and to queue without bound.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from msgspec import Struct

from interlock.clock import Clock
from interlock.core.lifecycle import CallState
from interlock.core.model import Micros
from interlock.errors import sentence
from interlock.store.protocol import Activity, ActivityType, StoreUnavailable, Uncertain, new_id
from interlock.store.rows import Record, Row, record_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOG = logging.getLogger("interlock")
_CLOSED = "The store is closed."
_FULL = "The queue of the store is full: the disk is slower than the calls."


@dataclass(frozen=True, slots=True)
class Guard:
    """A statement that has to change exactly one row; if it does not, its job writes nothing.

    One that is `timed` gets the time of the store as one value more, last: what is compared with a deadline is when it
    is written, and not when somebody asked for it.
    """

    sql: str
    values: Row
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """A statement, and the rows that it is run with."""

    sql: str
    rows: tuple[Row, ...]


class Job(Struct, frozen=True):
    """What is written together, for one caller. The waiter is told whether it was written, or why it could not be."""

    records: tuple[Record, ...]
    guard: Guard | None = None
    waiter: asyncio.Future[bool] | None = None
    rows: tuple[Rows, ...] = ()


class Ledger(Protocol):
    """What the thread writes to; used by that thread alone."""

    def commit(self, jobs: Sequence[Job]) -> Sequence[bool]:
        """Write all jobs durably in one transaction, or none and raise. Says of each whether its guard let it."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be queued or under way before more is refused; and how much of that one transaction takes, but for a
    single job that has more."""

    records: int = 100_000
    characters: int = 256 * 1024 * 1024
    batch_records: int = 100_000
    batch_characters: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Loss:
    """Records that nobody waited for and that could not be written, and the time of the first and the last of them."""

    records: int
    since: Micros
    until: Micros
    why: str


class GroupWriter:
    """The queue and its thread. Belongs to the event loop that it was made in."""

    def __init__(
        self, ledger: Ledger, clock: Clock, limits: Limits, *, on_commit: Callable[[], None] | None = None
    ) -> None:
        """`on_commit` is told, in the event loop, of every batch that was written."""
        self._ledger = ledger
        self._clock = clock
        self._limits = limits
        self._on_commit = on_commit
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._jobs: list[Job] = []
        self._records = 0
        self._characters = 0
        self._loss: Loss | None = None
        self._telling: Loss | None = None
        """The loss that is being written down. What is lost meanwhile is told the next time."""
        self._failed = False
        self._probing = False
        self._closing = False
        # A daemon, so that a process that fails to close its store can still end.
        self._thread = threading.Thread(target=self._run, name="interlock-store-writer", daemon=True)
        self._thread.start()

    @property
    def ailing(self) -> bool:
        """Whether the last batch with something in it failed, or records were lost and that is not written down yet."""
        return self._failed or self._untold is not None

    @property
    def _untold(self) -> Loss | None:
        return self._loss or self._telling

    def put(self, job: Job) -> None:
        """Queue a job, or raise StoreUnavailable."""
        characters = _characters(job)
        with self._changed:
            why = self._obstacle(job, characters)
            if why is not None:
                self._loss = _sum(self._loss, _loss_of([job], why))
                if self._loss is not None:
                    self._probing = True
                    self._changed.notify()
                raise StoreUnavailable(why)
            self._jobs.append(job)
            self._records += len(job.records)
            self._characters += characters
            self._changed.notify()

    def close(self) -> None:
        """Write what is queued, end the thread, and raise if records were lost that nobody has heard of. Blocks."""
        with self._changed:
            self._closing = True
            self._probing = self._untold is not None
            self._changed.notify()
        self._thread.join()
        if self._loss is not None:
            raise StoreUnavailable(self._loss.why)

    def _obstacle(self, job: Job, characters: int) -> str | None:
        """Why a job cannot be queued."""
        if self._closing:
            return _CLOSED
        if job.waiter is None and self._untold is not None:
            return self._untold.why
        full = self._records + len(job.records) > self._limits.records
        return _FULL if full or self._characters + characters > self._limits.characters else None

    def _run(self) -> None:
        while (jobs := self._take()) is not None:
            self._write(jobs)
        self._ledger.close()

    def _take(self) -> Sequence[Job] | None:
        """What is queued, as much as a batch may hold; nothing, when only a probe is asked for; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._probing or self._closing)
            if not self._jobs and not self._probing:
                return None
            fit = self._fitting()
            jobs, self._jobs, self._probing = self._jobs[:fit], self._jobs[fit:], False
            self._telling, self._loss = self._loss, None
            return jobs

    def _fitting(self) -> int:
        """How many of the oldest jobs one batch takes: at least one, if there is any."""
        limits = self._limits
        if self._records <= limits.batch_records and self._characters <= limits.batch_characters:
            return len(self._jobs)  # nearly always, and then nothing is counted
        records = characters = 0
        for number, job in enumerate(self._jobs):
            records, characters = records + len(job.records), characters + _characters(job)
            if number and (records > limits.batch_records or characters > limits.batch_characters):
                return number
        return len(self._jobs)

    def _write(self, jobs: Sequence[Job]) -> None:
        lost = self._telling
        try:
            confession = () if lost is None else (self._confession(lost),)
            written = self._ledger.commit((*confession, *jobs))[len(confession) :]
        except Exception as problem:
            # Whatever it was, the thread lives on and the callers hear of it.
            why = str(problem) or type(problem).__name__
            news = self._done(jobs, why)
            kind = Uncertain if isinstance(problem, Uncertain) else StoreUnavailable
            self._wake(jobs, [kind(why) for _ in jobs])
            if news:
                _LOG.error(
                    "Records cannot be written: %s Calls that need one are refused until they can.", sentence(why)
                )
        else:
            # A full disk takes what takes no room, so that proves nothing.
            news = self._done(jobs, proof=bool(confession) or any(map(_takes_room, jobs)))
            self._wake(jobs, written, self._on_commit)
            if news:
                _LOG.warning("Records can be written again.%s", "" if lost is None else f" {_told_of(lost)}")

    def _confession(self, loss: Loss) -> Job:
        now = self._clock.now()
        activity = Activity(
            id=new_id(now),
            at=now,
            type=ActivityType.SYSTEM,
            status=CallState.ERROR,
            body={
                "event": "records_lost",
                "text": _told_of(loss),
                "records": loss.records,
                "since": loss.since,
                "until": loss.until,
                "why": loss.why,
            },
        )
        return Job((record_of(activity),))

    def _done(self, jobs: Sequence[Job], why: str | None = None, *, proof: bool = True) -> bool:
        """A batch is over. If it failed, so did what was to be told, and what nobody waits for is lost. Whether it is
        news that it failed, or that it did not; without `proof` it is left open whether the next one would."""
        with self._changed:
            self._records -= sum(len(job.records) for job in jobs)
            self._characters -= sum(map(_characters, jobs))
            before, self._failed = self._failed, why is not None or (self._failed and not proof)
            if why is not None:
                self._loss = _sum(_sum(self._telling, _loss_of(jobs, why)), self._loss)
            self._telling = None
            return self._failed != before

    def _wake(
        self,
        jobs: Sequence[Job],
        answers: Sequence[bool | StoreUnavailable],
        on_commit: Callable[[], None] | None = None,
    ) -> None:
        waiting = [(job.waiter, answer) for job, answer in zip(jobs, answers, strict=True) if job.waiter is not None]
        if waiting or on_commit is not None:
            # A loop that is closed has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_tell, waiting, on_commit)


def _loss_of(jobs: Sequence[Job], why: str) -> Loss | None:
    """What is lost with jobs that cannot be written: the records that nobody waits for."""
    times = [record.at for job in jobs if job.waiter is None for record in job.records]
    return Loss(len(times), min(times), max(times), why) if times else None


def _told_of(loss: Loss) -> str:
    what = "1 activity" if loss.records == 1 else f"{loss.records} activities"
    return f"{what} could not be written between {_iso(loss.since)} and {_iso(loss.until)}."


def _sum(earlier: Loss | None, later: Loss | None) -> Loss | None:
    if earlier is None or later is None:
        return earlier or later
    since, until = min(earlier.since, later.since), max(earlier.until, later.until)
    return Loss(earlier.records + later.records, since, until, later.why)


def _takes_room(job: Job) -> bool:
    return bool(job.records or job.guard or any(each.rows for each in job.rows))


def _iso(at: Micros) -> str:
    return (_EPOCH + timedelta(microseconds=at)).isoformat(timespec="milliseconds")


def _tell(
    waiting: Sequence[tuple[asyncio.Future[bool], bool | StoreUnavailable]], on_commit: Callable[[], None] | None
) -> None:
    if on_commit is not None:
        on_commit()
    for waiter, answer in waiting:
        if waiter.done():
            continue  # cancelled: the record stands, only nobody asks for it any more
        if isinstance(answer, StoreUnavailable):
            waiter.set_exception(answer)
        else:
            waiter.set_result(answer)


def _characters(job: Job) -> int:
    # Twice: the body of an activity is held once for its row and once for its entry.
    rows = (value for each in job.rows for row in each.rows for value in row if isinstance(value, str))
    return 2 * sum(len(record.text) for record in job.records) + sum(map(len, rows))
