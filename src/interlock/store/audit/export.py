"""A stretch of the log as a file that proves itself: entries, the one before them, and the seals on them, line by line.

Whoever gets such a file can check it without the database, with this program or another: every line is JSON, the text
of an entry is what was hashed, and the text of a seal is what was signed. The public keys have to come another way.

A stretch goes on to the next seal, because without that nothing would prove its last entries. The first line says where
it begins and ends, and nobody signed that: whoever cuts a file at a seal, and makes it say so, has an export of less.

This module refuses to write a file that looks whole when it is not: the last line says how many there are. It refuses
to read what another reader could take for something else: a line of another kind or out of its order, a member that is
missing, repeated or not ours.
"""

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain as joined
from itertools import dropwhile
from pathlib import Path
from typing import Any, cast

from interlock.store.audit.plain_file import open_file
from interlock.store.audit.seal import Seal, SealKind, line_of, seal_in
from interlock.store.audit.verify import Beyond, Log, Removed, Span, StoredRow, Unreadable
from interlock.store.chain import Break

FORM = "interlock-log-v1"
_MOST = 64 * 1024 * 1024
"""Longer than any line that we write."""
_JSON = json.JSONEncoder(separators=(",", ":"))
_NOT_OURS = "it is no export of a log"
_HEAD = frozenset({"form", "chain", "first", "last", "made_by"})
_SEAL = frozenset({"seal", "key", "signature"})


def write_export(log: Log, span: Span, put: Callable[[bytes], object], made_by: str) -> Span:
    """Write a stretch of the log, to the next seal; which entries it has. Raises Beyond, Removed, Unreadable and
    OSError."""
    seals = [each for each in log.seals() if isinstance(each, Seal)]
    first, end = max(span.first, 1), log.end
    if first > end:
        raise Beyond(first, end)
    last = _reach(end, span.last, seals)
    # Closed here and not by whoever collects what is left: by then the database is closed.
    with closing(log.entries(max(0, first - 2), last)) as rows:
        begin = next(rows, None)
        if begin is None:
            raise Removed(max((each.seq for each in seals if each.kind is SealKind.PRUNED), default=last))
        put(_line({"form": FORM, "chain": log.chain, "first": first, "last": last, "made_by": made_by}))
        for seal in seals:
            put(f"{line_of(seal)}\n".encode())
        count = 0
        for seq, at, kind, subject, text, prev, sealed in joined((begin,), rows):
            texts = [_text(each) for each in (kind, subject, text)]
            put(_line({"entry": [seq, at, *texts, prev.hex(), sealed.hex()]}))
            count += seq >= first
    put(_line({"records": count}))
    return Span(last - count + 1, last)


def _reach(end: int, wanted: int | None, seals: Sequence[Seal]) -> int:
    """The last entry: the one that the first seal from there on is on."""
    if wanted is None:
        return end
    return min(end, min((each.seq for each in seals if each.seq >= wanted), default=end))


def _line(value: dict[str, Any]) -> bytes:
    # Bytes that are no text, which only somebody else can have put there, come through as halves of characters.
    return f"{_JSON.encode(value)}\n".encode()


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Unreadable("a text in the file is none") from None


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise Unreadable("a hash in the file is none") from None


class ExportedLog:
    """The log in a file that was exported. Raises ValueError when it is something else, and OSError."""

    def __init__(self, file: Path) -> None:
        self._file = file
        head = next(self._lines(), dict[str, Any]())
        match head:
            case {"form": str(form), "chain": str(chain), "first": int(first), "last": int(last)} if (
                form == FORM and head.keys() == _HEAD and 1 <= first <= last
            ):
                self.chain, self.span, self.end = chain, Span(first, last), last
            case _:
                raise ValueError(_NOT_OURS)

    def entries(self, after: int, to: int | None) -> Generator[StoredRow]:
        lines = self._after_seals()
        count = end = 0
        for line in lines:
            match line:
                case {"entry": [int(seq), int(at), str(kind), str(subject), str(text), str(prev), str(sealed)]} if (
                    len(line) == 1
                ):
                    count, end = count + (seq >= self.span.first), seq
                    yield seq, at, _bytes(kind), _bytes(subject), _bytes(text), _hex(prev), _hex(sealed)
                case {"records": int(records)} if len(line) == 1:
                    self._must_end(lines, count, records, end)
                    return
                case _:
                    raise Unreadable("a line of the file is none of an export")
        raise Unreadable("the file breaks off here")

    def _must_end(self, rest: Iterator[object], count: int, records: int, end: int) -> None:
        """Whether the file has what it says, and nothing after that."""
        if records != count:
            raise Unreadable(f"the file has {count} entries and says that it has {records}")
        if end != self.end:
            raise Unreadable(f"the file goes to entry {end} and says that it goes to {self.end}")
        if next(rest, None) is not None:
            raise Unreadable("the file goes on after its end")

    def seals(self) -> Iterator[Seal | Break]:
        for line in self._lines():
            if "entry" in line or "records" in line:
                return
            if "seal" in line:
                try:
                    yield seal_in(line)
                except ValueError:
                    yield Break(self.span.first, "a seal on the log is none")

    def beside(self, pruned: int, most: int) -> Callable[[], Sequence[str]]:
        return tuple

    def _after_seals(self) -> Iterator[dict[str, Any]]:
        lines = self._lines()
        next(lines, None)  # the head
        return dropwhile(lambda line: line.keys() == _SEAL, lines)

    def _lines(self) -> Iterator[dict[str, Any]]:
        with open_file(self._file) as opened:
            while line := opened.readline(_MOST):
                if len(line) == _MOST:
                    raise Unreadable("a line of the file is too long")
                try:
                    found = json.loads(_text(line), object_pairs_hook=_once)
                except (ValueError, RecursionError):
                    raise Unreadable("a line of the file is no JSON") from None
                if not isinstance(found, dict):
                    raise Unreadable("a line of the file is no object")
                yield cast("dict[str, Any]", found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) != len(pairs):
        raise Unreadable("a member of a line stands there twice")
    return found
