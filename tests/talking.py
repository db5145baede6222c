"""A client of `interlock stdio` by hand: the process, and the lines that are said and heard."""

import asyncio
import contextlib
import json
import os
import ssl
import sys
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

SECONDS = 30
"""After which a test that waits for something has failed."""
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients that speak plain HTTP with this machine: without it each would read all certificates of the machine, and
that takes longer than most of what is asked. It trusts nobody, so whoever speaks TLS with it by mistake is refused."""
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}

_numbers = count()


def argv(folder: Path) -> list[str]:
    """`interlock stdio` with the configuration and the data of a folder of the tests."""
    given = ["--config", str(folder / "interlock.yaml"), "--data-dir", str(folder / "data")]
    return [sys.executable, "-m", "interlock", "stdio", *given]


def clean(**more: str) -> dict[str, str]:
    """The environment without a variable of ours, and with these."""
    return {key: value for key, value in os.environ.items() if not key.startswith("INTERLOCK_")} | more


@dataclass
class Talk:
    """One process."""

    process: asyncio.subprocess.Process
    errors: Path
    """What it wrote to stderr."""

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    def send(self, method: str, request_id: Any = None, *, modern: bool = False, **params: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        message |= {} if request_id is None else {"id": request_id}
        message["params"] |= {"_meta": META} if modern else {}
        self.say(json.dumps(message).encode())

    async def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(SECONDS):
            line = await self.process.stdout.readline()
        assert line.endswith(b"\n"), (line, self.errors.read_text())
        return json.loads(line)

    async def ask(self, method: str, request_id: Any, *, modern: bool = False, **params: Any) -> dict[str, Any]:
        self.send(method, request_id, modern=modern, **params)
        answer = await self.hear()
        assert answer["id"] == request_id, answer
        return answer

    async def call(self, tool: str, request_id: Any, *, modern: bool = False, **arguments: Any) -> dict[str, Any]:
        return await self.ask("tools/call", request_id, modern=modern, name=tool, arguments=arguments)

    async def handshake(self) -> None:
        await self.ask("initialize", "hello", **INITIALIZE)
        self.send("notifications/initialized")

    async def close(self) -> int:
        """Close its stdin, as clients do that leave; how it ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.ended()

    async def ended(self) -> int:
        async with asyncio.timeout(SECONDS):
            return await self.process.wait()


@contextlib.asynccontextmanager
async def talking(
    folder: Path, *, cwd: Path | None = None, env: Mapping[str, str] | None = None, limit: int = 1 << 26
) -> AsyncGenerator[Talk]:
    """Run `interlock stdio` in a folder of the tests; it is gone when the block ends."""
    errors = folder / f"stderr-{next(_numbers)}"
    with errors.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *argv(folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            cwd=cwd or folder,
            env=clean() if env is None else env,
            limit=limit,
        )
        try:
            yield Talk(process, errors)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
