"""Bringing a database to the version that this program knows, one file of SQL after the other.

Each migration is one transaction, and the version it leads to is written in it: a process that is killed anywhere in
between finds the database as it was before that migration, and runs it again. The version stands in `user_version`, and
`application_id` says that the database is ours at all.

This module refuses a database of a newer version and one that belongs to something else, and it never goes back.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from interlock.store.protocol import StoreUnavailable
from interlock.store.queries import BEGIN, COMMIT

APPLICATION_ID = int.from_bytes(b"Intl")

# Whose the database is, how far it has come, and whether anything is in it. Pragmas and not the tables of the same
# names: in the place of those somebody could have put a view, and one can be without end.
_APPLICATION = "PRAGMA application_id"
_VERSION = "PRAGMA user_version"
_PARTS = "SELECT count(*) FROM sqlite_master"


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
    _refuse_others(connection, steps[-1].version)
    for step in steps:
        if _version(connection) < step.version:
            _apply(connection, step)


def versions(connection: sqlite3.Connection) -> tuple[int, int]:
    """How far the database has come, and how far this program would bring it. Raises for one that it would refuse."""
    known = migrations()[-1].version
    _refuse_others(connection, known)
    return _version(connection), known


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


def _refuse_others(connection: sqlite3.Connection, known: int) -> None:
    application, version, tables = _origin(connection)
    if application != APPLICATION_ID and (version or tables):
        raise not_ours("a path")
    if version > known:
        raise newer(version, known, "path")


def not_ours(place: str) -> StoreUnavailable:
    """What is said of a database that another program has made."""
    return StoreUnavailable(
        f"The database belongs to another program: give the store {place} of its own. Nothing was changed."
    )


def newer(version: int, known: int, place: str) -> StoreUnavailable:
    """What is said of a database that a newer version of this program has made."""
    return StoreUnavailable(
        f"The database has version {version} and this Interlock knows versions up to {known}: install the Interlock"
        f" that wrote it, or give the store another {place}. Nothing was changed."
    )


def _origin(connection: sqlite3.Connection) -> list[int]:
    """All three of one moment, because another process may be migrating the database right now."""
    if connection.in_transaction:
        return [connection.execute(each).fetchone()[0] for each in (_APPLICATION, _VERSION, _PARTS)]
    connection.execute("BEGIN")
    found = _origin(connection)
    connection.execute(COMMIT)
    return found


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute(_VERSION).fetchone()
    return version
