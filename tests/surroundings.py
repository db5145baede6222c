"""A place of its own for a test that looks at files and variables: an empty folder, and none of our variables."""

import os
from pathlib import Path

import pytest

_COLOUR_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS")


def isolate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the folder, with an empty user config folder, and without variables that would change an answer."""
    for name in os.environ:
        if name.startswith("INTERLOCK_") or name in _COLOUR_VARIABLES:
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "user-config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "user-data"))
    work = folder / "work"
    work.mkdir()
    monkeypatch.chdir(work)
