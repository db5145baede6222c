"""The chain of the log: each entry seals the one before it, so none can be changed, dropped or slipped in unseen.

The hash covers exactly what is stored, bytes for bytes; nothing is encoded anew to check it. Every part but the last is
preceded by its length, so two different entries never give the same input.

This module refuses to promise what a chain cannot: that the end was not cut off shows only against a checkpoint kept
elsewhere, and whoever may write the whole database may write a whole new chain.
"""

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from interlock.core.model import Micros
from interlock.store.audit.seal import Seal
from interlock.store.protocol import LogEntry
from interlock.store.rows import Record, Row

BEGINNING = bytes(32)
"""What the first entry names as the one before it."""

_VERSION = b"interlock-entry-v1"
_HEAD = struct.Struct(">qqQQQQ")


def entry_hash(chain: str, seq: int, at: Micros, kind: str, subject: str, text: str, prev: bytes) -> bytes:
    """SHA-256 over one entry and the hash of the one before it."""
    # A stored text that is no UTF-8 was tampered with; it is read with surrogate escapes, and has to be hashed too.
    chain_, kind_, subject_, text_ = (each.encode("utf-8", "surrogateescape") for each in (chain, kind, subject, text))
    return stored_hash(chain_, seq, at, kind_, subject_, text_, prev)


def stored_hash(chain: bytes, seq: int, at: Micros, kind: bytes, subject: bytes, text: bytes, prev: bytes) -> bytes:
    """The same, over texts as they are stored."""
    head = _HEAD.pack(seq, at, len(chain), len(kind), len(subject), len(text))
    return hashlib.sha256(b"".join((_VERSION, head, chain, kind, subject, text, prev))).digest()


def linked(chain: str, tip: tuple[int, bytes], at: Micros, records: Iterable[Record]) -> list[Row]:
    """The rows of the entries that tell of these records, which follow a tip: a number, and the hash that it has."""
    seq, prev = tip
    links: list[Row] = []
    for record in records:
        seq += 1
        sealed = entry_hash(chain, seq, at, record.kind, record.subject, record.text, prev)
        links.append((chain, seq, at, record.kind, record.subject, record.text, prev, sealed))
        prev = sealed
    return links


@dataclass(frozen=True, slots=True)
class Break:
    """The first entry that does not fit, and why."""

    seq: int
    problem: str


def first_break(entries: Iterable[LogEntry], after: LogEntry | Seal | None = None) -> Break | None:
    """The first entry that does not link up, or None. `after` is the last one checked before, or the seal on one that
    was removed; None at the beginning."""
    last = after
    for entry in entries:
        if problem := _problem(entry, last):
            return Break(1 if last is None else last.seq + 1, problem)
        last = entry
    return None


def _problem(entry: LogEntry, last: LogEntry | Seal | None) -> str:
    seq, prev = (1, BEGINNING) if last is None else (last.seq + 1, last.hash)
    if last is not None and entry.chain != last.chain:
        return "it belongs to another chain"
    if entry.seq != seq:
        return "it is missing"
    if entry.prev != prev:
        return "it does not follow the entry before it"
    if entry.hash != _hash_again(entry):
        return "it was changed after it was written"
    return ""


def _hash_again(entry: LogEntry) -> bytes | None:
    try:
        return entry_hash(entry.chain, entry.seq, entry.at, entry.kind, entry.subject, entry.text, entry.prev)
    except (AttributeError, TypeError, ValueError, struct.error):
        # Whoever can write the file can put anything into any column.
        return None
