"""Looking into a database without opening it as a store: nothing is created, migrated or written.

For the command line, which may look while a gateway works on the same file.
"""

import json
import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.core.drift import Reviewed
from interlock.core.model import JsonObject
from interlock.core.safety import SafetyClass
from interlock.store import queries, seal_queries
from interlock.store.audit.seal import Seal, SealKind, seal_of
from interlock.store.chain import Break, first_break
from interlock.store.migrate import versions
from interlock.store.protocol import KeptServer, LogEntry, StoreUnavailable
from interlock.store.rows import entry_of, reviewed_of, server_of
from interlock.store.sqlite import PATIENCE, READER_PRAGMAS, connect
from interlock.store.sqlite_chain import chain_names, misnamed, several_logs

FILE = "sqlite"
"""The address of a store that is a file."""
Ask = Callable[[str], list[Any]]
Run = Callable[[str, tuple[Any, ...]], list[Any]]
"""Runs a statement with the values that it takes."""


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
            names = chain_names(connection)
            if told := misnamed(connection, names):
                return Looked(0, None, Break(1, told))
            chain = names[0] if names else ""
            return _newest(lambda sql, values: connection.execute(sql, values).fetchall(), chain, most)
    except (OSError, sqlite3.Error) as failed:
        raise StoreUnavailable(str(failed)) from None


def look_in_database(address: str, chain: str | None, most: int) -> Looked:
    """The same for the log of one gateway in the database at an address; nothing is found where there is none yet."""
    from interlock.store.postgres_snapshot import snapshot_of, versions_in
    from interlock.store.postgres_words import in_postgres

    with snapshot_of(address) as snapshot:
        if chain is None or not versions_in(snapshot)[0]:
            return Looked(0, None, None)
        return _newest(lambda sql, values: snapshot.rows(in_postgres(sql), *values), chain, most)


def _newest(run: Run, chain: str, most: int) -> Looked:
    ((end,),) = run(queries.LOG_END, (chain,))
    # One more, which those that are checked have to follow; the first of all follows nothing.
    entries = [entry_of(row) for row in run(queries.ENTRIES, (chain, max(0, end - most - 1), most + 1))]
    after = entries[0] if len(entries) > most else _removed_before(run, entries)
    broken = first_break(entries[1:] if after in entries[:1] else entries, after)
    return Looked(min(len(entries), most), entries[-1].at if entries else None, broken)


def _removed_before(run: Run, entries: Sequence[LogEntry]) -> LogEntry | Seal | None:
    """What the oldest entries that are left follow: nothing, the seal on what was removed, or, where a removal was cut
    short, the first of them. Whether that seal is genuine is for `interlock audit verify` to say."""
    if not entries or entries[0].seq == 1:
        return None
    begin = entries[0]
    rows = run(seal_queries.LAST_SEAL, (begin.chain, SealKind.PRUNED.value))
    try:
        pruned = seal_of(*rows[0]) if rows else None
    except (TypeError, ValueError):  # whoever can write the file can put anything there
        return None
    if pruned is None or pruned.seq < begin.seq - 1:
        return None
    return pruned if pruned.seq == begin.seq - 1 else begin


def kept_servers(path: Path, address: str = FILE) -> dict[str, KeptServer]:
    """The servers that are kept beside the configuration file, by a file or the database at an address; raises
    StoreUnavailable."""
    with _asking(path, address) as ask:
        return {server: server_of(*kept) for server, *kept in ask(queries.KEPT_SERVERS)}


@contextmanager
def _asking(path: Path, address: str) -> Generator[Ask]:
    """What runs a statement on a store; where there is none yet, it finds nothing."""
    if address != FILE:
        from interlock.store.postgres_snapshot import snapshot_of, versions_in
        from interlock.store.postgres_words import in_postgres

        with snapshot_of(address) as snapshot:
            begun = bool(versions_in(snapshot)[0])
            yield lambda sql: snapshot.rows(in_postgres(sql)) if begun else []
    elif not path.exists():
        yield lambda sql: []
    else:
        try:
            with closing(connect(path, PATIENCE, READER_PRAGMAS)) as connection:
                yield lambda sql: connection.execute(sql).fetchall()
        except (OSError, sqlite3.Error) as failed:
            raise StoreUnavailable(str(failed)) from None


def logs_in(path: Path) -> int:
    """How many logs are in a file that holds those of several gateways; 0 for any other. Raises StoreUnavailable."""
    try:
        with closing(connect(path, PATIENCE, READER_PRAGMAS)) as connection:
            return several_logs(connection)
    except (OSError, sqlite3.Error) as failed:
        raise StoreUnavailable(str(failed)) from None


def versions_of(path: Path) -> tuple[int, int]:
    """The version of a database, and the one that this program would bring it to; raises StoreUnavailable."""
    try:
        with closing(connect(path, PATIENCE, READER_PRAGMAS)) as connection:
            return versions(connection)
    except (OSError, sqlite3.Error) as failed:
        raise StoreUnavailable(str(failed)) from None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a database knows of servers: the tools that were reviewed, the classes that were set, what is kept."""

    tools: Mapping[str, Sequence[JsonObject]] = field(default_factory=dict[str, Sequence[JsonObject]])
    overrides: Mapping[str, Mapping[str, SafetyClass]] = field(default_factory=dict[str, Mapping[str, SafetyClass]])
    servers: Mapping[str, KeptServer] = field(default_factory=dict[str, KeptServer])


def remembered(path: Path, address: str = FILE) -> Remembered:
    """What is known of servers, by a file or the database at an address; nothing without one. Raises
    StoreUnavailable."""
    with _asking(path, address) as ask:
        reviewed, classes, kept = (ask(each) for each in (queries.BASELINES, queries.OVERRIDES, queries.KEPT_SERVERS))
    tools: dict[str, list[JsonObject]] = {}
    for server, tool, definition, told in reviewed:
        descriptor = None if tool is None else _descriptor(reviewed_of(definition, told))
        if descriptor is not None:
            tools.setdefault(server, []).append(descriptor)
    overrides: dict[str, dict[str, SafetyClass]] = {}
    for server, tool, safety_class in classes:
        overrides.setdefault(server, {})[tool] = SafetyClass(safety_class)
    return Remembered(tools, overrides, {server: server_of(*each) for server, *each in kept})


def _descriptor(reviewed: Reviewed) -> JsonObject | None:
    """The descriptor that was reviewed; None where several stood under one name, or none does any more."""
    text = "" if reviewed.definition is None else reviewed.definition.text
    return json.loads(text) if text.startswith("{") else None
