"""Several gateways on one PostgreSQL, each a process of its own that can be killed and started again."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import httpx2

from interlock.store.folder import CREDENTIAL
from tests.postgres_server import PostgresServer
from tests.running import config_of, server_yaml
from tests.talking import META, clean
from tests.torture.test_kill import free_port
from tests.upstream.running import received, stdio_argv

DELETE, ECHO = "up__delete_note", "up__echo"
SOON = 60.0
"""Seconds after which what should have happened has not."""
_NUMBERS = count(1)


@dataclass
class Member:
    """One of the gateways: its folder, and its process while it lives."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[str] | None" = None
    serving: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "upstream.log"

    @property
    def credential(self) -> str:
        return (self.folder / "data" / CREDENTIAL).read_text(encoding="utf-8").strip()

    def launch(self) -> None:
        argv = [sys.executable, "-m", "interlock", "serve", "--config", str(self.folder / "interlock.yaml")]
        argv += ["--port", str(self.port), "--data-dir", str(self.folder / "data")]
        self.process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=clean())

    async def serves(self) -> None:
        """Wait until it can be called."""
        process = self.process
        assert process is not None
        assert process.stderr is not None
        while (line := await asyncio.to_thread(process.stderr.readline)) and "Agents connect" not in line:
            pass
        assert process.poll() is None, "it ended while it started"
        self.serving = True

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def end(self, how: signal.Signals) -> None:
        process, self.process, self.serving = self.process, None, False
        if process is not None:
            process.send_signal(how)
            process.wait(SOON)
            if process.stderr is not None:
                process.stderr.close()

    def pause(self, how: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(how)


class Cluster(contextlib.AbstractAsyncContextManager["Cluster"]):
    """All of them, and one client for whoever calls or answers."""

    def __init__(self, folder: Path, server: PostgresServer, members: int, more: str = "") -> None:
        self.members = [Member(folder / f"gateway-{number}") for number in range(members)]
        self.database = ""
        self._server = server
        self._more = more
        self.http = httpx2.AsyncClient(timeout=SOON, verify=False, limits=httpx2.Limits(max_connections=None))

    async def __aenter__(self) -> "Cluster":
        self.database = await self._server.new_database()
        for each in self.members:
            each.folder.mkdir()
            up = "servers:\n" + server_yaml("up", stdio_argv(each.log))
            store = f"store: {self._server.address(self.database)}\nexpose: direct\n"
            config_of(each.folder, store + self._more + up)
            each.launch()
        await asyncio.gather(*(each.serves() for each in self.members))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()
        for each in self.members:
            each.kill()
        await self._server.drop(self.database)

    # Asking -------------------------------------------------------------------------------------------------------

    async def call(self, at: Member, token: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call; raises httpx2.HTTPError when the gateway goes away meanwhile."""
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
        headers |= {"mcp-method": "tools/call", "mcp-name": tool, "authorization": f"Bearer {token}"}
        params: dict[str, Any] = {"name": tool, "arguments": arguments, "_meta": META}
        body = {"jsonrpc": "2.0", "id": next(_NUMBERS), "method": "tools/call", "params": params}
        answer = await self.http.post(f"{at.url}/mcp", json=body, headers=headers)
        return answer.json()["result"]

    async def ask(self, at: Member, method: str, path: str, token: str, body: Any = None) -> httpx2.Response:
        headers = {"authorization": f"Bearer {token}"}
        return await self.http.request(method, f"{at.url}/api/v1/{path}", json=body, headers=headers)

    async def token(self, name: str, role: str) -> str:
        """A token that every gateway knows."""
        first = self.members[0]
        body = {"name": name, "roles": [role]}
        made = (await self.ask(first, "POST", "tokens", first.credential, body)).json()["token"]
        for each in self.members:
            await until(lambda each=each: self._knows(each, made))
        return made

    async def _knows(self, member: Member, token: str) -> bool:
        headers = {"authorization": f"Bearer {token}"}
        return (await self.http.get(f"{member.url}/livez", headers=headers)).status_code == 200

    # What is there ------------------------------------------------------------------------------------------------

    def sends(self, tool: str = "delete_note") -> list[str]:
        """The marks of all calls of a tool that any upstream received."""
        found = (each.message["params"] for member in self.members for each in received(member.log) if _is_call(each))
        return [each["arguments"].get("name", "") for each in found if each["name"] == tool]

    async def rows(self, sql: str, *values: Any) -> Sequence[Any]:
        connection = await asyncpg.connect(self._server.address(self.database))
        try:
            await connection.execute("SET search_path = interlock")
            return await connection.fetch(sql, *values)
        finally:
            await connection.close()

    async def none_waits(self) -> None:
        """Wait until nothing is pending any more."""
        await self.wait(0)

    async def wait(self, number: int) -> None:
        """Wait until so many are pending."""

        async def do() -> bool:
            return (await self.rows("SELECT count(*) FROM approval WHERE status = 'pending'"))[0][0] == number

        await until(do)


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so in other processes."""
    async with asyncio.timeout(SOON):
        while not await true():  # noqa: ASYNC110 - they tell nobody
            await asyncio.sleep(0.02)


def _is_call(each: Any) -> bool:
    return each.method == "tools/call"


def code_of(result: dict[str, Any]) -> str:
    """The code of a refusal; nothing when the tool has answered."""
    said: dict[str, Any] = result.get("structuredContent") or {}
    return str(said.get("code") or said.get("status") or "")
