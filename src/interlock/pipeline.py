"""The path: everything Interlock does to a call, from left to right.

    find tool → classify → check intent → match rules → decide ─┬─ Deny  → record → reply
                                                                ├─ Hold  → desk (wait) → grant → decide again
                                                                └─ Allow → record → forward → record → reply

The gateway, the command line, the lab and the dashboard build a Call and hand it to `Pipeline.run`; there is no second
door. This module forwards what was allowed, records what happened, and decides nothing: `decide` does.
"""

import contextlib
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from interlock import errors
from interlock.approve.desk import Approved
from interlock.approve.freezer import Freezer
from interlock.clock import Clock
from interlock.core.canonical import argument_digest
from interlock.core.decide import Facts, decide, standing_ground
from interlock.core.lifecycle import CallEvent
from interlock.core.model import CALL_METHOD, Allow, Call, Caller, Deny, Hold, Verdict
from interlock.core.offers import Offers
from interlock.core.policy import Policy
from interlock.core.rates import Rates
from interlock.core.schemas import Schemas
from interlock.core.toolbook import ListedTool, ToolBook, may_know, similar
from interlock.errors import Reason
from interlock.forward.fleet import Fleet
from interlock.forward.link import LOG_MESSAGE, Answer, Notification
from interlock.forward.questions import RpcError
from interlock.forward.reading import signs_in
from interlock.kept import Origin, Outcome
from interlock.record import Recorder
from interlock.second_key import SecondKey
from interlock.sent import FAILURES, Reply, Way, ask_of, failure_of, read, told_of, unrecorded
from interlock.store.protocol import StoreUnavailable

__all__ = ["LOG_MESSAGE", "Answer", "Notification", "Pipeline", "Reply", "RpcError", "Way"]


class Pipeline:
    """The one door to the upstreams."""

    def __init__(
        self, fleet: Fleet, recorder: Recorder, clock: Clock, policy: Policy, second_key: SecondKey, freezer: Freezer
    ) -> None:
        self._fleet, self._recorder, self._clock = fleet, recorder, clock
        self._second_key, self._freezer = second_key, freezer
        self._schemas, self._rates = Schemas(), Rates()
        self.policy = policy
        self.identify: Callable[[Caller], Caller | Reason] = lambda caller: caller
        """Who a caller is by now, after it waited: its token may have been revoked, or reach less far."""

    @property
    def book(self) -> ToolBook:
        """All tools as they are known now."""
        return self._fleet.book

    @property
    def offers(self) -> Offers:
        """What the servers have beside tools, as it is known now."""
        return self._fleet.offers

    async def run(self, call: Call, way: Way) -> Reply:
        """Take one call along the path."""
        try:
            found = self._find(call)
            facts = self._facts(call, found, way)
            verdict = decide(facts)
            if isinstance(verdict, Deny) or found is None:
                return await self._refuse(facts, found, verdict, way)
            if isinstance(verdict, Hold) or (call.approval_id and await self._second_key.has_turned(call)):
                return await self._hold(call, found, verdict, way)
            if call.approval_id:  # it is about nothing, and while that was looked up others may have passed
                return await self.run(replace(call, approval_id=None), way)
            return await self._pass(call, found, verdict, way)
        except StoreUnavailable as gone:
            return Reply("", refusal=unrecorded(gone))

    async def _hold(self, call: Call, found: ListedTool, verdict: Hold | Allow, way: Way) -> Reply:
        if isinstance(verdict, Hold) and verdict.attach_to is None and call.approval_id is None:
            self._rates.ask(call.caller.name, self.policy.limits, self._clock.now())
        answer = await self._second_key.turned(call, found, verdict, way, self.policy)
        if isinstance(answer, Approved):
            return await self._pass_anew(call, answer, way)
        activity = await self._recorder.unapproved(call, found, verdict, way.origin, answer)
        return Reply(activity, None, answer.reason, answer.approval, answer.come_again)

    async def _pass_anew(self, call: Call, approved: Approved, way: Way) -> Reply:
        # INVARIANT: an approval forwards nothing. Whoever waited is decided about anew, with fresh facts, and passes by
        # the grant that the approval became, or not at all.
        caller, found = self.identify(call.caller), self._find(call)
        if isinstance(caller, Reason):
            stranger = Deny((caller,), standing_ground("caller"))
            return await self._refuse(self._facts(call, found, way), found, stranger, way, approved.approval)
        call = replace(call, caller=caller)
        facts = self._facts(call, found, way, asked=True)
        verdict = self._second_key.fits(approved, facts)
        if approved.grant.activity is not None:
            return await self._second_key.outcome(approved.approval, call, found)
        if not isinstance(verdict, Allow) or found is None:
            return await self._refuse(facts, found, verdict, way, approved.approval)
        return await self._pass(call, found, verdict, way, waited=True)

    async def _pass(self, call: Call, found: ListedTool, verdict: Allow, way: Way, *, waited: bool = False) -> Reply:
        now = self._clock.now()
        asked = waited or (verdict.grant is not None and self._second_key.known(call, now).was_asked(call))
        self._rates.begin(call.caller.name, self.policy.limits, now, asked=asked)
        try:
            if verdict.grant is None:
                return await self._forward(call, found, verdict, way)
            forward = partial(self._forward, call, found, verdict, way)
            reply = await self._second_key.use(call, verdict, forward, waited=waited)
        finally:
            self._rates.end(call.caller.name)
        if reply is None and (waited or call.approval_id):
            return await self._second_key.outcome(verdict.approval or "", call, found)
        return reply or await self.run(call, way)  # its grant is gone, and it is about no approval: it asks

    async def _refuse(
        self, facts: Facts, found: ListedTool | None, verdict: Verdict, way: Way, approval: str | None = None
    ) -> Reply:
        refusal = verdict if isinstance(verdict, Deny) else Deny(verdict.reasons, verdict.ground)
        activity = await self._recorder.refused(facts.call, found, refusal, way.origin, approval)
        return Reply(activity, refusal=told_of(refusal, facts))

    async def settled(self) -> None:
        """See that every call that ended is on record; raises StoreUnavailable."""
        await self._recorder.settled()

    def may_ask(self, server: str) -> bool:
        """Whether a caller may be asked something while it calls this server: by the server, or why it calls."""
        return self.policy.patience.elicit or self._fleet.may_ask(server)

    def release(self, server: str, uri: str) -> None:
        """Somebody who subscribed to a resource does not need that any more."""
        self._fleet.release(server, uri)

    async def turn_away(self, caller: Caller, name: str, reason: Reason, origin: Origin) -> Reply:
        """Record a call that names nothing which could be called, and refuse it."""
        call = Call(caller, "", name, {}, argument_digest({}))
        try:
            refusal = Deny((reason,), standing_ground("call"))
            return Reply(await self._recorder.refused(call, None, refusal, origin), refusal=reason)
        except StoreUnavailable as gone:
            return Reply("", refusal=unrecorded(gone))

    def _find(self, call: Call) -> ListedTool | None:
        # A server may list a tool with the name of a method: what is called is said by the call and not by the name.
        is_tool = call.method == CALL_METHOD
        return self.book.find(call.server, call.tool) if is_tool else self.offers.find(call.server, call.method)

    def _facts(self, call: Call, found: ListedTool | None, way: Way, *, asked: bool = False) -> Facts:
        now, policy = self._clock.now(), self.policy
        known = self._second_key.known(call, now)
        return Facts(
            call=call,
            found=None if found is None else found.known,
            rules=policy.rules,
            now=now,
            entry=way.entry or policy.entry_for(call),
            hold=policy.hold,
            grants=known.grants,
            suggestion="" if found is not None and may_know(call.caller, found) else similar(call, self.book),
            frozen=self._freezer.of(call),
            over_rate=self._rates.over(call.caller.name, policy.limits, now, asked=asked or known.was_asked(call)),
            argument_problem=None if found is None else self._schemas.problem(found, call.arguments),
            waiting=known.waiting,
            recent_denial=known.recent_denial,
            pending_count=known.pending_count,
            max_pending=policy.patience.max_pending,
            desk_full=known.full,
        )

    async def _forward(self, call: Call, found: ListedTool, verdict: Allow, way: Way) -> Reply:
        # INVARIANT: the record comes before the first byte, the outcome before the answer.
        ask = ask_of(call, found, way, self._freezer.still(call))
        record = await self._recorder.ahead(call, found, verdict, way.origin, way.asked)
        try:
            answer = await self._fleet.call(
                call.server, ask, way.listener, auth_scope=verdict.auth_scope, caller=call.caller.name
            )
        except FAILURES as failed:
            outcome, reason = failure_of(failed, call.server, self._fleet.seconds(call.server))
            reply = Reply(record.id, refusal=reason, unsent=outcome.unsent)
        except BaseException:  # raised again, only noted first: whatever ended this call, it may have been sent
            # What cannot be noted stays open on record, and is called indeterminate once anything can be.
            with contextlib.suppress(StoreUnavailable):
                await self._recorder.outcome(record, Outcome(CallEvent.CANCEL))
            raise
        else:
            outcome, reply = read(answer, await signs_in(answer), record.id, call, withhold=self.policy.withhold)
        try:
            await self._recorder.outcome(record, outcome)
        except StoreUnavailable:  # it was sent, and nobody may be told that it was not
            return Reply(record.id, refusal=errors.INDETERMINATE())
        return reply
