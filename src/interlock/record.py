"""The record of a call: opened before the first byte leaves, closed before the answer is given.

For anything above read-only both writes are waited for; reads are queued and grouped, unless the operator wants to wait
for every call. If the store cannot write, the call is refused: no record, no call. This is the one place that writes
activities of calls, so it is the one place that redacts.

INVARIANT: above read-only nothing is sent without a durable record, and nothing is answered without a durable outcome.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from interlock.clock import Clock
from interlock.core.lifecycle import CallEvent, CallState, next_call_state
from interlock.core.model import Allow, Call, Deny, Hold, Json, Micros, Verdict
from interlock.core.redact import redact, redact_text
from interlock.core.safety import SafetyClass
from interlock.core.toolbook import ListedTool
from interlock.store.protocol import Activity, ActivityType, Store, Token, new_id

MAX_CONTENT = 16 * 1024
"""How much of a result is kept, in characters."""


class RecordWait(StrEnum):
    """Which calls wait for the disk."""

    WRITES = "writes"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a call came from, for display only; nothing is ever decided by it."""

    entry: str
    session_id: str | None = None
    request_id: str | None = None
    client: str | None = None
    model: str | None = None


@dataclass(slots=True)
class OpenRecord:
    """A call whose record is open, with the times of its stages."""

    activity: Activity
    waits: bool
    began: Micros
    stages: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a sent call ended: the event, the size of the result, and its text as far as it is kept."""

    event: CallEvent
    size: int = 0
    content: str = ""
    error: str = ""


class Recorder:
    """Writes the activities of calls."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        wait: RecordWait = RecordWait.WRITES,
        *,
        on_end: Callable[[Activity], None] = lambda _: None,
    ) -> None:
        """`on_end` is told of every call that ended, refused or sent, once that is on record."""
        self._store = store
        self._clock = clock
        self._wait = wait
        self._on_end = on_end

    async def refused(self, call: Call, found: ListedTool | None, verdict: Deny, origin: Origin) -> str:
        """Record a call that was refused; returns the id of its activity."""
        record = self._record(call, found, verdict, origin, CallEvent.REFUSE)
        # A refusal is never lost, whatever it refused: only reads that were let pass may be.
        await self._store.write([record])
        self._on_end(record)
        return record.id

    async def ahead(self, call: Call, found: ListedTool, verdict: Allow, origin: Origin) -> OpenRecord:
        """Open the record of a call that is about to be sent. A read is written once, with its outcome."""
        activity = self._record(call, found, verdict, origin, CallEvent.SEND)
        waits = self._waits(found)
        if waits:
            await self._store.write([activity])
        return OpenRecord(activity, waits, self._clock.ticks())

    async def outcome(self, record: OpenRecord, outcome: Outcome) -> None:
        """Close the record of a call that was sent."""
        status = next_call_state(CallState.SENT, outcome.event) or CallState.INDETERMINATE
        result: dict[str, Json] = {"size": outcome.size}
        if outcome.content:
            result["content"] = redact_text(outcome.content[:MAX_CONTENT])
        if outcome.error:
            result["error"] = redact_text(outcome.error[:MAX_CONTENT])
        timings: dict[str, Json] = {**record.stages, "upstream_us": self._clock.ticks() - record.began}
        body = {**record.activity.body, "result": result, "timings": timings}
        ended = replace(record.activity, status=status, body=body)
        await self._write(ended, durable=record.waits)
        self._on_end(ended)

    async def _write(self, activity: Activity, *, durable: bool) -> None:
        if durable:
            await self._store.write([activity])
        else:
            self._store.write_soon([activity])

    def _waits(self, found: ListedTool) -> bool:
        return self._wait is RecordWait.ALL or found.classification.gateway is not SafetyClass.READ_ONLY

    def _record(
        self, call: Call, found: ListedTool | None, verdict: Verdict, origin: Origin, event: CallEvent
    ) -> Activity:
        now = self._clock.now()
        return Activity(
            id=new_id(now),
            at=now,
            type=ActivityType.POLICY_DECISION if isinstance(verdict, Deny) else ActivityType.TOOL_CALL,
            status=next_call_state(CallState.RECEIVED, event) or CallState.BLOCKED,
            body=_body(call, found, verdict, origin),
            server=call.server or None,
            tool=call.tool,
            caller=call.caller.name,
            session_id=origin.session_id,
            workspace=call.caller.workspace,
            intent_type=None if isinstance(verdict, Deny) else verdict.intent.operation_type,
            safety_class=None if found is None else found.classification.gateway,
            verdict=verdict.effect,
            rule_id=verdict.ground.id,
        )


def _body(call: Call, found: ListedTool | None, verdict: Verdict, origin: Origin) -> dict[str, Json]:
    reasons: list[Json] = [{"code": reason.code, "text": redact_text(reason.text)} for reason in verdict.reasons]
    metadata: dict[str, Json] = {"tool_variant": call.variant.value}
    if isinstance(verdict, Allow | Hold):
        metadata["intent"] = _intent(verdict)
        metadata["warnings"] = [reason.text for reason in verdict.warnings]
    return {
        "entry": origin.entry,
        "request_id": origin.request_id,
        "client": None if origin.client is None else redact_text(origin.client),
        "model": origin.model,
        "class_source": None if found is None else found.classification.source,
        "reasons": reasons,
        "metadata": metadata,
        "arguments": redact(call.arguments),
        "digest": call.digest,
    }


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


def _intent(verdict: Allow | Hold) -> Mapping[str, Json]:
    intent = verdict.intent
    return {
        "operation_type": intent.operation_type,
        "data_sensitivity": intent.data_sensitivity,
        "reason": redact_text(intent.reason),
    }
