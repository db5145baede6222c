"""The anchor: each seal as a line in a file, beside the database or, better, out of reach of whoever can write to it.

A chain cannot show that its end was cut off; a seal that was kept elsewhere can. The file only grows, and each line is
on the disk before the next seal is made. This module refuses to judge: it reads lines, and the check says what they
are worth.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interlock.store.audit.plain_file import open_file, refuse_other
from interlock.store.audit.seal import Seal, line_of, read_line

ANCHOR = "anchor.jsonl"
_MOST = 4096
"""Longer than any line that we write."""


NEWEST_BYTES = 8 * 1024**2
"""How much of its end is read at a start: some twenty thousand seals, in a fraction of a second."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no seal."""

    number: int
    problem: str


class Anchor:
    """The file that a gateway writes its seals to."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def append(self, seal: Seal) -> None:
        """Write a seal, and return when it is on the disk. Blocks; raises OSError."""
        opened = os.open(self.file, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            refuse_other(opened)
            # A line that a crash cut short must not spoil this one.
            line = _mend(opened) + line_of(seal).encode() + b"\n"
            if os.write(opened, line) < len(line):
                raise OSError(errno.ENOSPC, "there was no room for the whole seal", str(self.file))
            os.fsync(opened)
        finally:
            os.close(opened)

    def newest(self) -> list[Seal]:
        """The seals at the end of the file, oldest first; all of them are for the check. Blocks; raises OSError."""
        if not self.file.exists():
            return []
        with open_file(self.file) as opened:
            begin = max(0, opened.seek(0, os.SEEK_END) - NEWEST_BYTES)
            opened.seek(begin)
            lines = opened.read(NEWEST_BYTES).split(b"\n")
        found: list[Seal] = []
        for line in lines:
            with contextlib.suppress(ValueError):  # one that was cut short, by a crash or by where we began
                found.append(read_line(line))
        return found


def _mend(opened: int) -> bytes:
    end = os.lseek(opened, 0, os.SEEK_END)
    return b"" if end == 0 or os.pread(opened, 1, end - 1) == b"\n" else b"\n"


def seals_in(file: Path) -> Iterator[Seal | BadLine]:
    """Each line of an anchor; raises OSError. A last line without an end is one that a crash cut short."""
    with open_file(file) as opened:
        number = 0
        while line := opened.readline(_MOST):
            number += 1
            if not line.endswith(b"\n") and len(line) < _MOST:
                return
            try:
                yield read_line(line)
            except ValueError as problem:
                yield BadLine(number, str(problem))
