"""What the tests take from the environment, they take while they are collected.

After that no variable of ours is left: a gateway that a test starts would take a count of `make torture` for a setting
that it does not know, and whatever a developer has set for a gateway of his own.

Where there is plenty of memory the files of the tests lie in it: a store waits for the disk at each commit, and there
are thousands of stores. What is written is read back by the same calls, whatever it lies on.
"""

import gc
import os
import signal
import traceback
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder there that is nobody else's
_STORE = os.environ.get("INTERLOCK_TEST_STORE", "sqlite")
"""On which store everything is tested that does not name one itself."""
_ROOM = 2 * 1024**3
"""How many bytes have to be free there; the tests use a part of it."""


def pytest_configure() -> None:
    if _has_room(_IN_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


def pytest_exception_interact(node: object, call: "pytest.CallInfo[object]", report: object) -> None:
    """Say what came out of a gateway that was left by an exception: each of its parts wraps it once more, and pytest
    shows the wrapping and not what is in it."""
    raised = None if call.excinfo is None else call.excinfo.value
    if raised is not None and hasattr(raised, "exceptions") and isinstance(report, pytest.TestReport):
        told = "\n".join("".join(traceback.format_exception(each)) for each in _leaves(raised))
        report.sections.append(("What was raised inside", told))


def _leaves(raised: BaseException) -> Iterator[BaseException]:
    within: tuple[BaseException, ...] = getattr(raised, "exceptions", ())
    if not within:
        yield raised
    for each in within:
        yield from _leaves(each)


def _has_room(folder: Path) -> bool:
    """Whether the files of all tests can lie in a folder, among them programs that are started from there."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    startable = not found.f_flag & os.ST_NOEXEC
    return startable and os.access(folder, os.W_OK) and found.f_bavail * found.f_frsize > _ROOM


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if _STORE == "sqlite":
        return
    others = [each for each in items if each.get_closest_marker("sqlite") is not None]
    config.hook.pytest_deselected(items=others)
    items[:] = [each for each in items if each not in others]


def pytest_collection_finish() -> None:
    for name in [each for each in os.environ if each.startswith("INTERLOCK_")]:
        del os.environ[name]
    _spare_the_collector()


def _spare_the_collector() -> None:
    """What was collected stays until the end, so it is not looked through for garbage; as in `interlock serve`."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def interrupts_reach_children() -> Generator[None]:
    """A process started in the background of a shell may ignore Ctrl-C, and its children with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def postgres() -> "Generator[PostgresServer]":
    """The one server of all tests that need one."""
    from tests.postgres_server import running_server

    with running_server() as server:
        yield server


@pytest.fixture(scope="session", autouse=_STORE == "postgres")
def on_postgres(postgres: "PostgresServer") -> Generator[None]:
    """What keeps its record in a file otherwise has a database in its place."""
    from tests import stores

    stores.databases = stores.Databases(postgres)
    yield
    stores.databases = None
