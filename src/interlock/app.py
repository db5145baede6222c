"""The composition root: from a configuration to a running gateway, on one exit stack.

Everything that is started here is closed here, in the opposite order: first the door for agents, then the upstreams,
then the store, so that the last outcome is written before the store lets go.
"""

import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from interlock.clock import Clock, SystemClock
from interlock.config.load import Config
from interlock.config.references import resolve
from interlock.config.tree import Server
from interlock.core.decide import GatewayEntry
from interlock.core.intent import IntentPolicy
from interlock.core.lifecycle import CallState
from interlock.core.rules import RuleBook
from interlock.core.safety import SafetyClass
from interlock.forward.fleet import Fleet
from interlock.forward.upstream import Health, UpstreamSpec
from interlock.pipeline import Pipeline, Policy
from interlock.receive.catalog import Catalog, Expose
from interlock.receive.edge import Edge, own_hosts
from interlock.receive.exchange import send_json
from interlock.receive.face import Face
from interlock.receive.identify import Callers
from interlock.receive.lane import Lane
from interlock.receive.server import Rest
from interlock.receive.sessions import Sessions
from interlock.record import Recorder, RecordWait
from interlock.store.protocol import Store
from interlock.store.sqlite import SqliteStore

SAMPLE = "sample"
DATABASE = "interlock.db"


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway: what serves requests, and what the rest of the process needs to look into it."""

    face: Face
    pipeline: Pipeline
    fleet: Fleet
    store: Store


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
    )


def upstreams_of(config: Config, environ: Mapping[str, str]) -> list[UpstreamSpec]:
    """The upstreams of the configuration; without any, the bundled sample."""
    servers = {name: server for name, server in config.settings.servers.items() if server.enabled}
    if not config.settings.servers:
        return [UpstreamSpec(SAMPLE, SAMPLE, argv=(sys.executable, "-m", "interlock.sample"))]
    return [_upstream(name, server, environ) for name, server in servers.items()]


def _upstream(name: str, server: Server, environ: Mapping[str, str]) -> UpstreamSpec:
    where = f"servers.{name}"
    return UpstreamSpec(
        id=name,
        namespace=server.namespace or name,
        argv=() if server.command is None else (server.command, *server.args),
        url=server.url,
        env={key: resolve(value, environ, f"{where}.env.{key}") for key, value in server.env.items()},
        headers={key: resolve(value, environ, f"{where}.headers.{key}") for key, value in server.headers.items()},
        cwd=server.cwd,
        trusted=server.trusted,
        call_seconds=server.call_timeout.total_seconds(),
    )


def overrides_of(config: Config) -> dict[str, dict[str, SafetyClass]]:
    """The operator's overrides, by server and tool."""
    by_server: dict[str, dict[str, SafetyClass]] = {}
    for name, safety_class in config.settings.overrides.items():
        server, _, tool = name.partition(":")
        by_server.setdefault(server, {})[tool] = safety_class
    return by_server


@contextlib.asynccontextmanager
async def running_gateway(
    config: Config, data_dir: Path, *, clock: Clock | None = None, environ: Mapping[str, str] | None = None
) -> AsyncGenerator[Gateway]:
    """Start everything, hand it over, and stop it in the opposite order."""
    settings, time = config.settings, clock or SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        store = SqliteStore(data_dir / DATABASE, time)
        await store.start()
        stack.push_async_callback(store.close)
        await settle_what_a_crash_left(store)
        fleet = await stack.enter_async_context(
            Fleet(
                upstreams_of(config, os.environ if environ is None else environ),
                lexicon=config.lexicon,
                overrides=overrides_of(config),
            )
        )
        recorder = Recorder(store, time, RecordWait(settings.record.wait))
        pipeline = Pipeline(fleet, recorder, time, policy_of(config))
        lane = Lane(pipeline, Catalog(Expose(settings.expose), settings.namespacing))
        loopback = settings.listen.host in ("127.0.0.1", "localhost", "::1")
        callers = Callers(time, allow_local=loopback, workspace=settings.default_workspace)
        callers.replace(await store.list_tokens())
        edge = Edge(own_hosts(settings.listen.host, settings.listen.port), max_body=settings.limits.body)
        face = Face(edge, callers, Sessions(time), lane, Rest(lane, lambda: None))
        await stack.enter_async_context(face.running())
        yield Gateway(face, pipeline, fleet, store)


def asgi(gateway: Gateway) -> ASGIApp:
    """The whole HTTP face: agents under /mcp, and two plain questions for whoever watches over the process."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/mcp":
            await gateway.face(scope, receive, send)
        elif scope["path"] == "/livez":
            await send_json(send, 200, b'{"alive":true}')
        elif scope["path"] == "/readyz":
            ready = any(each.health is Health.READY for each in gateway.fleet.upstreams.values())
            await send_json(send, 200 if ready else 503, b'{"ready":%s}' % (b"true" if ready else b"false"))
        else:
            await send_json(send, 404, b'{"error":"There is nothing here; agents connect to /mcp."}')

    return serve


async def settle_what_a_crash_left(store: Store) -> int:
    """Mark calls that left without an outcome as indeterminate; they are never sent again. Returns how many."""
    left = await store.open_activities()
    settled = [replace(each, status=CallState.INDETERMINATE) for each in left]
    if settled:
        await store.write(settled)
    return len(settled)
