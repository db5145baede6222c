"""The logs of all gateways of a store, told as one story to those who follow it.

Each gateway has a log of its own, and nothing puts entries of two logs in an order: to number them all in one row,
gateways would have to wait for each other at each record. So a place in the story is a place in each log. Whoever goes
on from there misses nothing and hears nothing twice, whichever gateway it asks; what happened at two gateways at the
same time may be told in either order.

This module refuses to know a database.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from interlock.store.protocol import LogEntry

Mark: TypeAlias = Mapping[str, int]
"""A place in the story: of each chain the number of the last entry that was told. What is not in it was not told."""

_NUMBER = re.compile(r"\d{1,18}", re.ASCII)


class Story(Protocol):
    """Every method that waits may raise StoreUnavailable."""

    async def end(self) -> Mark:
        """The place after everything that there is."""
        ...

    async def entries(self, after: Mark, limit: int) -> Sequence[LogEntry]:
        """What follows a place, of each chain in its order and at most so many."""
        ...

    async def next_entries(self, after: Mark, limit: int) -> Sequence[LogEntry]:
        """The same, but waits until there is at least one."""
        ...

    def text(self, mark: Mark) -> str:
        """A place as text, of a mark that this story gave or that consists of its entries."""
        ...

    async def mark(self, text: str) -> Mark | None:
        """The place that a text means; None when it is none of this story. Raises ValueError for any other text."""
        ...


def is_within(mark: Mark, end: Mark) -> bool:
    """Whether a place is not beyond another in any chain."""
    return all(seq <= end.get(chain, 0) for chain, seq in mark.items())


def farther(one: Mark, other: Mark) -> Mark:
    """The place after everything that was told before either of the two."""
    return {chain: max(one.get(chain, 0), other.get(chain, 0)) for chain in {**one, **other}}


Read: TypeAlias = Callable[[int, int], Awaitable[Sequence[LogEntry]]]


class OneLog:
    """The story where there is one gateway: its log. A place is a number."""

    def __init__(self, chain: Callable[[], str], end: Callable[[], Awaitable[int]], entries: Read, later: Read) -> None:
        self._chain = chain
        self._end = end
        self._entries = entries
        self._later = later

    async def end(self) -> Mark:
        return {self._chain(): await self._end()}

    async def entries(self, after: Mark, limit: int) -> Sequence[LogEntry]:
        return await self._entries(after.get(self._chain(), 0), limit)

    async def next_entries(self, after: Mark, limit: int) -> Sequence[LogEntry]:
        return await self._later(after.get(self._chain(), 0), limit)

    def text(self, mark: Mark) -> str:
        return str(mark.get(self._chain(), 0))

    async def mark(self, text: str) -> Mark | None:
        if not _NUMBER.fullmatch(text):
            raise ValueError("must be the id of an event, a whole number")
        return {self._chain(): int(text)}
