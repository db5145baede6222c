"""Logs to check: filled by the real store, sealed by the real sealer, and tampered with as an attacker would."""

import sqlite3
from contextlib import closing
from pathlib import Path

from interlock.clock import Clock
from interlock.core.lifecycle import CallState
from interlock.store.audit.anchor import ANCHOR, Anchor
from interlock.store.audit.check import check_folder
from interlock.store.audit.sealer import Sealer
from interlock.store.audit.sqlite_log import open_log
from interlock.store.audit.verify import Verification
from interlock.store.chain import entry_hash
from interlock.store.folder import DATABASE
from interlock.store.protocol import Activity, ActivityType
from interlock.store.sql import SqlStore
from interlock.store.sqlite import SqliteStore
from tests.store.examples import TickingClock

STATES = (CallState.SENT, CallState.SUCCESS)


def call(number: int, status: CallState = CallState.SUCCESS) -> Activity:
    body = {"arguments": {"name": f"note {number}", "é": "\u2028"}, "result": {"bytes": number}}
    return Activity(f"call-{number:05}", 1000 + number, ActivityType.TOOL_CALL, status, body, server="s", tool="t")


class Office:
    """A data folder with a store and its sealer."""

    def __init__(self, folder: Path, clock: Clock | None = None, store: SqlStore | None = None) -> None:
        self.folder = folder
        self.store = store or SqliteStore(folder / DATABASE, clock or TickingClock())
        self.anchor = Anchor(folder / ANCHOR)
        self.sealer = Sealer(self.store, folder, self.anchor, clock or TickingClock())

    async def __aenter__(self) -> "Office":
        await self.store.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    async def fill(self, first: int, last: int, *, every: int = 0) -> None:
        """Two entries for each call, and a checkpoint after `every` of them."""
        for number in range(first, last + 1):
            for status in STATES:
                await self.store.write([call(number, status)])
            if every and number % every == 0:
                await self.sealer.checkpoint()


async def sealed_folder(folder: Path, calls: int = 20, every: int = 5) -> Path:
    """A folder whose log is sealed to its end."""
    async with Office(folder) as office:
        await office.fill(1, calls, every=every)
    return folder


def check(folder: Path, *, anchored: bool = True) -> Verification:
    """What the check says of a folder."""
    return check_folder(folder, folder / ANCHOR if anchored else None)


def rewrite(folder: Path, first: int) -> None:
    """Write the log anew from this record on, as somebody without the key can: each record follows the one before."""
    with open_log(folder / DATABASE) as log:
        chain, rows = log.chain, list(log.entries(first - 1, None))
    prev, statements = rows[0][5], list[tuple[str, tuple[object, ...]]]()
    for seq, at, kind, subject, text, *_ in rows:
        changed = text.replace(b"note", b"nota").decode()
        sealed = entry_hash(chain, seq, at, kind.decode(), subject.decode(), changed, prev)
        statements.append(("UPDATE entry SET text = ?, prev = ?, hash = ? WHERE seq = ?", (changed, prev, sealed, seq)))
        prev = sealed
    tamper(folder, *statements)


def tamper(folder: Path, *statements: tuple[str, tuple[object, ...]], guarded: bool = True) -> None:
    """Do this to the database as somebody who has the file: the guards are taken off and put back as they were, unless
    the tables that they guard are gone."""
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as connection:
        guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        for sql, values in statements:
            connection.execute(sql, values)
        for _, sql in guards if guarded else ():
            connection.execute(sql)
        connection.execute("COMMIT")
