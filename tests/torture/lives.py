"""The lives of a gateway in virtual time: agents that call, reviewers that answer, and everything that can go wrong.

Path, desk, register, approvers and recorder are the real ones. The store is one in memory, and so are the servers: the
Fleet itself would start processes and open sockets, which no virtual clock can turn and which would make a thousand
seeds take an hour. What stands in for it has the few methods that the path uses, and writes down what it is sent.
"""

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec import json

from interlock.app.gateway import settle_what_a_crash_left
from interlock.approve.approvers import Refused
from interlock.approve.room import Room, room_in
from interlock.core.approvals import Approver, ApproverType, Wish
from interlock.core.canonical import argument_digest
from interlock.core.freezes import FreezeKind, Frozen
from interlock.core.grants import GrantScope
from interlock.core.lifecycle import ApprovalState
from interlock.core.lineage import Lineage, Minted
from interlock.core.model import Call, Caller, Declaration, HoldTerms, Micros
from interlock.core.offers import Offers
from interlock.core.policy import Patience, Policy
from interlock.core.redact import KnownSecrets
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect
from interlock.core.toolbook import Listing, ToolBook
from interlock.errors import UNAUTHENTICATED, Reason
from interlock.forward.fleet import Fleet
from interlock.forward.link import Answer, LinkDown
from interlock.forward.upstream import Ask
from interlock.kept import Origin
from interlock.pipeline import Pipeline, Reply, Way
from interlock.record import Recorder
from interlock.second_key import SecondKey
from interlock.store.protocol import Activity, Store, StoreUnavailable
from tests.torture.memory import Disk, MemoryStore
from tests.torture.virtual import LIFE, Life, VirtualClock, VirtualLoop

AGENTS = ("a1", "a2")
REVIEWERS = ("bob", "carol", "a1", "kid")
"""Two persons, an agent that asks itself, and the principal that it made for itself."""
LINEAGE = Lineage(
    [
        Minted("operator", "human", None),
        *(Minted(name, "human", "operator") for name in ("bob", "carol")),
        *(Minted(name, "agent", "operator") for name in AGENTS),
        Minted("kid", "human", "a1"),
    ]
)
ONE, TWO, FREE = "run_one", "run_two", "write_free"
"""Tools that need one approval, two of them, and none."""
BOOK = ToolBook().with_listing(Listing("up", "up", [{"name": name} for name in (ONE, TWO, FREE)]))
WAY = Way(Origin("test"))
STOP_SECONDS = 5.0
"""How long calls that are under way may take to end when a gateway stops."""
PLAYED, QUIET = 40.0, 60.0
"""For how many seconds things happen, and for how many nothing more does."""


def rules(max_grant: int, *, forbids: bool = False) -> list[Rule]:
    """The rules: what they allow to be granted is part of them, so that another time makes them other rules."""
    one = HoldTerms(8, 1, (), four_eyes=False, max_grant=max_grant)
    two = HoldTerms(15, 2, (), four_eyes=False, max_grant=max_grant)
    return [
        Rule("one", Effect.HOLD, tool_pattern=("up__run_one",), terms=one),
        Rule("two", Effect.HOLD, tool_pattern=("up__run_two",), terms=two),
        Rule("free", Effect.ALLOW, tool_pattern=("up__write_free",)),
        *([Rule("no", Effect.DENY, tool_pattern=("up__run_one",))] if forbids else ()),
    ]


@dataclass(frozen=True)
class Sent:
    """What a server was sent, and what was on record of it in that moment."""

    caller: str
    tool: str
    number: int
    record: Activity | None


@dataclass
class Calling:
    """A call, and what became of it."""

    call: Call
    life: Life
    reply: Reply | None = None
    failed: BaseException | None = None
    task: "asyncio.Task[None] | None" = None


@dataclass
class Answering:
    """What a reviewer was told: the status, or the code of a refusal."""

    approval: str
    reviewer: str
    yes: bool
    told: str = ""
    task: "asyncio.Task[None] | None" = None


@dataclass
class Spells:
    """When something was so: since when, and until when if that is over."""

    times: dict[str, list[list[Micros | None]]] = field(default_factory=dict[str, list[list[Micros | None]]])

    def begin(self, name: str, now: Micros) -> None:
        self.times.setdefault(name, []).append([now, None])

    def end(self, name: str, now: Micros) -> None:
        self.times[name][-1][1] = now

    def now(self, name: str) -> bool:
        return bool(self.times.get(name)) and self.times[name][-1][1] is None

    def at(self, name: str, when: Micros) -> bool:
        return any((since or 0) < when and (end is None or when < end) for since, end in self.times.get(name, ()))


class Servers:
    """What stands in for the Fleet."""

    def __init__(self, world: "World", life: Life) -> None:
        self.book = BOOK
        self.offers = Offers()
        self._world = world
        self._life = life

    async def call(self, server: str, ask: Ask, listener: Any, *, auth_scope: str | None, caller: str) -> Answer:
        if self._life.over:
            raise LinkDown("This life is over.", sent=False)
        world = self._world
        params = json.decode(ask.params)
        number = len(world.sent)
        arguments = params["arguments"]
        record = world.open_record(caller, params["name"], argument_digest(arguments))
        world.sent.append(Sent(caller, params["name"], arguments["n"], record))
        await asyncio.sleep(world.chance.choice((0, 0, 0.01, 3)))
        if world.chance.random() < 0.1:
            raise LinkDown("it went away", sent=True)
        return Answer(json.encode({"content": [{"type": "text", "text": str(number)}], "isError": False}))

    async def awake(self, server: str) -> None:
        await asyncio.sleep(self._world.chance.choice((0, 0, 0.01)))

    def seconds(self, server: str) -> float:
        return 120.0


class House:
    """One life of a gateway."""

    def __init__(self, world: "World", kind: type[MemoryStore]) -> None:
        self.life = Life()
        self.world = world
        self.store = kind(world.disk, world.clock, world.chance, self.life)
        store = cast("Store", self.store)
        recorder = Recorder(store, world.clock)
        self.room: Room = room_in(store, world.clock, KnownSecrets)
        self.room.approvers.lineage = lambda: LINEAGE
        self.room.approvers.use_within = world.policy.patience.use_within
        self.room.register.board.may_still = world.may_answer
        servers = Servers(world, self.life)
        fleet, key = cast("Fleet", servers), SecondKey(self.room.desk, recorder, servers.awake)
        self.pipeline = Pipeline(fleet, recorder, world.clock, world.policy, key, self.room.freezer)
        self.pipeline.identify = world.identify
        self.ready = asyncio.Event()
        self.stop = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.ended = self.start(self._live())

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Start something that ends with this life."""
        context = contextvars.copy_context()
        context.run(LIFE.set, self.life)
        task = asyncio.get_running_loop().create_task(work, context=context)
        self.tasks.append(task)
        return task

    async def _live(self) -> None:
        await settle_what_a_crash_left(cast("Store", self.store))
        await self.room.load()
        self.store.failing = self.world.failing
        async with self.room.desk.running():
            self.ready.set()
            await self.stop.wait()
            self.store.failing = 0.0


class World:
    """Everything that outlives a gateway, and who acts in it."""

    def __init__(self, loop: VirtualLoop, kind: type[MemoryStore] = MemoryStore) -> None:
        self.chance = loop.chance
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.disk = Disk()
        self.sent: list[Sent] = []
        self.callings: list[Calling] = []
        self.answerings: list[Answering] = []
        self.revoked = Spells()
        self.frozen = Spells()
        self.failing = self.chance.choice((0.0, 0.0, 0.0, 0.05))
        self.may_fail = self.failing > 0
        self._answer_after = self.chance.choice((None, 2.0, 6.0))
        self.rules = [(0, rules(30))]
        """What the rules were, and since when."""
        self._kind = kind
        self.houses: list[House] = []

    @property
    def house(self) -> House:
        return self.houses[-1]

    def identify(self, caller: Caller) -> Caller | Reason:
        return UNAUTHENTICATED(problem="revoked") if self.revoked.now(caller.name) else caller

    def may_answer(self, name: str) -> bool:
        return not self.revoked.now(name)

    def open_record(self, caller: str, tool: str, digest: str) -> Activity | None:
        """The record of a call that is about to be sent, which no other call has had."""
        had = {each.record.id for each in self.sent if each.record is not None}
        for each in self.disk.activities.values():
            about = (each.caller, each.tool, each.body.get("digest"))
            if each.status == "sent" and about == (caller, tool, digest) and each.id not in had:
                return each
        return None

    @property
    def policy(self) -> Policy:
        patience = Patience(self._answer_after, {}, use_within=12, max_pending=3)
        return Policy(RuleBook(self.rules[-1][1]), patience=patience)

    def hashes_at(self, when: Micros) -> dict[str, str]:
        """The content of each rule that held then, by id."""
        held = next(rules for since, rules in reversed(self.rules) if since < when)
        return {each.id: each.content_hash for each in held}

    # What happens --------------------------------------------------------------------------------------------------

    async def play(self) -> None:
        """A while in which things happen, and a longer one in which what is open comes to its end."""
        self.houses.append(House(self, self._kind))
        until = self.loop.time() + PLAYED
        pace = self.chance.choice((0.02, 0.2, 1.0))
        acts = self.chance.randint(20, 80)
        while acts and self.loop.time() < until:
            acts -= 1
            await asyncio.sleep(self.chance.uniform(0, pace))
            await self._act()
        await self.settled()

    async def settled(self) -> None:
        """Until nothing is under way: time only goes on when everybody waits."""
        await self.house.ready.wait()
        await asyncio.sleep(0.003)
        while self.house.store.busy:  # noqa: ASYNC110 - virtual time passes only when everybody waits
            await asyncio.sleep(0.003)

    async def _act(self) -> None:
        frozen = self.frozen.now("all")
        acts: dict[Callable[[], Awaitable[None]], int] = {
            self._call: 40,
            self._answer: 40,
            self._disconnect: 8,
            self._crash: 2,
            self._restart: 1,
            self._reload: 3,
            self._revoke: 3,
            self._freeze: 20 if frozen else 2,
            self._take_back: 2,
        }
        (act,) = self.chance.choices(list(acts), list(acts.values()))
        await act()

    async def _call(self) -> None:
        name = self.chance.choice(AGENTS)
        if not self.house.ready.is_set():
            return
        tool, number = self.chance.choice((ONE, ONE, ONE, TWO, TWO, FREE)), self.chance.choice((0, 0, 0, 1))
        approval = None
        rows = list(self.disk.approvals.values())
        if rows and self.chance.random() < 0.3:
            row = self.chance.choice(rows)
            approval = row.id
            if self.chance.random() < 0.8:  # else it names an approval of another call, or of somebody else
                name, tool = row.requester, row.key.tool
        if self.revoked.now(name):
            return
        digest, said = argument_digest({"n": number}), Declaration(given=True, reason="because")
        call = Call(Caller(name), "up", tool, {"n": number}, digest, declaration=said, approval_id=approval)
        calling = Calling(call, self.house.life)
        self.callings.append(calling)
        calling.task = self.house.start(_run(self.house.pipeline, calling))

    async def _answer(self) -> None:
        rows = list(self.disk.approvals.values())
        waiting = [each for each in rows if each.status is ApprovalState.PENDING]
        if not rows or not self.house.ready.is_set():
            return
        about = self.chance.choice(waiting if waiting and self.chance.random() < 0.9 else rows)
        # Often two at once: that is where things go wrong.
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            reviewer = self.chance.choice(REVIEWERS)
            if not self.revoked.now(reviewer):
                answering = Answering(about.id, reviewer, self.chance.random() < 0.7)
                self.answerings.append(answering)
                answering.task = self.house.start(self._said(self.house.room, answering))

    async def _said(self, room: Room, answering: Answering) -> None:
        who = answering.reviewer
        approver = Approver(who, ApproverType.CLI, person=LINEAGE.is_person(who))
        scope = self.chance.choice((GrantScope.ONCE, GrantScope.ONCE, GrantScope.IDENTICAL, GrantScope.TOOL))
        wish = Wish(scope, None if scope is GrantScope.ONCE else self.chance.choice((None, 5)))
        said = f"said by {who}"
        try:
            if answering.yes:
                found = await room.approvers.approve(answering.approval, approver, wish, said)
            else:
                found = await room.approvers.deny(answering.approval, approver, said)
            answering.told = found.status.value
        except Refused as refused:
            answering.told = str(refused.reason.code)
        except StoreUnavailable:
            answering.told = "unavailable"

    async def _disconnect(self) -> None:
        """Somebody goes away: a caller that waits, or a reviewer that has just answered."""
        tasks = [each.task for each in (*self.callings, *self.answerings)]
        under_way = [each for each in tasks if each is not None and not each.done()]
        if under_way:
            self.chance.choice(under_way).cancel()

    async def _crash(self) -> None:
        self.house.life.over = True
        self.houses.append(House(self, self._kind))

    async def _restart(self) -> None:
        house = self.house
        if not house.ready.is_set():
            return
        house.stop.set()
        await house.ended
        calls = [each for each in house.tasks if not each.done()]
        if calls:
            _, late = await asyncio.wait(calls, timeout=STOP_SECONDS)
            for each in late:
                each.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        house.life.over = True
        self.houses.append(House(self, self._kind))

    async def _reload(self) -> None:
        other = self.chance.choice((rules(30), rules(20), rules(30, forbids=True)))
        self.rules.append((self.clock.now(), other))
        self.house.pipeline.policy = self.policy

    async def _revoke(self) -> None:
        name = self.chance.choice(("a1", "a2", "bob"))
        turn = self.revoked.end if self.revoked.now(name) else self.revoked.begin
        turn(name, self.clock.now())

    async def _freeze(self) -> None:
        freezer = self.house.room.freezer
        everything = Frozen(FreezeKind.ALL)
        if not self.house.ready.is_set():
            return
        with contextlib.suppress(StoreUnavailable):
            if everything not in freezer.in_force:
                await freezer.freeze(everything, "bob", "")
                self.frozen.begin("all", self.clock.now())
                return
            if self.frozen.now("all"):
                self.frozen.end("all", self.clock.now())
            await freezer.thaw(everything, "bob")

    async def _take_back(self) -> None:
        grants = self.house.room.register.board.grants()
        if grants:
            with contextlib.suppress(StoreUnavailable):
                await self.house.room.register.revoke(self.chance.choice(grants).id, "bob")

    # The end -------------------------------------------------------------------------------------------------------

    async def come_to_an_end(self) -> None:
        """Wait until every deadline is over, and the store has come to rest."""
        self.house.store.failing = self.failing = 0.0
        await asyncio.sleep(QUIET)
        await self.settled()

    async def bury(self) -> None:
        """End the tasks of lives that are over, and of the last one, so that nothing is left behind."""
        for house in self.houses:
            house.life.over = True
        self.loop.exhume()
        tasks = [each for house in self.houses for each in house.tasks]
        while left := [each for each in tasks if not each.done()]:
            for each in left:
                each.cancel()
            await asyncio.sleep(1)


async def _run(pipeline: Pipeline, calling: Calling) -> None:
    """Take a call along the path, as the door for agents would: whoever has gone hears nothing."""
    try:
        calling.reply = await pipeline.run(calling.call, WAY)
    except asyncio.CancelledError as gone:
        calling.failed = gone
        raise
    except Exception as failed:  # whatever it is, the test tells of it
        calling.failed = failed
