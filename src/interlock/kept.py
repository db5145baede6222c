"""What is kept of a call: everything that explains it, nothing that is secret, and no more than is bounded.

Agents and upstreams choose what is in here, so texts are cut, arguments that are too long are only counted, and secrets
are hidden. Nothing here waits or writes: whoever writes activities of calls gets them from here.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice

import msgspec
from msgspec import Struct

from interlock.core.intent import MAX_REASON
from interlock.core.lifecycle import CallEvent, CallState
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
from interlock.core.poison.signs import Sign
from interlock.core.redact import KnownSecrets, has_nothing_to_hide, redact, redact_text
from interlock.core.toolbook import ListedTool
from interlock.core.trace import Trace
from interlock.errors import Reason
from interlock.store.protocol import Activity, ActivityType

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


class Origin(Struct, frozen=True):
    """Where a call came from, for display only; nothing is ever decided by it."""

    entry: str
    session_id: str | None = None
    request_id: str | None = None
    client: str | None = None
    model: str | None = None
    trace: Trace | None = None
    """Where the operator wants traces."""


class Outcome(Struct, frozen=True):
    """How a sent call ended: the event, the size of the result, and its text as far as it is kept."""

    event: CallEvent
    size: int = 0
    content: str = ""
    error: str = ""
    signs: tuple[Sign, ...] = ()
    """What in the result speaks to the model."""
    unsent: bool = False
    """Whether it is certain that nothing of it has left."""


class Unapproved(Struct, frozen=True):
    """The call does not pass: what that is on record, and what its caller is told."""

    event: CallEvent
    reason: Reason
    approval: str | None = None
    come_again: Micros | None = None
    """Until when the caller may come again, where it is told to."""


class OpenRecord(Struct, frozen=True):
    """A call whose record is open: everything that is told of it, and when it left."""

    id: str
    at: Micros
    call: Call
    found: ListedTool | None
    verdict: Verdict
    origin: Origin
    waits: bool
    began: Micros
    approval: str | None = None
    """The approval that it waited for, or came from."""
    recorded: Micros | None = None
    """How long it took until the record was on disk, where that was waited for."""
    questions: Mapping[str, int] | None = None
    """How often the caller was asked something by the server, by kind; it grows while the call is under way."""


class Chapter(Struct, frozen=True):
    """What is told of a call at one moment: how it stands, and how it ended if it has."""

    record: OpenRecord
    status: CallState | None
    size: int
    """How long the arguments are, as JSON."""
    outcome: Outcome | None = None
    took: Micros = 0

    @property
    def length(self) -> int:
        """About how much there is to look at."""
        told = 0 if self.outcome is None else len(self.outcome.content) + len(self.outcome.error)
        return self.size + told


def chapter_of(
    record: OpenRecord, status: CallState | None, outcome: Outcome | None = None, took: Micros = 0
) -> Chapter:
    """What is told of a call now."""
    return Chapter(record, status, len(msgspec.json.encode(record.call.arguments)), outcome, took)


def activities_of(chapters: Sequence[Chapter], known: KnownSecrets) -> list[Activity]:
    """What is kept of calls. One look at all of them is enough if it finds nothing to hide, as most often."""
    bodies = [_body(each, _Look(known, closely=False)) for each in chapters]
    if not _are_harmless(bodies, known):
        for at, chapter in enumerate(chapters):
            if not _are_harmless(bodies[at : at + 1], known):
                bodies[at] = _body(chapter, _Look(known, closely=True))
    return [_activity(chapter, body, known) for chapter, body in zip(chapters, bodies, strict=True)]


def closed_later(left: Activity, unsent: str = "") -> Activity:
    """A call that was left open on record, as it is known to have ended: with why it was not sent, in our words, or
    without anybody knowing."""
    if not unsent:
        return msgspec.structs.replace(left, status=CallState.INDETERMINATE)
    result: dict[str, Json] = {"size": 0, "error": unsent, "sent": False}
    return msgspec.structs.replace(left, status=CallState.ERROR, body={**left.body, "result": result})


def _activity(chapter: Chapter, body: dict[str, Json], known: KnownSecrets) -> Activity:
    record = chapter.record
    call, found, verdict = record.call, record.found, record.verdict
    return Activity(
        id=record.id,
        at=record.at,
        type=ActivityType.TOOL_CALL if isinstance(verdict, Allow) else ActivityType.POLICY_DECISION,
        status=chapter.status or CallState.INDETERMINATE,
        body=body,
        server=_label(call.server or None, known),
        tool=_label(call.tool, known),
        caller=call.caller.name,
        session_id=_label(record.origin.session_id, known),
        workspace=call.caller.workspace,
        intent_type=_one_of(_OPERATIONS, _intent(call, verdict).operation_type),
        safety_class=None if found is None else found.classification.gateway,
        verdict=verdict.effect,
        rule_id=verdict.ground.id,
        approval_id=record.approval,
    )


def asked_of(call: Call, found: ListedTool, origin: Origin, verdict: Verdict, known: KnownSecrets) -> JsonObject:
    """What reviewers are shown of a call that waits for them. Kept as long as the approval is, so nothing secret is in
    it, and what is too long to be kept is counted and not cut."""
    look, size = _Look(known, closely=True), len(msgspec.json.encode(call.arguments))
    return {
        "request_session_id": _label(origin.session_id, known),
        "request_client_type": _label(origin.client, known),
        "request_model": _label(origin.model, known),
        "arguments": look.arguments(call.arguments, size),
        # Beside them, because whatever stands in them is the word of the requester.
        "arguments_kept": size <= MAX_ARGUMENTS,
        "class_source": found.classification.source,
        "reasons": [{"code": each.code, "text": look.text(each.text, MAX_TOLD)} for each in verdict.reasons],
        "intent": _shown_intent(call.declaration, look),
        "entry": origin.entry,
    }


class _Look(Struct, frozen=True):
    """How closely texts are looked at before they are kept. A text that is cut is looked at closely in any case: half a
    secret is not seen to be one."""

    known: KnownSecrets
    closely: bool

    def text(self, text: str, length: int) -> str:
        if self.closely or len(text) > length:
            return _cut(text, length, self.known)
        return text

    def arguments(self, arguments: JsonObject, size: int) -> Json:
        if size <= MAX_ARGUMENTS:
            return redact(arguments, self.known) if self.closely else arguments
        names: list[Json] = [_cut(name, MAX_LABEL, self.known) for name in islice(arguments, MAX_NAMES)]
        return {"kept": False, "bytes": size, "keys": names}

    def content(self, text: str, size: int) -> str:
        """As much of a result as is kept. A word that was cut in two goes too."""
        if size > MAX_CONTENT:
            kept, tail = text[: MAX_CONTENT - MAX_WORD], text[MAX_CONTENT - MAX_WORD : MAX_CONTENT]
            return redact_text(kept + tail[: 1 + max(map(tail.rfind, _BETWEEN_WORDS))], self.known)
        return redact_text(text, self.known) if self.closely else text


def _are_harmless(bodies: Sequence[dict[str, Json]], known: KnownSecrets) -> bool:
    try:
        return has_nothing_to_hide(b"\n".join(map(msgspec.json.encode, bodies)), known)
    except UnicodeEncodeError:  # a lone surrogate, which the closer look knows to deal with
        return False


def _body(chapter: Chapter, look: _Look) -> dict[str, Json]:
    record, outcome = chapter.record, chapter.outcome
    call, verdict, origin, found = record.call, record.verdict, record.origin, record.found
    body: dict[str, Json] = {
        "entry": origin.entry,
        "request_id": None if origin.request_id is None else look.text(origin.request_id, MAX_LABEL),
        "client": _label(origin.client, look.known),
        "model": _label(origin.model, look.known),
        "class_source": None if found is None else found.classification.source,
        "reasons": [{"code": each.code, "text": look.text(each.text, MAX_TOLD)} for each in verdict.reasons],
        "metadata": _metadata(record, look),
        "arguments": look.arguments(call.arguments, chapter.size),
        "digest": call.digest,
    }
    if chapter.size > MAX_ARGUMENTS:
        body["arguments_kept"] = False
    if origin.trace is not None:
        body["trace"] = origin.trace.kept()
    if outcome is not None:
        body["result"] = _result(outcome, look)
        body["timings"] = _timings(chapter)
    return body


def _timings(chapter: Chapter) -> dict[str, Json]:
    """How long the stages took that a call has to wait for."""
    told: dict[str, Json] = {"upstream_us": chapter.took}
    return told if chapter.record.recorded is None else {"recorded_us": chapter.record.recorded, **told}


def _result(outcome: Outcome, look: _Look) -> dict[str, Json]:
    result: dict[str, Json] = {"size": outcome.size}
    if outcome.unsent:
        result["sent"] = False
    if outcome.content:
        result["content"] = look.content(outcome.content, outcome.size)
    if outcome.error:
        result["error"] = look.content(outcome.error, len(outcome.error))
    if outcome.signs:
        told = ({"code": each.code, "where": each.where, "evidence": each.evidence} for each in outcome.signs)
        result["findings"] = [{name: look.text(text, MAX_LABEL) for name, text in each.items()} for each in told]
    return result


def _metadata(record: OpenRecord, look: _Look) -> dict[str, Json]:
    call, verdict = record.call, record.verdict
    metadata: dict[str, Json] = {"tool_variant": call.variant.value}
    if record.questions:
        metadata["questions"] = dict(record.questions)
    if call.method != CALL_METHOD:
        metadata["method"] = call.method
    if not isinstance(verdict, Deny):
        metadata["warnings"] = [look.text(reason.text, MAX_TOLD) for reason in verdict.warnings]
    if not isinstance(verdict, Deny) or call.declaration.given:
        metadata["intent"] = _shown_intent(_intent(call, verdict), look)
    return metadata


def _intent(call: Call, verdict: Verdict) -> Intent | Declaration:
    """What the call is said to do: as it was read, or, of a refused call, what was declared."""
    return call.declaration if isinstance(verdict, Deny) else verdict.intent


def _shown_intent(intent: Intent | Declaration, look: _Look) -> dict[str, Json]:
    """As far as it is well formed: what was declared of a refused call may be anything."""
    reason = intent.reason if isinstance(intent.reason, str) else ""
    return {
        "operation_type": _one_of(_OPERATIONS, intent.operation_type),
        "data_sensitivity": _one_of(_SENSITIVITIES, intent.data_sensitivity),
        "reason": look.text(reason, MAX_REASON),
    }


def _one_of(words: Collection[str], given: Json) -> str | None:
    return given if isinstance(given, str) and given in words else None


def _label(text: str | None, known: KnownSecrets) -> str | None:
    """A name that somebody else chose. Most come again and again."""
    return None if text is None else _cut_label(text[: 2 * MAX_LABEL], known)


def _cut(text: str, length: int, known: KnownSecrets) -> str:
    """A text as it may be kept. What cannot be in it any more is cut off first, so that nobody makes us search it."""
    return redact_text(text[: 2 * length], known)[:length]


@lru_cache(1024)
def _cut_label(text: str, known: KnownSecrets) -> str:
    return _cut(text, MAX_LABEL, known)
