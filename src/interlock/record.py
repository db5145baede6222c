"""The record of a call: opened before the first byte leaves, closed before the answer is given.

For anything above read-only both writes are waited for; reads are queued and grouped, unless the operator wants to wait
for every call or the last write of the store failed. If the store cannot write, the call is refused: no record, no
call. This is the one place that writes activities of calls, so it is the one place that redacts, and that keeps what
agents and upstreams send from filling the disk.

INVARIANT: above read-only nothing is sent without a durable record, and nothing is answered without a durable outcome.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import islice

import msgspec

from interlock.clock import Clock
from interlock.core.intent import MAX_REASON
from interlock.core.lifecycle import CallEvent, CallState, next_call_state
from interlock.core.model import (
    CALL_METHOD,
    Allow,
    Call,
    Declaration,
    Deny,
    Intent,
    Json,
    JsonObject,
    Micros,
    OperationType,
    Sensitivity,
    Verdict,
)
from interlock.core.redact import KnownSecrets, redact, redact_text
from interlock.core.safety import SafetyClass
from interlock.core.toolbook import ListedTool
from interlock.store.protocol import Activity, ActivityType, Store, Token, new_id

MAX_CONTENT = 16 * 1024
"""How much of a result is kept, in characters."""

MAX_ARGUMENTS = 64 * 1024
"""Arguments that are longer than this, as JSON, are not kept, and not even looked at."""

MAX_NAMES = 20
"""How many names of arguments are told of those that are not kept."""

MAX_LABEL = 200
"""How much is kept of a name that somebody else chose, in characters."""

MAX_TOLD = 1000
"""How much is kept of a reason, in characters."""

MAX_WORD = 512
"""How much of what is cut in two at the end of a result goes with it, in characters."""

_BETWEEN_WORDS = " \t\n\\\"',;"
_OPERATIONS = frozenset(each.value for each in OperationType)
_SENSITIVITIES = frozenset(each.value for each in Sensitivity)


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
        secrets: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """`on_end` is told of every call that ended, refused or sent, once that is on record.

        `secrets` tells the values that the gateway itself holds, and that must not be stored if a server echoes them.
        """
        self._store = store
        self._clock = clock
        self._wait = wait
        self._on_end = on_end
        self._secrets = secrets
        self._known = frozenset[str](), KnownSecrets()

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
        # After a failure only a write that is waited for tells whether the store can write again.
        waits = self._waits(found) or self._store.ailing
        if waits:
            await self._store.write([activity])
        return OpenRecord(activity, waits, self._clock.ticks())

    async def outcome(self, record: OpenRecord, outcome: Outcome) -> None:
        """Close the record of a call that was sent."""
        status = next_call_state(CallState.SENT, outcome.event) or CallState.INDETERMINATE
        result: dict[str, Json] = {"size": outcome.size}
        known = self._known_secrets()
        if outcome.content:
            result["content"] = _content(outcome.content, outcome.size, known)
        if outcome.error:
            result["error"] = _content(outcome.error, len(outcome.error), known)
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

    def _known_secrets(self) -> KnownSecrets:
        values = frozenset(self._secrets())
        if values != self._known[0]:
            self._known = values, KnownSecrets(values)
        return self._known[1]

    def _record(
        self, call: Call, found: ListedTool | None, verdict: Verdict, origin: Origin, event: CallEvent
    ) -> Activity:
        now = self._clock.now()
        known = self._known_secrets()
        return Activity(
            id=new_id(now),
            at=now,
            type=ActivityType.POLICY_DECISION if isinstance(verdict, Deny) else ActivityType.TOOL_CALL,
            status=next_call_state(CallState.RECEIVED, event) or CallState.BLOCKED,
            body=_body(call, found, verdict, origin, known),
            server=_label(call.server or None, known),
            tool=_label(call.tool, known),
            caller=call.caller.name,
            session_id=_label(origin.session_id, known),
            workspace=call.caller.workspace,
            intent_type=_one_of(_OPERATIONS, _intent(call, verdict).operation_type),
            safety_class=None if found is None else found.classification.gateway,
            verdict=verdict.effect,
            rule_id=verdict.ground.id,
        )


def _body(
    call: Call, found: ListedTool | None, verdict: Verdict, origin: Origin, known: KnownSecrets
) -> dict[str, Json]:
    return {
        "entry": origin.entry,
        "request_id": None if origin.request_id is None else _cut(origin.request_id, MAX_LABEL, known),
        "client": _label(origin.client, known),
        "model": _label(origin.model, known),
        "class_source": None if found is None else found.classification.source,
        "reasons": [{"code": reason.code, "text": _cut(reason.text, MAX_TOLD, known)} for reason in verdict.reasons],
        "metadata": _metadata(call, verdict, known),
        "arguments": _arguments(call.arguments, known),
        "digest": call.digest,
    }


def _metadata(call: Call, verdict: Verdict, known: KnownSecrets) -> dict[str, Json]:
    metadata: dict[str, Json] = {"tool_variant": call.variant.value}
    if call.method != CALL_METHOD:
        metadata["method"] = call.method
    if not isinstance(verdict, Deny):
        metadata["warnings"] = [_cut(reason.text, MAX_TOLD, known) for reason in verdict.warnings]
    if not isinstance(verdict, Deny) or call.declaration.given:
        metadata["intent"] = _shown_intent(_intent(call, verdict), known)
    return metadata


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


def _intent(call: Call, verdict: Verdict) -> Intent | Declaration:
    """What the call is said to do: as it was read, or, of a refused call, what was declared."""
    return call.declaration if isinstance(verdict, Deny) else verdict.intent


def _shown_intent(intent: Intent | Declaration, known: KnownSecrets) -> dict[str, Json]:
    """As far as it is well formed: what was declared of a refused call may be anything."""
    reason = intent.reason if isinstance(intent.reason, str) else ""
    return {
        "operation_type": _one_of(_OPERATIONS, intent.operation_type),
        "data_sensitivity": _one_of(_SENSITIVITIES, intent.data_sensitivity),
        "reason": _cut(reason, MAX_REASON, known),
    }


def _one_of(words: Collection[str], given: Json) -> str | None:
    return given if isinstance(given, str) and given in words else None


def _arguments(arguments: JsonObject, known: KnownSecrets) -> Json:
    size = len(msgspec.json.encode(arguments))
    if size <= MAX_ARGUMENTS:
        return redact(arguments, known)
    names: list[Json] = [_cut(name, MAX_LABEL, known) for name in islice(arguments, MAX_NAMES)]
    return {"kept": False, "bytes": size, "keys": names}


def _content(text: str, size: int, known: KnownSecrets) -> str:
    """As much of a result as is kept. A word that was cut in two goes too: half a secret is not seen to be one."""
    if size > MAX_CONTENT:
        kept, tail = text[: MAX_CONTENT - MAX_WORD], text[MAX_CONTENT - MAX_WORD : MAX_CONTENT]
        text = kept + tail[: 1 + max(map(tail.rfind, _BETWEEN_WORDS))]
    return redact_text(text, known)


def _label(text: str | None, known: KnownSecrets) -> str | None:
    """A name that somebody else chose. Most come again and again."""
    return None if text is None else _cut_label(text[: 2 * MAX_LABEL], known)


def _cut(text: str, length: int, known: KnownSecrets) -> str:
    """A text as it may be kept. What cannot be in it any more is cut off first, so that nobody makes us search it."""
    return redact_text(text[: 2 * length], known)[:length]


@lru_cache(1024)
def _cut_label(text: str, known: KnownSecrets) -> str:
    return _cut(text, MAX_LABEL, known)
