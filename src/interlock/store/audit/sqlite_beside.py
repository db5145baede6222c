"""What is kept in a SQLite file beside the entries of the log, and has to agree with them.

That is the list of activities, the approvals, the guards on the tables, and the file itself. Nearly all of this is work
of the database, a few statements that take long, so a thread of its own does it while another hashes the entries.

This module refuses to say whether the entries are genuine: it takes the log for what it is, and says what differs.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from interlock.errors import sentence
from interlock.store import approval_queries, queries
from interlock.store.audit.told import agrees, told_of
from interlock.store.migrate import migrate, migrations
from interlock.store.sqlite_chain import chain_names, misnamed

BROKEN = (sqlite3.Error, UnicodeDecodeError)
"""How a file that somebody has put something else into shows; the second when that stands in the words of the error."""

_NAMED = 3
"""How many are named of those that nobody knows."""


class Beside:
    """All that one snapshot of a database holds beside the entries of a chain."""

    def __init__(self, connection: sqlite3.Connection, chain: str, head: str | None = None) -> None:
        self._connection = connection
        self._chain = chain
        self._head = head

    def problems(self, pruned: int) -> Iterator[str]:
        """What is wrong with it, while entries up to `pruned` may be gone."""
        try:
            yield from self._damage()
            yield from self._labels()
            yield from self._strangers()
            yield from guard_problems(self._connection)
            yield from self._list(pruned)
            yield from self._approvals(pruned)
        except BROKEN as failed:
            yield f"It cannot be read to its end: {sentence(str(failed))}"

    def _damage(self) -> Iterator[str]:
        """What the database itself finds wrong with the file."""
        for each in queries.WHOLE:
            for (found,) in self._connection.execute(each):
                if found != b"ok":
                    yield f"The file is damaged: {text_of(found)}."

    def _labels(self) -> Iterator[str]:
        """Whether the file and its log are called what they are."""
        if self._head is not None:
            yield f"{self._head}: somebody changed the head."
        names = chain_names(self._connection)
        # A name that does not fit shows by the entries that stand in no place then.
        if len(names) != 1 and (told := misnamed(self._connection, names)):
            yield f"{told[0].upper()}{told[1:]}."

    def _strangers(self) -> Iterator[str]:
        """Entries that belong to no place in the chain."""
        ((strangers,),) = self._connection.execute(queries.STRANGERS, (self._chain,) * 4).fetchall()
        if strangers:
            stand = "1 record stands" if strangers == 1 else f"{strangers} records stand"
            yield f"{stand} in the log and in no place of its chain."

    def _list(self, pruned: int) -> Iterator[str]:
        """Whether the list of activities shows what the log says last of each."""
        ((listed,),) = self._connection.execute(queries.LISTED).fetchall()
        missing = 0
        for seq, subject, text, *row in self._connection.execute(queries.DISAGREEING, (self._chain,)):
            if subject is None:
                if (unknown := listed - (seq - missing)) > 0:
                    yield self._unknown(unknown)
            elif row[0] is None:
                missing += 1
                if seq > pruned:
                    yield f"The activity {text_of(subject)} (record {seq}) is missing in the list."
            elif told_of([*map(_plain, row)]) != text:
                yield f"The activity {text_of(subject)} is listed otherwise than record {seq} tells of it."

    def _unknown(self, count: int) -> str:
        """Activities of which the log tells nothing, the first of them by their names."""
        rows = self._connection.execute(queries.UNTOLD, (self._chain, _NAMED)).fetchall()
        names = ", ".join(_shown(each) for (each,) in rows) + (", …" if count > _NAMED else "")
        are = "1 activity is" if count == 1 else f"{count} activities are"
        return f"{are} in the list of which the log tells nothing: {names}."

    def _approvals(self, pruned: int) -> Iterator[str]:
        """Whether approvals are kept as the list of activities tells of them."""
        for row in self._connection.execute(approval_queries.WITH_TOLD):
            if not agrees(*(_plain(each) for each in row)):
                yield f"The approval {_shown(row[0])} is kept otherwise than record {self._record(row[0])} tells of it."
        for (lost,) in self._connection.execute(queries.APPROVALS_LOST):
            yield f"The approval {_shown(lost)} is on record ({self._record(lost)}) and no longer kept."
        for (untold,) in self._connection.execute(queries.APPROVALS_UNTOLD, (pruned, self._chain, pruned)):
            yield f"The approval {_shown(untold)} is kept, and the log tells nothing of it."

    def _record(self, subject: Any) -> int | None:
        """The number of the last entry that tells of something."""
        ((seq,),) = self._connection.execute(queries.LAST_TOLD, (self._chain, _plain(subject))).fetchall()
        return seq


def guard_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Whether the tables still refuse what they were made to refuse."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        migrate(made, migrations())
        due = {tuple(map(_plain, row)) for row in made.execute(queries.SCHEMA)}
    found = {tuple(map(_plain, row)) for row in connection.execute(queries.SCHEMA)}
    missing, strange = ({each[:2] for each in some} for some in (due - found, found - due))
    for part in sorted(missing | strange, key=repr):
        what = "is gone" if part not in strange else "is not ours" if part not in missing else "was changed"
        yield f"The part {str(part[1])!r} of the database {what}: it no longer guards the log as it was made to."


def _plain(stored: Any) -> Any:
    return text_of(stored) if isinstance(stored, bytes) else stored


def _shown(stored: Any) -> str:
    return str(_plain(stored))


def text_of(stored: bytes) -> str:
    """A stored text, also one that is none."""
    return stored.decode("utf-8", "surrogateescape")
