"""What gateways know of each other, in PostgreSQL.

A look is one statement on a connection of its own: it must not wait behind lists and counts, because a gateway that
could not look refuses its calls. It also brings the time of the database.

This module refuses to compare times of two machines: whether somebody lives is told by a number that goes on or stands
still, and whoever watches measures that with its own ticks.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from interlock.core.approvals import Approval
from interlock.core.grants import Grant, GrantKey
from interlock.store import approval_queries, queries
from interlock.store import postgres_words as statements
from interlock.store.approval_rows import approval_of, grant_of, waits_for
from interlock.store.approvals import Crowd
from interlock.store.postgres_clock import PostgresClock
from interlock.store.postgres_link import Address, Lines, turn_of
from interlock.store.postgres_words import plain
from interlock.store.protocol import Activity
from interlock.store.rows import activity_of, storable
from interlock.store.shared import NEXT_BEAT, Kind, Left, Look, Run
from interlock.store.sql_approvals import Read, Write
from interlock.store.writer import Guard

LOOK_SECONDS = 1.0
"""How long a look may take: several must fit into the time for which a gateway may act after the last one."""

_RUNS_OF_CHAIN = "SELECT run, beat FROM gateway WHERE chain = $1 AND ended_at IS NULL"
_BEGIN = """
WITH gone AS (
    UPDATE gateway SET ended_at = now_micros(), ended_by = $1 WHERE chain = $2 AND ended_at IS NULL AND run <> $1
), old AS (
    DELETE FROM gateway WHERE ended_at < now_micros() - 86400000000
)
INSERT INTO gateway (run, chain, started_at) VALUES ($1, $2, now_micros())
"""
_END = "UPDATE gateway SET ended_at = now_micros(), ended_by = run WHERE run = $1 AND ended_at IS NULL"
_BEAT = "UPDATE gateway SET beat = beat + 1 WHERE run = $1 AND ended_at IS NULL"

# Everything that a gateway has to know at once, in one go: the time, the numbers of the changes, and who lives.
_LOOK = """
SELECT now_micros(), ARRAY(SELECT kind FROM change ORDER BY kind), ARRAY(SELECT number FROM change ORDER BY kind),
    ARRAY(SELECT run FROM gateway WHERE ended_at IS NULL ORDER BY run),
    ARRAY(SELECT chain FROM gateway WHERE ended_at IS NULL ORDER BY run),
    ARRAY(SELECT beat FROM gateway WHERE ended_at IS NULL ORDER BY run)
"""

# Compare and set: of all who find that a beat stands still, one settles what is left.
_TAKE_OVER = """
UPDATE gateway SET ended_at = now_micros(), ended_by = $3 WHERE run = $1 AND beat = $2 AND ended_at IS NULL
"""

# Whoever was told to come again is served by anybody; with the others only their own gateway waits.
_LEFT_APPROVALS = """
SELECT id FROM approval WHERE status = 'pending' AND answered = 0
    AND NOT EXISTS (SELECT 1 FROM gateway WHERE run = approval.gateway AND ended_at IS NULL)
"""
_LEFT_CALLS = f"""{queries.ACTIVITY}
WHERE status IN ('received', 'held', 'sent') AND type = 'tool_call'
    AND NOT EXISTS (SELECT 1 FROM gateway WHERE gateway.chain = activity.chain AND ended_at IS NULL)
ORDER BY at, id
"""  # noqa: S608 - of constants

# A gateway that was only slow may have written the outcome meanwhile, and that is the one that counts.
_STILL_OPEN = "UPDATE activity SET status = status WHERE id = ? AND status IN ('received', 'held', 'sent')"

_CHANGED_APPROVALS = f"{approval_queries.APPROVAL} WHERE changed > ? ORDER BY changed, id"
_CHANGED_GRANTS = f"{approval_queries.GRANT} WHERE changed > ? ORDER BY changed, id"
_WAITING = f"{approval_queries.APPROVAL} WHERE waits_for = ? AND status = 'pending'"


class PostgresShared:
    """One gateway's view of all of them."""

    def __init__(
        self,
        address: Address,
        chain: str,
        clock: PostgresClock,
        write: Write,
        rows: Read,
        listen: Callable[[], Awaitable[None]],
    ) -> None:
        self._chain = chain
        self._clock = clock
        self._write = write
        self._rows = rows
        self._listen = listen
        self._line = Lines(address, 1)
        self._news = asyncio.Event()

    def heard(self) -> None:
        """Another gateway has told that there is something new."""
        self._news.set()

    async def close(self) -> None:
        await self._line.close()

    async def has_twin(self) -> bool:
        before = await self._runs_of_chain()
        if not before:
            return False
        await asyncio.sleep(NEXT_BEAT / 1_000_000)
        return any(beat != before.get(run) for run, beat in (await self._runs_of_chain()).items())

    async def _runs_of_chain(self) -> dict[str, int]:
        async with self._line.use() as connection:
            rows = await connection.fetch(_RUNS_OF_CHAIN, self._chain, timeout=LOOK_SECONDS)
        return {each["run"]: each["beat"] for each in rows}

    async def begin(self, run: str) -> Look:
        async with self._line.use() as connection:
            await connection.execute(_BEGIN, run, self._chain, timeout=LOOK_SECONDS)
        return await self.look(run, beat=False)

    async def end(self, run: str) -> None:
        async with self._line.use() as connection:
            await connection.execute(_END, run, timeout=LOOK_SECONDS)

    async def look(self, run: str, *, beat: bool) -> Look:
        async with self._line.use() as connection:
            if beat:
                await connection.execute(_BEAT, run, timeout=LOOK_SECONDS)
            since = self._clock.ticks()
            (found,) = await connection.fetch(_LOOK, timeout=LOOK_SECONDS)
            now, kinds, numbers, *columns = plain(found)
            self._clock.told(now, since, self._clock.ticks())
        runs = [Run(*each) for each in zip(*columns, strict=True)]
        others = [each for each in runs if each.name != run]
        return Look(len(others) < len(runs), dict(zip(map(Kind, kinds), numbers, strict=True)), others)

    async def told(self, seconds: float) -> None:
        await self._listen()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    async def take_over(self, gone: Run, run: str) -> bool:
        async with self._line.use() as connection:
            done = await connection.execute(_TAKE_OVER, gone.name, gone.beat, run, timeout=LOOK_SECONDS)
        return done == "UPDATE 1"

    async def left(self, chains: Sequence[str]) -> Left:
        async with self._line.use() as connection:
            for chain in chains:
                # Whoever has this turn may be about to write what it leaves.
                async with connection.transaction():
                    await connection.execute(statements.TAKE_TURN, turn_of(f"chain {chain}"))
            approvals = await connection.fetch(_LEFT_APPROVALS)
            calls = await connection.fetch(_LEFT_CALLS)
        return Left([each["id"] for each in approvals], [activity_of(plain(each)) for each in calls])

    async def settle(self, call: Activity) -> bool:
        return await self._write((call,), Guard(_STILL_OPEN, storable((call.id,))))

    async def changed_approvals(self, after: int) -> Sequence[Approval]:
        return [approval_of(row) for row in await self._rows(_CHANGED_APPROVALS, (after,))]

    async def changed_grants(self, after: int) -> Sequence[Grant]:
        return [grant_of(row) for row in await self._rows(_CHANGED_GRANTS, (after,))]

    async def crowd(self, caller: str) -> Crowd:
        ((own, total),) = await self._rows(approval_queries.CROWD, storable((caller,)))
        return Crowd(own, total)

    async def waiting(self, key: GrantKey) -> Approval | None:
        rows = await self._rows(_WAITING, storable((waits_for(key),)))
        return approval_of(rows[0]) if rows else None
