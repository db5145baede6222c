"""Fleets for tests: small servers that behave in one particular way, a quick pace, and waiting for what is told."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.clock import Clock
from interlock.core.health import Health, UpstreamState
from interlock.core.safety import SafetyClass
from interlock.forward.fleet import Fleet
from interlock.forward.pace import Pace
from interlock.forward.upstream import UpstreamSpec, tool_call
from tests.forward.children import python

SECONDS = 60
"""After which a test that waits for something has failed."""

QUICK = Pace(
    first=0.01,
    cap_stdio=0.1,
    cap_http=0.05,
    starts_apart=0.01,
    patience=SECONDS,
    discover=SECONDS,
    probe=0.3,
    refresh_apart=0.01,
)
"""Short waits where we wait for nothing in particular, long ones where a busy machine may need them."""

SERVER = """
TOOLS = [{"name": "echo", "inputSchema": {"type": "object"}}]
HEARD = {}

def result(message, **value):
    say(id=message["id"], result=value)

def refuse(message, code=-32601):
    say(id=message["id"], error={"code": code, "message": "no"})

def echo(message):
    result(message, content=[], arguments=message["params"]["arguments"], pid=os.getpid(), heard=HEARD)

def serve(call=echo, listed=lambda message: result(message, tools=TOOLS), ping=result, discover=refuse):
    while message := hear():
        method = message.get("method")
        HEARD[method] = HEARD.get(method, 0) + 1
        if "id" not in message or method is None:
            continue
        elif method == "initialize":
            result(message, protocolVersion="2025-11-25", capabilities={}, serverInfo={"name": "x", "version": "1"})
        else:
            known = {"tools/list": listed, "tools/call": call, "ping": ping, "server/discover": discover}
            known.get(method, refuse)(message)

"""
"""What small servers have in common: `serve` answers as a classic server with one tool does, unless told otherwise."""


def small(name: str, code: str = "serve()", **more: Any) -> UpstreamSpec:
    """A small server; the code runs after the definitions above."""
    return UpstreamSpec(name, name, tuple(python(SERVER + code)), **more)


@dataclass
class Watched:
    """A fleet, and what it told about itself."""

    fleet: Fleet
    states: list[UpstreamState] = field(default_factory=list[UpstreamState])
    changes: list[str] = field(default_factory=list[str])
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.fleet.on_health = self._take(self.states)
        self.fleet.on_change = self._take(self.changes)

    def _take(self, taken: list[Any]) -> Callable[[Any], None]:
        def take(told: Any) -> None:
            taken.append(told)
            self._news.set()

        return take

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; it is looked at again whenever the fleet told something."""
        async with asyncio.timeout(SECONDS):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def is_now(self, server: str, health: Health) -> UpstreamState:
        """Wait until an upstream is like this; how it is then."""
        await self.until(lambda: self.fleet.upstreams[server].health is health)
        return self.state(server)

    async def became(self, server: str, health: Health, times: int = 1) -> None:
        """Wait until an upstream has become like this so often."""
        await self.until(lambda: self.healths(server).count(health) >= times)

    def healths(self, server: str) -> list[Health]:
        """What was told about an upstream, without repetitions."""
        told = [each.health for each in self.states if each.id == server]
        return [each for at, each in enumerate(told) if at == 0 or told[at - 1] is not each]

    def state(self, server: str) -> UpstreamState:
        return next(each for each in self.fleet.states() if each.id == server)

    async def call(self, server: str, tool: str = "echo", arguments: bytes = b"{}", **more: Any) -> Any:
        """The result of a call."""
        answer = await self.fleet.call(server, tool_call(tool, arguments), **more)
        return answer.error or json.loads(answer.result)

    async def pid(self, server: str, **more: Any) -> int:
        """The process that answers calls to a small server."""
        return (await self.call(server, **more))["pid"]

    async def kill(self, server: str) -> None:
        """End the process of an upstream, and wait until that was noticed."""
        seen = self.healths(server).count(Health.DOWN)
        os.kill(await self.pid(server), signal.SIGKILL)
        await self.became(server, Health.DOWN, seen + 1)


@asynccontextmanager
async def watched(
    specs: Iterable[UpstreamSpec],
    *,
    pace: Pace = QUICK,
    clock: Clock | None = None,
    overrides: dict[str, dict[str, SafetyClass]] | None = None,
    settle: bool = True,
) -> AsyncGenerator[Watched]:
    """A fleet that runs; its upstreams have started or failed once, unless that is not wanted."""
    fleet = Fleet(specs, pace=pace, clock=clock, overrides=overrides)
    seen = Watched(fleet)
    async with fleet:
        if settle:
            await fleet.settled(SECONDS)
        yield seen


def open_files() -> int:
    """How many descriptors this process has."""
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> set[int]:
    """The processes that this one started and has not waited for, zombies included."""
    return {int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()}
