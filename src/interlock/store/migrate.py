"""Bringing a database to the version that this program knows, one file of SQL after the other.

Each migration is one transaction, and the version it leads to is written in it: a process that is killed anywhere in
between finds the database as it was before that migration, and runs it again. The version stands in `user_version`, and
`application_id` says that the database is ours at all.

This module refuses a database of a newer version, one that belongs to something else and one whose head says less than
its parts do, and it never goes back.
"""

import sqlite3
from collections.abc import Iterator, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from interlock.store.protocol import StoreUnavailable
from interlock.store.queries import BEGIN, COMMIT

APPLICATION_ID = int.from_bytes(b"Intl")

# Whose the database is, how far it has come, and what is in it. Pragmas and not the tables of the same
# names: in the place of those somebody could have put a view, and one can be without end.
_APPLICATION = "PRAGMA application_id"
_VERSION = "PRAGMA user_version"
_PARTS = "SELECT name FROM sqlite_master"


@dataclass(frozen=True, slots=True)
class Migration:
    """What leads from the version before to this one."""

    version: int
    sql: str


@cache
def migrations(folder: str = "migrations") -> tuple[Migration, ...]:
    """The migrations that come with this program, in order; a file is named after the version it leads to."""
    found = [file for file in files("interlock.store").joinpath(folder).iterdir() if file.name.endswith(".sql")]
    made = [Migration(int(file.name.split("_")[0]), file.read_text(encoding="utf-8")) for file in found]
    return tuple(sorted(made, key=lambda each: each.version))


def migrate(connection: sqlite3.Connection, steps: Sequence[Migration]) -> None:
    """Apply what is missing. The connection must be in autocommit mode."""
    _refuse_others(connection, steps)
    for step in steps:
        if _version(connection) < step.version:
            _apply(connection, step)


def versions(connection: sqlite3.Connection) -> tuple[int, int]:
    """How far the database has come, and how far this program would bring it. Raises for one that it would refuse."""
    _refuse_others(connection, migrations())
    return _version(connection), migrations()[-1].version


def wrong_head(connection: sqlite3.Connection, steps: Sequence[Migration]) -> str | None:
    """What the head of a database says of it, and its parts contradict; None when they agree. No crash leaves them so,
    because each migration is one transaction."""
    application, version, parts = _origin(connection)
    if not parts or (application == APPLICATION_ID and version >= steps[-1].version):
        return None
    made = _made(parts, steps)
    if made and application != APPLICATION_ID:
        return f"The head of the database names another program, and it has the parts of our version {made}"
    if version < made:
        return f"The head of the database says version {version}, and it has the parts of version {made}"
    return None


def _made(parts: Set[str], steps: Sequence[Migration]) -> int:
    """The last version all of whose new parts are among these."""
    made, before = 0, frozenset[str]()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
        for step in steps:
            _apply(empty, step)
            after = _parts(empty)
            made = step.version if after - before and after - before <= parts else made
            before = after
    return made


def _apply(connection: sqlite3.Connection, step: Migration) -> None:
    connection.execute(BEGIN)
    try:
        # Asked again under the lock: another process may have been faster.
        if _version(connection) < step.version:
            for statement in _statements(step.sql):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {step.version:d}")  # a pragma takes no parameters
        connection.execute(COMMIT)
    finally:
        if connection.in_transaction:  # whatever ended the migration, none of it may stay
            connection.rollback()


def _statements(sql: str) -> Iterator[str]:
    """The statements one by one: `executescript` would commit what is open before it begins."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def _refuse_others(connection: sqlite3.Connection, steps: Sequence[Migration]) -> None:
    if told := wrong_head(connection, steps):
        raise StoreUnavailable(f"{told}: somebody changed the head. `interlock audit verify` checks what is in it.")
    known = steps[-1].version
    application, version, parts = _origin(connection)
    if application != APPLICATION_ID and (version or parts):
        raise not_ours("a path")
    if version > known:
        raise newer(version, known, "path")


def not_ours(place: str) -> StoreUnavailable:
    """What is said of a database that another program has made."""
    return StoreUnavailable(f"The database belongs to another program: give the store {place} of its own.")


def newer(version: int, known: int, place: str) -> StoreUnavailable:
    """What is said of a database that a newer version of this program has made."""
    return StoreUnavailable(
        f"The database has version {version} and this Interlock knows versions up to {known}: install the Interlock"
        f" that wrote it, or give the store another {place}."
    )


def _origin(connection: sqlite3.Connection) -> tuple[int, int, Set[str]]:
    """All three of one moment, because another process may be migrating the database right now."""
    if connection.in_transaction:
        ((application,),) = connection.execute(_APPLICATION).fetchall()
        return application, _version(connection), _parts(connection)
    connection.execute("BEGIN")
    found = _origin(connection)
    connection.execute(COMMIT)
    return found


def _parts(connection: sqlite3.Connection) -> frozenset[str]:
    return frozenset(name for (name,) in connection.execute(_PARTS))


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute(_VERSION).fetchone()
    return version
