"""`interlock serve`: the gateway, until it is told to stop."""

import asyncio
import contextlib
import gc
import signal
from typing import TYPE_CHECKING

from interlock import errors
from interlock.cli.command import Options, Values, Verb
from interlock.cli.gateway import bind, folder_of, hold_or_reach, started
from interlock.cli.inputs import bad, load_config
from interlock.cli.loading import load_module
from interlock.cli.render import counted, note
from interlock.errors import Exit, InterlockError
from interlock.store.folder import DataFolder, Hold

if TYPE_CHECKING:
    from interlock.app.gateway import Gateway
    from interlock.config.load import Config


def _options(parser: Options) -> None:
    parser.add_argument("--host", metavar="H", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, metavar="P", help="the port to listen on (default: 7373)")


def _serve(values: Values) -> Exit:
    import uvloop

    from interlock.config.load import with_listen

    config = with_listen(load_config(values), values.host, values.port)
    with contextlib.suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(config, folder_of(values)))
    return Exit.OK


async def _run(config: "Config", folder: DataFolder) -> None:
    load_module("interlock.app.listening")
    load_module("interlock.app.agents")
    from interlock.app.listening import listening
    from interlock.config.load import with_listen

    listen = config.settings.listen
    async with contextlib.AsyncExitStack() as stack:
        # The folder first: whoever starts a second gateway by mistake is told so, and not that its port is taken.
        hold = await _held(stack, folder)
        listener = stack.enter_context(contextlib.closing(bind(listen.host, listen.port)))
        config = with_listen(config, None, listener.getsockname()[1])
        gateway = await started(stack, config, hold, servers=True)
        if safe := await _is_safe(gateway, config):
            await gateway.face.open()  # so that the first agent does not wait for it
            await stack.enter_async_context(listening(gateway, listener, hold))
            _spare_the_collector()
            _greet(gateway, config)
            _invite(gateway, hold)
            await _told_to_stop()
    if not safe:
        raise bad(
            f"listening on {listen.host} needs tokens, and there is none for an agent",
            "Make one first: `interlock token create --role agent --name NAME`. Or listen on 127.0.0.1.",
        )


async def _held(stack: contextlib.AsyncExitStack, folder: DataFolder) -> Hold:
    hold = await hold_or_reach(stack, folder)
    if isinstance(hold, Hold):
        return hold
    raise InterlockError(errors.GATEWAY_RUNS(folder=folder.path, address=hold.address))


def _spare_the_collector() -> None:
    """What was loaded stays, and calls leave no cycles behind: looking for garbage less often makes a call cheaper."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


async def _told_to_stop() -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(each, stop.set)
    await stop.wait()


async def _is_safe(gateway: "Gateway", config: "Config") -> bool:
    """Beyond loopback every route needs a token, so there has to be one that an agent can use."""
    from interlock.clock import SystemClock
    from interlock.receive.edge import LOOPBACK

    tokens = [each for each in await gateway.store.list_tokens() if "agent" in each.roles and each.revoked_at is None]
    now = SystemClock().now()
    has_token = any(each.expires_at is None or each.expires_at > now for each in tokens)
    return has_token or config.settings.listen.host in LOOPBACK


def _greet(gateway: "Gateway", config: "Config") -> None:
    listen = config.settings.listen
    if not config.settings.servers:
        note("No server is configured, so the bundled sample server is used. Add yours under `servers:`.")
    for each in gateway.fleet.states():
        quarantined = f", {each.poisoned} of them quarantined for signs of poison" if each.poisoned else ""
        note(f"  {each.id}: {each.health.value}, {each.problem or counted(each.tools, 'tool')}{quarantined}")
    note(f"Posture {config.settings.posture.value}; activity is recorded in {gateway.store.place}.")
    host = f"[{listen.host}]" if ":" in listen.host else listen.host
    note(f"Agents connect to http://{host}:{listen.port}/mcp — Ctrl-C stops.")


def _invite(gateway: "Gateway", hold: Hold) -> None:
    """Say where the dashboard is, with a link that signs the operator in once."""
    from interlock.receive.identify import Principal
    from interlock.web.session import link_for

    operator = gateway.callers.identify(f"Bearer {hold.folder.credential()}")
    if isinstance(operator, Principal):
        note(f"Dashboard: {hold.folder.announced()}{link_for(gateway.parts, operator).path}")
        note("The link works once, for ten minutes; `interlock open` makes another.")


VERB = Verb(
    "serve",
    "Run the gateway. Agents connect to it instead of to their MCP servers.",
    _options,
    _serve,
    ("interlock serve", "interlock serve --config team.yaml --port 8080"),
)
