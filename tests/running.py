"""A real gateway for tests: real store, real upstreams, a real port on loopback."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.app.gateway import Gateway, running_gateway
from interlock.app.listening import listening
from interlock.cli.gateway import bind
from interlock.clock import SystemClock
from interlock.config.load import Config, load, with_listen
from interlock.receive.desk_tools import DeskTools
from interlock.receive.parked import Parking
from interlock.receive.sealed import Seal
from interlock.receive.turns import Turns
from interlock.record import token_change
from interlock.store.folder import DataFolder
from interlock.store.protocol import Activity, ActivityFilter, ActivityType, Token
from tests.stores import store_line

SETTLE_SECONDS = 60.0
"""How long the servers of a test may take to start on a busy machine."""


@dataclass(frozen=True)
class Running:
    """A gateway that serves, and its address."""

    gateway: Gateway
    url: str
    host: str
    folder: DataFolder

    async def activities(self) -> list[Activity]:
        """Every call on record, oldest first."""
        await self.gateway.pipeline.settled()
        calls = (ActivityType.TOOL_CALL, ActivityType.POLICY_DECISION)
        page = await self.gateway.store.list_activities(ActivityFilter(types=calls, limit=500))
        return list(reversed(page.items))


async def keep_token(gateway: Gateway, token: Token, by: str = "operator") -> None:
    """Issue a token, in the same order as the interface does: what follows other gateways reads all tokens anew at any
    moment, and would forget one that it did not see yet."""
    async with gateway.callers.changes:
        assert await gateway.store.add_token(token, token_change(token, "created", by, token.created_at))
        gateway.callers.add(token)


async def end_token(gateway: Gateway, token: Token) -> None:
    """Revoke a token, as the interface does."""
    async with gateway.callers.changes:
        now = gateway.parts.clock.now()
        assert await gateway.store.revoke_token(token.id, now, token_change(token, "revoked", "operator", now))
        gateway.callers.drop(token.id)


def turns_of(gateway: Gateway) -> Turns:
    """What takes calls along the path of a gateway, beside those that it serves itself."""
    return Turns(gateway.pipeline, Parking(Seal(SystemClock())))


def desk_tools_of(gateway: Gateway) -> DeskTools:
    """Our tools around approvals, beside those that a gateway serves itself."""
    parts = gateway.parts
    patience = gateway.pipeline.policy.patience
    return DeskTools(parts.room, gateway.store.approvals, gateway.callers.is_person, lambda: patience)


def config_of(folder: Path, text: str = "") -> Config:
    """A configuration from a text, with nothing of the machine's own environment in it."""
    file = folder / "interlock.yaml"
    file.write_text(text + store_line(folder / "data", text), encoding="utf-8")
    return load(str(file), {})


@contextlib.asynccontextmanager
async def started(folder: Path, text: str = "") -> AsyncGenerator[Gateway]:
    """A gateway that runs but listens nowhere."""
    with DataFolder(folder / "data").hold() as hold:
        async with running_gateway(config_of(folder, text), hold) as gateway:
            await gateway.fleet.settled(SETTLE_SECONDS)
            yield gateway


@contextlib.asynccontextmanager
async def serving(folder: Path, text: str = "") -> AsyncGenerator[Running]:
    """Run a gateway with this configuration until the block ends."""
    with contextlib.closing(bind("127.0.0.1", 0)) as listener, DataFolder(folder / "data").hold() as hold:
        port: int = listener.getsockname()[1]
        config = with_listen(config_of(folder, text), None, port)
        async with running_gateway(config, hold) as gateway, listening(gateway, listener, hold):
            await gateway.fleet.settled(SETTLE_SECONDS)
            yield Running(gateway, f"http://127.0.0.1:{port}/mcp", f"127.0.0.1:{port}", hold.folder)


def yaml_list(words: list[str]) -> str:
    """Words as a YAML list, whatever is in them."""
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def server_yaml(name: str, argv: list[str], **more: Any) -> str:
    """A `servers:` entry for a command line."""
    extra = "".join(f", {key}: {str(value).lower()}" for key, value in more.items())
    return f"  {name}: {{command: '{argv[0]}', args: {yaml_list(argv[1:])}{extra}}}\n"
