"""The writing end in PostgreSQL: one transaction per batch, in the thread of the one writer.

That thread has an event loop for this alone, so that a batch is sent, hashed and waited for whatever the loop of the
gateway is busy with, and so that one queue with one account of what was lost serves both databases.

Several gateways write to one database. Each has a chain of its own, and whoever writes to a chain takes its turn, which
a second process of the same gateway would have to wait for. Batches that compare and set, or change rows that all
share, take turns with those of all other gateways too: two that changed the same rows in different orders would wait
for each other without end. Batches of mere records, which are nearly all, do not.

INVARIANT: a batch is never written twice. When the connection is lost while a commit is under way, whether it was done
is asked on another one, by the hash of the last entry; and nothing is ever sent again.

This module refuses to remember where the chain stands: that is read in each transaction.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from asyncpg import Connection

from interlock.clock import Clock
from interlock.store import postgres_words as statements
from interlock.store import queries
from interlock.store.chain import BEGINNING, linked
from interlock.store.postgres_link import FAILURES, Address, say_goodbye, turn_of, words
from interlock.store.postgres_words import held, in_postgres
from interlock.store.protocol import StoreUnavailable, Uncertain
from interlock.store.rows import Record, Row
from interlock.store.writer import Job

_AGAIN_SECONDS = 0.05
"""How long to wait before a database that could not be asked is asked again."""
_EVERYONE = turn_of("changes")


class _Draft(NamedTuple):
    """What a transaction has written before its end: of which jobs, and the entries."""

    written: Sequence[bool]
    links: Sequence[Row]


class PostgresLedger:
    """One transaction per batch. Used by one thread."""

    def __init__(self, address: Address, clock: Clock, chain: str) -> None:
        self._address = address
        self._clock = clock
        self._chain = chain
        self._turn = turn_of(f"chain {chain}")
        self._runner = asyncio.Runner()
        self._connection: Connection | None = None
        self.end = 0
        """The number of the last entry, as of the last commit of this process; 0 before the first."""

    def commit(self, jobs: Sequence[Job]) -> Sequence[bool]:
        return self._runner.run(self._commit(jobs))

    def close(self) -> None:
        with self._runner:
            self._runner.run(self._say_goodbye())

    async def _commit(self, jobs: Sequence[Job]) -> Sequence[bool]:
        with contextlib.ExitStack() as unless_well:
            unless_well.callback(self._hang_up)  # which also rolls back
            try:
                async with asyncio.timeout(self._address.patience.write):
                    connection = await self._begun()
                    draft = await self._write(connection, jobs)
                await self._concluded(connection, draft)
            except FAILURES as problem:
                raise StoreUnavailable(words(problem)) from problem
            unless_well.pop_all()
        if draft.links:
            self.end = _number(draft.links[-1])
        return draft.written

    async def _begun(self) -> Connection:
        """A connection with a transaction. One that was lost while it was idle is replaced: nothing was said on it."""
        if self._connection is not None:
            with contextlib.suppress(*FAILURES):
                await self._connection.execute("BEGIN", timeout=self._address.patience.connect)
                return self._connection
        connection = await self._connected()
        await connection.execute("BEGIN")
        return connection

    async def _connected(self) -> Connection:
        self._hang_up()
        self._connection = await self._address.connect()
        return self._connection

    async def _write(self, connection: Connection, jobs: Sequence[Job]) -> _Draft:
        changes = any(job.guard or any(each.rows for each in job.rows) for job in jobs)
        if changes:
            await connection.execute(statements.TAKE_TURN, _EVERYONE)
        written = [await _lets(connection, job) for job in jobs]
        records = [record for job, let in zip(jobs, written, strict=True) if let for record in job.records]
        links = await self._links(connection, records)
        if links:
            await _put(connection, statements.APPEND, links)
            # Of several versions in one batch only the last one is ever seen in the list; the log has them all.
            latest = {record.subject: record.row for record in records}
            await _put(connection, statements.PUT_ACTIVITIES, [latest[each] for each in sorted(latest)], self._chain)
        if changes:
            await connection.execute(statements.TELL)
        return _Draft(written, links)

    async def _links(self, connection: Connection, records: Sequence[Record]) -> Sequence[Row]:
        if not records:
            return ()
        await connection.execute(statements.TAKE_TURN, self._turn)
        found = await connection.fetchrow(in_postgres(queries.TIP), self._chain)
        tip = (0, BEGINNING) if found is None else (found["seq"], found["hash"])
        return linked(self._chain, tip, self._clock.now(), records)

    async def _concluded(self, connection: Connection, draft: _Draft) -> None:
        """Commit, and be sure of it."""
        try:
            await connection.execute("COMMIT", timeout=self._address.patience.write)
        except FAILURES:
            if not draft.links or not await self._was_written(draft.links[-1]):
                raise

    async def _was_written(self, last: Row) -> bool:
        """Whether a commit was done that nobody heard of. A database that has to start anew first is waited for."""
        try:
            async with asyncio.timeout(self._address.patience.find_out):
                while True:
                    with contextlib.suppress(*FAILURES):
                        return await self._is_there(last)
                    await asyncio.sleep(_AGAIN_SECONDS)
        except TimeoutError:
            raise Uncertain(
                "The connection was lost at the end of a write, and whether it was done is not known."
            ) from None

    async def _is_there(self, last: Row) -> bool:
        connection = await self._connected()
        async with connection.transaction():
            # Whoever still holds the turn may be the one who is about to write it.
            await connection.execute(statements.TAKE_TURN, self._turn)
            return await connection.fetchval(statements.IS_WRITTEN, self._chain, _number(last), last[-1])

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    async def _say_goodbye(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await say_goodbye(connection, self._address.patience.connect)


async def _lets(connection: Connection, job: Job) -> bool:
    """Whether the guard lets a job be written; if so, its rows are."""
    guard = job.guard
    if guard is not None:
        sql = in_postgres(guard.sql, timed=guard.timed)
        if _count(await connection.execute(sql, *map(held, guard.values))) != 1:
            return False
    for each in job.rows:
        if each.rows:
            await connection.executemany(in_postgres(each.sql), [tuple(map(held, row)) for row in each.rows])
    return True


async def _put(connection: Connection, sql: str, rows: Sequence[Row], *more: str) -> None:
    """Write these rows, all of them: a trigger of somebody else's could leave some out without a word."""
    columns = [[held(value) for value in column] for column in zip(*rows, strict=True)]
    put = _count(await connection.execute(sql, *columns, *more))
    if put != len(rows):
        raise StoreUnavailable(f"Of {len(rows)} rows {put} were taken: something in the database is in the way.")


def _count(done: str) -> int:
    """How many rows a statement has changed, by what PostgreSQL says at its end."""
    return int(done.rpartition(" ")[2])


def _number(link: Row) -> int:
    return int(link[1] or 0)
