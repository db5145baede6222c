"""`interlock serve`: the gateway, until it is told to stop."""

import asyncio
import contextlib
from typing import TYPE_CHECKING

from interlock.cli.command import Options, Values, Verb
from interlock.cli.inputs import bad, load_config
from interlock.cli.render import counted, note
from interlock.errors import Exit

if TYPE_CHECKING:
    from interlock.app import Gateway
    from interlock.config.load import Config

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _options(parser: Options) -> None:
    parser.add_argument("--host", metavar="H", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, metavar="P", help="the port to listen on (default: 7373)")


def _serve(values: Values) -> Exit:
    import os

    from interlock.config.load import data_dir, with_listen

    config = with_listen(load_config(values), values.host, values.port)
    if config.settings.listen.host not in _LOOPBACK:
        raise bad(
            f"listening on {config.settings.listen.host} is refused: tokens on every route are not built yet",
            "Listen on 127.0.0.1.",
        )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(config, str(data_dir(values.data_dir, os.environ))))
    return Exit.OK


async def _run(config: "Config", folder: str) -> None:
    from pathlib import Path

    import uvicorn

    from interlock.app import asgi, running_gateway

    listen = config.settings.listen
    async with running_gateway(config, Path(folder)) as gateway:
        _greet(gateway, config, folder)
        server = uvicorn.Server(
            uvicorn.Config(
                asgi(gateway),
                host=listen.host,
                port=listen.port,
                lifespan="off",
                access_log=False,
                log_level="warning",
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=5,
            )
        )
        await server.serve()


def _greet(gateway: "Gateway", config: "Config", folder: str) -> None:
    listen = config.settings.listen
    if not config.settings.servers:
        note("No server is configured, so the bundled sample server is used. Add yours under `servers:`.")
    for name, upstream in gateway.fleet.upstreams.items():
        tools = counted(len(upstream.tools), "tool")
        said = tools if not upstream.problem else upstream.problem
        note(f"  {name}: {upstream.health.value}, {said}")
    note(f"Posture {config.settings.posture.value}; activity is recorded in {folder}.")
    note(f"Agents connect to http://{listen.host}:{listen.port}/mcp — Ctrl-C stops.")


VERB = Verb(
    "serve",
    "Run the gateway. Agents connect to it instead of to their MCP servers.",
    _options,
    _serve,
    ("interlock serve", "interlock serve --config team.yaml --port 8080"),
)
