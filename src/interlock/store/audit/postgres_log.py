"""The logs in a PostgreSQL database, read for the check: one for each gateway, all from one snapshot.

The check does not ask a gateway, because it is the gateway's word that is checked. Nothing is created, migrated or
written here. What is in the database is taken for anything at all: somebody may have had it in hand.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

from interlock.store import queries
from interlock.store.audit.postgres_beside import PostgresBeside
from interlock.store.audit.seal import Seal, SealKind, seal_of
from interlock.store.audit.verify import StoredRow, Unreadable
from interlock.store.chain import Break
from interlock.store.postgres_snapshot import Snapshot, see_version, snapshot_of
from interlock.store.postgres_words import in_postgres
from interlock.store.protocol import StoreUnavailable

# Every log that anything in the database belongs to, the oldest first, found by one step in the index for each.
_CHAINS = """
WITH RECURSIVE told (id) AS (
    SELECT min(chain) FROM entry
    UNION ALL SELECT (SELECT min(chain) FROM entry WHERE chain > id) FROM told WHERE id IS NOT NULL
), sealed (id) AS (
    SELECT min(chain) FROM seal
    UNION ALL SELECT (SELECT min(chain) FROM seal WHERE chain > id) FROM sealed WHERE id IS NOT NULL
)
SELECT found.id FROM (SELECT id FROM chain UNION SELECT id FROM told UNION SELECT id FROM sealed) AS found
LEFT JOIN chain ON chain.id = found.id WHERE found.id IS NOT NULL ORDER BY chain.started_at, found.id
"""


class PostgresLogs:
    """All logs of a database, as they were at one moment."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.chains: tuple[str, ...] = tuple(chain for (chain,) in snapshot.rows(_CHAINS))

    def named(self, chain: str | None) -> str:
        """The one of this name, or the only one; raises ValueError."""
        if chain is None and len(self.chains) == 1:
            return self.chains[0]
        if chain not in self.chains:
            which = "say which log" if chain is None else f"there is no log {chain} in the database"
            raise ValueError(f"{which}: there are {', '.join(self.chains) or 'none'}")
        return chain

    def log(self, chain: str, pruned: Mapping[str, int] | None = None) -> "PostgresLog":
        """One of them. What is beside it is beside all, and is looked at if it is said of the others, too, up to where
        entries may be gone."""
        return PostgresLog(self._snapshot, chain, pruned)


class PostgresLog:
    """The log of one gateway."""

    def __init__(self, snapshot: Snapshot, chain: str, pruned: Mapping[str, int] | None) -> None:
        self._snapshot = snapshot
        self._pruned = pruned
        self.chain = chain

    @property
    def end(self) -> int:
        return self._snapshot.value(in_postgres(queries.LOG_END), self.chain)

    def entries(self, after: int, to: int | None) -> Generator[StoredRow]:
        bounds = (after, 2**63 - 1 if to is None else to)
        try:
            rows = self._snapshot.pages(in_postgres(queries.STORED), self.chain, *bounds)
            for seq, at, kind, subject, text, prev, sealed in rows:
                yield seq, at, kind.encode(), subject.encode(), text.encode(), prev, sealed
        except StoreUnavailable as failed:
            raise Unreadable(str(failed)) from None

    def seals(self) -> Iterator[Seal | Break]:
        rows = self._snapshot.pages(in_postgres(queries.SEALS), self.chain)
        for kind, seq, at, text, key, signature in rows:
            try:
                seal = seal_of(text, key, signature)
                fits = (seal.kind, seal.chain, seal.seq, seal.at) == (SealKind(kind), self.chain, seq, at)
            except ValueError:
                yield Break(seq, "its seal is none")
                continue
            yield seal if fits else Break(min(seq, seal.seq), "its seal was changed after it was written")

    def beside(self, pruned: int, most: int) -> Callable[[], Sequence[str]]:
        if self._pruned is None:
            return tuple
        found = PostgresBeside(self._snapshot, {**self._pruned, self.chain: pruned}).problems()
        return lambda: [*islice(found, most)]


@contextmanager
def open_logs(address: str) -> Generator[PostgresLogs]:
    """The logs of a database as they are now; raises StoreUnavailable."""
    with snapshot_of(address) as snapshot:
        see_version(snapshot)
        yield PostgresLogs(snapshot)
