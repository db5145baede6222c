"""What the one who seals and prunes needs of a store.

This module refuses to know a database: it is the protocol, and what travels through it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from interlock.core.model import Micros
from interlock.store.audit.seal import Seal, SealKind
from interlock.store.protocol import Activity


@dataclass(frozen=True, slots=True)
class Place:
    """An entry, by its number, its hash and the time at which it was written."""

    seq: int
    hash: bytes
    at: Micros


@dataclass(frozen=True, slots=True)
class Keep:
    """What is to stay of the log: what is younger, so many entries, or so many bytes of their text. None means any."""

    since: Micros | None = None
    records: int | None = None
    size: int | None = None


class Seals(Protocol):
    """The seals of one gateway's chain. Every method may raise StoreUnavailable."""

    @property
    def chain(self) -> str: ...

    async def grown(self, to: int) -> None:
        """Wait until the log has an entry with this number."""
        ...

    async def place(self, seq: int | None = None) -> Place | None:
        """The entry with a number, or the last one."""
        ...

    async def hashes(self, seqs: Collection[int]) -> Mapping[int, bytes]:
        """The hashes of those of these entries that are there."""
        ...

    async def add(self, seal: Seal, why: Activity | None = None) -> None:
        """Keep a seal, in one transaction with the activity that tells of it if there is one."""
        ...

    async def last(self, kind: SealKind) -> Seal | None:
        """The newest seal of a kind."""
        ...

    async def listed(self, limit: int) -> Sequence[Seal]:
        """Seals, newest first."""
        ...

    async def cut(self, keep: Keep) -> Seal | None:
        """The checkpoint up to which everything may go: older than all that stays and than every call under way."""
        ...

    async def may_remove(self) -> bool:
        """Whether the database lets this gateway remove anything at all."""
        ...

    async def doomed(self, upto: int, most: int) -> Sequence[str]:
        """Ids of listed activities of which only entries tell that a pruned seal names, no more than `most`."""
        ...

    async def forget(self, activities: Sequence[str]) -> None:
        """Take activities out of the list."""
        ...

    async def shed(self, upto: int, most: int) -> int:
        """Remove the oldest entries that a pruned seal names, no more than `most`; how many there were."""
        ...
