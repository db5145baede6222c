"""The register of approvals: each change compared and set in the store, then known to whoever waits.

The row decides. An answer, a deadline, a caller that leaves and a gateway that stops all come through here, and the
first that finds the row as it must be counts; the others learn what it became. The board is only woken afterwards.

INVARIANT: one statement makes the transition, and it is in one transaction with the activity that tells of it.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from interlock.approve.board import MAX_PENDING, Board, Pending, Resolved
from interlock.approve.follow import new_run
from interlock.approve.lease import Lease
from interlock.clock import Clock
from interlock.core.approvals import Answered, Approval, ended, shown
from interlock.core.grants import Grant, GrantKey
from interlock.core.lifecycle import ApprovalEvent, ApprovalState, CallState
from interlock.core.model import Json, Micros
from interlock.store.approvals import ApprovalFilter, Approvals, Crowd
from interlock.store.protocol import Activity, ActivityType, StoreUnavailable, new_id
from interlock.store.shared import Shared

TRIES = 20
"""How often a change is tried that others get in the way of: each time one of them has changed the approval."""
PAGE = 500
RESTARTED = "gateway restarted"
LOST = "the request could not be recorded"
ELSEWHERE = "another gateway has asked for the same call"
DISCONNECTED = "client disconnected"
OTHERS_FIRST: Micros = 1_000_000
"""How long the gateway that asked has to end what is over before the others do."""

_STATUSES: dict[ApprovalState, CallState] = {
    ApprovalState.PENDING: CallState.HELD,
    ApprovalState.APPROVED: CallState.SUCCESS,
    ApprovalState.DENIED: CallState.DENIED,
    ApprovalState.TIMEOUT: CallState.TIMEOUT,
    ApprovalState.CANCELLED: CallState.CANCELLED,
}

T = TypeVar("T")
Log = Callable[[Sequence[Activity]], Awaitable[bool]]


class Peers(NamedTuple):
    """The other gateways on the same store, and our own run among them."""

    shared: Shared
    lease: Lease


class Crowded(Exception):
    """As many approvals wait as may."""

    def __init__(self, crowd: Crowd) -> None:
        super().__init__(crowd)
        self.crowd = crowd


class Register:
    """All approvals and grants, in the store and on the board."""

    def __init__(self, store: Approvals, clock: Clock, log: Log, peers: Peers | None = None) -> None:
        """With peers, other gateways write to the same rows."""
        self._store = store
        self._clock = clock
        self._log = log
        self._peers = peers
        self._run = new_run(clock)
        self.board = Board()
        self.on_change: list[Callable[[Approval, str], None]] = []
        """Told of every question and of what became of it, once that is durable."""

    async def load(self) -> int:
        """Take up what is in the store, and settle what a gateway that is gone left behind; returns how much that
        was. What callers were told to come again for stays open; for the rest nobody waits any more."""
        unanswered: list[str] = []
        for offset in range(0, MAX_PENDING, PAGE):
            page = await self._store.list_approvals(ApprovalFilter(ApprovalState.PENDING, limit=PAGE, offset=offset))
            for each in page.items:
                self.board.add(_pending(each, kept=True))
            unanswered += [each.id for each in page.items if not each.answered]
            if offset + PAGE >= page.total:
                break
        left = unanswered if self._peers is None else (await self._peers.shared.left(())).approvals
        await self.end_all(left, ApprovalEvent.CANCEL, RESTARTED)
        for grant in await self._store.live_grants():
            self.board.grant(grant)
        recent = await self._store.list_approvals(ApprovalFilter(ApprovalState.DENIED, limit=PAGE))
        for each in reversed(recent.items):
            self.board.denied(each.key, each.resolution, each.decided_at or each.created_at)
        self.board.tidy(self._clock.now())
        return len(left)

    @property
    def run(self) -> str:
        """Marks what this run of this gateway asked."""
        return self._run if self._peers is None else self._peers.lease.run

    def is_ours(self, pending: Pending) -> bool:
        """Whether nobody else looks after an approval."""
        return self._peers is None or pending.gateway == self.run

    def check(self) -> None:
        """Raises OutOfTouch when others may have changed what is not known here: who may answer, for one."""
        if self._peers is not None:
            self._peers.lease.check()

    # Other gateways ---------------------------------------------------------------------------------------------

    async def take_up(self, approvals: Sequence[Approval]) -> None:
        """Know what became of approvals, wherever that was."""
        for each in approvals:
            if each.status is ApprovalState.PENDING:
                self._adopt(each)
                continue
            if each.status is ApprovalState.DENIED:
                self.board.denied(each.key, each.resolution, each.decided_at or each.created_at)
            if self.board.find(each.id) is not None:
                self._wake(each.id, await self._became(each))

    def take_up_grants(self, grants: Sequence[Grant]) -> None:
        """Know grants that were given, spent or revoked, wherever that was."""
        for each in grants:
            if each.revoked or each.uses_left == 0:
                self.board.drop_grant(each)
            else:
                self.board.grant(each)

    def _adopt(self, approval: Approval) -> Pending:
        """The approval on the board, which another gateway may have asked for."""
        pending = self.board.find(approval.id)
        if pending is None:
            pending = _pending(approval, kept=True)
            self.board.add(pending)
        pending.answered = pending.answered or approval.answered
        return pending

    # Questions --------------------------------------------------------------------------------------------------

    async def add(self, approval: Approval, most: Crowd | None = None) -> Pending:
        """Put a question to the reviewers, or find the same one that was put elsewhere. Raises Crowded when as many
        wait as may: other gateways ask too, and only the store has seen all of it."""
        for _ in range(TRIES):
            pending = await self._add(approval, None if self._peers is None else most)
            if pending.kept:
                return pending
            attached = None if self._peers is None else await self._elsewhere(self._peers.shared, approval.key, most)
            if attached is not None:
                return attached
        raise StoreUnavailable("The same call is asked about elsewhere.")

    async def _elsewhere(self, shared: Shared, key: GrantKey, most: Crowd | None) -> Pending | None:
        """The same question, put elsewhere; None when it does not wait any more."""
        asked = await shared.waiting(key)
        if asked is not None:
            return await self.attach(asked)
        crowd = await shared.crowd(key.caller)
        if most is not None and crowd.fills(most):
            raise Crowded(crowd)
        return None

    async def _add(self, approval: Approval, most: Crowd | None) -> Pending:
        """Put a question. It is on the board at once, so that nobody here asks it a second time."""
        pending = _pending(approval)
        pending.callers = 1  # whoever asks waits too: others who wait with it, and leave, do not end its question
        self.board.add(pending)
        try:
            await _to_its_end(self._keep(approval, pending, most))
        except asyncio.CancelledError:
            pending.callers -= 1
            await self.leave(pending)
            raise
        pending.callers -= 1
        return pending

    async def _keep(self, approval: Approval, pending: Pending, most: Crowd | None) -> None:
        why = LOST
        try:
            pending.kept = await self._store.add_approval(approval, self._told(approval, "created"), most)
            why = ELSEWHERE
        finally:
            if not pending.kept:  # for whatever reason: what has no row could never be answered, nor ended
                self._lost(pending, why)
        if not pending.kept:
            return
        self._tell(approval, "created")
        if pending.to_end is not None:
            with contextlib.suppress(StoreUnavailable):  # then its deadline ends it
                await self.end_all([approval.id], ApprovalEvent.CANCEL, pending.to_end)

    async def leave(self, pending: Pending, why: str = DISCONNECTED) -> None:
        """A caller went away. When nobody waits any more, and nobody was told to come again, nobody will come."""
        if self._is_left(pending):
            pending.to_end = why
            with contextlib.suppress(StoreUnavailable):  # then it is ended as soon as the store can write
                await self.end_all([pending.id], ApprovalEvent.CANCEL, why)

    def _is_left(self, pending: Pending) -> bool:
        waits = pending.callers or pending.answered or pending.resolved is not None
        return not waits and self.is_ours(pending)

    def _lost(self, pending: Pending, why: str) -> None:
        self.board.remove(pending)
        pending.wake(Resolved(ApprovalState.CANCELLED, why))

    async def attach(self, approval: Approval) -> Pending | None:
        """The approval on the board, if it waits, whether or not it was heard of here before."""
        known = self.board.find(approval.id)
        if known is not None or self._peers is None or approval.status is not ApprovalState.PENDING:
            return known
        pending = self._adopt(approval)
        # It may have been resolved since it was read, and what was taken up before it was here is not told again.
        resolved = await self.resolved(approval.id)
        if resolved is not None:
            self._wake(approval.id, resolved)
        return pending

    async def get(self, approval_id: str) -> Approval | None:
        return await self._store.get_approval(approval_id)

    async def mark_answered(self, pending: Pending) -> bool:
        """Remember that the caller is told to come again; False when it is resolved already."""
        if not await self._store.mark_answered(pending.id):
            return False
        pending.answered = True
        return True

    async def resolved(self, approval_id: str) -> Resolved | None:
        """What became of an approval; None while it waits, or when there is none."""
        approval = await self._store.get_approval(approval_id)
        if approval is None or approval.status is ApprovalState.PENDING:
            return None
        return await self._became(approval)

    async def _became(self, approval: Approval) -> Resolved:
        grant = await self._store.get_grant(approval.id) if approval.status is ApprovalState.APPROVED else None
        if grant is not None:
            # It may have been given elsewhere in this moment, or its call was stopped before it left.
            self.take_up_grants([grant])
        return Resolved(approval.status, approval.resolution, grant)

    # Changes ----------------------------------------------------------------------------------------------------

    async def change(self, made: Answered) -> bool:
        """Compare and set; if it counted, those who wait are woken, even if whoever changed it has gone meanwhile."""
        return await _to_its_end(self._change(made))

    async def _change(self, made: Answered) -> bool:
        approval = made.approval
        what = "voted" if approval.status is ApprovalState.PENDING else approval.status.value
        if not await self._store.change_approval(approval, self._told(approval, what), made.grant):
            return False
        if approval.status is not ApprovalState.PENDING:
            self._settle(approval, made.grant)
        self._tell(approval, what)
        return True

    def _tell(self, approval: Approval, change: str) -> None:
        for listener in self.on_change:
            listener(approval, change)

    def _settle(self, approval: Approval, grant: Grant | None) -> None:
        if grant is not None:
            self.board.grant(grant)
        if approval.status is ApprovalState.DENIED:
            self.board.denied(approval.key, approval.resolution, approval.decided_at or approval.created_at)
        self._wake(approval.id, Resolved(approval.status, approval.resolution, grant))

    def _wake(self, approval_id: str, resolved: Resolved) -> None:
        pending = self.board.find(approval_id)
        if pending is not None:
            self.board.remove(pending)
            pending.wake(resolved)

    async def end(self, approval: Approval, event: ApprovalEvent, resolution: str) -> bool:
        """End one that nobody answered; False when it is not what it was."""
        return await self.change(Answered(ended(approval, event, resolution, self._clock.now())))

    async def end_all(self, ids: Sequence[str], event: ApprovalEvent, resolution: str) -> None:
        """End approvals that nobody answered. One that somebody answers in this moment is left to that; one that
        cannot be ended keeps none of the others from it, and is told of afterwards."""
        ends = (self._end_one(each, event, resolution) for each in ids)
        failed = [each for each in await asyncio.gather(*ends, return_exceptions=True) if each is not None]
        if failed:
            raise failed[0]

    async def _end_one(self, approval_id: str, event: ApprovalEvent, resolution: str) -> None:
        for _ in range(TRIES):
            approval = await self._store.get_approval(approval_id)
            if approval is None:
                pending = self.board.find(approval_id)
                if pending is not None and pending.kept:
                    continue  # it was written while we looked
                if pending is not None and event is ApprovalEvent.CANCEL:
                    pending.to_end = resolution  # by whoever writes it, as soon as there is a row
                return
            if approval.status is not ApprovalState.PENDING:  # resolved where it was not seen
                self._wake(approval_id, await self._became(approval))
                return
            if await self.end(approval, event, resolution) or event is ApprovalEvent.EXPIRE:
                return  # what is not over yet, by the clock of the store, is looked at again soon

    async def expire(self, now: Micros) -> None:
        """End what is over, and what nobody waits for any more and could not be ended then; and forget what is of no
        interest any more. What other gateways look after is left to them for a moment."""
        over = (each for each in self.board if each.expires_at <= now - (0 if self.is_ours(each) else OTHERS_FIRST))
        await self.end_all([each.id for each in over], ApprovalEvent.EXPIRE, "")
        for each in [each for each in self.board if each.kept and each.to_end is not None]:
            if self._is_left(each):
                await self.end_all([each.id], ApprovalEvent.CANCEL, each.to_end or DISCONNECTED)
        self.board.tidy(now)

    # Grants -----------------------------------------------------------------------------------------------------

    def take(self, grant_id: str) -> Grant | None:
        """Take a use of a grant before the store is asked for it, so that no two calls go for the last one; None when
        there is none."""
        grant = self.board.find_grant(grant_id)
        if grant is not None and grant.uses_left is not None:
            self.board.drop_grant(grant)
        return grant

    def forget(self, grant: Grant) -> None:
        """The store says that it cannot be used any more: it was spent or revoked where it was not seen."""
        self.board.drop_grant(grant)

    def give_back(self, grant: Grant) -> None:
        """The store could not record that it was used."""
        self.board.grant(grant)

    async def used_by(self, approval_id: str) -> str | None:
        """The activity of the call that was approved, when it ran last; None when it has not."""
        grant = await self._store.get_grant(approval_id)
        return None if grant is None else grant.activity

    async def revoke(self, grant_id: str, by: str) -> Grant | None:
        """Revoke a grant; None when there is none that could be used."""
        grant = self.board.find_grant(grant_id)
        if grant is None:
            return None
        self.board.drop_grant(grant)
        now = self._clock.now()
        body: dict[str, Json] = {"change": "grant revoked", "grant": grant.id, "scope": grant.scope.value, "by": by}
        why = Activity(new_id(now), now, ActivityType.APPROVAL, CallState.SUCCESS, body, caller=by)
        about = replace(why, server=grant.key.server, tool=grant.key.tool, approval_id=grant.approval)
        try:
            return grant if await self._store.revoke_grant(grant_id, now, about) else None
        except StoreUnavailable:
            # It was not revoked, and whoever wanted that must be able to try again. Without a store nobody uses it.
            self.board.grant(grant)
            raise

    # The record -------------------------------------------------------------------------------------------------

    async def note(
        self, approval: Approval, by: str, body: dict[str, Json], status: CallState = CallState.BLOCKED
    ) -> None:
        """Record something about an approval that changed nothing of it, such as an answer that was refused."""
        now = self._clock.now()
        told = self._told(approval, "")
        await self._log([replace(told, id=new_id(now), at=now, status=status, body=body, caller=by)])

    def _told(self, approval: Approval, change: str) -> Activity:
        """The activity that tells of a change. Its id is that of the approval: the list shows how it stands, and the
        log remembers how it came to that."""
        return Activity(
            id=approval.id,
            at=approval.created_at,
            type=ActivityType.APPROVAL,
            status=_STATUSES[approval.status],
            body={"change": change, **shown(approval)},
            server=approval.key.server,
            tool=approval.key.tool,
            caller=approval.requester,
            workspace=approval.key.workspace,
            safety_class=approval.key.safety_class,
            verdict="hold",
            rule_id=approval.rule_id,
            approval_id=approval.id,
        )


def _pending(approval: Approval, *, kept: bool = False) -> Pending:
    return Pending(
        approval.id,
        approval.key,
        approval.expires_at,
        created_at=approval.created_at,
        answered=approval.answered,
        kept=kept,
        gateway=approval.gateway,
    )


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """What comes of a change, which goes on even if whoever wanted it has gone: what the store has taken counts, and
    those who wait have to hear of it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_unheard)
        raise


def _unheard(task: "asyncio.Task[Any]") -> None:
    """Nobody is left to hear that it failed; what it was about is settled at its deadline."""
    if not task.cancelled():
        task.exception()
