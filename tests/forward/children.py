"""Small processes that behave in one particular way, and what tests ask about processes."""

import asyncio
import json
import os
import re
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from interlock.forward.link import Listener, Notification
from interlock.forward.link_stdio import StdioLink
from interlock.forward.reaper import Reaper

LOOPS = [("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})]
"""The loop of the standard library, and the one that the gateway runs on: processes and pipes differ between them."""

_PRELUDE = """
import json, os, signal, sys, time

def hear():
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else None

def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

def say(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")

"""

ANSWERING = "for line in sys.stdin: say(id=json.loads(line)['id'], result={})"
"""A child that answers every request."""

RECORDING = """
heard = []
while message := hear():
    heard.append(message)
    if message["method"] == "tell":
        say(id=message["id"], result=heard)
"""
"""A child that answers nothing but `tell`, with everything that it heard."""


def python(code: str, *words: str) -> list[str]:
    """The command line of a process that does this."""
    return [sys.executable, "-I", "-S", "-c", _PRELUDE + code, *words]


def deaf(_: Notification) -> None:
    """A listener that does not care."""


@asynccontextmanager
async def linked(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    *,
    listener: Listener = deaf,
    seconds: float = 60,
) -> AsyncGenerator[StdioLink]:
    """A link to a process that was started for it, with a reaper of its own; for a while at most."""
    reaper = Reaper()
    await reaper.start()
    link = StdioLink(argv, env or {}, str(cwd) if cwd else None, on_notification=listener, reaper=reaper)
    try:
        async with asyncio.timeout(seconds):
            await link.start()
            yield link
    finally:
        await link.close()
        await reaper.close()


def call(tool: str, **arguments: Any) -> bytes:
    """The params of a call."""
    return json.dumps({"name": tool, "arguments": arguments}).encode()


async def called(link: StdioLink, tool: str, *, seconds: float = 30, **arguments: Any) -> Any:
    """The result of a call."""
    answer = await link.request("tools/call", call(tool, **arguments), seconds=seconds, name=tool)
    assert answer.error is None
    return json.loads(answer.result)


async def asked(link: StdioLink, method: str = "any") -> Any:
    """The result of a request without params."""
    return json.loads((await link.request(method, b"{}", seconds=30)).result)


def end_at_once(link: StdioLink) -> None:
    """Kill the process behind a link, to spare a test the patience of a close."""
    os.kill(link.pid or 0, signal.SIGKILL)


def runs(pid: int) -> bool:
    """Whether a process is there; one that only waits to be reaped is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Look again and again until it holds; whether it did in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class PeakMemory:
    """How far this process has grown, at its highest, since a moment; in MiB."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        self._before = self._read("VmRSS")

    def growth(self) -> float:
        return (self._read("VmHWM") - self._before) / 1024

    @staticmethod
    def _read(name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
        assert found is not None
        return int(found[1])
