"""What the verbs that write files share: what is there already stays unless somebody says otherwise, and no file is
left half written. A command line with a secret in it is not written into a file at all."""

import os
from pathlib import Path

from interlock.cli.inputs import bad
from interlock.cli.lab.target import Wanted
from interlock.core.redact import redact_text
from interlock.errors import InterlockError


def free(path: Path, *, force: bool) -> None:
    """Raise unless a file, or an empty folder, may be made at a path."""
    taken = any(path.iterdir()) if path.is_dir() else os.path.lexists(path)
    if taken and not force:
        raise bad(f"{path}: something is there already", "Choose another place with -o, or write over it with --force.")


def write(path: Path, text: str) -> None:
    """Write a file, and the folders that it needs."""
    new = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as failed:
        raise _unwritable(path, failed) from None


def _unwritable(path: Path, failed: OSError) -> InterlockError:
    return bad(f"{path}: cannot be written: {failed.strerror}", "Choose another place.")


def check_shareable(target: Wanted) -> None:
    """Raise for a target that would put a secret into a file that people share."""
    words = [each for each in (*target.argv, target.url or "") if each]
    # A secret may stand in a word of its own, after the word that says so.
    if any(redact_text(each) != each for each in words) or redact_text(" ".join(words)) != " ".join(words):
        raise bad(
            "the target holds what looks like a secret, and it would be written into the file",
            "Put the server into the configuration with ${env:NAME} in place of the secret, and give its id.",
        )
