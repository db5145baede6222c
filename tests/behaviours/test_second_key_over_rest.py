"""A call that waits, answered over REST on a real port: the stream tells, the answer counts, the figures show it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.running import Running, server_yaml, serving
from tests.talking import NO_TLS
from tests.upstream.running import received, stdio_argv

CALL = "/api/v1/tools/up/frobnicate/call"
BODY = {"arguments": {"_justification": "to see what it does"}}
SECONDS = 30


@pytest.fixture
async def guarded(tmp_path: Path, log: Path) -> AsyncGenerator[Running]:
    async with serving(tmp_path, "servers:\n" + server_yaml("up", stdio_argv(log))) as running:
        yield running


@pytest.fixture
async def operator(guarded: Running) -> AsyncGenerator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {guarded.folder.credential()}"}
    async with httpx2.AsyncClient(
        base_url=f"http://{guarded.host}", headers=headers, timeout=SECONDS, verify=NO_TLS
    ) as client:
        yield client


@contextlib.asynccontextmanager
async def heard(client: httpx2.AsyncClient) -> AsyncGenerator[asyncio.Queue[dict[str, Any]]]:
    """What the stream of approvals tells, while the block runs."""
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    async with client.stream("GET", "/api/v1/approvals/stream") as response, asyncio.TaskGroup() as group:

        async def listen() -> None:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    told.put_nowait(json.loads(line.removeprefix("data: ")))

        listening = group.create_task(listen())
        try:
            yield told
        finally:
            listening.cancel()


async def test_a_call_waits_is_told_of_and_runs_once_when_it_is_approved(
    guarded: Running, operator: httpx2.AsyncClient, log: Path
) -> None:
    async with heard(operator) as told, asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        calling = group.create_task(operator.post(CALL, json=BODY))
        created = await told.get()
        before = len([each for each in received(log) if each.method == "tools/call"])
        answered = await operator.post(f"/api/v1/approvals/{created['id']}/approve")
        resolved = await told.get()
        ran = await calling

    assert (created["event"], created["requester"]) == ("approval.created", "operator-agent")
    assert (resolved["event"], resolved["approver"]) == ("approval.approved", "operator")
    assert (answered.status_code, ran.status_code, before) == (200, 200, 0)
    assert len([each for each in received(log) if each.method == "tools/call"]) == 1
    figures = (await operator.get("/metrics")).text
    assert 'interlock_approvals_total{status="approved"} 1.0' in figures


async def test_a_tool_that_is_classified_meanwhile_makes_the_approval_void_and_needs_none_from_then_on(
    guarded: Running, operator: httpx2.AsyncClient, log: Path
) -> None:
    async with heard(operator) as told, asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        calling = group.create_task(operator.post(CALL, json=BODY))
        approval = f"/api/v1/approvals/{(await told.get())['id']}"
        classified = await operator.post(f"{approval}/classify", json={"safety_class": "read-only"})
        await operator.post(f"{approval}/approve")
        stale = await calling
    passes = await operator.post(CALL, json={})

    assert classified.json()["override"]["safety_class"] == "read-only"
    assert classified.json()["approval"]["status"] == "pending"
    assert (stale.status_code, passes.status_code) == (409, 200)
    assert len([each for each in received(log) if each.method == "tools/call"]) == 1


async def test_whoever_asks_how_ready_the_gateway_is_hears_that_nobody_listens(
    guarded: Running, operator: httpx2.AsyncClient
) -> None:
    alone = (await operator.get("/readyz?verbose")).json()
    async with heard(operator):
        watched = (await operator.get("/readyz?verbose")).json()

    assert (alone["ready"], watched["ready"]) == (True, True)
    assert [each["ok"] for each in alone["checks"]] == [True, True, False]
    assert [each["ok"] for each in watched["checks"]] == [True, True, True]
    assert "`interlock approval watch`" in alone["checks"][2]["text"]
