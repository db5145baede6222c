"""All that a store keeps, table by table, in an order in which it can be written anew.

Both databases have the same tables with the same columns but one: in PostgreSQL an activity names the log that told of
it last. In a file there is one log, or it is a backup of several, and then that is looked up in the logs themselves.
What gateways tell each other there, who of them runs and what has changed, is of that moment, and is not copied.

This module refuses to know a database.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from interlock.store.protocol import StoreUnavailable
from interlock.store.rows import Row

BATCH = 1000
"""How many rows are in memory at once."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, and the order in which its rows are read and written."""

    name: str
    columns: tuple[str, ...]
    order: str

    @property
    def quoted(self) -> str:
        """Its name; one of them is a word of SQL."""
        return f'"{self.name}"'

    def select(self, more: str = "") -> str:
        """The statement that reads it."""
        return f"SELECT {', '.join(self.columns)} FROM {self.quoted} {more} ORDER BY {self.order}"  # noqa: S608


def _table(name: str, columns: str, order: str) -> Table:
    return Table(name, tuple(columns.split()), order)


ENTRY = _table("entry", "chain seq at kind subject text prev hash", "chain, seq")
ACTIVITY = _table(
    "activity",
    "id at type status body server tool caller session_id workspace intent_type safety_class verdict rule_id"
    " approval_id",
    "id",
)
SERVER = _table("server", "id enabled definition", "place")
TABLES = (
    _table("chain", "id started_at", "started_at, id"),
    ENTRY,
    _table("seal", "chain kind seq at text key signature", "chain, seq, kind"),
    ACTIVITY,
    _table("token", "id principal kind roles secret_hash created_at expires_at revoked_at scope", "created_at, id"),
    _table("baseline", "server since", "server"),
    _table("reviewed", "server tool definition told", "server, tool"),
    _table("override", "server tool safety_class", "server, tool"),
    SERVER,
    _table(
        "approval",
        "id status version requester approver workspace session_id gateway answered created_at decided_at expires_at"
        " waits_for votes body",
        "id",
    ),
    _table(
        "granted",
        "id approval caller scope created_at expires_at uses_left uses revoked_at activity body",
        "id",
    ),
    _table("freeze", "kind name at by reason", "kind, name"),
)
"""Approvals come before what they became, which names them."""


class TargetFailed(StoreUnavailable):
    """It is not what is copied that cannot be used, but the place where the copy was to be made."""


class Stopped(KeyboardInterrupt):
    """Somebody stopped a copy. `at_end` says that all was read by then: only then can the copy be there, as a whole."""

    def __init__(self, *, at_end: bool) -> None:
        super().__init__()
        self.at_end = at_end


@dataclass(slots=True)
class Step:
    """How far a copy is."""

    at_end: bool = False


@contextmanager
def stoppable() -> Generator[Step]:
    """Raises Stopped when somebody stops what is done here."""
    step = Step()
    try:
        yield step
    except KeyboardInterrupt:
        raise Stopped(at_end=step.at_end) from None


class Source(Protocol):
    """A store that is read at one moment. Every method may raise StoreUnavailable."""

    @property
    def chains(self) -> Sequence[str]:
        """The logs in it."""
        ...

    def count(self, table: Table) -> int: ...

    def rows(self, table: Table) -> Iterator[Row]:
        """All rows of a table. An activity has the log that told of it last behind its columns."""
        ...


class Target(Protocol):
    """An empty store that is filled, and is there with all that was put into it or not at all."""

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Write some rows; those of activities as a source gives them. Raises StoreUnavailable."""
        ...


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows, some at a time."""
    rest = iter(rows)
    while some := list(islice(rest, BATCH)):
        yield some
