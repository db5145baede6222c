"""Gateways whose calls are held, clients with tokens of their own, and people who answer."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from interlock.approve.board import Board, Pending
from interlock.core.approvals import Approval, Approver, ApproverType, Wish
from interlock.receive.identify import TokenScope, mint
from interlock.store.protocol import Activity, ActivityFilter, ActivityType, Token
from tests.running import Running, keep_token, server_yaml, serving
from tests.talking import NO_TLS, argv, clean
from tests.upstream.running import received, stdio_argv

BOSS = Approver("operator", ApproverType.CLI, person=True)
DELETE = "up__delete_note"
SOON = 20.0
"""After which a test that waits for something has failed."""


@dataclass
class Counter:
    """A gateway with one server `up`, its desk, and what the server received."""

    running: Running
    log: Path
    folder: Path

    @property
    def board(self) -> Board:
        return self.running.gateway.parts.room.register.board

    def sends(self) -> int:
        return len([each for each in received(self.log) if each.method == "tools/call"])

    async def asked(self, count: int = 1) -> list[Pending]:
        """Those who wait, once there are so many."""
        async with asyncio.timeout(SOON):
            while len(self.board) < count or not all(each.kept for each in self.board):  # noqa: ASYNC110
                await asyncio.sleep(0.005)  # the caller may be in another process
        return list(self.board)

    async def one(self) -> Pending:
        (only,) = await self.asked()
        return only

    async def approve(self, approval_id: str, by: Approver = BOSS, **wish: Any) -> Approval:
        return await self.running.gateway.parts.room.approvers.approve(approval_id, by, Wish(**wish))

    async def deny(self, approval_id: str, why: str = "", by: Approver = BOSS) -> Approval:
        return await self.running.gateway.parts.room.approvers.deny(approval_id, by, why)

    async def approval(self, approval_id: str) -> Approval:
        found = await self.running.gateway.store.approvals.get_approval(approval_id)
        assert found is not None
        return found

    async def resolved(self, approval_id: str) -> Approval:
        """An approval, once it is not pending any more."""
        async with asyncio.timeout(SOON):
            while (found := await self.approval(approval_id)).status == "pending":  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        return found

    async def token(self, name: str, *roles: str, kind: str = "agent", **scope: Any) -> str:
        """A token of a principal, as the operator would make it."""
        _, text = await self.minted(name, *roles, kind=kind, **scope)
        return text

    async def minted(self, name: str, *roles: str, kind: str = "agent", **scope: Any) -> tuple[Token, str]:
        gateway = self.running.gateway
        given: dict[str, Any] = {"owner": "operator", "minted_by": "operator", **scope}
        limits = TokenScope(**given)
        token, text = mint(name, kind, roles or ("agent",), gateway.parts.clock.now(), None, limits)
        await keep_token(gateway, token)
        return token, text

    async def history(self, kind: ActivityType = ActivityType.APPROVAL) -> list[Activity]:
        await self.running.gateway.pipeline.settled()
        page = await self.running.gateway.store.list_activities(ActivityFilter(types=(kind,), limit=500))
        return list(reversed(page.items))

    @contextlib.asynccontextmanager
    async def client(
        self, era: str = "2026-07-28", door: str = "http", token: str | None = None, **more: Any
    ) -> AsyncGenerator[Client]:
        """An official client, over HTTP or through `interlock stdio`."""
        if door == "stdio":
            command, *args = argv(self.folder)
            env = clean() if token is None else clean(INTERLOCK_TOKEN=token)
            parameters = StdioServerParameters(command=command, args=args, env=env, cwd=str(self.folder))
            async with Client(stdio_client(parameters), mode=era, **more) as client:
                yield client
            return
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60, verify=NO_TLS) as http:
            transport = streamable_http_client(self.running.url, http_client=http)
            async with Client(transport, mode=era, **more) as client:
                yield client


@contextlib.asynccontextmanager
async def counter(folder: Path, more: str = "") -> AsyncGenerator[Counter]:
    """Run a gateway with every tool in direct reach, which holds what is dangerous."""
    async with serving(folder, held_config(folder, more)) as running:
        yield Counter(running, folder / "up.log", folder)


def held_config(folder: Path, more: str = "") -> str:
    argv = stdio_argv(folder / "up.log", tools=folder / "tools")
    return f"{more}\nexpose: both\nservers:\n" + server_yaml("up", argv)


def said(result: types.CallToolResult) -> dict[str, Any]:
    assert result.structured_content is not None, result
    return result.structured_content


def text_of(result: types.CallToolResult) -> str:
    content = result.content[0]
    assert isinstance(content, types.TextContent)
    return content.text


def first_line(result: types.CallToolResult) -> str:
    return text_of(result).splitlines()[0]


def wanted(name: str = "a", why: str | None = "tidying up", **more: Any) -> dict[str, Any]:
    """The arguments of a delete."""
    return {"name": name, **({} if why is None else {"_justification": why}), **more}
