"""Sandboxes for the tests of the proofs: a user's folder and configuration, and one proof that is tried out in it."""

from collections.abc import Callable
from pathlib import Path

from interlock.cli.checkups.prove.proof import Result, tried
from interlock.cli.checkups.prove.prove import PROOFS
from interlock.cli.checkups.prove.sandbox import Sandbox, sandbox
from interlock.store.folder import DataFolder
from tests.running import config_of

DENIES = "route_rules: [{id: no-run, tool_pattern: '*__run_*', effect: deny}]\n"
"""A configuration in which something is denied, something is held, and something is allowed."""


def nothing(*_: object) -> None:
    """In the place of what would say no."""


def unchanged(value: object, *_: object) -> object:
    """In the place of what would hide something."""
    return value


def user_of(folder: Path) -> DataFolder:
    """The data folder of the user."""
    return DataFolder(folder / "data")


async def tried_on(
    folder: Path, name: str, text: str = DENIES, weaken: Callable[[Sandbox], None] = lambda box: None
) -> Result:
    """What one proof shows of a configuration, once the sandbox was weakened."""
    (proof,) = (each for each in PROOFS if each.name == name)
    async with sandbox(config_of(folder, text), user_of(folder)) as box:
        weaken(box)
        return await tried(proof, box)
