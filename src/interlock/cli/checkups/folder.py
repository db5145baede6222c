"""What `interlock doctor` finds in the data folder: its modes, its lock, its database.

None of these checks makes or changes anything, nor fails where the owner is locked out. What can be mended without a
decision is mended elsewhere, from the same findings.
"""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from interlock.cli.checkups.checkup import FAIL, OK, WARN, Check
from interlock.cli.clients.journal import NAME as JOURNAL
from interlock.cli.clients.safekeeping import FOLDER as SECRETS
from interlock.cli.render import counted
from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.keys import COMING, PRIVATE, PUBLIC
from interlock.store.folder import CREDENTIAL, DATABASE, LOCK, MARK_KEY, RUNS, DataFolder

MOST_ENTRIES = 1_000
_MOST_SECRETS = 1_000
_OWNERS = (
    DATABASE,
    f"{DATABASE}-wal",
    f"{DATABASE}-shm",
    CREDENTIAL,
    MARK_KEY,
    PRIVATE,
    LOCK,
    JOURNAL,
    SECRETS,
)
"""What nobody but the owner of the folder may look into."""
_OURS = (*_OWNERS, PUBLIC, COMING, ANCHOR, RUNS)
_OTHERS = 0o077
_FIX = "`interlock doctor --fix` does it, or do it yourself: "
_DECIDE = "There are other files beside ours, so it is for you to decide: choose another folder with --data-dir, or "
_ELSEWHERE = "Choose another with --data-dir."


@dataclass(frozen=True, slots=True)
class Mode:
    """A file or folder, the mode it has, and the one it should have."""

    path: Path
    found: int
    wanted: int

    @property
    def is_open(self) -> bool:
        return bool(self.found & _OTHERS)


def folder_check(folder: DataFolder) -> Check:
    try:
        found = wrong_modes(folder)
    except FileNotFoundError:
        return Check("folder", OK, f"{folder.path} is not there yet; the first start makes it.")
    except OSError as failed:
        return Check("folder", FAIL, f"{folder.path}: {failed.strerror}", _ELSEWHERE)
    if open_ones := [each for each in found if each.is_open]:
        names = ", ".join(each.path.name or str(each.path) for each in open_ones)
        how = _DECIDE if is_shared(folder) else _FIX
        fix = f"{how}chmod go-rwx {' '.join(str(each.path) for each in open_ones)}"
        return Check("folder", FAIL, f"Others may look into {names} (mode {open_ones[0].found:03o}).", fix)
    if found:
        names = ", ".join(str(each.path) for each in found)
        return Check("folder", FAIL, f"Its owner may not read and write {names}.", f"{_FIX}chmod u+rwX {names}")
    if not os.access(folder.path, os.R_OK | os.W_OK | os.X_OK):
        return Check("folder", FAIL, f"{folder.path} cannot be written.", _ELSEWHERE)
    return Check("folder", OK, f"{folder.path} is its owner's alone.")


def wrong_modes(folder: DataFolder) -> list[Mode]:
    """What others may look into, and what its owner cannot use. Raises OSError when the folder cannot be looked at."""
    about = folder.path.stat()
    if not stat.S_ISDIR(about.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    found = [_mode(folder.path, about)]
    # A link is left alone: what it leads to may be somebody else's.
    for path in _inside(folder):
        about = path.lstat()
        if stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode):
            found.append(_mode(path, about))
    return [each for each in found if each.found != each.wanted]


def is_shared(folder: DataFolder) -> bool:
    """Whether something that is not ours is in the folder: then its mode is not ours to change either."""
    try:
        return any(each.name not in _OURS for each in folder.path.iterdir())
    except OSError:  # nobody can see what is in it
        return False


def _inside(folder: DataFolder) -> Iterator[Path]:
    """The files of ours that are the owner's alone; not those that somebody else may keep beside them."""
    for each in (folder.path / name for name in _OWNERS):
        if os.path.lexists(each):
            yield each
    secrets = folder.path / SECRETS
    if os.path.isdir(secrets) and not os.path.islink(secrets):
        yield from islice(secrets.iterdir(), _MOST_SECRETS)


def _mode(path: Path, about: os.stat_result) -> Mode:
    found = stat.S_IMODE(about.st_mode)
    owners = 0o700 if stat.S_ISDIR(about.st_mode) else 0o600
    return Mode(path, found, (found | owners) & ~_OTHERS)


def lock_check(folder: DataFolder) -> Check:
    lock = folder.path / LOCK
    if os.path.lexists(lock) and (os.path.islink(lock) or not os.path.isfile(lock)):
        return Check("lock", FAIL, f"{lock} is no plain file.", "Look at what it is, and take it away.")
    if folder.was_abandoned():
        told = "It names a process that is gone: a gateway was killed here."
        return Check("lock", WARN, told, "`interlock doctor --fix` clears it; so does the next start.")
    return Check("lock", OK, "It names nobody who is gone.")


def database_check(folder: DataFolder, anchor: Path | None = None) -> tuple[Check, int | None]:
    """The check, and when the last entry was written."""
    from interlock.store.inspect import look
    from interlock.store.protocol import StoreUnavailable

    if not os.path.exists(folder.database):
        return _absent(folder, anchor or folder.path / ANCHOR), None
    try:
        looked = look(folder.database, MOST_ENTRIES)
    except StoreUnavailable as failed:
        fix = "Repair or restore it, or choose another folder with --data-dir."
        return Check("database", FAIL, f"It cannot be read: {failed}", fix), None
    if looked.broken is not None:
        told = f"The log is broken at entry {looked.broken.seq}: {looked.broken.problem}."
        return Check("database", FAIL, told, "Somebody may have changed the record: keep a copy of the file."), None
    told = f"The newest part of the log holds together ({counted(looked.entries, 'record')})."
    return Check("database", OK, told), looked.last_at


def _absent(folder: DataFolder, anchor: Path) -> Check:
    """Whether there never was a database, or somebody took it away and left what tells of it."""
    from interlock.store.audit.check import lost_log

    try:
        lost = lost_log(folder.path, anchor)
    except (OSError, ValueError) as failed:
        return Check("database", FAIL, f"There is none, and what would tell of it cannot be read: {failed}", _ELSEWHERE)
    if lost is None or lost.broken is None:
        return Check("database", OK, "There is none yet; the first start makes it.")
    told = f"The log is broken at entry {lost.broken.seq}: {lost.broken.problem}."
    return Check(
        "database", FAIL, told, f"Restore it. To begin a log anew, move {anchor}, {PUBLIC} and {PRIVATE} away."
    )


def schema_check(folder: DataFolder) -> Check:
    from interlock.store.inspect import versions_of
    from interlock.store.protocol import StoreUnavailable

    if not os.path.exists(folder.database):
        return Check("schema", OK, "There is no database.")
    try:
        found, known = versions_of(folder.database)
    except StoreUnavailable as failed:
        return Check("schema", FAIL, str(failed), "See database.")
    if not found:
        return Check("schema", WARN, "Nothing is in the database.", "See database.")
    if found < known:
        fix = (
            "`interlock doctor --fix` brings it there; so does the next start. Keep a copy if you may want to go back."
        )
        return Check("schema", WARN, f"The database has version {found}, and this program uses {known}.", fix)
    return Check("schema", OK, f"The database has version {found}, as this program.")
