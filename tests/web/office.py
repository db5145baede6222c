"""A gateway without an agent in front of it: the parts that REST needs, and clients of every role."""

import contextlib
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from interlock.approve.notices import Notices
from interlock.approve.room import room_in
from interlock.config.load import Config
from interlock.config.roster import Roster
from interlock.config.tree import Settings
from interlock.core.decide import GatewayEntry
from interlock.core.lifecycle import CallState
from interlock.core.model import Json
from interlock.core.policy import Policy
from interlock.core.safety import Posture
from interlock.core.toolbook import Listing
from interlock.forward.drift import Drift
from interlock.forward.fleet import Fleet
from interlock.forward.upstream import UpstreamSpec
from interlock.pipeline import Pipeline
from interlock.receive.edge import Edge
from interlock.receive.identify import Callers, default_kind, mint
from interlock.receive.workspaces import Workspaces
from interlock.record import Recorder, token_change
from interlock.second_key import SecondKey
from interlock.store.audit.anchor import Anchor
from interlock.store.audit.sealer import Sealer
from interlock.store.protocol import Activity, ActivityFilter, ActivityType
from interlock.store.sql import SqlStore
from interlock.web import PREFIX
from interlock.web.audience import Audience
from interlock.web.browsers import Browsers
from interlock.web.desk_metrics import DeskMetrics
from interlock.web.feed import Feed
from interlock.web.metrics import Metrics
from interlock.web.parts import Parts
from interlock.web.routes import rest_app
from tests.fakes import FakeClock
from tests.stores import clocked_store_of, log_of
from tests.upstream.running import received, stdio_argv

NOW = 1_790_000_000_000_000
HOUR = 3_600_000_000
HOST = "127.0.0.1:7373"
STRANGE = Path(__file__).with_name("strange.py")

WORKSPACES = Workspaces("ws-default", names=frozenset({"ws-default", "ws-prod"}))


@dataclass(frozen=True)
class Office:
    """The running parts, the application, and a token for each role."""

    parts: Parts
    http: httpx2.AsyncClient
    folder: Path
    clock: FakeClock
    store: SqlStore
    app: Any
    log: Path
    sent_before: int
    drift: Drift
    tokens: dict[str, str] = field(default_factory=dict[str, str])

    async def ask(self, method: str, path: str, role: str = "admin", **more: Any) -> httpx2.Response:
        """Ask as somebody who has only this role."""
        return await self.ask_with(await self.token(role), method, path, **more)

    async def get(self, path: str, role: str = "admin", **more: Any) -> Any:
        answer = await self.ask("GET", path, role, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def token(self, role: str) -> str:
        """The text of a token with this role, made when it is first asked for."""
        if role not in self.tokens:
            self.tokens[role] = await self.issue(f"the-{role}", role)
        return self.tokens[role]

    async def ask_with(self, token: str, method: str, path: str, **more: Any) -> httpx2.Response:
        """Ask with this token."""
        headers = {"Authorization": f"Bearer {token}", **more.pop("headers", {})}
        return await self.http.request(method, PREFIX + path, headers=headers, **more)

    async def issue(self, name: str, *roles: str, expires_at: int | None = None, kind: str | None = None) -> str:
        """The text of a token that nobody minted, as that of the first start."""
        token, text = mint(name, kind or default_kind(roles), roles, self.clock.now(), expires_at)
        await self.store.add_token(token, token_change(token, "created", "operator", self.clock.now()))
        self.parts.callers.add(token)
        return text

    async def calls(self) -> list[Activity]:
        """Every call on record, oldest first."""
        types = (ActivityType.TOOL_CALL, ActivityType.POLICY_DECISION)
        page = await self.store.list_activities(ActivityFilter(types=types, limit=500))
        return list(reversed(page.items))

    def sends(self) -> int:
        """How many calls the upstream `up` received in this test."""
        return _calls_in(self.log) - self.sent_before


def _calls_in(log: Path) -> int:
    return len([each for each in received(log) if each.method == "tools/call"])


@contextlib.asynccontextmanager
async def fleet_of(*specs: UpstreamSpec) -> AsyncGenerator[Fleet]:
    """A fleet whose servers have all started, or failed to."""
    async with Fleet(specs) as fleet:
        await fleet.settled(20)
        yield fleet


@contextlib.asynccontextmanager
async def office(
    folder: Path, fleet: Fleet, posture: Posture = Posture.GUARDED, log: Path | None = None
) -> AsyncGenerator[Office]:
    """An office in front of a fleet that runs already."""
    clock = FakeClock(NOW)
    store = clocked_store_of(folder, clock)
    await store.start()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        metrics = Metrics(fleet, lambda: 0)
        recorder = Recorder(store, clock)
        recorder.on_end = metrics.seen
        room = room_in(store, clock, recorder.known_secrets)
        waits = DeskMetrics(room, clock)
        metrics.also(waits)
        policy = Policy(entry=GatewayEntry(posture))
        pipeline = Pipeline(fleet, recorder, clock, policy, SecondKey(room.desk, recorder, fleet.awake), room.freezer)
        edge = Edge([HOST], max_body=10_000)
        settings: dict[str, Json] = {"posture": "guarded", "webhook": {"secret": "hunter2hunter2"}}
        callers = Callers(clock, allow_local=True)
        # The fleet runs already, so what is added here is only kept.
        roster = Roster(Config(Settings(), None, {}), store, clock)
        feed = Feed(store)
        await stack.enter_async_context(feed.running())
        drift = await reviewed(fleet, Drift(store, clock))
        room.approvers.lineage, room.register.board.may_still = lambda: callers.lineage, callers.may_still_answer
        notices = Notices(clock, lambda activity: store.write_soon([activity]))
        audience = Audience(clock, feed, notices)
        room.register.on_change += [waits.told, audience.told]
        parts = Parts(
            store,
            pipeline,
            callers,
            clock,
            edge,
            fleet,
            metrics,
            WORKSPACES,
            settings,
            drift,
            feed,
            roster,
            room,
            notices,
            audience,
            Browsers(clock, callers, 7373),
        )
        app = rest_app(parts)
        transport = httpx2.ASGITransport(app=app)
        http = await stack.enter_async_context(httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}"))
        written = log or folder / "upstream.log"
        yield Office(parts, http, folder, clock, store, app, written, _calls_in(written), drift)


def sealer_of(office: Office, anchor: Path) -> Sealer:
    """What seals the log of an office."""
    return Sealer(office.store, office.folder, Anchor(anchor), office.clock, place=log_of(office.folder))


async def reviewed(fleet: Fleet, drift: Drift) -> Drift:
    """The reviews of a fleet that runs already: what it lists is the baseline."""
    for server, tools in fleet.book.by_server.items():
        await drift.listed(Listing(server, server, [each.descriptor for each in tools.values()]))
    return drift


def upstream(log: Path) -> UpstreamSpec:
    """The upstream of the tests, which writes down what it receives."""
    return UpstreamSpec("up", "upper", argv=tuple(stdio_argv(log)))


def strange() -> UpstreamSpec:
    return UpstreamSpec(
        "odd",
        "curious",
        argv=(sys.executable, str(STRANGE)),
        env={"GREETING": "password=swordfish-and-more"},
        trusted=True,
    )


def activity(number: int, **columns: Any) -> Activity:
    """An activity that happened `number` seconds after the beginning."""
    known: dict[str, Any] = {
        "id": f"act-{number:04}",
        "at": NOW + number * 1_000_000,
        "type": ActivityType.TOOL_CALL,
        "status": CallState.SUCCESS,
        "body": {"entry": "mcp", "digest": "d" * 64},
    }
    return Activity(**(known | columns))
