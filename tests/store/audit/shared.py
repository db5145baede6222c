"""Logs of several gateways in one database of PostgreSQL, and what somebody who owns its tables can do to them."""

import asyncio
import contextlib
from collections.abc import Generator
from pathlib import Path

from interlock.core.approvals import Approval, shown
from interlock.core.lifecycle import ApprovalState, CallState
from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.place import LogPlace
from interlock.store.audit.verify import Verification
from interlock.store.folder import DataFolder
from interlock.store.protocol import Activity, ActivityType
from tests.postgres_server import PostgresServer
from tests.store.audit.logs import Office
from tests.store.examples import NOW, TickingClock
from tests.store.places import InDatabase

ONE, OTHER = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"


def office(database: InDatabase, folder: Path, chain: str = ONE) -> Office:
    """One gateway: a folder of its own, and a log of its own in the database."""
    folder.mkdir(exist_ok=True)
    made = Office(folder, store=database.store(TickingClock(), chain))
    made.sealer.place = place(database, folder, chain)
    return made


@contextlib.contextmanager
def two_gateways(postgres: PostgresServer, folder: Path) -> Generator[InDatabase]:
    """A database with the logs of two gateways that do not run; of the first there is the data folder `one`."""
    made = InDatabase(postgres)
    asyncio.run(_filled(made, folder))
    DataFolder(folder / "one").keep_chain(ONE)
    yield made
    asyncio.run(postgres.drop(made.name))


async def _filled(database: InDatabase, folder: Path) -> None:
    await database.__aenter__()
    for name, chain, first in (("one", ONE, 1), ("other", OTHER, 101)):
        async with office(database, folder / name, chain) as each:
            await each.fill(first, first + 9, every=5)


def place(database: InDatabase, folder: Path, chain: str | None = ONE) -> LogPlace:
    return LogPlace(folder, database.address, chain)


def check(database: InDatabase, folder: Path, chain: str | None = ONE) -> Verification:
    """What the check says, seen from the folder of one gateway."""
    return place(database, folder, chain).check(folder / ANCHOR, own=True)


def told(about: Approval) -> Activity:
    """How the log tells of an approval."""
    status = CallState.HELD if about.status is ApprovalState.PENDING else CallState.SUCCESS
    return Activity(about.id, NOW, ActivityType.APPROVAL, status, shown(about), approval_id=about.id)


async def tamper(database: InDatabase, *statements: str) -> None:
    """Do this as the owner of the tables, whose guards see nothing of it."""
    await database.tell("SET session_replication_role = replica", *statements)
