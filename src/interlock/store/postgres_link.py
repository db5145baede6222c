"""Connections to PostgreSQL: opened when they are needed, thrown away after any failure, and never waited for long.

A database that is gone, frozen or cut off must be noticed within seconds, because calls are refused meanwhile and
somebody waits for that refusal. So everything has a bound here: opening, a statement, the wait for a lock, and how long
a transaction may stand open while its gateway says nothing. The last one is for the others: a gateway that froze in the
middle of a write would hold them up, and the wait for a lock is longer than that bound, so they do not even fail.

This module refuses to weaken what makes a commit durable, and to repeat a statement.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

import asyncpg
from asyncpg import Connection

from interlock.store.postgres_address import TWICE, as_psql_reads, unreadable_file
from interlock.store.protocol import StoreUnavailable

FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""How a database says no, and how a network does. Waiting too long is among the last. The third is what the client says
when a server ends between two steps of a statement."""

_LOSSES = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
_LOSS_STATES = ("08003", "08006")
"""What the client says of a connection that was closed in the middle of a statement, and PostgreSQL of one that
failed."""

CHANNEL = "interlock"
"""Where gateways tell each other that there is something new."""

GATEWAY = "interlock"
"""What the connections of a gateway are called, so that whoever copies its database sees that it runs."""

_NO_ADDRESS = (
    "The address cannot be read: write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %XX for characters of a"
    " password that are no letters or digits."
)
_NO_MODE = (
    "The address asks for an sslmode that there is not: write one of disable, allow, prefer, require, verify-ca,"
    " verify-full."
)
_NO_ROOT = (
    "There is no root certificate to check the server's by, which the sslmode of the address asks for: add"
    " sslrootcert=FILE to the address, as &sslrootcert=/etc/ssl/certs/ca-certificates.crt, or put it where"
    " PostgreSQL's own programs look, ~/.postgresql/root.crt."
)
_TWICE = f"{TWICE}, before the database and after it: leave one of them out."
_KNOWN = {TWICE: _TWICE, "`sslmode` parameter must be one of": _NO_MODE, "root certificate file": _NO_ROOT}
"""What the client says of an address without repeating what may be a part of a password, by how it begins."""
_SETTINGS = """
SET search_path = interlock, pg_temp;
SET default_transaction_isolation = 'read committed';
SET lock_timeout = '3s';
SET idle_in_transaction_session_timeout = '2s';
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') IN ('off', 'local');
"""
"""Each connection looks into our schema alone, sees what others have committed, and waits for the disk."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How many seconds to wait: for a connection, for a batch, to learn what became of one, and for what is read."""

    connect: float = 2.0
    write: float = 4.0
    find_out: float = 2.0
    read: float = 10.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is. The text may hold a password and is never shown."""

    text: str
    patience: Patience
    name: str = GATEWAY
    """What the connections are called in the database."""

    async def connect(self) -> Connection:
        """A new connection; raises one of FAILURES, and StoreUnavailable for what is no address."""
        patience = self.patience
        try:
            address, database = as_psql_reads(self.text)
            connection = await asyncpg.connect(
                address,
                database=database,
                timeout=patience.connect,
                command_timeout=patience.read,
                server_settings={"application_name": self.name},
            )
        except ValueError as problem:
            raise StoreUnavailable(_wrong_with_address(problem)) from None
        except OSError:
            if (told := unreadable_file(self.text)) is not None:
                raise StoreUnavailable(told) from None
            raise
        with contextlib.ExitStack() as unless_set_up:
            unless_set_up.callback(connection.terminate)
            await connection.execute(_SETTINGS)
            unless_set_up.pop_all()
        return connection


class Lines:
    """A few connections for whoever reads, all in one event loop."""

    def __init__(self, address: Address, most: int) -> None:
        self._address = address
        self._turns = asyncio.Semaphore(most)
        self._idle: list[Connection] = []
        self._closed = False

    @contextlib.asynccontextmanager
    async def use(self) -> AsyncGenerator[Connection]:
        """A connection; what the database says when it fails is raised as StoreUnavailable."""
        async with self._turns:
            with contextlib.ExitStack() as unless_well:
                try:
                    connection = self._open() or await self._address.connect()
                    unless_well.callback(connection.terminate)
                    yield connection
                except FAILURES as problem:
                    self._hang_up()  # if one has failed, the others that were idle are no better
                    raise StoreUnavailable(words(problem)) from problem
                if not self._closed:
                    unless_well.pop_all()
                    self._idle.append(connection)

    def _open(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def _hang_up(self) -> None:
        while self._idle:
            self._idle.pop().terminate()

    async def close(self) -> None:
        """Let go of all that are idle, in order, and of those in use as soon as they are not."""
        self._closed = True
        while (connection := self._open()) is not None:
            await say_goodbye(connection, self._address.patience.connect)


class Ear:
    """Hears what gateways tell each other, as long as the connection holds. Whoever relies on it looks now and then all
    the same: what was told while nobody listened is told to nobody."""

    def __init__(self, address: Address, on_news: Callable[[], None]) -> None:
        self._address = address
        self._on_news = on_news
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def listen(self) -> None:
        """Listen, if nobody does yet. That it does not work is no harm."""
        async with self._turn:
            if self._closed or (self._connection is not None and not self._connection.is_closed()):
                return
            with contextlib.suppress(*FAILURES), contextlib.ExitStack() as unless_heard:
                connection = await self._address.connect()
                unless_heard.callback(connection.terminate)
                await connection.add_listener(CHANNEL, self._heard)
                unless_heard.pop_all()
                self._connection = connection

    def _heard(self, *_: object) -> None:
        self._on_news()

    async def close(self) -> None:
        async with self._turn:
            self._closed = True
            connection, self._connection = self._connection, None
            if connection is not None:
                await say_goodbye(connection, self._address.patience.connect)


async def say_goodbye(connection: Connection, seconds: float) -> None:
    """End a connection in order, or at once if that takes too long."""
    with contextlib.suppress(*FAILURES):
        await connection.close(timeout=seconds)


def turn_of(name: str) -> int:
    """The number that stands for a turn in the database: whoever has it keeps out all others who want the same."""
    return int.from_bytes(hashlib.sha256(f"interlock {name}".encode()).digest()[:8], signed=True)


def _wrong_with_address(problem: ValueError) -> str:
    """What is wrong, in our words: the client's may be a part of the password, where that has characters in it that
    mean something else in an address."""
    return next((ours for begins, ours in _KNOWN.items() if str(problem).startswith(begins)), _NO_ADDRESS)


def words(problem: BaseException) -> str:
    """What the database said, without a full stop."""
    if isinstance(problem, TimeoutError):
        return "The database did not answer in time"
    code: str = getattr(problem, "sqlstate", None) or type(problem).__name__
    return f"{'The connection to the database was lost' if _is_loss(problem) else problem} ({code})"


def _is_loss(problem: BaseException) -> bool:
    """Whether there was a connection, and it is gone. The client tells of that in many ways, most of them in terms of
    its own inside."""
    if isinstance(problem, asyncpg.InterfaceError):
        return "connection is closed" in str(problem)
    if getattr(problem, "sqlstate", None) in _LOSS_STATES:
        return True
    return isinstance(problem, _LOSSES) or type(problem) is ConnectionError
