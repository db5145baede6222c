"""The whole check of a database that several gateways write to: the log of each, and what they share.

Each log is checked as one in a file is. What proves it lies in the folder of its gateway, so of the others some of that
may be missing here: without their anchor it would not show that an end was cut off, and without their public keys their
seals are compared with the records and nobody knows who set them. Both are told, and both can be handed over: a file of
keys may hold those of all gateways, and an anchor the lines of all.

This module refuses to take a log for intact that an anchor tells of and that is not there.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from interlock.clock import Clock, SystemClock
from interlock.store.audit.anchor import ANCHOR, BadLine, seals_in
from interlock.store.audit.check import Progress, lines_in, long_unsealed, must_cover
from interlock.store.audit.keys import AnyKeys, KnownKeys, folder_keys, known_keys
from interlock.store.audit.postgres_log import PostgresLogs, open_logs
from interlock.store.audit.seal import Seal, SealKind
from interlock.store.audit.verify import Span, Verification, verify
from interlock.store.chain import Break
from interlock.store.protocol import StoreUnavailable

_ELSEWHERE = (
    "It is the log of another gateway, and its anchor is not here: it was checked by its seals in the database."
)
_UNKNOWN = (
    "Its seals fit, and that they are genuine was not checked: the public key of its gateway is not known here; hand it"
    " over with --key."
)


class Shared:
    """A database, looked at from the folder of the gateway whose log is `own`, if it is one's."""

    def __init__(
        self,
        folder: Path,
        address: str,
        own: str | None,
        keys: Path | None = None,
        clock: Clock = SystemClock(),  # noqa: B008 - it has no state
    ) -> None:
        self._folder = folder
        self._address = address
        self._own = own
        self._keys = keys
        self._clock = clock

    def check(
        self, anchor: Path | None, span: Span, progress: Progress, *, own: bool, only: str | None = None
    ) -> Verification:
        """Check all logs, or `only` one; what is said first is said of this gateway's, and of what all share. Raises
        as `check_folder` does."""
        # Before the database: a gateway may seal more than the snapshot holds that is read after this.
        seals = None if anchor is None or (own and not anchor.exists()) else _Anchored(anchor)
        known = folder_keys(self._folder) if self._keys is None else known_keys(self._keys)
        with open_logs(self._address) as logs:
            if only is not None:
                found = [self._one(logs, only if only == self._own else logs.named(only), seals, known, span, progress)]
            else:
                found = self._all(logs, seals, known, span, progress)
        first = found[0]
        first.others = found[1:]
        usual = anchor == self._folder / ANCHOR
        if anchor is not None and self._has_to_cover(first, named=not own, usual=usual, alone=only is not None):
            must_cover(first, anchor, named=not own, usual=usual)
        return first

    def _has_to_cover(self, found: Verification, *, named: bool, usual: bool, alone: bool) -> bool:
        """Whether this log is one that the anchor has to tell of. That of the configuration tells of this gateway's,
        and never of another's that was asked for by name. One that tells of other logs need not tell of this gateway's
        before that has a seal."""
        ours = found.chain == self._own
        if any(each.anchored for each in found.others):
            return ours and bool(found.sealed)
        return ours or named or not (usual or alone)

    def _all(
        self, logs: PostgresLogs, seals: "_Anchored | None", known: KnownKeys, span: Span, progress: Progress
    ) -> list[Verification]:
        first = self._own or next(iter(logs.chains), None)
        if first is None:
            raise StoreUnavailable("There is no log in the database.")
        others = [self._one(logs, each, seals, known) for each in logs.chains if each != first]
        pruned = {each.chain: each.pruned for each in others}
        gone = {} if seals is None else {each: end for each, end in seals.covered.items() if each not in logs.chains}
        gone.pop(first, None)
        found = self._one(logs, first, seals, known, span, progress, pruned)
        return [found, *others, *(_gone(chain, end) for chain, end in gone.items())]

    def first_disagreement(self) -> str | None:
        """Something that does not agree with the logs; None when all does. Raises StoreUnavailable."""
        with open_logs(self._address) as logs:
            pruned = {each: _pruned(logs, each) for each in logs.chains}
            first = self._own or next(iter(logs.chains), "")
            return next(iter(logs.log(first, pruned).beside(pruned.get(first, 0), 1)()), None)

    def _one(
        self,
        logs: PostgresLogs,
        chain: str,
        seals: "_Anchored | None",
        known: KnownKeys,
        span: Span = Span(),  # noqa: B008 - it cannot be changed
        progress: Progress = lambda done, total: None,
        pruned: Mapping[str, int] | None = None,
    ) -> Verification:
        own = chain == self._own
        strangers = AnyKeys(known)
        log = logs.log(chain, pruned)
        total = log.end
        told = None if seals is None or not (own or chain in seals.covered) else seals.of(chain, bad=own)
        found = verify(log, known if own else strangers, told, span, lambda done: progress(done, total))
        if not own:
            found.notes += [_ELSEWHERE] * (told is None) + [_UNKNOWN] * bool(strangers.unknown)
        if span.last is None:
            found.notes += long_unsealed(log, found, self._clock.now())
        return found


class _Anchored:
    """The seals in an anchor as it is now, by the logs that they are on. Read anew for each: there may be many."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines = lines_in(file)
        self.covered: dict[str, int] = {}
        """The logs that it tells of, each with the last record that it has a seal on."""
        for each in self._seals():
            if isinstance(each, Seal):
                self.covered[each.chain] = max(self.covered.get(each.chain, 0), each.seq)

    def of(self, chain: str, *, bad: bool) -> Iterator[Seal | BadLine]:
        """What it tells of one log, with the lines that are `bad` or without."""
        return (each for each in self._seals() if (bad if isinstance(each, BadLine) else each.chain == chain))

    def _seals(self) -> Iterator[Seal | BadLine]:
        return islice(seals_in(self._file), self._lines)


def _pruned(logs: PostgresLogs, chain: str) -> int:
    """Up to where entries may be gone, by what seals say, genuine or not: the check before this has looked at them."""
    seals = [each for each in logs.log(chain).seals() if isinstance(each, Seal)]
    return max((each.seq for each in seals if each.kind is SealKind.PRUNED), default=0)


def _gone(chain: str, end: int) -> Verification:
    told = f"it is missing, and so is the whole log: the anchor has seals on records up to {end}"
    return Verification(chain, anchored=end, broken=Break(1, told))
