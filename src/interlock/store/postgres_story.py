"""The story of all gateways of one PostgreSQL database.

Each look takes one step in the index of the log for each chain, so it costs the same however long the logs are. In the
text of a place chains have short numbers, because it stands in every event.
"""

import asyncio
import heapq
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from interlock.store.protocol import LogEntry
from interlock.store.sql_approvals import Read
from interlock.store.story import Mark

# The chains by their numbers; and where each ends.
_CHAINS = "SELECT id, number FROM chain"
_END = """
SELECT id, number, coalesce((SELECT max(seq) FROM entry WHERE chain = chain.id), 0) FROM chain
"""

# What follows a place, of each chain so much. A chain that is not in the place is new, and is told from its beginning.
_ENTRIES = """
SELECT following.chain, seq, at, kind, subject, text, prev, hash, number
FROM chain LEFT JOIN unnest(?::text[], ?::bigint[]) AS told (chain, upto) ON told.chain = chain.id
CROSS JOIN LATERAL (
    SELECT * FROM entry WHERE entry.chain = chain.id AND seq > coalesce(told.upto, 0) ORDER BY seq LIMIT ?
) AS following
"""

_TEXT = re.compile(r"\d{1,9}\.\d{1,18}(?:-\d{1,9}\.\d{1,18})*", re.ASCII)


class PostgresStory:
    """All logs of the database."""

    def __init__(
        self, rows: Read, heard: Callable[[asyncio.Event], Awaitable[None]], news: Callable[[], asyncio.Event]
    ) -> None:
        """`heard` waits until there may be something new since `news` was asked for."""
        self._rows = rows
        self._heard = heard
        self._news = news
        self._numbers: dict[str, int] = {}

    async def end(self) -> Mark:
        found = await self._rows(_END, ())
        self._numbers |= {chain: number for chain, number, _ in found}
        return {chain: seq for chain, _, seq in found}

    async def entries(self, after: Mark, limit: int) -> Sequence[LogEntry]:
        values: Any = ([*after], [*after.values()], limit)
        found = await self._rows(_ENTRIES, values)
        chains: defaultdict[str, list[LogEntry]] = defaultdict(list)
        for *entry, number in found:
            self._numbers[entry[0]] = number
            chains[entry[0]].append(LogEntry(*entry))
        for each in chains.values():
            each.sort(key=lambda entry: entry.seq)
        # By time, as far as the order of each chain lets them.
        return list(heapq.merge(*chains.values(), key=lambda entry: entry.at))

    async def next_entries(self, after: Mark, limit: int) -> Sequence[LogEntry]:
        while True:
            news = self._news()
            if found := await self.entries(after, limit):
                return found
            await self._heard(news)

    def text(self, mark: Mark) -> str:
        told = sorted((self._numbers[chain], seq) for chain, seq in mark.items())
        return "-".join(f"{number}.{seq}" for number, seq in told)

    async def mark(self, text: str) -> Mark | None:
        if not _TEXT.fullmatch(text):
            raise ValueError("must be the id of an event")
        places = [each.split(".") for each in text.split("-")]
        self._numbers |= dict(await self._rows(_CHAINS, ()))
        chains = {str(number): chain for chain, number in self._numbers.items()}
        if not all(number in chains for number, _ in places):
            return None
        return {chains[number]: int(seq) for number, seq in places}
