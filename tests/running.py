"""A real gateway for tests: real store, real upstreams, a real port on loopback."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from interlock.app import Gateway, asgi, running_gateway
from interlock.config.load import Config, load, with_listen
from interlock.store.protocol import Activity, ActivityFilter


@dataclass(frozen=True)
class Running:
    """A gateway that serves, and its address."""

    gateway: Gateway
    url: str
    host: str

    async def activities(self) -> list[Activity]:
        """Everything on record, oldest first."""
        page = await self.gateway.store.list_activities(ActivityFilter(limit=500))
        return list(reversed(page.items))


def config_of(folder: Path, text: str = "") -> Config:
    """A configuration from a text, with nothing of the machine's own environment in it."""
    file = folder / "interlock.yaml"
    file.write_text(text, encoding="utf-8")
    return load(str(file), {})


@contextlib.asynccontextmanager
async def serving(folder: Path, text: str = "") -> AsyncGenerator[Running]:
    """Run a gateway with this configuration until the block ends."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        config = with_listen(config_of(folder, text), None, port)
        async with running_gateway(config, folder / "data") as gateway:
            server = uvicorn.Server(
                uvicorn.Config(asgi(gateway), lifespan="off", log_level="warning", timeout_graceful_shutdown=2)
            )
            listener.listen(128)
            async with asyncio.TaskGroup() as group:
                group.create_task(server.serve(sockets=[listener]))
                while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
                    await asyncio.sleep(0)
                try:
                    yield Running(gateway, f"http://127.0.0.1:{port}/mcp", f"127.0.0.1:{port}")
                finally:
                    server.should_exit = True


def yaml_list(words: list[str]) -> str:
    """Words as a YAML list, whatever is in them."""
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def server_yaml(name: str, argv: list[str], **more: Any) -> str:
    """A `servers:` entry for a command line."""
    extra = "".join(f", {key}: {str(value).lower()}" for key, value in more.items())
    return f"  {name}: {{command: '{argv[0]}', args: {yaml_list(argv[1:])}{extra}}}\n"
