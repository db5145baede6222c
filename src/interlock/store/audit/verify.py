"""The check of a log: nothing in it was changed, dropped, slipped in or cut off, and the list shows what the log says.

Each entry is hashed again from the bytes that are stored and has to follow the one before it; each seal has to be
genuine and to name the hash that is found at its place; seals kept elsewhere, in an anchor, must agree too, and show if
the end was cut off or seals were taken away. A log whose keys have sealed and that has no seal at all has lost them. A
stretch is read on to the next seal, because a chain without one can be written anew by anybody. Reading is one pass
with constant memory, whatever the length of the log.

INVARIANT: the first entry that does not fit is named, whatever comes after it.

This module refuses to repair anything, and to promise more than tamper-evidence: whoever has the database, the key and
the anchor can write another history.
"""

import struct
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeAlias

from interlock.core.model import Micros
from interlock.store.audit.anchor import BadLine
from interlock.store.audit.keys import KnownKeys
from interlock.store.audit.seal import Seal, SealKind
from interlock.store.chain import BEGINNING, Break, stored_hash

STEP = 10_000
"""After how many entries whoever waits is told how far it is."""
CHANGED = "it was changed after it was written"
MOST_TOLD = 20
"""How many disagreements beside the log are told."""


class Stored(NamedTuple):
    """An entry as it is stored, its texts as bytes."""

    seq: int
    at: Micros
    kind: bytes
    subject: bytes
    text: bytes
    prev: bytes
    hash: bytes


StoredRow: TypeAlias = tuple[int, Micros, bytes, bytes, bytes, bytes, bytes]
"""The same without names, which would cost as much as reading it does."""


class Log(Protocol):
    """A log that can be read from its beginning, while nothing in it moves. What it holds may be anything."""

    @property
    def chain(self) -> str: ...

    @property
    def end(self) -> int:
        """The number of the last entry."""
        ...

    def entries(self, after: int, to: int | None) -> Generator[StoredRow]:
        """Entries in order, those after a number; raises Unreadable."""
        ...

    def seals(self) -> Iterator[Seal | Break]:
        """Seals in order; a Break for what is stored as one and is none."""
        ...

    def beside(self, pruned: int, most: int) -> Callable[[], Sequence[str]]:
        """Begin to look at all that is kept beside the entries, of which those up to `pruned` may be gone. What comes
        back waits for the end of that, and says what is wrong, `most` things at most."""
        ...


class Unreadable(Exception):
    """The log cannot be read from here on. The message says what the database said."""


class Beyond(Exception):
    """The log ends before the stretch that was asked for begins."""

    def __init__(self, first: int, end: int) -> None:
        super().__init__(f"there is no entry {first}: the log goes up to {end}")
        self.first = first
        self.end = end


class Removed(Exception):
    """All of the stretch that was asked for was removed on purpose, with everything up to an entry."""

    def __init__(self, upto: int) -> None:
        super().__init__(f"entries up to {upto} were removed")
        self.upto = upto


@dataclass(frozen=True, slots=True)
class Span:
    """Which entries are checked; all of them unless told otherwise. Raises ValueError when it ends before it begins."""

    first: int = 1
    last: int | None = None

    def __post_init__(self) -> None:
        if self.last is not None and self.last < self.first:
            raise ValueError(f"a stretch from {self.first} to {self.last} ends before it begins")

    @property
    def whole(self) -> bool:
        return self.first <= 1 and self.last is None

    def to_seal(self, seals: Iterable[int]) -> "Span":
        """As far as the first of these seals that covers all of it; as it is, when none does."""
        last = self.last
        return self if last is None else replace(self, last=min((each for each in seals if each >= last), default=last))


@dataclass(slots=True)
class Verification:
    """What was checked, and what was found."""

    chain: str
    records: int = 0
    first: int | None = None
    last: int | None = None
    checkpoints: int = 0
    sealed: int = 0
    """The entry up to which a genuine seal covers the log."""
    pruned: int = 0
    """How many entries were removed on purpose, which a genuine seal says."""
    pruned_at: Micros | None = None
    anchored: int | None = None
    """The entry up to which the anchor covers the log; None without one."""
    broken: Break | None = None
    beside: list[str] = field(default_factory=list[str])
    """What does not agree with the log, though the log itself is whole."""
    notes: list[str] = field(default_factory=list[str])
    others: "list[Verification]" = field(default_factory=list["Verification"])
    """What was found of the logs of other gateways in the same database."""

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong with this log, and with what is kept beside it."""
        return self.broken is None and not self.beside

    @property
    def intact(self) -> bool:
        """The same for all that was checked."""
        return self.holds and all(each.intact for each in self.others)

    @property
    def unsealed(self) -> int:
        """How many of those that were checked no seal covers yet: they hang together, as anybody can make them do."""
        return max(0, (self.last or 0) - max(self.sealed, self.anchored or 0, (self.first or 1) - 1))


def verify(
    log: Log,
    keys: KnownKeys,
    anchor: Iterable[Seal | BadLine] | None = None,
    span: Span = Span(),  # noqa: B008 - it cannot be changed
    progress: Callable[[int], None] = lambda _: None,
    *,
    earlier: bool = False,
) -> Verification:
    """Check a log against its seals, and against those of an anchor if there is one. `earlier` says that the log was
    copied some time ago: the anchor may have got more since. Raises Beyond and Removed."""
    found = Verification(log.chain)
    sealed, checkpoints, problems = _seals(log.seals(), keys, found)
    bare = keys.have_sealed and not sealed and not problems
    if anchor is not None:
        known_until = found.sealed if earlier else None
        problems += _anchored(anchor, keys, found, sealed, checkpoints, known_until)
    due = span.to_seal(sealed)
    known = max((log.end, *sealed))
    if not problems and span.first > max(1, known):
        raise Beyond(span.first, known)
    # Begun first, because the database can do it while the entries are hashed.
    beside = log.beside(found.pruned, MOST_TOLD) if span.whole and not problems else None
    end = _Entries(log, sealed, found, progress).check(due)
    problems += [] if end is None else [end]
    problems += _cut_off(sealed, found, due, known)
    if bare:
        # Where the anchor has some, it is with the first of them that the log stops fitting, and not before.
        none = "no seal is on it or on any other, though the key of the log has sealed"
        problems.append(Break(min(sealed), _TAKEN_OUT) if sealed else Break(found.first or 1, none))
    found.broken = min(problems, key=lambda each: each.seq, default=None)
    if found.broken is None and found.first is None and span.first <= found.pruned and not span.whole:
        raise Removed(found.pruned)
    if beside is not None and found.broken is None:
        found.beside += beside()
    return found


Hashes = dict[int, bytes]
"""What seals say that the hash of an entry is."""


def _seals(seals: Iterable[Seal | Break], keys: KnownKeys, found: Verification) -> tuple[Hashes, set[int], list[Break]]:
    """What the seals in the log say, which entries checkpoints are on, and what is wrong with them."""
    hashes: Hashes = {}
    checkpoints: set[int] = set()
    problems: list[Break] = []
    for seal in seals:
        if isinstance(seal, Break):
            problems.append(seal)
            continue
        if problem := keys.problem(seal) or _contradiction(seal, found.chain, hashes):
            problems.append(Break(seal.seq, problem))
            continue
        hashes[seal.seq] = seal.hash
        found.sealed = max(found.sealed, seal.seq)
        if seal.kind is SealKind.CHECKPOINT:
            checkpoints.add(seal.seq)
        elif seal.seq > found.pruned:
            found.pruned, found.pruned_at = seal.seq, seal.at
    found.checkpoints = len(checkpoints)
    return hashes, checkpoints, problems


def _anchored(
    anchor: Iterable[Seal | BadLine],
    keys: KnownKeys,
    found: Verification,
    hashes: Hashes,
    checkpoints: set[int],
    until: int | None,
) -> list[Break]:
    problems: list[Break] = []
    bad: list[int] = []
    ours = sorted(hashes)
    theirs: dict[SealKind, set[int]] = {kind: set() for kind in SealKind}
    found.anchored = 0
    for seal in anchor:
        if isinstance(seal, BadLine):
            bad.append(seal.number)
        elif problem := keys.problem(seal) or _contradiction(seal, found.chain, hashes):
            problems.append(Break(seal.seq, f"{problem} (in the anchor)"))
        else:
            hashes[seal.seq] = seal.hash
            theirs[seal.kind].add(seal.seq)
            found.anchored = max(found.anchored, seal.seq)
    there = theirs[SealKind.CHECKPOINT]
    gone = sorted(each for each in there - checkpoints if until is None or each < until)
    if gone == [max(there, default=0)]:
        found.notes.append(_NEWEST_GONE.format(seq=gone[0]))
    elif gone:
        more = f", and {len(gone) - 1} more" if len(gone) > 1 else ""
        problems.append(Break(gone[0], f"{_TAKEN_OUT}{more}"))
    if until is None and (begun := max(theirs[SealKind.PRUNED], default=0)) > found.pruned:
        found.notes.append(_REMOVAL_GONE.format(seq=begun))
    seen = theirs[SealKind.CHECKPOINT] | theirs[SealKind.PRUNED]
    # The newest may have been set since the anchor was looked at.
    found.notes += _about_anchor(bad, [each for each in ours[:-1] if each not in seen], min(seen, default=0))
    return problems


_TAKEN_OUT = "the anchor has its seal, which was taken out of the log"

# The anchor comes before the database, and no seal is set before the one before it is in both. So a crash between the
# two leaves one seal in the anchor alone, the newest, until the gateway starts again.
_NEWEST_GONE = (
    "The newest seal in the anchor, on record {seq}, is not in the log: a crash just when it was set leaves it so until"
    " the gateway runs again, or somebody took it out."
)
_REMOVAL_GONE = (
    "The anchor says that records up to {seq} were to be removed, and the log does not: a crash came just then, or"
    " somebody took that seal out. They are there."
)


def _about_anchor(bad: Sequence[int], lacking: Sequence[int], first: int) -> Iterator[str]:
    """What is strange about an anchor, and may have happened without any harm."""
    if bad:
        more = f", nor are {len(bad) - 1} others" if len(bad) > 1 else ""
        yield f"Line {bad[0]} of the anchor is no seal{more}: a crash or a full disk cuts one short, or it was changed."
    before, after = ([each for each in lacking if (each < first) is older] for older in (True, False))
    if before:
        yield (
            f"The anchor begins with the seal on record {first}, and lacks {_seals_told(before)} that the log has: it"
            " was begun later, or was removed and began anew."
        )
    if after and first:
        yield (
            f"The anchor lacks {_seals_told(after)} that the log has: it was only sent some, was changed for another"
            " for a time, or was tampered with."
        )


def _seals_told(seqs: Sequence[int]) -> str:
    if len(seqs) == 1:
        return f"the seal on record {seqs[0]}"
    return f"{len(seqs)} seals, the first of them on record {seqs[0]},"


def _contradiction(seal: Seal, chain: str, hashes: Mapping[int, bytes]) -> str:
    if seal.chain != chain:
        return "its seal is of another log"
    if hashes.get(seal.seq, seal.hash) != seal.hash:
        return "two seals say different things of it"
    return ""


def _cut_off(hashes: Hashes, found: Verification, span: Span, known: int) -> list[Break]:
    """The end of what was asked for, which a seal or the log itself knows of and which is not there."""
    end = max(found.last or 0, found.pruned, span.first - 1)
    due = known if span.last is None else min(known, span.last)
    promised = max(hashes, default=0)
    told = f": a seal names entries up to {promised}" if promised > end else ""
    return [Break(end + 1, f"it is missing{told}")] if due > end else []


class _Entries:
    """The pass over the entries."""

    def __init__(
        self, log: Log, sealed: Mapping[int, bytes], found: Verification, progress: Callable[[int], None]
    ) -> None:
        self._log = log
        self._chain = log.chain.encode("utf-8", "surrogateescape")
        self._sealed = sealed
        self._found = found
        self._progress = progress

    def check(self, span: Span) -> Break | None:
        """Go through them, up to the first that does not fit."""
        first = max(span.first, 1)
        # One more, which the first has to follow.
        entries = self._log.entries(max(0, first - 2), span.last)
        try:
            begin = next(entries, None)
        except Unreadable as failed:
            return Break(max(first, self._found.pruned + 1), f"it cannot be read: {failed}")
        if begin is None:
            return None
        one = Stored(*begin)
        problem = self._beginning(one, first)
        if problem is None:
            self._found.first = max(one.seq, first)
            problem = self._follow(one, entries)
        return problem

    def _beginning(self, begin: Stored, first: int) -> Break | None:
        """Whether the log may begin with this entry."""
        due = max(first - 1, 1, self._found.pruned + 1)
        # It may begin earlier: a removal that was cut short leaves some of what was to go. The seal on the end of that
        # is looked at in passing.
        if begin.seq > due:
            return Break(due, "it is missing")
        prev = BEGINNING if begin.seq == 1 else self._sealed.get(begin.seq - 1)
        if prev is not None and begin.prev != prev:
            return Break(begin.seq, "it does not follow the entry before it")
        return self._problem(begin)

    def _follow(self, begin: Stored, entries: Iterator[StoredRow]) -> Break | None:
        """Each entry after the first. This loop is the cost of the check, so it is one."""
        chain, sealed, hash_of = self._chain, self._sealed, stored_hash
        seq, prev = begin.seq, begin.hash
        problem: Break | None = None
        try:
            for at_seq, at, kind, subject, text, before, stored in entries:
                if (
                    at_seq != seq + 1
                    or before != prev
                    or hash_of(chain, at_seq, at, kind, subject, text, before) != stored
                    or sealed.get(at_seq, stored) != stored
                ):
                    entry = Stored(at_seq, at, kind, subject, text, before, stored)
                    problem = self._told(entry, seq + 1, prev)
                    break
                seq, prev = at_seq, stored
                if not seq % STEP:
                    self._so_far(seq)
        except Unreadable as failed:
            problem = Break(seq + 1, f"it cannot be read: {failed}")
        except (TypeError, struct.error):  # whoever can write the file can put anything into any column
            problem = Break(seq + 1, CHANGED)
        self._so_far(seq)
        return problem

    def _so_far(self, seq: int) -> None:
        found = self._found
        found.last, found.records = seq, seq - (found.first or seq) + 1
        self._progress(found.records)

    def _told(self, entry: Stored, seq: int, prev: bytes) -> Break:
        """Why an entry does not fit at its place."""
        if entry.seq != seq:
            return Break(seq, "it is missing")
        if entry.prev != prev:
            return Break(seq, "it does not follow the entry before it")
        return self._problem(entry) or Break(seq, CHANGED)

    def _problem(self, entry: Stored) -> Break | None:
        """What is wrong with an entry by itself."""
        seq, at, kind, subject, text, prev, stored = entry
        try:
            genuine = stored_hash(self._chain, seq, at, kind, subject, text, prev) == stored
        except (TypeError, struct.error):
            genuine = False
        if not genuine:
            return Break(seq, CHANGED)
        if self._sealed.get(seq, stored) != stored:
            return Break(seq, "a seal says that it was another")
        return None
