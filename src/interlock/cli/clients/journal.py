"""Which files of clients Interlock has changed, so that each change can be taken back byte by byte.

The journal is written before a file is: a crash in between leaves an entry whose change never happened, which undoing
recognises. It holds names and digests, never a content.

This module refuses to undo over a change that somebody made since, unless told to; then a copy of that is kept.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

from interlock import errors
from interlock.cli.clients.file import read_bytes
from interlock.cli.clients.rewrite import back_up, digest, removed, replaced
from interlock.clock import Clock
from interlock.errors import InterlockError

NAME = "clients.json"
_MOST = 1000
"""How many changes are remembered; the oldest are forgotten first, and their copies stay."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file: what was there before, where the copy of that is, and what we wrote."""

    client: str
    file: str
    before: str | None
    after: str
    backup: str | None
    at: int


class Journal:
    """The changes that were made and not undone, oldest first."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._path = folder / NAME
        self._clock = clock

    def changes(self) -> list[Change]:
        content = read_bytes(self._path)
        if content is None:
            return []
        try:
            return msgspec.json.decode(content, type=list[Change])
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise InterlockError(errors.JOURNAL_BROKEN(file=self._path)) from None

    def write(self, client: str, path: Path, seen: bytes | None, new: bytes) -> Path | None:
        """Give a file of a client a new content; the copy of the one before."""
        if read_bytes(path.resolve()) != seen:
            raise InterlockError(errors.CLIENT_FILE_CHANGED(file=path))
        now = self._clock.now()
        backup = None if seen is None else back_up(path, seen, now)
        before, after = digest(seen), cast("str", digest(new))
        kept = self.changes()
        change = Change(client, str(path), before, after, str(backup) if backup else None, now)
        self._keep([*kept, change])
        try:
            replaced(path, new, seen)
        except InterlockError:
            self._keep(kept)
            if backup:
                backup.unlink(missing_ok=True)
            raise
        return backup

    def undo(self, change: Change, *, force: bool) -> Path | None:
        """Put back what was there before a change; where a copy of a newer content went, if one had to be kept."""
        path = Path(change.file)
        current = read_bytes(path.resolve())
        copy = None
        if digest(current) != change.before:
            old = _copied(change)
            if digest(current) != change.after:
                if not force:
                    raise InterlockError(errors.CLIENT_CHANGED_SINCE(file=path, client=change.client))
                copy = None if current is None else back_up(path, current, self._clock.now())
            _restore(path, old, current)
        self._keep([each for each in self.changes() if each != change])
        return copy

    def _keep(self, changes: Sequence[Change]) -> None:
        value: list[Any] = [asdict(each) for each in changes[-_MOST:]]
        replaced(self._path, msgspec.json.format(msgspec.json.encode(value)), read_bytes(self._path))


def _copied(change: Change) -> bytes | None:
    """What stood there before a change; None when nothing did."""
    if change.before is None:
        return None
    old = read_bytes(Path(change.backup or ""))
    if digest(old) != change.before:
        raise InterlockError(errors.CLIENT_BACKUP_GONE(backup=change.backup, file=change.file))
    return old


def _restore(path: Path, old: bytes | None, current: bytes | None) -> None:
    if old is not None:
        replaced(path, old, current)
    elif current is not None:
        removed(path, current)
