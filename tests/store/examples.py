"""Activities, tokens and clocks for the tests of the store."""

import asyncio
import itertools
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

from interlock.core.lifecycle import CallState
from interlock.core.model import Json
from interlock.store.chain import first_break
from interlock.store.protocol import Activity, ActivityFilter, ActivityType, LogEntry, Store, StoreUnavailable, Token
from interlock.store.sqlite import connect

ROOT = Path(__file__).parent.parent.parent
NOW = 1_700_000_000_000_000
EVERYTHING = 1_000_000

OpenStore = Callable[[], Awaitable[Store]]
"""Opens the same database once more, as a restart or a second process would."""


class TickingClock:
    """A clock that shows another time whenever it is read, so that equal times mean one reading."""

    def __init__(self) -> None:
        self._readings = itertools.count(NOW)

    def now(self) -> int:
        return next(self._readings)

    def ticks(self) -> int:
        return next(self._readings)


class StoppedClock(TickingClock):
    """A clock that fails when it is told to."""

    stopped = False

    def now(self) -> int:
        if self.stopped:
            raise RuntimeError("the clock has stopped")
        return super().now()


def activity(number: int, status: CallState = CallState.SUCCESS, **body: Json) -> Activity:
    return Activity(
        id=f"act-{number:06}", at=NOW + number, type=ActivityType.TOOL_CALL, status=status, body=body, server="github"
    )


def token(number: int) -> Token:
    return Token(
        id=f"tok-{number}",
        principal="alice",
        kind="agent",
        roles=("caller", "approver"),
        secret_hash=f"{number:064x}",
        created_at=NOW + number,
        expires_at=NOW + 1_000_000,
        scope={"servers": ["github"], "ceiling": "write"},
    )


def told(number: int) -> Activity:
    """An activity that tells of a change of a token."""
    return Activity(
        id=f"change-{number}", at=NOW, type=ActivityType.TOKEN_CHANGE, status=CallState.SUCCESS, body={"n": number}
    )


async def log_of(store: Store) -> list[LogEntry]:
    return list(await store.log_entries(0, EVERYTHING))


async def ids_of(store: Store) -> list[str]:
    """The ids of all activities, newest first, page by page."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list_activities(ActivityFilter(limit=500, cursor=cursor))
        found += [each.id for each in page.items]
        cursor = page.next
        if cursor is None:
            return found


async def assert_sound(store: Store) -> None:
    """The chain links up, and each activity is what the log said of it last."""
    log = await log_of(store)
    assert first_break(log) is None
    last = {entry.subject: json.loads(entry.text) for entry in log}
    assert set(await ids_of(store)) == set(last)
    for subject, text in last.items():
        found = await store.get_activity(subject)
        assert found is not None
        assert (found.status, found.body) == (text["status"], text["body"])


async def insist(write: Callable[[], Awaitable[object]]) -> None:
    """Try a write until the store takes it."""
    async with asyncio.timeout(30):
        while not await _taken(write):
            pass


async def _taken(write: Callable[[], Awaitable[object]]) -> bool:
    try:
        await write()
    except StoreUnavailable:
        await asyncio.sleep(0)  # a refusal at the door gives the loop no turn, and the timeout none
        return False
    return True


def run_elsewhere(path: Path, *statements: str) -> None:
    """Change the database behind the store's back."""
    with closing(connect(path, patience=30)) as connection:
        for statement in statements:
            connection.execute(statement)


@contextmanager
def held_by_another(path: Path) -> Generator[None]:
    """While another process is in the middle of a write, the store's writer has to wait."""
    with closing(connect(path, patience=30)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


FORBID = "CREATE TRIGGER forbidden BEFORE INSERT ON entry BEGIN SELECT RAISE(ABORT, 'forbidden by a test'); END"
ALLOW = "DROP TRIGGER forbidden"


def write_and_be_killed(place: str, life: str, after: int) -> set[str]:
    """The ids of what a process was told is durable, before it was killed."""
    command = [sys.executable, "-m", "tests.store.child_writer", place, life]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(after)]
        child.kill()
        lines += child.stdout.readlines()
    # The last line may have been cut off.
    return {line.strip() for line in lines if line.endswith("\n")}
