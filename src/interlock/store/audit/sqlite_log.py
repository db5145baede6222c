"""A log in a SQLite file, read for the check: as bytes, from snapshots, while a gateway may go on writing.

The check does not ask the gateway, because it is the gateway's word that is checked. Nothing is created, migrated or
written here. What is in the file is taken for anything at all: somebody may have had it in hand.

There are two snapshots, because one connection does one thing at a time. That of what is kept beside the entries is the
earlier one. Whatever a gateway does between the two then raises no alarm: each agrees with itself, and a removal that
began meanwhile only allows what has not happened yet.
"""

import os
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path

from interlock.store import queries
from interlock.store.audit.seal import Seal, SealKind, seal_of
from interlock.store.audit.sqlite_beside import BROKEN, Beside, text_of
from interlock.store.audit.verify import StoredRow, Unreadable
from interlock.store.chain import Break
from interlock.store.migrate import migrations, versions, wrong_head
from interlock.store.protocol import StoreUnavailable
from interlock.store.sqlite import PATIENCE, READER_PRAGMAS, connect
from interlock.store.sqlite_chain import chain_found, chain_names

_NAMED_BY_US = "latest"
"""What SQLite takes for a view, and is a part of a question of ours that has a name."""
_NONE = "There is no log in the database."
_HEARD = 0.1
"""After how many seconds a thread that has not stopped is told again."""


class NoLog(StoreUnavailable):
    """There is no database, or nothing in it."""


@contextmanager
def open_log(path: Path) -> Generator["SqliteLog"]:
    """The log in a database; raises StoreUnavailable when it cannot be read, and NoLog when there is none."""
    if not os.path.lexists(path):
        raise NoLog(f"{path}: there is no database.")
    # Even to read, SQLite makes files beside the database. Where it may not, as in a copy on a read-only disk, nobody
    # writes either; what was not put into the database yet would stand beside it, and is not left out.
    still = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
    with ExitStack() as opened:
        try:
            earlier, connection = (
                opened.enter_context(closing(connect(path, PATIENCE, READER_PRAGMAS, one_thread=alone, still=still)))
                for alone in (False, True)
            )
        except (OSError, *BROKEN) as failed:
            raise StoreUnavailable(f"{path}: {failed}") from None
        try:
            _hold(earlier)
            head = _hold(connection)
            log = SqliteLog(connection, earlier, head)
            opened.callback(log.leave)
            yield log
        except BROKEN as failed:  # and no other: what goes wrong with the files of whoever reads is not about this one
            raise StoreUnavailable(f"{path}: {failed}") from None


def _hold(connection: sqlite3.Connection) -> str | None:
    """Read one snapshot from now on; what is wrong with its head, which keeps nobody from reading the rest."""
    connection.set_authorizer(_no_view)
    connection.execute("BEGIN")
    head = wrong_head(connection, migrations())
    if head is None:
        _see_version(connection)
    connection.text_factory = bytes
    return head


def _see_version(connection: sqlite3.Connection) -> None:
    version, known = versions(connection)
    if not version:
        raise NoLog(_NONE)
    if version < known:
        raise StoreUnavailable(
            f"The database has version {version}, and this Interlock reads version {known}: start a gateway on"
            " it once, which brings it there."
        )


def _no_view(_action: int, _first: str | None, _second: str | None, _base: str | None, view: str | None) -> int:
    """We made no views. Somebody may have put one in the place of a table, and one can be without end."""
    return sqlite3.SQLITE_OK if view in (None, _NAMED_BY_US) else sqlite3.SQLITE_DENY


class SqliteLog:
    """The log of one database, as it was when it was first looked at; `earlier` has a snapshot from before that, and
    `head` says what is wrong with the head of the file."""

    def __init__(self, connection: sqlite3.Connection, earlier: sqlite3.Connection, head: str | None = None) -> None:
        self._connection = connection
        self._earlier = earlier
        self._head = head
        self._thread = ThreadPoolExecutor(1, "interlock-audit")
        self._looking: list[Future[list[str]]] = []
        chain = chain_found(connection, chain_names(connection))
        if not isinstance(chain, bytes):
            raise NoLog(_NONE)
        self.chain = text_of(chain)

    @property
    def end(self) -> int:
        """The number of the last entry; 0 when that cannot be read, which whoever reads the entries is told."""
        try:
            ((end,),) = self._connection.execute(queries.LOG_END, (self.chain,)).fetchall()
        except BROKEN:
            return 0
        return end

    def entries(self, after: int, to: int | None) -> Generator[StoredRow]:
        bounds = (self.chain, after, 2**63 - 1 if to is None else to)
        try:
            yield from self._connection.execute(queries.STORED, bounds)
        except BROKEN as failed:
            raise Unreadable(str(failed)) from None

    def seals(self) -> Iterator[Seal | Break]:
        try:
            yield from self._seals()
        except BROKEN as failed:
            yield Break(1, f"the seals cannot be read: {failed}")

    def _seals(self) -> Iterator[Seal | Break]:
        for kind, seq, at, text, key, signature in self._connection.execute(queries.SEALS, (self.chain,)):
            number = seq if isinstance(seq, int) else 1
            try:
                seal = seal_of(text_of(text), text_of(key), bytes(signature))
                said = SealKind(text_of(kind)), self.chain, seq, at
            except (ValueError, TypeError, AttributeError):
                yield Break(number, "its seal is none")
                continue
            fits = (seal.kind, seal.chain, seal.seq, seal.at) == said
            yield seal if fits else Break(min(number, seal.seq), "its seal was changed after it was written")

    def beside(self, pruned: int, most: int) -> Callable[[], Sequence[str]]:
        found = Beside(self._earlier, self.chain, self._head).problems(pruned)
        looking = self._thread.submit(lambda: [*islice(found, most)])
        self._looking.append(looking)
        return looking.result

    def leave(self) -> None:
        """Nobody waits for what is beside any more."""
        # More than once, because a thread between two statements does not hear it.
        while wait(self._looking, timeout=0).not_done:
            self._earlier.interrupt()
            wait(self._looking, timeout=_HEARD)
        self._thread.shutdown()
