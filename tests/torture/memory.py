"""A store in memory for the tests of interleavings: honest about what counts, and slow in every way that chance finds.

The disk survives a crash; a store is how one life of a gateway reaches it. Like the real one it has one writer: what
is queued is written in that order, even if whoever asked for it has gone, and is lost only if the life ends before.
Between asking, writing and hearing of it passes as much time as chance wants, and so it does around every read. It
writes down each transition that it makes, and never looks at whether that was right: that is what the test is for.
"""

import asyncio
import contextvars
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from msgspec.structs import replace as changed_to

from interlock.clock import Clock
from interlock.core.approvals import Approval
from interlock.core.freezes import Freeze, Frozen
from interlock.core.grants import Grant
from interlock.core.lifecycle import CALL, ApprovalState
from interlock.core.model import Micros
from interlock.store.approvals import ApprovalFigures, ApprovalFilter, ApprovalPage, Crowd
from interlock.store.protocol import Activity, ActivityType, StoreUnavailable
from tests.torture.virtual import LIFE, Life

T = TypeVar("T")
_IN_TIME = (ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.DENIED)


@dataclass
class Disk:
    """What is durable."""

    approvals: dict[str, Approval] = field(default_factory=dict[str, Approval])
    grants: dict[str, Grant] = field(default_factory=dict[str, Grant])
    """By the approval that they came from."""
    activities: dict[str, Activity] = field(default_factory=dict[str, Activity])
    log: list[Activity] = field(default_factory=list[Activity])
    freezes: dict[Frozen, Freeze] = field(default_factory=dict[Frozen, Freeze])
    moves: list[tuple[str, ApprovalState, ApprovalState]] = field(
        default_factory=list[tuple[str, ApprovalState, ApprovalState]]
    )
    """Every transition that an approval made: which, from where, to where."""


class MemoryStore:
    """The store of one life of a gateway, and its approvals."""

    def __init__(self, disk: Disk, clock: Clock, chance: random.Random, life: Life, *, failing: float = 0.0) -> None:
        self.disk = disk
        self.clock = clock
        self.place = "memory"
        self.failing = failing
        """How often a write fails."""
        self.busy = 0
        """How many reads and writes are under way."""
        self._chance = chance
        self._life = life
        self._thread = contextvars.copy_context()
        """What the store does belongs to its own life, whoever asked for it."""
        self._thread.run(LIFE.set, life)
        self._queued: deque[tuple[Callable[[], bool], asyncio.Future[bool]]] = deque()
        self._unheard: deque[tuple[asyncio.Future[bool], bool | StoreUnavailable]] = deque()

    @property
    def approvals(self) -> "MemoryStore":
        return self

    @property
    def ailing(self) -> bool:
        return False

    # Time passes ---------------------------------------------------------------------------------------------------

    def _delay(self) -> float:
        """Most often none to speak of, sometimes long."""
        kind = self._chance.random()
        return 0.0 if kind < 0.6 else self._chance.uniform(0, 0.02 if kind < 0.95 else 1.5)

    async def _read(self, look: Callable[[], T]) -> T:
        self._alive()
        self.busy += 1
        try:
            await asyncio.sleep(self._delay())
            seen = look()
            await asyncio.sleep(self._delay())
        finally:
            self.busy -= 1
        return seen

    async def _write(self, step: Callable[[], bool]) -> bool:
        return await self._queue(step)

    def _queue(self, step: Callable[[], bool]) -> asyncio.Future[bool]:
        """Queue a step; whoever waits for it hears of it some time after it was taken."""
        self._alive()
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[bool] = loop.create_future()
        self.busy += 1
        self._queued.append((step, heard))
        loop.call_later(self._delay(), self._take_next, context=self._thread)
        return heard

    def _take_next(self) -> None:
        """Take the oldest step that is queued: whoever rings, the order is that of queueing."""
        step, heard = self._queued.popleft()
        failed = self._chance.random() < self.failing
        self._unheard.append((heard, StoreUnavailable("no space") if failed else step()))
        asyncio.get_running_loop().call_later(self._delay(), self._tell_next, context=self._thread)

    def _tell_next(self) -> None:
        heard, answer = self._unheard.popleft()
        self.busy -= 1
        if heard.done():
            return
        if isinstance(answer, StoreUnavailable):
            heard.set_exception(answer)
        else:
            heard.set_result(answer)

    def _alive(self) -> None:
        if self._life.over:
            raise StoreUnavailable("This life is over.")

    def _note(self, activities: Sequence[Activity]) -> bool:
        for each in activities:
            self.disk.activities[each.id] = each
            self.disk.log.append(each)
        return True

    # The log -------------------------------------------------------------------------------------------------------

    def write(self, activities: Sequence[Activity]) -> asyncio.Future[bool]:
        return self._queue(lambda: self._note(activities))

    def write_soon(self, activities: Sequence[Activity]) -> None:
        self._alive()
        self._note(activities)

    async def get_activity(self, activity_id: str) -> Activity | None:
        return await self._read(lambda: self.disk.activities.get(activity_id))

    async def open_activities(self) -> Sequence[Activity]:
        calls = (ActivityType.TOOL_CALL, ActivityType.POLICY_DECISION)
        return await self._read(
            lambda: [each for each in self.disk.activities.values() if each.type in calls and CALL[each.status]]
        )

    # Approvals -----------------------------------------------------------------------------------------------------

    async def add_approval(self, approval: Approval, why: Activity, most: Crowd | None = None) -> bool:
        def step() -> bool:
            pending = [each for each in self.disk.approvals.values() if each.status is ApprovalState.PENDING]
            own = [each for each in pending if each.requester == approval.requester]
            if any(each.key == approval.key for each in pending):
                return False
            if most is not None and Crowd(len(own), len(pending)).fills(most):
                return False
            self.disk.approvals[approval.id] = approval
            return self._note([why])

        return await self._write(step)

    async def get_approval(self, approval_id: str) -> Approval | None:
        return await self._read(lambda: self.disk.approvals.get(approval_id))

    async def list_approvals(self, wanted: ApprovalFilter) -> ApprovalPage:
        def look() -> ApprovalPage:
            found = [each for each in self.disk.approvals.values() if wanted.status in (None, each.status)]
            found.sort(key=lambda each: (each.created_at, each.id), reverse=True)
            return ApprovalPage(tuple(found[wanted.offset : wanted.offset + wanted.limit]), len(found))

        return await self._read(look)

    async def change_approval(self, changed: Approval, why: Activity, grant: Grant | None = None) -> bool:
        return await self._write(lambda: self._fits(changed) and self._change(changed, why, grant))

    def _fits(self, changed: Approval) -> bool:
        """Whether the approval is as it must be for this change."""
        row, now = self.disk.approvals.get(changed.id), self.clock.now()
        if row is None or row.status is not ApprovalState.PENDING or row.version != changed.version - 1:
            return False
        if changed.status is ApprovalState.TIMEOUT:
            return row.expires_at <= now
        return changed.status not in _IN_TIME or row.expires_at > now

    def _change(self, changed: Approval, why: Activity, grant: Grant | None) -> bool:
        row = self.disk.approvals[changed.id]
        if changed.status is not ApprovalState.PENDING:
            self.disk.moves.append((row.id, row.status, changed.status))
        # What a change does not name stays as it is.
        self.disk.approvals[changed.id] = changed_to(changed, answered=row.answered)
        if grant is not None:
            self.disk.grants[changed.id] = grant
        return self._note([why])

    async def mark_answered(self, approval_id: str) -> bool:
        def step() -> bool:
            row = self.disk.approvals.get(approval_id)
            if row is None or row.status is not ApprovalState.PENDING:
                return False
            self.disk.approvals[approval_id] = changed_to(row, answered=True)
            return True

        return await self._write(step)

    async def figures(self, since: Micros, width: Micros) -> ApprovalFigures:
        return ApprovalFigures((), ())

    # Grants --------------------------------------------------------------------------------------------------------

    async def live_grants(self) -> Sequence[Grant]:
        return await self._read(lambda: [each for each in self.disk.grants.values() if self._usable(each)])

    async def get_grant(self, approval_id: str) -> Grant | None:
        return await self._read(lambda: self.disk.grants.get(approval_id))

    def _usable(self, grant: Grant | None) -> bool:
        return grant is not None and not grant.revoked and grant.uses_left != 0 and grant.expires_at > self.clock.now()

    def _granted(self, grant_id: str) -> Grant | None:
        return next((each for each in self.disk.grants.values() if each.id == grant_id), None)

    async def use_grant(self, grant_id: str, call: Activity) -> bool:
        def step() -> bool:
            grant = self._granted(grant_id)
            if grant is None or not self._usable(grant):
                return False
            left = None if grant.uses_left is None else grant.uses_left - 1
            activity = call.id if call.body["digest"] == grant.key.digest else grant.activity
            used = replace(grant, uses_left=left, uses=grant.uses + 1, activity=activity)
            self.disk.grants[grant.approval] = used
            return self._note([call])

        return await self._write(step)

    async def revoke_grant(self, grant_id: str, at: Micros, why: Activity) -> bool:
        def step() -> bool:
            grant = self._granted(grant_id)
            if grant is None or not self._usable(grant):
                return False
            self.disk.grants[grant.approval] = replace(grant, revoked=True)
            return self._note([why])

        return await self._write(step)

    # Freezes -------------------------------------------------------------------------------------------------------

    async def freezes(self) -> Mapping[Frozen, Freeze]:
        return await self._read(lambda: dict(self.disk.freezes))

    async def put_freeze(self, what: Frozen, freeze: Freeze | None, why: Activity) -> None:
        def step() -> bool:
            self.disk.freezes.pop(what, None)
            if freeze is not None:
                self.disk.freezes[what] = freeze
            return self._note([why])

        await self._write(step)


class ReadThenWriteStore(MemoryStore):
    """The mistake that the tests have to find: it looks whether a change fits, and makes it some time later."""

    async def change_approval(self, changed: Approval, why: Activity, grant: Grant | None = None) -> bool:
        if not await self._read(lambda: self._fits(changed)):
            return False
        return await self._write(lambda: self._change(changed, why, grant))
