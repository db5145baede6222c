"""A disk that fails when a test says so: connections whose n-th statement ends with what SQLite says of a broken disk.

Everything of ours is real, and so is the database. Only what the standard library opens is another class, which counts
what it is told to do.
"""

import functools
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import pytest

WORDS = (
    "disk I/O error",
    "database or disk is full",
    "database is locked",
    "attempt to write a readonly database",
)
"""What SQLite says."""
Statement = str
Which = Callable[[Statement], bool]


class Faults:
    """When the disk fails. Told of statements by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._first = 0
        self._lasting = False
        self._words = WORDS[0]
        self._which: Which = _any
        self.happened = 0
        """How often it has failed."""

    def nth(self, number: int, *, lasting: bool = False, words: str = WORDS[0]) -> None:
        """Fail at the n-th statement from now on, and at all that follow if it lasts."""
        with self._lock:
            self._count, self._first, self._lasting, self._words = 0, number, lasting, words
            self._which, self.happened = _any, 0

    def at(self, which: Which, words: str) -> None:
        """Fail at each statement of this sort from now on."""
        self.nth(1, lasting=True, words=words)
        self._which = which

    def repair(self) -> None:
        with self._lock:
            self._first = 0

    def meet(self, statement: Statement) -> None:
        """Raises when the disk fails at this one."""
        with self._lock:
            if not self._first or not self._which(statement):
                return
            self._count += 1
            if self._count == self._first or (self._lasting and self._count > self._first):
                self.happened += 1
                raise sqlite3.OperationalError(self._words)


def _any(_: Statement) -> bool:
    return True


class Failing(sqlite3.Connection):
    """A connection to a disk that can fail."""

    faults: Faults

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        self.faults.meet(sql)
        return super().execute(sql, *given)

    def executemany(self, sql: str, *given: Any) -> sqlite3.Cursor:
        self.faults.meet(sql)
        return super().executemany(sql, *given)


def failing_disk(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """From now on, until the test ends, every database lies on a disk that fails when told to."""
    faults = Faults()
    kind = type("Failing", (Failing,), {"faults": faults})
    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=kind))
    return faults
