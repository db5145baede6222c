"""Activities, entries, tokens and reviews as rows, and rows as what they were.

All turning into text happens here, once, in the thread of whoever writes: a value that no database can hold is refused
before it is queued, so that it fails its own caller and never the batch it would have joined; and what is written later
is what was given, whatever became of it since.

INVARIANT: no activity becomes a row with a secret in it. What is told of a call has been looked at where it was made,
many at a time, because there are so many; whatever else is told is looked at here, whoever brings it.

This module refuses to know SQL, and what a row is for.
"""

import base64
import json
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct

from interlock.core.canonical import canonical_text
from interlock.core.drift import Definition, Reviewed, definition_of
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, Micros
from interlock.core.redact import NOTHING_KNOWN, KnownSecrets, has_nothing_to_hide, redact, redact_text, redact_texts
from interlock.store.protocol import Activity, ActivityCount, ActivityType, Damaged, KeptServer, LogEntry, Token

SqlValue: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[SqlValue, ...]

_INTEGERS = range(-(2**63), 2**63)
LOOKED_AT = frozenset({ActivityType.TOOL_CALL, ActivityType.POLICY_DECISION})
"""What `kept` makes, and nobody else."""
_COLUMNS = Activity.__struct_fields__
_OPTIONAL = attrgetter(*_COLUMNS[5:])
_ENCODER = msgspec.json.Encoder(order="sorted")
"""Sorted keys and no white space, at a seventh of the cost of `canonical_text`, which would be half of a record's. A
number that JSON cannot write, which strict decoding never lets in, becomes null."""


class Record(Struct, frozen=True):
    """An activity made ready: its row, and the text, kind and subject of its entry in the log."""

    kind: str
    subject: str
    text: str
    row: Row

    @property
    def at(self) -> Micros:
        """When it happened."""
        return cast("Micros", self.row[1])


def record_of(activity: Activity, known: KnownSecrets = NOTHING_KNOWN) -> Record:
    """Make an activity ready to be written. Raises ValueError when no database could hold it."""
    if activity.type not in LOOKED_AT:
        activity = _without_secrets(activity, known)
    kind, at = activity.type.value, activity.at
    if at not in _INTEGERS:
        raise ValueError(f"{at} does not fit into 64 bits")
    # Columns often hold a StrEnum, which the database would take the long way round.
    optional = [each if each is None or type(each) is str else str(each) for each in _OPTIONAL(activity)]
    row = (activity.id, at, kind, activity.status.value, json_text(activity.body), *optional)
    # Raises UnicodeEncodeError, a ValueError, on a lone surrogate in any of them.
    return Record(kind, activity.id, row_text(row), row)


def row_text(row: Row) -> str:
    """What the log tells of an activity: its whole row, as JSON."""
    told: dict[str, object] = dict(zip(_COLUMNS, row, strict=True))
    told["body"] = msgspec.Raw(cast("str", row[4]).encode())
    return _ENCODER.encode(told).decode()


def _without_secrets(activity: Activity, known: KnownSecrets) -> Activity:
    # The names of its members are ours, and some of them sound secret; what is in them may be anybody's.
    body = {name: redact(value, known) for name, value in activity.body.items()}
    server, tool = (None if each is None else redact_text(each, known) for each in (activity.server, activity.tool))
    return msgspec.structs.replace(activity, body=body, server=server, tool=tool)


def activity_of(row: Sequence[Any]) -> Activity:
    """The activity of a row. Raises Damaged when it is none: a status that is none says nothing of whoever asked."""
    identity, at, kind, status, body, *optional = row
    try:
        return Activity(identity, at, ActivityType(kind), CallState(status), json.loads(body), *optional)
    except ValueError as unreadable:
        raise Damaged(f"The record of activity '{identity}'", unreadable) from unreadable


def entry_of(row: Sequence[Any]) -> LogEntry:
    """The log entry of a row."""
    return LogEntry(*row)


def token_row(token: Token) -> Row:
    """The row of a token. Raises ValueError when no database could hold it."""
    return storable(
        (
            token.id,
            token.principal,
            token.kind,
            json_text(token.roles),
            token.secret_hash,
            token.created_at,
            token.expires_at,
            token.revoked_at,
            json_text(token.scope),
        )
    )


def token_of(row: Sequence[Any]) -> Token:
    """The token of a row."""
    identity, principal, kind, roles, secret_hash, created_at, expires_at, revoked_at, scope = row
    known = tuple(json.loads(roles))
    return Token(identity, principal, kind, known, secret_hash, created_at, expires_at, revoked_at, json.loads(scope))


def reviewed_row(server: str, tool: str, each: Reviewed, known: KnownSecrets = NOTHING_KNOWN) -> Row:
    """The row of what is remembered of a tool. Raises ValueError when no database could hold it."""
    definition = None if each.definition is None else _definition_text(each.definition, known)
    return storable((server, tool, definition, each.told))


def _definition_text(definition: Definition, known: KnownSecrets) -> str:
    """A definition as it is kept. If something in it is hidden, its fingerprint stands before it: the text that is left
    has another one."""
    text = definition.text
    if not text.startswith("{") or has_nothing_to_hide(text.encode("utf-8", "surrogateescape"), known):
        return text
    shown = canonical_text(redact_texts(json.loads(text), known))
    return text if shown == text else f"{definition.fingerprint}\n{shown}"


def reviewed_of(definition: str | None, told: str | None) -> Reviewed:
    """What is remembered of a tool, from its columns. The fingerprint is taken anew where nothing is hidden: a text
    that was tampered with is another definition."""
    if definition is None:
        return Reviewed(None, told)
    fingerprint, hidden, text = definition.partition("\n")
    return Reviewed(Definition(text, fingerprint) if hidden else definition_of(definition), told)


def server_row(server: str, kept: KeptServer) -> Row:
    """The row of what is kept of a server. Raises ValueError when no database could hold it."""
    return storable((server, int(kept.enabled), None if kept.definition is None else json_text(kept.definition)))


def server_of(enabled: int, definition: str | None) -> KeptServer:
    """What is kept of a server, from its columns."""
    return KeptServer(bool(enabled), None if definition is None else json.loads(definition))


def count_of(row: Sequence[Any], width: Micros) -> ActivityCount:
    """One count, from a row that begins with the number of its stretch of time. Raises Damaged."""
    stretch, status, safety_class, server, verdict, count = row
    try:
        state = CallState(status)
    except ValueError as unreadable:
        raise Damaged("The record of an activity", unreadable) from unreadable
    return ActivityCount(stretch * width, state, safety_class, server, verdict, count)


def storable(row: Row) -> Row:
    """The row itself, if a database can hold each of its values."""
    for value in row:
        if isinstance(value, str) and not value.isascii():
            value.encode()  # raises UnicodeEncodeError, a ValueError, on a lone surrogate
        elif isinstance(value, int) and value not in _INTEGERS:
            raise ValueError(f"{value} does not fit into 64 bits")
    return row


def nearest_integer(value: int) -> int:
    """The value itself, or the nearest one that a column can hold: enough for a bound."""
    return max(_INTEGERS[0], min(value, _INTEGERS[-1]))


def cursor_of(activity: Activity) -> str:
    """The place of an activity in the list, as text that means nothing to anyone else."""
    return _cursor(activity.at, activity.id)


def place_of(cursor: str) -> tuple[Micros, str]:
    """The place that a cursor means. Raises ValueError when it is none of ours."""
    try:
        padding = "=" * (-len(cursor) % 4)
        at, _, identity = base64.b64decode(cursor + padding, altchars=b"-_", validate=True).decode().partition(":")
        place = int(at), identity
    except ValueError:
        place = 0, ""
    # Written again it must be the same text, so that each place has one cursor, and int() forgives nothing.
    if place[0] not in _INTEGERS or _cursor(*place) != cursor:
        raise ValueError("This is not a cursor of the activity list: leave it out to begin with the newest.")
    return place


def _cursor(at: Micros, identity: str) -> str:
    return base64.urlsafe_b64encode(f"{at}:{identity}".encode()).decode().rstrip("=")


def json_text(value: Json) -> str:
    try:
        return _ENCODER.encode(value).decode()
    except UnicodeEncodeError:
        # A lone surrogate: what an upstream said must be recordable all the same, and this writes it as an escape.
        return canonical_text(value)
