"""The runs that are kept in a data folder, read back: a list of the newest, and each by its id.

Whoever may write into the folder may write anything there, and a report holds what strangers said, so every file is
read with a bound and by its exact shape. One that cannot be read is left out and counted. This module refuses to follow
a link, and an id that is more than a name.
"""

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from interlock.lab.model import Severity
from interlock.lab.run import REPORT, Run
from interlock.store.folder import RUNS

MOST_RUNS = 200
MAX_REPORT = 4 * 1024 * 1024
_MOST_ENTRIES = 100_000
"""How many entries of the folder are looked at."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class Outline(Struct, frozen=True):
    """A run in a list. `findings` counts them by severity."""

    id: str
    verb: str
    target: str
    began: str
    seconds: float
    ended: str
    tools: int
    calls: int
    findings: dict[str, int]


class Kept(Struct, frozen=True):
    """The newest runs, the newest first; how many there are in all; how many of those looked at cannot be read."""

    runs: list[Outline]
    total: int
    unreadable: int


class Unreadable(Exception):
    """A report that is there and is none that we wrote."""


class Archive:
    """The runs in a data folder. Without a folder there are none."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = None if folder is None else folder / RUNS
        self._known: dict[tuple[str, int, int], Outline] = {}
        """By id, time and size of the file: a report is written once, and reading hundreds takes a while."""

    def newest(self) -> Kept:
        """The newest runs. It reads files, so it is no work for an event loop."""
        # An id begins with its time, so the newest comes last.
        names = sorted(self._names(), reverse=True)
        known: dict[tuple[str, int, int], Outline] = {}
        unreadable = 0
        for name in names[:MOST_RUNS]:
            try:
                known |= self._outlined(name)
            except (OSError, Unreadable):
                unreadable += 1
        self._known = known
        return Kept(list(known.values()), len(names), unreadable)

    def run(self, run_id: str) -> Run | None:
        """One run, or None. Raises Unreadable."""
        if self._folder is None or _ID.fullmatch(run_id) is None:
            return None
        try:
            opened, _ = self._opened(run_id)
        except OSError:
            return None
        return _decoded(run_id, _read(opened))

    def _names(self) -> Iterator[str]:
        if self._folder is None:
            return
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False):
                if _ID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False) and _has_report(entry):
                    yield entry.name

    def _outlined(self, name: str) -> dict[tuple[str, int, int], Outline]:
        opened, key = self._opened(name)
        found = self._known.get(key)
        if found is not None:
            os.close(opened)
            return {key: found}
        return {key: _outline(_decoded(name, _read(opened)))}

    def _opened(self, name: str) -> tuple[int, tuple[str, int, int]]:
        """The report of a run, open, and what it is known by. Raises OSError."""
        inside = os.open((self._folder or Path()) / name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            # Without waiting: it may be a pipe to which nobody writes.
            opened = os.open(REPORT, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=inside)
        finally:
            os.close(inside)
        state = os.fstat(opened)
        if not stat.S_ISREG(state.st_mode):
            os.close(opened)
            raise OSError("it is no file")
        return opened, (name, state.st_mtime_ns, state.st_size)


def _has_report(entry: "os.DirEntry[str]") -> bool:
    """Whether a run has come to its end, or to a report at least."""
    return os.path.lexists(os.path.join(entry.path, REPORT))


def _read(opened: int) -> bytes:
    with open(opened, "rb") as file:
        content = file.read(MAX_REPORT + 1)
    if len(content) > MAX_REPORT:
        raise Unreadable
    return content


def _decoded(name: str, content: bytes) -> Run:
    try:
        run = msgspec.json.decode(content, type=Run)
    except (msgspec.MsgspecError, RecursionError) as broken:
        raise Unreadable from broken
    # By the name of its folder it was found, whatever it says itself.
    return msgspec.structs.replace(run, id=name)


def _outline(run: Run) -> Outline:
    counts = {each.value: sum(found.severity is each for found in run.findings) for each in Severity}
    there = {severity: count for severity, count in counts.items() if count}
    return Outline(
        run.id, run.verb, run.target, run.began, run.seconds, run.ended, len(run.plan), len(run.calls), there
    )
