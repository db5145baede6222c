"""A running gateway, on one exit stack.

Everything that is started here is closed here, in the opposite order: first the door for agents, then the upstreams,
then the store, so that the last outcome is written before the store lets go.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from interlock.app.compiled import (
    anchor_of,
    collector_headers,
    draft_of,
    overrides_of,
    policy_of,
    secrets_of,
    shown_settings,
    store_address,
    terms_of,
    upstreams_of,
    workspaces_of,
)
from interlock.app.entrance import Entrance
from interlock.app.sharing import Sharing, begun, see_that_it_is_the_only_one
from interlock.approve.notices import Notices
from interlock.approve.room import Room, room_in
from interlock.clock import Clock, SystemClock
from interlock.config.load import Config
from interlock.config.notices import notices_of
from interlock.config.roster import Roster
from interlock.config.tree import Settings
from interlock.config.watch import Watch
from interlock.core.health import Introduction
from interlock.core.lifecycle import CallState
from interlock.errors import ConfigError
from interlock.forward.drift import Drift
from interlock.forward.fleet import Fleet
from interlock.forward.pace import Pace
from interlock.lab.archive import Archive
from interlock.pipeline import Pipeline
from interlock.receive.edge import LOOPBACK, Edge, own_hosts
from interlock.receive.identify import OPERATOR, Callers, Principal, mint
from interlock.receive.issuer import Issuer
from interlock.receive.workspaces import Workspaces
from interlock.record import Recorder, RecordWait, config_change, token_change
from interlock.second_key import SecondKey
from interlock.store.audit.anchor import Anchor
from interlock.store.audit.place import place_of
from interlock.store.audit.sealer import Sealer
from interlock.store.folder import DataFolder, Hold
from interlock.store.protocol import Activity, Store, StoreUnavailable
from interlock.store.sql import SqlStore
from interlock.store.sqlite import SqliteStore
from interlock.web.audience import Audience
from interlock.web.browsers import Browsers
from interlock.web.desk_metrics import DeskMetrics
from interlock.web.feed import Feed
from interlock.web.metrics import Metrics
from interlock.web.parts import Parts
from interlock.web.store_metrics import StoreMetrics

if TYPE_CHECKING:
    from interlock.receive.face import Face
    from interlock.web.telemetry import Telemetry

LOOK_SECONDS = 1.0
"""How often the configuration file is looked at."""
_LOG = logging.getLogger("interlock")
START_SECONDS = 3.0
"""How long the first agent waits for the servers; those that take longer join later."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway: what serves requests, and what the rest of the process needs to look into it."""

    face: Entrance
    pipeline: Pipeline
    fleet: Fleet
    store: Store
    callers: Callers
    issuer: Issuer
    edge: Edge
    parts: Parts
    hidden: set[str]
    """What the record must not keep. It only grows: a server that is gone may still have answers on their way."""


@contextlib.asynccontextmanager
async def running_gateway(
    config: Config,
    hold: Hold,
    *,
    servers: bool = True,
    only: str | None = None,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    start_seconds: float | None = None,
) -> AsyncGenerator[Gateway]:
    """Start everything in a folder that is held, hand it over, and stop it in the opposite order.

    Without `servers` no upstream is started: enough for looking at what is on record. `only` starts that one, and later
    changes of the configuration are not taken up, because that would start the others. `start_seconds` is how
    long each upstream may take to answer at all; unless it is given, that is long enough to fetch a program first.
    """
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(_in_plain_words())
        variables = os.environ if environ is None else environ
        collector = _collector_of(config, variables) if servers else None
        address = store_address(config, variables)
        store = await _keeping(stack, store_in(hold.folder, address, clock or SystemClock()))
        time = store.clock
        sharing = await begun(store, time)
        roster = Roster(config, store, time)
        sealer = await _sealing(stack, roster, store, hold.folder, variables, time)
        drift = Drift(store, time)
        await drift.load()
        await roster.load()
        config = roster.config
        specs = [each for each in upstreams_of(config, variables) if servers and only in (None, each.id)]
        overrides, pace = overrides_of(config), None if start_seconds is None else Pace.starting_within(start_seconds)
        fleet = Fleet(specs, lexicon=config.lexicon, overrides=overrides, judge=drift.listed, pace=pace, clock=time)
        drift.on_change = fleet.judge_again
        hidden = set(secrets_of(config, variables))
        waits, key = RecordWait(config.settings.record.wait), hold.folder.mark_key()
        recorder = Recorder(store, time, waits, secrets=lambda: hidden, key=key)
        store.secrets = recorder.known_secrets
        store.before_write = recorder.settle  # a token is revoked after the reads that it was used for
        stack.callback(recorder.settle)
        await stack.enter_async_context(fleet)
        gateway = await _assemble(roster, recorder, store, fleet, drift, hidden, sharing)
        if sharing is not None:
            await stack.enter_async_context(sharing.follow.running())
        gateway.parts.archive, gateway.parts.sealer = (
            Archive(hold.folder.path),
            None if hold.folder.is_of_a_run else sealer,
        )
        if servers:
            await _telling_of_calls(stack, collector, gateway.parts.metrics, recorder)
            roster.on_change = partial(_apply, gateway, variables, only)
            _tell_to(gateway.parts.notices, config, variables)
        await fleet.settled(START_SECONDS)
        await ensure_operator(store, hold.folder, gateway.callers, time)
        await _opened(stack, gateway)
        if servers and only is None and config.file is not None:
            await stack.enter_async_context(_keeping_up(Watch(config, variables), roster, store, time))
        yield gateway


async def _opened(stack: contextlib.AsyncExitStack, gateway: Gateway) -> None:
    """Let everybody in, until the stack ends."""
    # Whoever has something to tell ends before this does, and the record after it.
    await stack.enter_async_context(gateway.parts.notices.running())
    await stack.enter_async_context(gateway.issuer.running())
    await stack.enter_async_context(gateway.parts.feed.running())
    await stack.enter_async_context(gateway.face.running())
    await stack.enter_async_context(gateway.parts.room.desk.running())
    await stack.enter_async_context(gateway.parts.room.freezer.running())


@contextlib.contextmanager
def _in_plain_words() -> Generator[None]:
    """A store that fails while we start comes out of each task group wrapped once more; whoever started us is told of
    the store and not of the wrapping."""
    try:
        yield
    except ExceptionGroup as wrapped:
        found, others = wrapped.split(StoreUnavailable)
        if found is None or others is not None:
            raise
        cause: StoreUnavailable | ExceptionGroup[StoreUnavailable] = found
        while isinstance(cause, ExceptionGroup):
            cause = cause.exceptions[0]
        raise cause from None


def store_in(folder: DataFolder, address: str, clock: Clock) -> SqlStore:
    """The store of a gateway that works in a folder. That of a run of the lab is kept with the run."""
    if address == "sqlite" or folder.is_of_a_run:
        return SqliteStore(folder.database, clock)
    # Loaded by those alone who use it.
    from interlock.store.postgres import PostgresStore

    return PostgresStore(address, folder.chain(), clock)


async def _keeping(stack: contextlib.AsyncExitStack, store: SqlStore) -> SqlStore:
    """What keeps the record, until the stack ends."""
    await store.start()
    stack.push_async_callback(store.close)
    await see_that_it_is_the_only_one(store)
    await settle_what_a_crash_left(store)
    return store


async def _sealing(
    stack: contextlib.AsyncExitStack,
    roster: Roster,
    store: Store,
    folder: DataFolder,
    environ: Mapping[str, str],
    clock: Clock,
) -> Sealer:
    """What seals the record, until the stack ends. That of a run of the lab is not sealed: the anchor of the user tells
    of another log."""
    anchor = Anchor(anchor_of(roster.config, folder.path))
    sealer = Sealer(
        store,
        folder.path,
        anchor,
        clock,
        lambda: roster.config.settings.record.keep_days,
        place_of(folder, store_address(roster.config, environ)),
    )
    if not folder.is_of_a_run:
        await stack.enter_async_context(sealer.running())
    return sealer


def _collector_of(config: Config, environ: Mapping[str, str]) -> "Callable[[Metrics], Telemetry] | None":
    """What sends spans and figures, if the configuration names where to; raises ConfigError."""
    settings, endpoint = config.settings, config.settings.telemetry.endpoint
    if endpoint is None:
        return None
    try:
        # Loaded by those alone who use it.
        from interlock.web.telemetry import Telemetry
    except ModuleNotFoundError:
        raise ConfigError(
            ("telemetry.endpoint: OpenTelemetry is not installed; `pip install 'interlock[otel]'`, or leave it out",)
        ) from None
    headers, instance = collector_headers(config, environ), f"{socket.gethostname()}:{settings.listen.port}"
    return lambda metrics: Telemetry(endpoint, headers, instance, lambda: list(metrics.gauges()))


async def _telling_of_calls(
    stack: contextlib.AsyncExitStack,
    collector: "Callable[[Metrics], Telemetry] | None",
    metrics: Metrics,
    recorder: Recorder,
) -> None:
    """Have a collector hear of calls, until the stack ends, if there is one."""
    if collector is None:
        return
    telemetry = collector(metrics)
    await stack.enter_async_context(telemetry.running())

    def seen(activity: Activity) -> None:
        metrics.seen(activity)
        telemetry.seen(activity)

    recorder.on_end = seen
    stack.callback(recorder.settle)  # reads that have gathered are told of before the last spans leave


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


async def _apply(
    gateway: Gateway, environ: Mapping[str, str], only: str | None, config: Config, anew: Sequence[str]
) -> None:
    """Take up other servers, rules and terms while calls go on."""
    gateway.pipeline.policy = policy_of(config)
    gateway.parts.room.approvers.use_within = gateway.pipeline.policy.patience.use_within
    gateway.issuer.trust(terms_of(config))
    gateway.hidden.update(secrets_of(config, environ))
    gateway.face.workspaces = gateway.parts.workspaces = workspaces_of(config)
    gateway.parts.settings = shown_settings(config)
    _tell_to(gateway.parts.notices, config, environ)
    if (sealer := gateway.parts.sealer) is not None:
        await sealer.anchor_in(anchor_of(config, sealer.folder))
    specs = [each for each in upstreams_of(config, environ) if only in (None, each.id)]
    await gateway.fleet.apply(specs, overrides_of(config), config.lexicon, anew)


async def _assemble(
    roster: Roster,
    recorder: Recorder,
    store: Store,
    fleet: Fleet,
    drift: Drift,
    hidden: set[str],
    sharing: Sharing | None,
) -> Gateway:
    config, clock = roster.config, store.clock
    settings, shown = config.settings, shown_settings(config)
    workspaces = workspaces_of(config)
    feed = Feed(store)
    fleet.on_health = feed.health
    metrics = Metrics(fleet, lambda: len(face))
    recorder.on_end = metrics.seen
    policy = policy_of(config)
    notices = Notices(clock, partial(_keep_delivery, store), secrets=recorder.known_secrets)
    audience = Audience(clock, feed, notices)
    room = await _waiting_room(store, recorder, audience, metrics, sharing)
    room.approvers.use_within = policy.patience.use_within
    pipeline = Pipeline(fleet, recorder, clock, policy, SecondKey(room.desk, recorder, fleet.awake), room.freezer)
    issuer = Issuer(clock)
    issuer.trust(terms_of(config))
    callers = Callers(clock, allow_local=settings.listen.host in LOOPBACK, outside=issuer)
    await callers.read(store.list_tokens)
    room.approvers.lineage, room.register.board.may_still = lambda: callers.lineage, callers.may_still_answer
    if sharing is not None:
        await sharing.keep(room, callers, drift, roster)
    edge = Edge(own_hosts(settings.listen.host, settings.listen.port), max_body=settings.limits.body)
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
    face = Entrance(partial(_face_of, settings, parts, fleet), workspaces)
    pipeline.identify = lambda caller: face.workspaces.again(caller, callers)
    written = StoreMetrics(store, lambda: parts.sealer, None if room.peers is None else room.peers.lease)
    metrics.also(written)
    recorder.on_unwritten = written.unwritten
    return Gateway(face, pipeline, fleet, store, callers, issuer, edge, parts, hidden)


async def _waiting_room(
    store: Store, recorder: Recorder, audience: Audience, metrics: Metrics, sharing: Sharing | None
) -> Room:
    """Where calls wait, with what is in the store, and who is told of it."""
    room = room_in(store, store.clock, recorder.known_secrets, None if sharing is None else sharing.lease)
    waits = DeskMetrics(room, store.clock)
    metrics.also(waits)
    room.register.on_change += [waits.told, audience.told]
    await room.load()
    return room


def _face_of(
    settings: Settings, parts: Parts, fleet: Fleet, workspaces: Workspaces, in_place_of: Introduction | None
) -> "Face":
    from interlock.app.agents import face_of

    return face_of(settings, parts, fleet, workspaces, in_place_of)


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


async def ensure_operator(store: Store, folder: DataFolder, callers: Callers, clock: Clock) -> None:
    """See that the operator's credential is there and valid; the first start makes it."""
    found = callers.identify(f"Bearer {folder.credential() or ''}")
    if isinstance(found, Principal) and found.name == OPERATOR:
        return
    token, text = mint(OPERATOR, "human", ("admin", "approver"), clock.now(), None)
    await store.add_token(token, token_change(token, "created", OPERATOR, clock.now()))
    folder.keep_credential(text)
    await callers.read(store.list_tokens)


async def settle_what_a_crash_left(store: Store) -> int:
    """Mark calls that left without an outcome as indeterminate; they are never sent again. Returns how many."""
    left = await store.open_activities()
    settled = [structs.replace(each, status=CallState.INDETERMINATE) for each in left]
    if settled:
        await store.write(settled)
    return len(settled)
