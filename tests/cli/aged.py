"""Data folders that have seen something: databases of other versions, and processes that are gone."""

import sqlite3
from contextlib import closing

from interlock.clock import SystemClock
from interlock.store.folder import DataFolder
from interlock.store.migrate import migrate, migrations
from interlock.store.sqlite import PATIENCE, connect, prepare

GONE = 2**22 + 1
"""The number of a process that cannot be: Linux gives none that large."""


def empty_store(folder: DataFolder) -> None:
    """A database as the first start makes it."""
    prepare(folder.database, SystemClock(), PATIENCE)


def aged(folder: DataFolder, version: int) -> None:
    """A database of an older version, as a program of that time left it; or one that says it is of a newer one."""
    folder.database.touch(0o600)
    with closing(connect(folder.database, PATIENCE)) as connection:
        older = [each for each in migrations() if each.version <= version]
        if older[-1].version == version:
            migrate(connection, older)
        else:
            connection.execute(f"PRAGMA user_version = {version:d}")


def version_of(folder: DataFolder) -> int:
    with closing(sqlite3.connect(folder.database)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]
