"""How a store is doing, as far as one can tell without starting a gateway on it.

Each look is a word, whether all is well, and a sentence. What one look finds does not keep the next from looking, but
for a database that does not answer at all.

This module refuses to change anything: whether it can be written is tried in a transaction that is taken back.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from interlock.store.audit.sqlite_beside import guard_problems
from interlock.store.migrate import versions
from interlock.store.protocol import StoreUnavailable
from interlock.store.queries import BEGIN
from interlock.store.sqlite import PATIENCE, READER_PRAGMAS, connect

LEAST_FREE = 100 * 1024**2
"""With less room than this a busy gateway stops within hours."""
_MOST = 10
"""How many of the things that are wrong are told."""


@dataclass(frozen=True, slots=True)
class Look:
    """One thing that was looked at."""

    name: str
    well: bool
    told: str


def look_at_file(file: Path) -> list[Look]:
    """How a SQLite file is doing; raises StoreUnavailable when there is none that can be read."""
    try:
        with closing(connect(file, PATIENCE, READER_PRAGMAS)) as connection:
            version, known = versions(connection)
            looks = [_version(version, known), *_whole(connection, file)]
            if version == known:
                looks.append(_guards([*guard_problems(connection)]))
    except (OSError, sqlite3.Error) as failed:
        raise StoreUnavailable(str(failed)) from None
    return [Look("connect", well=True, told=f"{file} can be read"), *looks, _writable(file), _room(file)]


def _version(version: int, known: int) -> Look:
    if version == known:
        return Look("version", well=True, told=f"version {version}, which is the newest")
    if version > known:
        told = f"version {version}, and this Interlock knows versions up to {known}: a newer Interlock is needed"
        return Look("version", well=False, told=told)
    return Look("version", well=False, told=f"version {version} of {known}: `interlock db migrate` brings it there")


def _whole(connection: sqlite3.Connection, file: Path) -> Iterator[Look]:
    found = [str(told) for (told,) in connection.execute(f"PRAGMA integrity_check({_MOST:d})")]
    if found == ["ok"]:
        yield Look("integrity", well=True, told=f"the file is whole, {_size(file.stat().st_size)}")
    else:
        yield Look("integrity", well=False, told=f"the file is damaged: {'; '.join(found)}")


def _guards(problems: list[str]) -> Look:
    if not problems:
        return Look("guards", well=True, told="the tables refuse what they were made to refuse")
    return Look("guards", well=False, told=" ".join(problems[:_MOST]))


def _writable(file: Path) -> Look:
    try:
        with closing(connect(file, PATIENCE)) as connection:
            connection.execute(BEGIN)
            connection.rollback()
    except (OSError, sqlite3.Error) as failed:
        return Look("writable", well=False, told=f"it cannot be written: {failed}")
    return Look("writable", well=True, told="it can be written")


def _room(file: Path) -> Look:
    free = shutil.disk_usage(file.parent).free
    return Look("room", well=free >= LEAST_FREE, told=f"{_size(free)} are free on its disk")


def _size(count: int) -> str:
    size, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "B" else f"{size:.1f} {units[0]}"


# In PostgreSQL --------------------------------------------------------------------------------------------------

# Whether anything can be written there at all, and what whoever asks may do.
_STATE = """
SELECT NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off',
    pg_database_size(current_database()), current_setting('server_version')
"""
_RIGHTS = """
SELECT has_table_privilege('entry', 'INSERT') AND has_table_privilege('activity', 'INSERT, UPDATE')
        AND has_table_privilege('approval', 'INSERT, UPDATE') AND has_table_privilege('seal', 'INSERT'),
    has_table_privilege('entry', 'DELETE'),
    pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'entry'::regclass), 'MEMBER')
"""


def look_at_database(address: str) -> list[Look]:
    """How a database is doing; raises StoreUnavailable when it does not answer."""
    from interlock.store.postgres_guards import missing_guards
    from interlock.store.postgres_snapshot import snapshot_of, versions_in

    with snapshot_of(address) as snapshot:
        ((open_, size, server),) = snapshot.rows(_STATE)
        version, known = versions_in(snapshot)
        looks = [Look("connect", well=True, told=f"PostgreSQL {server} answers"), _version(version, known)]
        if version == known:
            looks.append(_guards([*missing_guards(snapshot.rows)]))
            ((writes, removes, owns),) = snapshot.rows(_RIGHTS)
            looks += [_writes(open_=open_, writes=writes), _rights(removes=removes, owns=owns)]
    return [*looks, Look("room", well=True, told=f"it takes {_size(size)}; how much is free its host knows")]


def _writes(*, open_: bool, writes: bool) -> Look:
    if not open_:
        return Look("writable", well=False, told="it takes no writes: it follows another server, or is read-only")
    if not writes:
        told = "the role may not write: give it interlock_gateway (docs/deployment.md)"
        return Look("writable", well=False, told=told)
    return Look("writable", well=True, told="the role may write")


def _rights(*, removes: bool, owns: bool) -> Look:
    if owns:
        told = "the role owns the tables, so it could switch their guards off; a gateway needs interlock_gateway only"
    else:
        told = "the role may add to the log" + (" and remove what a seal covers" if removes else ", and remove nothing")
    return Look("rights", well=True, told=told)
