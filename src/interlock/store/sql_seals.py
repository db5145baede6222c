"""Seals in a database, and the removal of what a seal names.

Removing is done in small steps, because the one writer does it and calls wait for that writer. It can end anywhere:
what is left over is what a seal says is gone, and the next start goes on.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from interlock.core.canonical import canonical_text
from interlock.core.lifecycle import CALL, CallState
from interlock.store import seal_queries as queries
from interlock.store.audit.seal import Seal, SealKind, seal_of
from interlock.store.audit.seals import Keep, Place
from interlock.store.protocol import Activity
from interlock.store.rows import nearest_integer
from interlock.store.sql_approvals import Read, Write
from interlock.store.writer import Guard, Rows

_OPEN_STATES = canonical_text([state for state in CallState if CALL[state]])
_ALL = 2**63 - 1


class SqlSeals:
    """The seals of one gateway."""

    def __init__(
        self,
        write: Write,
        rows: Read,
        chain: Callable[[], str],
        grown: Callable[[int], Awaitable[None]],
    ) -> None:
        self._write = write
        self._rows = rows
        self._chain = chain
        self._grown = grown

    @property
    def chain(self) -> str:
        return self._chain()

    async def grown(self, to: int) -> None:
        await self._grown(to)

    async def place(self, seq: int | None = None) -> Place | None:
        rows = await self._rows(queries.PLACE, (self.chain, _ALL if seq is None else nearest_integer(seq)))
        found = [Place(*row) for row in rows]
        return found[0] if found and seq in (None, found[0].seq) else None

    async def hashes(self, seqs: Collection[int]) -> Mapping[int, bytes]:
        return dict(await self._rows(queries.HASHES, (self.chain, canonical_text([*map(nearest_integer, seqs)]))))

    async def add(self, seal: Seal, why: Activity | None = None) -> None:
        row = (seal.chain, seal.kind.value, seal.seq, seal.at, seal.text, seal.key, seal.signature)
        await self._write(() if why is None else (why,), Guard(queries.ADD_SEAL, row))

    async def last(self, kind: SealKind) -> Seal | None:
        rows = await self._rows(queries.LAST_SEAL, (self.chain, kind.value))
        return seal_of(*rows[0]) if rows else None

    async def listed(self, limit: int) -> Sequence[Seal]:
        return [seal_of(*row) for row in await self._rows(queries.NEWEST_SEALS, (self.chain, limit))]

    async def cut(self, keep: Keep) -> Seal | None:
        bounds = [await self._first_that_stays(keep)]
        ((under_way,),) = await self._rows(queries.FIRST_OPEN, (self.chain, _OPEN_STATES))
        bounds += [] if under_way is None else [under_way]
        rows = await self._rows(queries.CHECKPOINT_BEFORE, (self.chain, min(bounds)))
        return seal_of(*rows[0]) if rows else None

    async def _first_that_stays(self, keep: Keep) -> int:
        """The number of the oldest entry that is to stay; of several wishes the one that keeps less counts."""
        last = await self.place()
        if last is None:
            return 0
        wishes: list[int] = []
        if keep.records is not None:
            wishes.append(last.seq - keep.records + 1)
        if keep.since is not None:
            ((first,),) = await self._rows(queries.FIRST_SINCE, (self.chain, nearest_integer(keep.since)))
            wishes.append(last.seq + 1 if first is None else first)
        if keep.size is not None:
            ((first,),) = await self._rows(queries.FIRST_WITHIN, (self.chain, nearest_integer(keep.size)))
            wishes.append(last.seq + 1 if first is None else first)
        return min(max(wishes, default=0), last.seq)

    async def may_remove(self) -> bool:
        ((may,),) = await self._rows(queries.MAY_REMOVE, ())
        return bool(may)

    async def doomed(self, upto: int, most: int) -> Sequence[str]:
        rows = await self._rows(queries.ONLY_BEFORE, (self.chain, upto, self.chain, upto, most))
        return [subject for (subject,) in rows]

    async def forget(self, activities: Sequence[str]) -> None:
        await self._write((), rows=(Rows(queries.REMOVE_ACTIVITY, tuple((each,) for each in activities)),))

    async def shed(self, upto: int, most: int) -> int:
        ((left,),) = await self._rows(queries.LEFT, (self.chain, upto, most))
        if left:
            await self._write((), rows=(Rows(queries.REMOVE_ENTRIES, ((self.chain, self.chain, upto, most),)),))
        return left
