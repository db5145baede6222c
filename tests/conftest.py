"""What the tests take from the environment, they take while they are collected.

After that no variable of ours is left: a gateway that a test starts would take a count of `make torture` for a setting
that it does not know, and whatever a developer has set for a gateway of his own.
"""

import os
import signal
from collections.abc import Generator

import pytest


def pytest_collection_finish() -> None:
    for name in [each for each in os.environ if each.startswith("INTERLOCK_")]:
        del os.environ[name]


@pytest.fixture
def interrupts_reach_children() -> Generator[None]:
    """A process started in the background of a shell may ignore Ctrl-C, and its children with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
