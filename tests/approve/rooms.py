"""A waiting room for tests: real parts, a real store, and calls that need a second key."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.approve.desk import Approved, Held
from interlock.approve.register import Register
from interlock.approve.room import Room, room_in
from interlock.core.approvals import SECOND, Approval, Approver, ApproverType
from interlock.core.canonical import argument_digest
from interlock.core.decide import Facts, decide
from interlock.core.model import Call, Caller, Declaration, Hold, HoldTerms, Json
from interlock.core.policy import Patience
from interlock.core.redact import KnownSecrets
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect
from interlock.core.toolbook import Listing, ToolBook
from interlock.kept import Origin, Unapproved
from interlock.store.approvals import ApprovalFilter
from interlock.store.protocol import Activity, ActivityFilter, ActivityType
from interlock.store.sql import SqlStore
from tests.fakes import FakeClock

NOW = 1_700_000_000_000_000
BOB = Approver("bob", ApproverType.CLI, person=True)
CAROL = Approver("carol", ApproverType.DASHBOARD, person=True)
BOOK = ToolBook().with_listing(Listing("up", "up", [{"name": "run_job"}, {"name": "run_other"}]))
NEVER = Patience(answer_after=None)
AT_ONCE = Patience(answer_after=0.0)
Answer = Approved | Unapproved


@dataclass
class Waiting:
    """The room, and what a test needs to look into it."""

    room: Room
    store: SqlStore
    clock: FakeClock
    folder: Path
    told: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Who was told of what."""

    @property
    def register(self) -> Register:
        return self.room.register

    def again(self) -> "Waiting":
        """The room of the next gateway, which has the same store."""
        return waiting_in(self.store, self.clock, self.folder)

    async def rows(self) -> list[Approval]:
        """All approvals, oldest first."""
        page = await self.store.approvals.list_approvals(ApprovalFilter(limit=500))
        return list(reversed(page.items))

    async def row(self) -> Approval:
        (only,) = await self.rows()
        return only

    async def activities(self, kind: ActivityType) -> list[Activity]:
        page = await self.store.list_activities(ActivityFilter(types=(kind,), limit=500))
        return list(reversed(page.items))

    async def asked(self, count: int = 1) -> list[Approval]:
        """Wait until so many questions are on record."""
        async with asyncio.timeout(20):
            while len(rows := await self.rows()) < count:  # noqa: ASYNC110 - a thread writes them
                await asyncio.sleep(0)
        return rows


def waiting_in(store: SqlStore, clock: FakeClock, folder: Path) -> Waiting:
    waiting = Waiting(room_in(store, clock, KnownSecrets), store, clock, folder)
    waiting.register.on_change.append(lambda approval, change: waiting.told.append((approval.id, change)))
    return waiting


def call(number: int = 1, caller: str = "agent", tool: str = "run_job", **more: Any) -> Call:
    arguments: dict[str, Json] = {"n": number}
    reason = more.pop("reason", "because")
    declared = Declaration(given=True, reason=reason)
    return Call(Caller(caller), "up", tool, arguments, argument_digest(arguments), declaration=declared, **more)


def held(
    wanted: Call,
    patience: Patience = NEVER,
    *,
    terms: HoldTerms | None = None,
    attach_to: Register | None = None,
    **more: Any,
) -> Held:
    """A call as the path brings it to the desk: decided about, and found to need a second key."""
    found = BOOK.find("up", wanted.tool)
    assert found is not None
    rules = RuleBook([Rule("ask", Effect.HOLD, terms=terms or HoldTerms(approval_timeout=300, max_grant=60))])
    known = None if attach_to is None else attach_to.board.known(wanted, NOW)
    verdict = decide(Facts(wanted, found.known, rules, NOW, waiting=() if known is None else known.waiting))
    assert isinstance(verdict, Hold)
    return Held(wanted, found, verdict, Origin("test", "session-1", client="a-client"), patience, **more)


async def caught(work: Awaitable[object], kind: type[Exception]) -> Any:
    """What was raised."""
    try:
        await work
    except kind as raised:
        return raised
    raise AssertionError(f"{kind.__name__} was not raised")


def later(seconds: float) -> int:
    return int(NOW + seconds * SECOND)


async def until(true: Callable[[], bool]) -> None:
    """Let others go on until something is so."""
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - a thread has to answer first
            await asyncio.sleep(0)
