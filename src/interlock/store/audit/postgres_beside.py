"""What is kept in a PostgreSQL database beside the entries of its logs, and has to agree with them.

That is what several gateways share: the list of activities, the approvals and grants, and the guards on the tables.
Each activity names the log that told of it last, and is compared with that one. Somebody could let it name another log,
which told of it earlier, and show what was so then: so no activity is shown as open of which any log tells how it
ended. And what a log that was not pruned says the last word of has to be in the list, whatever others have removed.

This module refuses to say whether the entries are genuine: it takes the logs for what they are, and says what differs.
"""

import json
from collections.abc import Iterator, Mapping

from interlock.core.lifecycle import CALL, CallState
from interlock.core.model import Micros
from interlock.store import approval_queries, queries
from interlock.store.audit.told import agrees, told_of
from interlock.store.postgres_guards import missing_guards
from interlock.store.postgres_snapshot import Snapshot

_CLOCKS_DIFFER: Micros = 3600 * 1_000_000
_NAMED = 3
"""How many are named of those that nobody knows."""

_COLUMNS = (
    *("id", "at", "type", "status", "body", "server", "tool", "caller", "session_id", "workspace", "intent_type"),
    *("safety_class", "verdict", "rule_id", "approval_id"),
)
_TEXTS = ("at", "body")


def _quoted(name: str) -> str:
    column = f"activity.{name}"
    return column if name in _TEXTS else f"coalesce(to_json({column})::text, 'null')"


# The row of the list as the log tells of it: only nearly so, because each of the two writes odd characters in its own
# way; what differs is looked at again.
_ROW_TEXT = " || ',' || ".join(f"""'"{name}":' || {_quoted(name)}""" for name in sorted(_COLUMNS))
_LATEST = """
WITH latest AS MATERIALIZED (SELECT chain, subject, max(seq) AS seq FROM entry GROUP BY chain, subject)
"""

# What each log says last of each activity, where the list seems to say something else or nothing, or names another log.
DISAGREEING = f"""{_LATEST}
SELECT entry.chain, entry.seq, entry.at, entry.subject, entry.text, activity.chain,
    {", ".join(f"activity.{name}" for name in _COLUMNS)}
FROM latest JOIN entry USING (chain, seq) LEFT JOIN activity ON activity.id = latest.subject
WHERE activity.id IS NULL OR activity.chain <> entry.chain OR entry.text <> '{{' || {_ROW_TEXT} || '}}'
ORDER BY entry.chain, entry.seq
"""  # noqa: S608 - put together from constants

# Activities of which the log that they name tells nothing.
UNTOLD = f"""{_LATEST}
SELECT id, count(*) OVER () FROM activity
WHERE NOT EXISTS (SELECT 1 FROM latest WHERE latest.chain = activity.chain AND latest.subject = activity.id)
ORDER BY id LIMIT {_NAMED}
"""  # noqa: S608 - put together from constants

# Entries and seals of a log that no row names.
NAMELESS = """
SELECT count(*) FROM entry WHERE chain = ANY ($1::text[]) AND chain NOT IN (SELECT id FROM chain)
"""

# Everything about approvals that is asked of SQLite too; what is removed is told by a time here, because several logs
# may have told of one.
WITH_TOLD = approval_queries.WITH_TOLD.replace("NOT INDEXED", "")
APPROVALS_LOST = queries.APPROVALS_LOST.replace("NOT INDEXED", "")
APPROVALS_UNTOLD = """
SELECT id FROM approval WHERE id NOT IN (SELECT id FROM activity WHERE type = 'approval') AND created_at > $1
"""
LAST_TOLD = """
SELECT chain, max(seq) FROM entry
WHERE subject = $1 AND chain = (SELECT chain FROM activity WHERE id = $1) GROUP BY chain
"""

# A grant without an approval that was given, or for somebody else.
GRANTS_UNTOLD = """
SELECT granted.id FROM granted LEFT JOIN approval ON approval.id = granted.approval
WHERE approval.status IS DISTINCT FROM 'approved' OR approval.requester IS DISTINCT FROM granted.caller
"""

# When the oldest entry was written that is left.
FIRST_AT = "SELECT at FROM entry WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT 1"


class PostgresBeside:
    """All that one snapshot of a database holds beside the entries. `pruned` says of each log up to where entries may
    be gone."""

    def __init__(self, snapshot: Snapshot, pruned: Mapping[str, int]) -> None:
        self._snapshot = snapshot
        self._pruned = pruned

    def problems(self) -> Iterator[str]:
        """What is wrong with it."""
        yield from missing_guards(self._snapshot.rows)
        yield from self._nameless()
        left = {chain: self._left_since(chain, upto) for chain, upto in self._pruned.items() if upto}
        yield from self._list(left)
        yield from self._unknown()
        yield from self._approvals(max(left.values(), default=0))

    def _left_since(self, chain: str, upto: int) -> Micros:
        """Since when what that log told is left of what several told; clocks of gateways may differ so much."""
        rows = self._snapshot.rows(FIRST_AT, chain, upto)
        return rows[0][0] + _CLOCKS_DIFFER if rows else 2**63 - 1

    def _nameless(self) -> Iterator[str]:
        strangers = self._snapshot.value(NAMELESS, [*self._pruned])
        if strangers:
            stand = "1 record stands" if strangers == 1 else f"{strangers} records stand"
            yield f"{stand} in a log that the table of logs does not name."

    def _list(self, left: Mapping[str, Micros]) -> Iterator[str]:
        """Whether the list of activities shows what the logs say last of each."""
        for chain, seq, at, subject, text, told_by, *row in self._snapshot.pages(DISAGREEING):
            if told_by is None:
                # With what another log told of it last, it may have left the list; but not what was over before that.
                others = max((since for other, since in left.items() if other != chain), default=0)
                if seq > self._pruned.get(chain, 0) and (at >= others or _is_final(text)):
                    yield f"The activity {subject} ({_record(chain, seq)}) is missing in the list."
            elif told_by != chain:
                if _has_ended(text) and not _has_ended(_text(row)):
                    yield f"The activity {subject} is listed as open, and {_record(chain, seq)} tells how it ended."
            elif told_of(row) != text.encode():
                yield f"The activity {subject} is listed otherwise than {_record(chain, seq)} tells of it."

    def _unknown(self) -> Iterator[str]:
        """Activities of which the log that they name tells nothing, the first of them by their names."""
        rows = self._snapshot.rows(UNTOLD)
        if rows:
            count = rows[0][1]
            names = ", ".join(str(name) for name, _ in rows) + (", …" if count > _NAMED else "")
            are = "1 activity is" if count == 1 else f"{count} activities are"
            yield f"{are} in the list of which the log tells nothing: {names}."

    def _approvals(self, since: Micros) -> Iterator[str]:
        """Whether approvals are kept as the list of activities tells of them, and grants as approvals do."""
        for row in self._snapshot.pages(WITH_TOLD):
            if not agrees(*row):
                yield f"The approval {row[0]} is kept otherwise than {self._last_told(row[0])} tells of it."
        for (lost,) in self._snapshot.pages(APPROVALS_LOST):
            yield f"The approval {lost} is on record ({self._last_told(lost)}) and no longer kept."
        for (untold,) in self._snapshot.pages(APPROVALS_UNTOLD, since):
            yield f"The approval {untold} is kept, and the log tells nothing of it."
        for (given,) in self._snapshot.pages(GRANTS_UNTOLD):
            yield f"The grant {given} is kept, and no approval of its caller was given for it."

    def _last_told(self, subject: str) -> str:
        rows = self._snapshot.rows(LAST_TOLD, subject)
        return _record(*rows[0]) if rows else "no record"


_OPEN = frozenset(state.value for state, after in CALL.items() if after)


_DOUBTFUL = _OPEN | {CallState.INDETERMINATE.value}
"""What another gateway may tell more of: of a call that one was taken for dead with, it may still tell the outcome."""


def _has_ended(text: bytes | str) -> bool:
    """Whether what a record tells of is over."""
    return _status(text) not in _OPEN


def _is_final(text: bytes | str) -> bool:
    """Whether no other log can tell more of it."""
    return _status(text) not in _DOUBTFUL


def _status(text: bytes | str) -> str:
    """The status that a record tells of; for what cannot be read one that leaves everything open."""
    try:
        return json.loads(text)["status"]
    except (ValueError, TypeError, KeyError):
        return CallState.SENT.value


def _text(row: list[object]) -> bytes:
    return told_of(row) or b""


def _record(chain: str, seq: int) -> str:
    return f"record {seq} of the log {chain}"
