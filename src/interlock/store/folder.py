"""The data folder: who works in it, where that gateway can be reached, the operator's credential, and the key by which
hidden secrets are marked.

One process at a time runs a gateway on a folder, because two would each take the other's calls for what a crash left
behind. The lock is the operating system's, so it ends with the process, however that ends. Whoever finds it taken asks
the process that holds it, at the address written into the lock file. That file is emptied by every new holder, and an
address of a process that is gone does not count, so the operator's credential is never sent to an old one.

The folder of a run of the lab is a data folder too, and no gateway's log lies in it: it is kept, shown and handed on
with its record alone. So no key is ever made there, whoever looks into it later.

This module refuses to make a folder or a file that others may read.
"""

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Generator
from pathlib import Path

LOCK = "gateway.lock"
CREDENTIAL = "operator.token"
DATABASE = "interlock.db"
RUNS = "lab"
"""Where the folders of runs are, each with the id of its run for a name."""
_RUN = re.compile(r"[0-9a-f]{30}", re.ASCII)
MARK_KEY = "marks.key"
"""Beside the database and not in it: whoever is given a copy of the record cannot try out what was hidden."""
_KEY_BYTES = 32
CHAIN = "chain.id"
"""Which log is this gateway's own, where several write to one database. One that is broken is made anew: then a new log
begins, and the old one stays as it is."""
_CHAIN = re.compile(r"[0-9a-f]{16}", re.ASCII)


class FolderBusy(Exception):
    """Another process works in the folder. `address` is where it listens, or None when it does not."""

    def __init__(self, address: str | None) -> None:
        super().__init__(address or "no address")
        self.address = address


class DataFolder:
    """One data folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def database(self) -> Path:
        return self.path / DATABASE

    @property
    def is_of_a_run(self) -> bool:
        """Whether a run of the lab is kept here. Its record is not sealed."""
        path = self.path.resolve()
        return path.parent.name == RUNS and _RUN.fullmatch(path.name) is not None

    @property
    def credential_file(self) -> Path:
        return self.path / CREDENTIAL

    @contextlib.contextmanager
    def hold(self) -> Generator["Hold"]:
        """Be the one who works here, until the block ends; raises FolderBusy."""
        self.path.mkdir(0o700, parents=True, exist_ok=True)
        lock = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FolderBusy(_announced(lock)) from None
            os.ftruncate(lock, 0)
            try:
                yield Hold(self, lock)
            finally:
                os.ftruncate(lock, 0)  # whoever leaves in order leaves no address behind
        finally:
            os.close(lock)

    def announced(self) -> str | None:
        """Where a process that lives has said that it listens. Whether it holds the folder is not looked at."""
        try:
            lock = os.open(self.path / LOCK, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            return _announced(lock)
        finally:
            os.close(lock)

    def was_abandoned(self) -> bool:
        """Whether the lock file still has what a process wrote that is gone. It harms nobody: the next holder clears
        it."""
        try:
            lock = os.open(self.path / LOCK, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            return bool(os.pread(lock, 1, 0)) and _announced(lock) is None
        finally:
            os.close(lock)

    def credential(self) -> str | None:
        """The operator's token, if there is one."""
        try:
            return self.credential_file.read_text(encoding="utf-8").strip() or None
        except FileNotFoundError:
            return None

    def keep_credential(self, text: str) -> None:
        """Keep the operator's token where only the operator can read it; the file is whole or not there."""
        _keep(self.credential_file, f"{text}\n".encode())

    def mark_key(self) -> bytes:
        """The key of the marks that stand for hidden secrets; the first look makes it. One that is broken is made anew,
        and then the same secret has another mark than before. Of a run it is not kept: each look is another key."""
        if self.is_of_a_run:
            return secrets.token_bytes(_KEY_BYTES)
        file = self.path / MARK_KEY
        with contextlib.suppress(FileNotFoundError):
            if len(key := file.read_bytes()) == _KEY_BYTES:
                return key
        key = secrets.token_bytes(_KEY_BYTES)
        _keep(file, key)
        return key

    def chain(self) -> str:
        """The name of this gateway's chain in a database that several share; the first look makes it."""
        name = self.known_chain()
        if name is None:
            self.keep_chain(name := secrets.token_hex(8))
        return name

    def known_chain(self) -> str | None:
        """The same for whoever only looks; None when there is none yet."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            name = (self.path / CHAIN).read_text(encoding="utf-8", errors="replace").strip()
            return name if _CHAIN.fullmatch(name) else None
        return None

    def keep_chain(self, name: str) -> None:
        """Go on with this chain in a database that several share."""
        _keep(self.path / CHAIN, f"{name}\n".encode())


def _keep(file: Path, content: bytes) -> None:
    """Write a file that only its owner can read; it is whole or not there."""
    new = file.with_suffix(".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as opened:
        opened.write(content)
    new.replace(file)


class Hold:
    """The right to work in a folder."""

    def __init__(self, folder: DataFolder, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    def announce(self, address: str) -> None:
        """Say where this process listens, as `http://host:port`."""
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()} {address}".encode(), 0)

    def withdraw(self) -> None:
        """Say no longer where this process listens; the folder stays held."""
        os.ftruncate(self._lock, 0)


def _announced(lock: int) -> str | None:
    """The address in a lock file, unless it is one of a process that is gone: its successor is about to remove it."""
    process, _, address = os.pread(lock, 1000, 0).decode("utf-8", "replace").partition(" ")
    if not process.isdecimal() or not address:
        return None
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass  # it lives, and belongs to somebody else
    return address
