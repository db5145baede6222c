"""The whole check of a data folder: its database, its public keys, and its anchor, put together.

For the command line and for REST alike, so that both say the same. Blocks for as long as the log is long.

This module refuses to call a log intact by an anchor that says nothing about it, if somebody named that anchor or told
the gateway to write it: then it is the anchor that was to be relied on.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from interlock.clock import Clock, SystemClock
from interlock.core.model import Micros
from interlock.store.audit.anchor import ANCHOR, BadLine, seals_in
from interlock.store.audit.export import ExportedLog
from interlock.store.audit.keys import AnyKeys, KnownKeys, folder_keys, known_keys
from interlock.store.audit.plain_file import open_file
from interlock.store.audit.seal import Seal
from interlock.store.audit.sqlite_log import NoLog, open_log
from interlock.store.audit.verify import Log, Span, Verification, verify
from interlock.store.chain import Break
from interlock.store.folder import DATABASE

Progress = Callable[[int, int], None]
"""Told how many entries are behind, and how many there are about."""
HOUR: Micros = 3600 * 1_000_000
"""A gateway that runs seals within a minute; what has no seal after this time is told with its possible reasons."""
_BLOCK = 1 << 20


def check_folder(
    folder: Path,
    anchor: Path | None = None,
    span: Span = Span(),  # noqa: B008 - it cannot be changed
    keys: Path | None = None,
    progress: Progress = lambda done, total: None,
    *,
    own: bool = False,
    clock: Clock = SystemClock(),  # noqa: B008 - it has no state
) -> Verification:
    """Check the log of a data folder. `own` says that the anchor is the one that its gateway writes, which it may not
    have begun yet. Raises StoreUnavailable, Beyond, Removed, OSError, and ValueError for keys or an anchor that are
    none."""
    seals = None if anchor is None or (own and not anchor.exists()) else anchored_seals(anchor)
    try:
        with open_log(folder / DATABASE) as log:
            known = folder_keys(folder) if keys is None else known_keys(keys)
            total = log.end
            found = verify(log, known, seals, span, lambda done: progress(done, total))
            if anchor is not None:
                must_cover(found, anchor, named=not own, usual=anchor == folder / ANCHOR)
            if span.last is None:
                found.notes += long_unsealed(log, found, clock.now())
    except NoLog:
        lost = lost_log(folder, anchor)
        if lost is None:
            raise
        return lost
    return found


def lost_log(folder: Path, anchor: Path | None) -> Verification | None:
    """What is known of a log that is no longer in its folder; None where there never was one. Whoever begins a log anew
    takes its anchor and its public keys away too. Raises OSError, and ValueError for keys that are none."""
    found = Verification("")
    seals = 0
    for each in () if anchor is None or not anchor.exists() else seals_in(anchor):
        if isinstance(each, Seal):
            seals += 1
            found.chain, found.anchored = each.chain, max(found.anchored or 0, each.seq)
    gone = "it is missing, and so is the whole log"
    if seals:
        told = "a seal" if seals == 1 else f"{seals} seals"
        found.broken = Break(1, f"{gone}: the anchor has {told} on records up to {found.anchored}")
    elif folder_keys(folder).have_sealed:
        found.broken = Break(1, f"{gone}: its key has sealed")
    return found if found.broken else None


def first_disagreement(folder: Path, pruned: int) -> str | None:
    """Something beside the log of a folder that does not agree with it; None when all does. Raises StoreUnavailable."""
    with open_log(folder / DATABASE) as log:
        return next(iter(log.beside(pruned, 1)()), None)


class Unproven(Exception):
    """An export that fits together, and whose seals are all by keys that are not known here."""


def check_export(
    file: Path, keys: KnownKeys, anchor: Path | None = None, ours: Callable[[str], bool] = lambda chain: True
) -> Verification:
    """Check an exported stretch of a log. `ours` says of the name of a log whether these are to be its keys. Raises
    OSError, Unreadable, ValueError for what is none, and Unproven for another's that its keys are needed for."""
    log = ExportedLog(file)
    found = _checked_export(log, keys, anchor)
    if found.broken is not None and _is_by_others(log, keys) and not ours(log.chain):
        # It is broken if it is so whoever set the seals; else nobody can say here.
        anyones = _checked_export(log, AnyKeys(keys), anchor)
        if anyones.broken is None:
            raise Unproven
        return anyones
    return found


def _is_by_others(log: ExportedLog, keys: KnownKeys) -> bool:
    by = {each.key for each in log.seals() if isinstance(each, Seal)}
    return bool(by) and by.isdisjoint(keys.keys)


def _checked_export(log: ExportedLog, keys: KnownKeys, anchor: Path | None) -> Verification:
    found = verify(log, keys, None if anchor is None else anchored_seals(anchor), log.span, earlier=True)
    if anchor is not None:
        must_cover(found, anchor, named=True, usual=False)
    if found.intact and keys.have_sealed:
        _must_be_sealed(found, log, keys)
    return found


def _must_be_sealed(found: Verification, log: ExportedLog, keys: KnownKeys) -> None:
    """An export goes to a seal, or to the end of the log, which no seal lies behind."""
    sealed = {each.seq for each in log.seals() if isinstance(each, Seal) and not keys.problem(each)}
    if log.end not in sealed and (further := max(sealed, default=0)) > log.end:
        found.broken = Break(
            log.end + 1, f"it is missing: a seal names entries up to {further}, and none is on the last"
        )
    elif not any(log.span.first - 1 <= each <= log.end for each in sealed):
        raise ValueError("its records hang together, as anybody can make them do, and no seal is on any of them")


def anchored_seals(anchor: Path) -> Iterator[Seal | BadLine]:
    """The lines that an anchor has now. A gateway may seal more than the snapshot holds that is read after this."""
    return islice(seals_in(anchor), lines_in(anchor))


def lines_in(anchor: Path) -> int:
    """How many lines an anchor has now; raises OSError, and ValueError for what is none."""
    lines = 0
    with open_file(anchor) as opened:
        while block := opened.read(_BLOCK):
            ends = block.count(b"\n")
            if not ends and len(block) == _BLOCK:
                raise ValueError(f"the anchor {anchor} has a line that does not end: it is none")
            lines += ends
    return lines


def must_cover(found: Verification, anchor: Path, *, named: bool, usual: bool) -> None:
    """An anchor without a genuine seal proves nothing. The one beside the log may have been lost without harm, and none
    that a gateway writes has anything before the first seal."""
    if found.anchored or not found.intact or not (named or found.sealed):
        return
    if named or not usual:
        raise ValueError(f"there is no genuine seal on this log in the anchor {anchor}")
    found.notes.append(f"The log was sealed, and the anchor {anchor} has none of its seals: it was removed or emptied.")


def long_unsealed(log: Log, found: Verification, now: Micros) -> Iterator[str]:
    """Whether entries have had no seal for longer than a gateway leaves them without one."""
    covered = max(found.sealed, found.anchored or 0)
    if not (found.intact and found.unsealed and covered):
        return
    for _, since, *_ in log.entries(covered, covered + 1):
        if now - since > HOUR:
            yield (
                f"Record {covered + 1} has had no seal for more than {(now - since) // HOUR} h, and a gateway seals"
                " within a minute: it was killed, or could not seal, or somebody took seals away and may have written"
                " anew what they were on."
            )
