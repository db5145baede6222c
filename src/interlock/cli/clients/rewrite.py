"""Replacing a file of somebody else's: whole or not at all, with a copy of what was there, and never a stale answer.

A link is followed to the file that it names, so that it stays a link. Owner and mode stay. What was shown to a person
is compared with what is there in the last moment; if they differ, nothing is written.

This module refuses to write over a file that is not what the caller has seen.
"""

import contextlib
import hashlib
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from interlock import errors
from interlock.cli.clients.file import read_bytes
from interlock.errors import InterlockError

_NEW_FILE, _NEW_FOLDER = 0o600, 0o700


def digest(content: bytes | None) -> str | None:
    """What tells one content of a file from another; None when there is no file."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def replaced(path: Path, new: bytes, seen: bytes | None) -> None:
    """Give a file a new content, provided that it still has the one that was seen."""
    target = path.resolve()
    try:
        target.parent.mkdir(_NEW_FOLDER, parents=True, exist_ok=True)
        written = _beside(target, new)
    except OSError as failed:
        raise _unusable(path, failed) from None
    try:
        if read_bytes(target) != seen:
            raise InterlockError(errors.CLIENT_FILE_CHANGED(file=path))
        written.replace(target)
    except OSError as failed:
        raise _unusable(path, failed) from None
    finally:
        written.unlink(missing_ok=True)


def removed(path: Path, seen: bytes) -> None:
    """Remove a file, provided that it still has the content that was seen."""
    target = path.resolve()
    if read_bytes(target) != seen:
        raise InterlockError(errors.CLIENT_FILE_CHANGED(file=path))
    try:
        target.unlink()
    except OSError as failed:
        raise _unusable(path, failed) from None


def _beside(target: Path, content: bytes) -> Path:
    """The content in a file of the same folder, mode and owner, on disk."""
    new = target.with_name(f".{target.name}.{secrets.token_hex(8)}.new")
    descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, _NEW_FILE)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            with contextlib.suppress(FileNotFoundError):
                before = target.stat()
                if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(descriptor, before.st_uid, before.st_gid)
                os.fchmod(descriptor, before.st_mode & 0o7777)
            os.fsync(descriptor)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    return new


def back_up(path: Path, content: bytes, now: int) -> Path:
    """A copy of a content beside the file that had it, for its owner only."""
    target = path.resolve()
    at = datetime.fromtimestamp(now / 1_000_000, UTC).strftime("%Y-%m-%dT%H%M%S.%fZ")
    copy = target.with_name(f"{target.name}.interlock-{at}.bak")
    try:
        with open(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, _NEW_FILE), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as failed:
        raise _unusable(copy, failed) from None
    return copy


def private_file(path: Path, content: bytes) -> None:
    """A new file that only its owner can read, in a folder of that kind. What is there already is not touched."""
    try:
        for folder in (path.parent.parent, path.parent):  # the one above may be new too, and is no less private
            folder.mkdir(_NEW_FOLDER, parents=True, exist_ok=True)
        path.parent.chmod(_NEW_FOLDER)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, _NEW_FILE), "wb") as file:
            file.write(content)
    except OSError as failed:
        raise _unusable(path, failed) from None


def _unusable(path: Path, failed: OSError) -> InterlockError:
    return InterlockError(errors.CLIENT_FILE_UNUSABLE(file=path, problem=f"it cannot be written: {failed.strerror}"))
