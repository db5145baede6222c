"""Looking into a database without opening it as a store: nothing is created, migrated or written.

For the command line, which may look while a gateway works on the same file.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from interlock.store import queries
from interlock.store.chain import Break, first_break
from interlock.store.migrate import versions
from interlock.store.protocol import KeptServer, StoreUnavailable
from interlock.store.rows import entry_of, server_of
from interlock.store.sqlite import PATIENCE, READER_PRAGMAS, connect


@dataclass(frozen=True, slots=True)
class Looked:
    """How much of the newest part of the log was looked at, when its last entry was written, and what was wrong."""

    entries: int
    last_at: int | None
    broken: Break | None


def look(path: Path, most: int) -> Looked:
    """Check the newest entries of the log; raises StoreUnavailable when the database cannot be read."""
    try:
        with closing(connect(path, PATIENCE, READER_PRAGMAS)) as connection:
            (chain,) = connection.execute(queries.CHAIN).fetchone() or ("",)
            ((end,),) = connection.execute(queries.LOG_END, (chain,)).fetchall()
            # One more, which those that are checked have to follow; the first of all follows nothing.
            rows = connection.execute(queries.ENTRIES, (chain, max(0, end - most - 1), most + 1)).fetchall()
    except (OSError, sqlite3.Error) as failed:
        raise StoreUnavailable(str(failed)) from None
    entries = [entry_of(row) for row in rows]
    whole = len(entries) <= most
    broken = first_break(entries) if whole else first_break(entries[1:], entries[0])
    return Looked(min(len(entries), most), entries[-1].at if entries else None, broken)


def kept_servers(path: Path) -> dict[str, KeptServer]:
    """The servers that are kept beside the configuration file; raises StoreUnavailable."""
    if not path.exists():
        return {}
    try:
        with closing(connect(path, PATIENCE, READER_PRAGMAS)) as connection:
            rows = connection.execute(queries.KEPT_SERVERS).fetchall()
    except (OSError, sqlite3.Error) as failed:
        raise StoreUnavailable(str(failed)) from None
    return {server: server_of(*kept) for server, *kept in rows}


def versions_of(path: Path) -> tuple[int, int]:
    """The version of a database, and the one that this program would bring it to; raises StoreUnavailable."""
    try:
        with closing(connect(path, PATIENCE, READER_PRAGMAS)) as connection:
            return versions(connection)
    except (OSError, sqlite3.Error) as failed:
        raise StoreUnavailable(str(failed)) from None
