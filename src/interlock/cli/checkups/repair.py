"""What `interlock doctor --fix` does: only what is safe without a decision, and nothing twice.

Modes are narrowed to the owner, what a dead process left is cleared, and the database is brought to the version that
the next start would bring it to. This module refuses to delete, to overwrite and to guess: whatever else is found is
told with the command that mends it.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from interlock.cli.checkups.checkup import OK
from interlock.cli.checkups.codes import CODES
from interlock.cli.checkups.folder import Mode, database_check, is_shared, wrong_modes
from interlock.clock import SystemClock
from interlock.store.folder import DataFolder, FolderBusy

DONE, PLANNED, FAILED = "done", "planned", "failed"


@dataclass(frozen=True, slots=True)
class Repair:
    """Something to be done about a check, and how."""

    check: str
    text: str
    do: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a repair."""

    code: str
    text: str
    state: str
    problem: str = ""


def repair(folder: DataFolder, *, dry: bool, shared: bool = False) -> list[Outcome]:
    """Mend what can be mended by itself, or only say what that would be. `shared` says that the record is in a database
    that others use too: then a file here is an old one, and the version of that database is for somebody to decide."""
    # Each kind is looked for when its turn comes: a folder has to be readable before anything in it can be found.
    looks = (_folder, _modes, _lock) if shared else (_folder, _modes, _lock, _schema)
    return [_outcome(each, dry=dry) for look in looks for each in look(folder)]


def _outcome(wanted: Repair, *, dry: bool) -> Outcome:
    from interlock.store.protocol import StoreUnavailable

    code = CODES[wanted.check].code
    if dry:
        return Outcome(code, wanted.text, PLANNED)
    try:
        wanted.do()
    except FolderBusy:
        return Outcome(code, wanted.text, FAILED, "somebody works in the folder now")
    except StoreUnavailable as failed:
        return Outcome(code, wanted.text, FAILED, str(failed))
    except OSError as failed:
        return Outcome(code, wanted.text, FAILED, failed.strerror or "it did not work")
    return Outcome(code, wanted.text, DONE)


def _folder(folder: DataFolder) -> Iterator[Repair]:
    if not os.path.lexists(folder.path):
        yield Repair("folder", f"make {folder.path}", partial(folder.path.mkdir, 0o700, parents=True))


def _modes(folder: DataFolder) -> Iterator[Repair]:
    # The folder first: nothing in it can be found before its owner may enter it.
    yield from (_narrowing(each) for each in _wrong(folder) if each.path == folder.path and not is_shared(folder))
    yield from (_narrowing(each) for each in _wrong(folder) if each.path != folder.path)


def _wrong(folder: DataFolder) -> list[Mode]:
    try:
        return wrong_modes(folder)
    except OSError:  # it is not there, or not ours; the check tells
        return []


def _narrowing(mode: Mode) -> Repair:
    return Repair("folder", f"chmod {mode.wanted:03o} {mode.path}", partial(_chmod, mode))


def _chmod(mode: Mode) -> None:
    mode.path.chmod(mode.wanted)


def _lock(folder: DataFolder) -> Iterator[Repair]:
    if folder.was_abandoned():
        yield Repair("lock", "clear what a process that is gone left in the lock file", partial(_hold, folder))


def _hold(folder: DataFolder) -> None:
    with folder.hold():
        return  # whoever holds it has cleared it


def _schema(folder: DataFolder) -> Iterator[Repair]:
    from interlock.store.inspect import versions_of
    from interlock.store.protocol import StoreUnavailable

    # A record that is broken stays as it is, for whoever looks into it.
    if not os.path.exists(folder.database) or database_check(folder)[0].state != OK:
        return
    try:
        found, known = versions_of(folder.database)
    except StoreUnavailable:  # another program's, or a newer one: the check tells
        return
    if found < known:
        yield Repair("schema", f"bring the database from version {found} to {known}", partial(_migrate, folder))


def _migrate(folder: DataFolder) -> None:
    from interlock.store.sqlite import PATIENCE, prepare

    with folder.hold():
        prepare(folder.database, SystemClock(), PATIENCE)
