"""The composition root: from a configuration to a running gateway, on one exit stack.

Everything that is started here is closed here, in the opposite order: first the door for agents, then the upstreams,
then the store, so that the last outcome is written before the store lets go.
"""

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

import uvicorn
from msgspec import structs
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock import __version__, errors
from interlock.approve.notices import Notices
from interlock.approve.room import room_in
from interlock.clock import Clock, SystemClock
from interlock.config.load import Config, load_text
from interlock.config.notices import notices_of
from interlock.config.references import resolve, values_in
from interlock.config.roster import Roster
from interlock.config.shown import effective
from interlock.config.tree import AuthScope as Credentials
from interlock.config.tree import HoldSection, Server
from interlock.config.watch import Watch
from interlock.core.decide import GatewayEntry
from interlock.core.intent import IntentPolicy
from interlock.core.lifecycle import CallState
from interlock.core.model import Json
from interlock.core.policy import Draft, Patience, Policy
from interlock.core.rates import Limits
from interlock.core.rules import RuleBook
from interlock.core.safety import SafetyClass
from interlock.errors import ConfigError, InterlockError
from interlock.forward.drift import Drift
from interlock.forward.fleet import Fleet
from interlock.forward.upstream import Scope as AuthScope
from interlock.forward.upstream import UpstreamSpec
from interlock.pipeline import Pipeline
from interlock.receive.catalog import Catalog, Expose
from interlock.receive.connection import Connection
from interlock.receive.desk_tools import DeskTools
from interlock.receive.earshot import Earshot
from interlock.receive.edge import LOOPBACK, Edge, Refused, own_hosts, send_refusal
from interlock.receive.face import Face
from interlock.receive.identify import OPERATOR, Callers, Principal, mint
from interlock.receive.issuer import Issuer
from interlock.receive.jwt import Terms
from interlock.receive.lane import Lane
from interlock.receive.parked import Parking
from interlock.receive.passage import Passage
from interlock.receive.sealed import Seal
from interlock.receive.server import Rest
from interlock.receive.sessions import Sessions
from interlock.receive.turns import Turns
from interlock.receive.workspaces import Workspaces
from interlock.record import Recorder, RecordWait, config_change, token_change
from interlock.second_key import SecondKey
from interlock.store.folder import DataFolder, Hold
from interlock.store.protocol import Activity, Store, StoreUnavailable
from interlock.store.sqlite import SqliteStore
from interlock.web.audience import Audience
from interlock.web.browsers import Browsers
from interlock.web.dashboard import Dashboard
from interlock.web.desk_metrics import DeskMetrics
from interlock.web.feed import Feed
from interlock.web.metrics import Metrics
from interlock.web.parts import Parts
from interlock.web.probes import answer_probe, is_probe
from interlock.web.routes import rest_app

SAMPLE, CANDIDATE = "sample", "candidate"
LOOK_SECONDS = 1.0
"""How often the configuration file is looked at."""
_LOG = logging.getLogger("interlock")
GRACE_SECONDS = 5
"""How long requests that are under way may take to end when the gateway stops."""
START_SECONDS = 3.0
"""How long the first agent waits for the servers; those that take longer join later."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway: what serves requests, and what the rest of the process needs to look into it."""

    face: Face
    pipeline: Pipeline
    fleet: Fleet
    store: Store
    callers: Callers
    issuer: Issuer
    edge: Edge
    parts: Parts
    hidden: set[str]
    """What the record must not keep. It only grows: a server that is gone may still have answers on their way."""


def policy_of(config: Config) -> Policy:
    """The operator's policy, compiled."""
    settings, declared = config.settings, config.settings.intent_declaration
    intent = IntentPolicy(declared.mode, declared.strict_server_validation)
    return Policy(
        rules=RuleBook(config.rules),
        entry=GatewayEntry(settings.posture, intent),
        hold=config.hold_terms,
        postures_of_workspaces={each.id: each.posture for each in settings.workspaces if each.posture},
        postures_of_servers={name: each.posture for name, each in settings.servers.items() if each.posture},
        limits=Limits(settings.limits.calls_per_minute, settings.limits.in_flight_per_caller),
        patience=patience_of(settings.hold),
        workspaces={each.id: each.name or each.id for each in settings.workspaces},
    )


def draft_of(text: str) -> Draft:
    """The policy of a configuration that is not in force, from the text of its file. Raises ConfigError."""
    config = load_text(text, CANDIDATE)
    namespaces = {name: each.namespace or name for name, each in config.settings.servers.items()}
    return Draft(policy_of(config), namespaces, overrides_of(config))


def patience_of(hold: HoldSection) -> Patience:
    """How long callers wait at the desk."""

    def seconds(value: timedelta | Literal["never"]) -> float | None:
        return value.total_seconds() if isinstance(value, timedelta) else None

    return Patience(
        answer_after=seconds(hold.answer_after),
        clients={name: seconds(value) for name, value in hold.clients.items()},
        use_within=int(hold.use_within.total_seconds()),
        max_pending=hold.max_pending_per_caller,
        elicit=hold.ask_justification == "elicit",
    )


def upstreams_of(config: Config, environ: Mapping[str, str]) -> list[UpstreamSpec]:
    """The upstreams of the configuration; without any, the bundled sample.

    One whose references lead nowhere is among them with that problem: the others run.
    """
    servers = {name: server for name, server in config.settings.servers.items() if server.enabled}
    if not config.settings.servers:
        return [UpstreamSpec(SAMPLE, SAMPLE, argv=(sys.executable, "-m", "interlock.sample"))]
    scopes: dict[str, AuthScope] = {}
    for name, each in config.settings.auth_scopes.items():
        with contextlib.suppress(ConfigError):  # whoever needs it hears of it
            scopes[name] = _scope(f"auth_scopes.{name}", each, environ)
    return [_usable_or_not(name, server, environ, scopes, config) for name, server in servers.items()]


def _usable_or_not(
    name: str, server: Server, environ: Mapping[str, str], scopes: Mapping[str, AuthScope], config: Config
) -> UpstreamSpec:
    spec = _upstream(name, server, scopes)
    try:
        under = server.auth_scope_id
        if under is not None and under not in scopes:
            _scope(f"auth_scopes.{under}", config.settings.auth_scopes[under], environ)
        spec = spec.under(_scope(f"servers.{name}", server, environ))
    except ConfigError as unresolved:
        return replace(spec, unusable=errors.UNRESOLVED(problem=unresolved.problems[0], server=name).text)
    return spec if under is None else spec.under(scopes[under])


def secrets_of(config: Config, environ: Mapping[str, str]) -> frozenset[str]:
    """Every value that the configuration refers to: what servers may echo, and the record must not keep."""
    holders = (*config.settings.servers.values(), *config.settings.auth_scopes.values())
    texts = [text for each in holders for text in (*each.env.values(), *each.headers.values())]
    signed_with = [each.secret for each in config.settings.notices.webhooks if each.secret is not None]
    return frozenset(values_in((*texts, *signed_with), environ))


def _tell_to(notices: Notices, config: Config, environ: Mapping[str, str]) -> None:
    """Have those told of approvals whom the configuration names."""
    found = notices_of(config, environ)
    for problem in found.unusable:
        _LOG.warning("%s %s", problem.text, problem.fix)
    notices.configure(found.webhooks, found.command, found.unusable)


def _keep_delivery(store: Store, activity: Activity) -> None:
    """Queue what became of a notice."""
    with contextlib.suppress(StoreUnavailable):  # the store counts what it could not keep
        store.write_soon([activity])


def _scope(where: str, given: Server | Credentials, environ: Mapping[str, str]) -> AuthScope:
    """What goes along to a server as environment or headers, with references resolved."""
    return AuthScope(
        env={key: resolve(value, environ, f"{where}.env.{key}") for key, value in given.env.items()},
        headers={key: resolve(value, environ, f"{where}.headers.{key}") for key, value in given.headers.items()},
    )


def _upstream(name: str, server: Server, scopes: Mapping[str, AuthScope]) -> UpstreamSpec:
    """The upstream of a server, without anything that is given by reference."""
    return UpstreamSpec(
        id=name,
        namespace=server.namespace or name,
        argv=() if server.command is None else (server.command, *server.args),
        url=server.url,
        cwd=server.cwd,
        trusted=server.trusted,
        call_seconds=server.call_timeout.total_seconds(),
        max_concurrent=server.max_concurrent,
        scopes=scopes,
        per_caller=server.sessions == "per-caller",
    )


def overrides_of(config: Config) -> dict[str, dict[str, SafetyClass]]:
    """The operator's overrides, by server and tool."""
    by_server: dict[str, dict[str, SafetyClass]] = {}
    for name, safety_class in config.settings.overrides.items():
        server, _, tool = name.partition(":")
        by_server.setdefault(server, {})[tool] = safety_class
    return by_server


def workspaces_of(config: Config) -> Workspaces:
    """The workspaces by folder; the default one is the one that is named so, else the only one."""
    listed = config.settings.workspaces
    only = listed[0].id if len(listed) == 1 else None
    folders = {PurePosixPath(Path(each.path).expanduser().resolve()): each.id for each in listed if each.path}
    return Workspaces(config.settings.default_workspace or only, folders, frozenset(each.id for each in listed))


def terms_of(config: Config) -> Terms | None:
    """Whose tokens are taken beside our own; None when nobody's are."""
    jwt, listed = config.settings.identity.jwt, config.settings.workspaces
    if jwt is None:
        return None
    return Terms(jwt.issuer, jwt.audience, jwt.jwks_url, frozenset(each.id for each in listed))


@contextlib.asynccontextmanager
async def running_gateway(
    config: Config,
    hold: Hold,
    *,
    servers: bool = True,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncGenerator[Gateway]:
    """Start everything in a folder that is held, hand it over, and stop it in the opposite order.

    Without `servers` no upstream is started: enough for looking at what is on record.
    """
    if config.settings.store != "sqlite":
        raise InterlockError(errors.STORE_NOT_BUILT())  # to keep the record elsewhere than told would be worse
    time = clock or SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        store = SqliteStore(hold.folder.database, time)
        await store.start()
        stack.push_async_callback(store.close)
        await settle_what_a_crash_left(store)
        drift = Drift(store, time)
        await drift.load()
        roster = Roster(config, store, time)
        await roster.load()
        config, variables = roster.config, os.environ if environ is None else environ
        specs = upstreams_of(config, variables) if servers else []
        overrides = overrides_of(config)
        fleet = Fleet(specs, lexicon=config.lexicon, overrides=overrides, judge=drift.listed, clock=time)
        drift.on_change = fleet.judge_again
        hidden = set(secrets_of(config, variables))
        recorder = Recorder(store, time, RecordWait(config.settings.record.wait), secrets=lambda: hidden)
        store.before_write = recorder.settle  # a token is revoked after the reads that it was used for
        stack.callback(recorder.settle)
        await stack.enter_async_context(fleet)
        gateway = await _assemble(roster, recorder, store, fleet, drift, time, hidden)
        if servers:
            roster.on_change = partial(_apply, gateway, variables)
            _tell_to(gateway.parts.notices, config, variables)
        await fleet.settled(START_SECONDS)
        await ensure_operator(store, hold.folder, gateway.callers, time)
        # Whoever has something to tell ends before this does, and the record after it.
        await stack.enter_async_context(gateway.parts.notices.running())
        await stack.enter_async_context(gateway.issuer.running())
        await stack.enter_async_context(gateway.parts.feed.running())
        await stack.enter_async_context(gateway.face.running())
        await stack.enter_async_context(gateway.parts.room.desk.running())
        if servers and config.file is not None:
            await stack.enter_async_context(_keeping_up(Watch(config, variables), roster, store, time))
        yield gateway


@contextlib.asynccontextmanager
async def _keeping_up(watch: Watch, roster: Roster, store: Store, clock: Clock) -> AsyncGenerator[None]:
    """Take up what is written into the configuration file, while the block runs."""

    async def keep_up() -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if watch.changed():
                problems: tuple[str, ...] = ()
                try:
                    await roster.take_up(watch.read())
                except ConfigError as bad:
                    problems = bad.problems
                    _LOG.warning("The configuration was not taken up: %s", "; ".join(problems))
                with contextlib.suppress(StoreUnavailable):
                    await store.write([config_change(problems, clock.now())])

    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(keep_up())
        try:
            yield
        finally:
            keeping.cancel()


async def _apply(gateway: Gateway, environ: Mapping[str, str], config: Config, anew: Sequence[str]) -> None:
    """Take up other servers, rules and terms while calls go on."""
    gateway.pipeline.policy = policy_of(config)
    gateway.parts.room.approvers.use_within = gateway.pipeline.policy.patience.use_within
    gateway.issuer.trust(terms_of(config))
    gateway.hidden.update(secrets_of(config, environ))
    gateway.face.workspaces = gateway.parts.workspaces = workspaces_of(config)
    gateway.parts.settings = shown_settings(config)
    _tell_to(gateway.parts.notices, config, environ)
    await gateway.fleet.apply(upstreams_of(config, environ), overrides_of(config), config.lexicon, anew)


async def _assemble(
    roster: Roster, recorder: Recorder, store: Store, fleet: Fleet, drift: Drift, clock: Clock, hidden: set[str]
) -> Gateway:
    config = roster.config
    settings, shown = config.settings, shown_settings(config)
    sessions, workspaces = Sessions(clock), workspaces_of(config)
    feed = Feed(store)
    fleet.on_health = feed.health
    metrics = Metrics(fleet, lambda: len(sessions))
    recorder.on_end = metrics.seen
    policy = policy_of(config)
    room = room_in(store, clock, recorder.known_secrets)
    waits = DeskMetrics(room, clock)
    metrics.also(waits)
    notices = Notices(clock, partial(_keep_delivery, store), secrets=recorder.known_secrets)
    audience = Audience(clock, feed, notices)
    room.register.on_change += [waits.told, audience.told]
    await room.load()
    room.approvers.use_within = policy.patience.use_within
    pipeline = Pipeline(fleet, recorder, clock, policy, SecondKey(room.desk, recorder, fleet.awake), room.freezer)
    catalog = Catalog(Expose(settings.expose), settings.namespacing)
    turns = Turns(pipeline, Parking(Seal(clock)))
    issuer = Issuer(clock)
    issuer.trust(terms_of(config))
    callers = Callers(clock, allow_local=settings.listen.host in LOOPBACK, outside=issuer)
    tools = DeskTools(room, store.approvals, callers.is_person, lambda: pipeline.policy.patience)
    tools.on_look = audience.seen
    lane = Lane(pipeline, catalog, turns, tools)
    earshot = Earshot(tools=catalog.expose is not Expose.SEARCH)
    fleet.on_change, fleet.on_offer, fleet.on_updated = earshot.tools_changed, earshot.offer_changed, earshot.updated
    callers.replace(await store.list_tokens())
    room.approvers.lineage, room.register.board.may_still = lambda: callers.lineage, callers.may_still_answer
    edge = Edge(own_hosts(settings.listen.host, settings.listen.port), max_body=settings.limits.body)
    rest = Rest(lane, Passage(pipeline, catalog, earshot, turns), metrics.stray_call)
    face = Face(edge, callers, sessions, lane, rest, workspaces)
    pipeline.identify = lambda caller: face.workspaces.again(caller, callers)
    parts = Parts(
        store,
        pipeline,
        callers,
        clock,
        edge,
        fleet,
        metrics,
        workspaces,
        shown,
        drift,
        feed,
        roster,
        room,
        notices,
        audience,
        Browsers(clock, callers, settings.listen.port),
        hidden,
        issuer,
        draft_of,
    )
    return Gateway(face, pipeline, fleet, store, callers, issuer, edge, parts, hidden)


def shown_settings(config: Config) -> dict[str, Json]:
    """What a reader of the REST face may know of the configuration: nothing that holds a secret.

    `effective` is every value in force and where it came from, as `interlock config show` prints it.
    """
    settings = config.settings
    return {
        "version": __version__,
        "listen": {"host": settings.listen.host, "port": settings.listen.port},
        "posture": settings.posture.value,
        "expose": str(settings.expose),
        "namespacing": settings.namespacing,
        "default_workspace": workspaces_of(config).default,
        "record": {"wait": str(settings.record.wait)},
        "servers": len(settings.servers),
        "rules": len(settings.route_rules),
        "file": None if config.file is None else str(config.file),
        "effective": effective(config),
    }


async def ensure_operator(store: Store, folder: DataFolder, callers: Callers, clock: Clock) -> None:
    """See that the operator's credential is there and valid; the first start makes it."""
    found = callers.identify(f"Bearer {folder.credential() or ''}")
    if isinstance(found, Principal) and found.name == OPERATOR:
        return
    token, text = mint(OPERATOR, "human", ("admin", "approver"), clock.now(), None)
    await store.add_token(token, token_change(token, "created", OPERATOR, clock.now()))
    folder.keep_credential(text)
    callers.replace(await store.list_tokens())


def asgi(gateway: Gateway) -> ASGIApp:
    """The whole HTTP face: agents under /mcp, scripts under /api/v1, people under /, and plain questions for probes."""
    rest, dashboard = rest_app(gateway.parts), Dashboard()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == "/mcp":
            await gateway.face(scope, receive, send)
            return
        try:
            headers = gateway.edge.check(scope)
            if path.startswith("/api/v1/"):
                await rest(scope, receive, send)
            elif is_probe(scope):
                await answer_probe(gateway.parts, scope, headers, send)
            elif dashboard.has(scope):
                await dashboard.send(scope, send)
            else:
                await send_refusal(send, Refused(404, "There is nothing here; agents connect to /mcp."))
        except Refused as refused:
            await send_refusal(send, refused)

    return serve


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are for the command line: uvicorn would end the process before the store is closed."""
        yield


@contextlib.asynccontextmanager
async def listening(gateway: Gateway, listener: socket.socket, hold: Hold) -> AsyncGenerator[None]:
    """Serve a gateway on a socket until the block ends, and let other commands know where it is."""
    server = _Server(
        uvicorn.Config(
            asgi(gateway),
            http=Connection,
            lifespan="off",
            ws="none",
            access_log=False,
            proxy_headers=False,
            log_level="warning",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    host, port = listener.getsockname()[:2]
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        hold.announce(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        try:
            yield
        finally:
            server.should_exit = True
            # Whoever only listens would keep the server from ending until its patience is over.
            gateway.parts.feed.end()
            await gateway.parts.room.desk.close()
            await gateway.face.end_sessions()


async def settle_what_a_crash_left(store: Store) -> int:
    """Mark calls that left without an outcome as indeterminate; they are never sent again. Returns how many."""
    left = await store.open_activities()
    settled = [structs.replace(each, status=CallState.INDETERMINATE) for each in left]
    if settled:
        await store.write(settled)
    return len(settled)
