"""What is put on record when a tool changes, or when somebody gives their word about one.

A change is told with the fields that differ, because whoever reads the record later has to see what was seen. All that
a server wrote is told as text: searched for secrets, cut to a length, and within a bound for one listing, so that a
server that changes everything all the time cannot fill the disk. What does not fit is counted; how each tool stands is
not a matter of the record.

This module refuses to write: it makes activities for whoever does.
"""

from collections.abc import Sequence

from interlock.core.canonical import canonical_text
from interlock.core.drift import Change, ChangeKind, ToolChange, Turn, fields_between
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, Micros
from interlock.core.poison.listing import NO_SIGNS, Signs
from interlock.core.poison.signs import Sign
from interlock.core.redact import redact_text
from interlock.core.safety import SafetyClass
from interlock.store.protocol import Activity, ActivityType, new_id

MOST_TOLD = 100
"""How many changes of one listing are told one by one."""
ROOM = 64 * 1024
"""How many characters the differences of one listing take together."""
MAX_VALUE = 1_000
"""How many characters of one value are told."""
MOST_SIGNS = 5
"""How many signs of one tool are told."""
_FRAME = 100
"""About what a field takes beside its path and values."""


def begun(server: str, tools: int, now: Micros) -> Activity:
    """The first listing of a server became its baseline."""
    return _activity(server, None, {"change": "baseline", "tools": tools}, now)


def found(server: str, changes: Sequence[ToolChange], now: Micros, signs: Signs = NO_SIGNS) -> list[Activity]:
    """What a listing brought, the gravest first. It may take a while: the differences are looked for here."""
    turns = list(Turn)
    told = sorted(changes, key=lambda each: turns.index(each.turn))[:MOST_TOLD]
    activities = _told(server, told, now, signs=signs)
    if len(changes) > len(told):
        body: dict[str, Json] = {"change": "more", "tools": len(changes) - len(told)}
        activities.append(_activity(server, None, body, now))
    return activities


def trusted(server: str, changes: Sequence[ToolChange], by: str, now: Micros) -> list[Activity]:
    """Somebody took tools for reviewed. Each one is told: a person's word is never left out."""
    return _told(server, changes, now, by)


def overridden(
    server: str, tool: str, before: SafetyClass | None, after: SafetyClass | None, by: str, now: Micros
) -> Activity:
    """Somebody set the class of a tool, or let the evidence speak again."""
    change = "override removed" if after is None else "overridden"
    body: dict[str, Json] = {"change": change, "before": before, "after": after}
    return _activity(server, tool, body, now, by)


def _told(
    server: str, changes: Sequence[ToolChange], now: Micros, by: str | None = None, signs: Signs = NO_SIGNS
) -> list[Activity]:
    room = ROOM // max(1, len(changes))
    return [
        _activity(server, each.tool, {**_body(each, room), **_signs(signs.get(each.tool, ()))}, now, by)
        for each in changes
    ]


def _signs(signs: Sequence[Sign]) -> dict[str, Json]:
    """What is told of the signs of a tool: the hard ones, with the words that they were seen in."""
    hard: list[Json] = [
        {"code": each.code, "where": redact_text(each.where), "evidence": redact_text(each.evidence)}
        for each in signs
        if each.hard
    ]
    return {"signs": hard[:MOST_SIGNS]} if hard else {}


def _activity(server: str, tool: str | None, body: dict[str, Json], now: Micros, by: str | None = None) -> Activity:
    return Activity(
        id=new_id(now),
        at=now,
        type=ActivityType.TOOL_CHANGE,
        status=CallState.SUCCESS,
        body={**body, "by": by},
        server=server,
        tool=tool,
        caller=by,
    )


def _body(change: ToolChange, room: int) -> dict[str, Json]:
    body: dict[str, Json] = {
        "change": change.turn,
        "standing": change.standing,
        "fingerprint": change.after.fingerprint,
        "reviewed": None if change.before is None else change.before.fingerprint,
    }
    if change.before is None or change.before == change.after:
        return body
    difference: list[Json] = []
    for field in map(_field, fields_between(change.before, change.after)):
        room -= _FRAME + sum(len(each) for each in field.values() if each is not None)
        if room < 0:
            return {**body, "difference": difference, "more": True}
        difference.append(field)
    return {**body, "difference": difference}


def _field(change: Change) -> dict[str, str | None]:
    """One field as text; a side that does not exist is None, where a null is `null`."""
    return {
        "path": redact_text(change.path)[:MAX_VALUE],
        "kind": change.kind,
        "before": None if change.kind is ChangeKind.ADDED else _text(change.before),
        "after": None if change.kind is ChangeKind.REMOVED else _text(change.after),
    }


def _text(value: Json) -> str:
    # Searched before it is cut: half a secret has no shape.
    return redact_text(canonical_text(value))[:MAX_VALUE]
