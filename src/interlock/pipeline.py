"""The path: everything Interlock does to a call, from left to right.

    find tool → classify → check intent → match rules → decide ─┬─ Deny  → record → reply
                                                                ├─ Hold  → record → reply
                                                                └─ Allow → record → forward → record → reply

The gateway, the command line, the lab and the dashboard build a Call and hand it to `Pipeline.run`; there is no second
door. This module forwards what was allowed, records what happened, and decides nothing: `decide` does.
"""

import contextlib

from msgspec import Struct

from interlock import errors
from interlock.clock import Clock
from interlock.core.canonical import argument_digest, content_hash
from interlock.core.decide import Entry, Facts, decide
from interlock.core.lifecycle import CallEvent
from interlock.core.model import CALL_METHOD, Allow, Call, Caller, Deny, Ground, Hold
from interlock.core.offers import Offers
from interlock.core.policy import Policy
from interlock.core.rates import Rates
from interlock.core.schemas import Schemas
from interlock.core.toolbook import ListedTool, ToolBook, may_know, similar
from interlock.errors import Code, Reason
from interlock.forward.fleet import Fleet
from interlock.forward.link import LOG_MESSAGE, Answer, Listener, Notification
from interlock.forward.questions import Asker, RpcError
from interlock.forward.upstream import Ask
from interlock.kept import OpenRecord, Origin, Outcome
from interlock.record import Recorder
from interlock.sent import FAILURES, ask_of, failure_of, outcome_of
from interlock.store.protocol import StoreUnavailable

__all__ = ["LOG_MESSAGE", "Answer", "Notification", "Pipeline", "Reply", "RpcError"]


class Reply(Struct, frozen=True):
    """What goes back: the upstream's answer as it came, or the reason of a refusal. `activity` is its record."""

    activity: str
    answer: Answer | None = None
    refusal: Reason | None = None


class Pipeline:
    """The one door to the upstreams."""

    def __init__(self, fleet: Fleet, recorder: Recorder, clock: Clock, policy: Policy) -> None:
        self._fleet = fleet
        self._recorder = recorder
        self._clock = clock
        self._schemas = Schemas()
        self._rates = Rates()
        self.policy = policy

    @property
    def book(self) -> ToolBook:
        """All tools as they are known now."""
        return self._fleet.book

    @property
    def offers(self) -> Offers:
        """What the servers have beside tools, as it is known now."""
        return self._fleet.offers

    async def run(
        self,
        call: Call,
        origin: Origin,
        *,
        entry: Entry | None = None,
        listener: Listener | None = None,
        log_level: str | None = None,
        asker: Asker | None = None,
    ) -> Reply:
        """Take one call along the path. `listener` hears of it on the way, `asker` asks its client for the server."""
        found = self._find(call)
        facts = self._facts(call, found, entry)
        verdict = decide(facts)
        try:
            if isinstance(verdict, Allow) and found is not None:
                with self._rates.counting(call.caller.name, self.policy.limits, facts.now):
                    ask = ask_of(call, found, log_level, asker)
                    return await self._forward(call, ask, found, verdict, origin, listener)
            refusal = verdict if isinstance(verdict, Deny) else _unasked(verdict, call)
            return Reply(await self._recorder.refused(call, found, refusal, origin), refusal=_told(refusal, facts))
        except StoreUnavailable:
            return Reply("", refusal=errors.AUDIT_UNAVAILABLE())

    async def settled(self) -> None:
        """See that every call that ended is on record; raises StoreUnavailable."""
        await self._recorder.settled()

    def may_ask(self, server: str) -> bool:
        """Whether this server may ask its callers something while it is called."""
        return self._fleet.may_ask(server)

    def release(self, server: str, uri: str) -> None:
        """Somebody who subscribed to a resource does not need that any more."""
        self._fleet.release(server, uri)

    async def turn_away(self, caller: Caller, name: str, reason: Reason, origin: Origin) -> Reply:
        """Record a call that names nothing which could be called, and refuse it."""
        call = Call(caller, "", name, {}, argument_digest({}))
        try:
            refusal = Deny((reason,), Ground("call", content_hash("call")))
            return Reply(await self._recorder.refused(call, None, refusal, origin), refusal=reason)
        except StoreUnavailable:
            return Reply("", refusal=errors.AUDIT_UNAVAILABLE())

    def _find(self, call: Call) -> ListedTool | None:
        # A server may list a tool with the name of a method: what is called is said by the call and not by the name.
        if call.method == CALL_METHOD:
            return self.book.find(call.server, call.tool)
        return self.offers.find(call.server, call.method)

    def _facts(self, call: Call, found: ListedTool | None, entry: Entry | None) -> Facts:
        now = self._clock.now()
        return Facts(
            call=call,
            found=None if found is None else found.known,
            rules=self.policy.rules,
            now=now,
            entry=entry or self.policy.entry_for(call),
            hold=self.policy.hold,
            suggestion="" if found is not None and may_know(call.caller, found) else similar(call, self.book),
            over_rate=self._rates.over(call.caller.name, self.policy.limits, now),
            argument_problem=None if found is None else self._schemas.problem(found, call.arguments),
        )

    async def _forward(
        self, call: Call, ask: Ask, found: ListedTool, verdict: Allow, origin: Origin, listener: Listener | None
    ) -> Reply:
        # INVARIANT: the record comes before the first byte, the outcome before the answer.
        asked = None if ask.asker is None else ask.asker.asked
        record = await self._recorder.ahead(call, found, verdict, origin, asked)
        try:
            answer = await self._fleet.call(
                call.server,
                ask,
                listener,
                auth_scope=verdict.auth_scope,
                caller=call.caller.name,
            )
        except FAILURES as failed:
            event, reason = failure_of(failed, call.server, self._fleet.seconds(call.server))
            ended = Outcome(event, error=reason.text)
            return await self._closed(record, ended, Reply(record.id, refusal=reason))
        except BaseException:  # raised again, only noted first: whatever ended this call, it may have been sent
            # Most often the caller went away. What cannot be noted stays open on record, and the next start calls it
            # indeterminate.
            with contextlib.suppress(StoreUnavailable):
                await self._recorder.outcome(record, Outcome(CallEvent.CANCEL))
            raise
        return await self._closed(record, outcome_of(answer), Reply(record.id, answer=answer))

    async def _closed(self, record: OpenRecord, outcome: Outcome, reply: Reply) -> Reply:
        """The reply, once the outcome is on record. Without that it is withheld: the call was sent, and nobody may
        be told that it was not."""
        try:
            await self._recorder.outcome(record, outcome)
        except StoreUnavailable:
            return Reply(record.id, refusal=errors.INDETERMINATE())
        return reply


def _unasked(held: Hold | Allow, call: Call) -> Deny:
    """The refusal of a call that nobody can be asked about. That its tool is new comes first: it says what to do."""
    reasons = (errors.NO_DESK(tool=call.shown), *held.reasons)
    return Deny(tuple(sorted(reasons, key=lambda each: each.code is not Code.NEW_TOOL)), held.ground)


def _told(refusal: Deny, facts: Facts) -> Reason:
    """What the caller gets to read: a tool out of its scope is, for it, a tool that does not exist."""
    reason = refusal.reasons[0]
    if reason.code is not Code.OUT_OF_SCOPE:
        return reason
    return errors.UNKNOWN_TOOL(tool=facts.call.shown, suggestion=facts.suggestion)
