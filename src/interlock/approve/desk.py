"""The desk: where a call waits for its second key.

The approval is a row; whoever waits here is only woken when that row may have changed. What is approved becomes a
grant, and the call that waited is then decided about anew by whoever sent it here, and uses the grant as any later call
would. A caller that would lose patience is told to come again before it does, and from then on its approval stays open
by itself; before that it is cancelled when nobody waits for it any more.

This module refuses to decide who may call what, to forward anything, and to keep what a caller sent.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from interlock import errors
from interlock.approve.board import MAX_PENDING, Pending, Resolved
from interlock.approve.register import DISCONNECTED, ELSEWHERE, RESTARTED, Crowded, Register
from interlock.clock import Clock
from interlock.core.approvals import SECOND, Approval
from interlock.core.decide import grant_key
from interlock.core.grants import Grant
from interlock.core.intent import MAX_REASON
from interlock.core.lifecycle import ApprovalEvent, ApprovalState, CallEvent
from interlock.core.model import Allow, Call, Hold, Micros, Variant
from interlock.core.policy import Patience
from interlock.core.redact import KnownSecrets, redact_text
from interlock.core.times import iso
from interlock.core.toolbook import ListedTool
from interlock.kept import Origin, Unapproved, asked_of
from interlock.store.approvals import Crowd
from interlock.store.protocol import StoreUnavailable, new_id

PROGRESS_SECONDS = 5.0
SWEEP_SECONDS = 1.0
"""How often deadlines are looked at, at the least: a clock may jump."""
MAX_TOGETHER = 200
"""How many calls may wait for one approval: they do not count as questions, so a caller could send any number."""
MAX_ID = 64
SHUTDOWN = "server shutdown"
UNRECORDED = "the call was refused, because that it waits could not be recorded"

Progress: TypeAlias = Callable[[float, str], None]
"""Tells a caller that its call still waits: for how many seconds it has, and a sentence."""


class Held(Struct, frozen=True):
    """A call at the desk."""

    call: Call
    found: ListedTool
    verdict: Hold | Allow
    origin: Origin
    patience: Patience
    workspace_name: str | None = None
    progress: Progress | None = None
    ask_reason: Callable[[], Awaitable[str]] | None = None
    """Asks the client for its reason, where that is wanted and possible."""


class Approved(Struct, frozen=True):
    """Somebody turned the second key. The grant may have been used by now."""

    approval: str
    grant: Grant


class Desk:
    """All calls that wait at this gateway."""

    def __init__(self, register: Register, clock: Clock, secrets: Callable[[], KnownSecrets] = KnownSecrets) -> None:
        self.register = register
        self._clock = clock
        self._secrets = secrets
        self._closed = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Look after deadlines while the block runs; at its end nobody waits any more."""
        async with asyncio.TaskGroup() as group:
            sweeper = group.create_task(self._sweep())
            try:
                yield
            finally:
                sweeper.cancel()
                await self.close()

    async def close(self) -> None:
        """Cancel what callers wait for in person, and let them know; the rest stays open."""
        self._closed = True
        ours = filter(self.register.is_ours, self.register.board)
        waiting = [each.id for each in ours if not each.answered]
        with contextlib.suppress(StoreUnavailable):  # the next start settles what cannot be settled now
            await self.register.end_all(waiting, ApprovalEvent.CANCEL, SHUTDOWN)

    async def _sweep(self) -> None:
        while True:
            now = self._clock.now()
            await self._swept(now)
            # What is over and still there could not be ended: the store has to recover first.
            soonest = min((each.expires_at for each in self.register.board if each.expires_at > now), default=None)
            left = SWEEP_SECONDS if soonest is None else (soonest - self._clock.now()) / SECOND
            await asyncio.sleep(min(SWEEP_SECONDS, max(left, 0.01)))

    async def _swept(self, now: Micros) -> None:
        """End what is over, as far as that can be done."""
        try:
            await self.register.expire(now)
        except StoreUnavailable:  # nobody is told that time is over before that is kept
            return
        except Exception as failed:  # a defect of ours, or a row that was tampered with: no reason to stop the gateway
            context = {"message": "an approval could not be ended", "exception": failed}
            asyncio.get_running_loop().call_exception_handler(context)

    # Asking -----------------------------------------------------------------------------------------------------

    async def hold(self, held: Held) -> Approved | Unapproved:
        """Wait for an answer to a call, or go on with the approval that it names."""
        if held.call.approval_id is not None:
            return await self._recall(held, held.call.approval_id)
        pending = self.register.board.find(getattr(held.verdict, "attach_to", None) or "")
        while True:
            made = pending or await self._ask(held)
            if isinstance(made, Unapproved):
                return made
            ours = self.register.is_ours(made)
            answer = await self._wait(made, held)
            if not _was_left(made, ours=ours):
                return answer
            # By others, who were gone before this one came: this one is here, and asks for itself.
            pending = self.register.board.same(made.key)

    async def _ask(self, held: Held) -> Pending | Unapproved:
        reason = await _reason(held)
        if not reason:
            field = "_justification" if held.call.variant is Variant.DIRECT else "intent.reason"
            return Unapproved(CallEvent.REFUSE, errors.JUSTIFICATION_REQUIRED(field=field))
        if len(reason) > MAX_REASON:
            return Unapproved(CallEvent.REFUSE, errors.REASON_TOO_LONG(length=len(reason)))
        question = self._question(held, reason)
        # While this caller gave its reason, others may have come: the same call, or too many.
        same = self.register.board.same(question.key)
        if same is not None:
            return same
        if self._closed:
            return Unapproved(CallEvent.CANCEL, errors.CANCELLED(resolution=SHUTDOWN))
        board, most = self.register.board, Crowd(held.patience.max_pending, MAX_PENDING)
        crowd = Crowd(board.count(held.call.caller.name), len(board))
        if crowd.fills(most):
            return _too_many(crowd, most)
        try:
            return await self.register.add(question, most)
        except Crowded as full:  # other gateways have asked meanwhile
            return _too_many(full.crowd, most)

    def _question(self, held: Held, reason: str) -> Approval:
        call, found, verdict, now = held.call, held.found, held.verdict, self._clock.now()
        assert isinstance(verdict, Hold)  # noqa: S101 - nobody is asked about anything else
        known = self._secrets()
        return Approval(
            id=f"ap_{new_id(now)}",
            key=grant_key(call, found.known, verdict.ground, verdict.auth_scope),
            tool_name=found.tool.qualified,
            rule_id=verdict.ground.id,
            terms=verdict.terms,
            created_at=now,
            expires_at=now + verdict.terms.approval_timeout * SECOND,
            gateway=self.register.run,
            owner=call.caller.owner,
            asked={
                **asked_of(call, found, held.origin, verdict, known),
                "justification": redact_text(reason, known),
                "workspace_name": held.workspace_name,
                "auth_scope_id": verdict.auth_scope,
            },
        )

    async def _recall(self, held: Held, approval_id: str) -> Approved | Unapproved:
        """Go on with an approval that the caller names."""
        call = held.call
        approval = await self.register.get(approval_id) if len(approval_id) <= MAX_ID else None
        if approval is None or approval.requester != call.caller.name:
            # The same answer for one that there is not and for somebody else's.
            return Unapproved(CallEvent.REFUSE, errors.NO_SUCH_APPROVAL())
        key = approval.key
        if (key.server, key.tool) != (call.server, call.tool) or key.digest != call.digest:
            changed = "the arguments" if (key.server, key.tool) == (call.server, call.tool) else "the tool"
            return Unapproved(CallEvent.REFUSE, errors.STALE_APPROVAL(changed=changed), approval.id)
        pending = await self.register.attach(approval)
        return await (self._outcome(approval.id) if pending is None else self._wait(pending, held))

    # Waiting ----------------------------------------------------------------------------------------------------

    async def watch(self, approval: Approval, seconds: float | None) -> None:
        """Return when an approval is resolved, or after so many seconds; whoever watches keeps nothing open."""
        pending = await self.register.attach(approval)
        if pending is not None and pending.resolved is None:
            await _news(pending, seconds)

    async def _wait(self, pending: Pending, held: Held) -> Approved | Unapproved:
        """Wait until the approval is resolved, or the caller has to be told to come again."""
        place = int(pending.callers < MAX_TOGETHER)  # without one, a caller is only told to come again
        pending.callers += place
        try:
            patience = held.patience.of(held.origin.client) if place else 0.0
            told = await self._resolved_or_told(pending, held, patience)
        except BaseException as ended:  # raised again: whatever it was, this one does not wait any more
            pending.callers -= place
            if isinstance(ended, asyncio.CancelledError):
                await self.register.leave(pending)
            elif isinstance(ended, StoreUnavailable):
                await self.register.leave(pending, UNRECORDED)
            raise
        pending.callers -= place
        if told is not None:
            return told
        return _told(pending.id, pending.resolved) if pending.resolved else await self._outcome(pending.id)

    async def _resolved_or_told(self, pending: Pending, held: Held, patience: float | None) -> Unapproved | None:
        """Returns when the approval is resolved; or, when the caller would lose patience, what it is told."""
        clock = asyncio.get_running_loop().time
        began = clock()
        while pending.resolved is None:
            waited = clock() - began
            if patience is not None and waited >= patience:
                # False: it was resolved in this moment.
                return _come_again(pending) if await self.register.mark_answered(pending) else None
            if held.progress is not None and waited > 0:
                held.progress(waited, f"Waiting for approval {pending.id}")
            await _news(pending, _pause(patience, waited, talks=held.progress is not None))
        return None

    async def _outcome(self, approval_id: str) -> Approved | Unapproved:
        """What the row says."""
        resolved = await self.register.resolved(approval_id)
        if resolved is None:
            raise StoreUnavailable("An approval is not what it was.")
        return _told(approval_id, resolved)


def _too_many(crowd: Crowd, most: Crowd) -> Unapproved:
    """What a caller is told when as many wait as may."""
    own = errors.QUOTA(pending=crowd.own) if crowd.own >= most.own else None
    return Unapproved(CallEvent.REFUSE, own or errors.DESK_FULL())


async def _reason(held: Held) -> str:
    """Why the caller needs the call: as it said, or as it says when it is asked."""
    given = held.call.declaration.reason
    text = given.strip() if isinstance(given, str) else ""
    if not text and held.ask_reason is not None:
        text = (await held.ask_reason()).strip()
    return text


async def _news(pending: Pending, seconds: float | None) -> None:
    """Return when there may be news of an approval, or after so many seconds."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()
    timer = None if seconds is None else loop.call_later(seconds, _ring, waiter)
    pending.waiters[waiter] = None
    try:
        await waiter
    finally:
        pending.waiters.pop(waiter, None)
        if timer is not None:
            timer.cancel()


def _ring(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _pause(patience: float | None, waited: float, *, talks: bool) -> float | None:
    """How long to wait for news before something has to be said."""
    left = None if patience is None else max(patience - waited, 0.0)
    if not talks:
        return left
    return PROGRESS_SECONDS if left is None else min(PROGRESS_SECONDS, left)


def _was_left(pending: Pending, *, ours: bool) -> bool:
    """Whether an approval was cancelled because nobody waited for it: where it was asked, callers or the whole gateway
    had gone; or is none, because another gateway had asked before."""
    ended = pending.resolved
    left = (DISCONNECTED, ELSEWHERE) if ours else (DISCONNECTED, RESTARTED, SHUTDOWN)
    return ended is not None and ended.status is ApprovalState.CANCELLED and ended.resolution in left


def _come_again(pending: Pending) -> Unapproved:
    expires_at = pending.expires_at
    reason = errors.PENDING(approval_id=pending.id, expires_at=iso(expires_at))
    return Unapproved(CallEvent.REFUSE, reason, pending.id, expires_at)


def _told(approval_id: str, resolved: Resolved) -> Approved | Unapproved:
    """What a caller is told of an approval that is resolved."""
    if resolved.grant is not None:
        return Approved(approval_id, resolved.grant)
    why = resolved.resolution or "no reason given"
    match resolved.status:
        case ApprovalState.DENIED:
            return Unapproved(CallEvent.DENY, errors.DENIED(resolution=why), approval_id)
        case ApprovalState.TIMEOUT:
            return Unapproved(CallEvent.EXPIRE, errors.TIMEOUT(), approval_id)
        case _:
            return Unapproved(CallEvent.CANCEL, errors.CANCELLED(resolution=why), approval_id)
