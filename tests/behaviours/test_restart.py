"""A gateway that stops, or is killed, with a hundred calls at its desk: nothing runs, nothing is lost."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client import Client

from interlock.core.approvals import Approval
from interlock.core.lifecycle import ApprovalState
from interlock.store.approvals import ApprovalFilter
from interlock.store.folder import DataFolder
from interlock.store.protocol import ActivityType
from tests.approving import DELETE, Counter, counter, held_config, said, text_of, wanted
from tests.running import config_of
from tests.talking import NO_TLS, clean

ANSWERED, IN_PERSON = 50, 50
IMPATIENT = types.Implementation(name="impatient", version="1")
PATIENT = "hold: {answer_after: never, clients: {impatient: 50ms}, max_pending_per_caller: 200}"


async def approvals(held: Counter) -> dict[str, Approval]:
    page = await held.running.gateway.store.approvals.list_approvals(ApprovalFilter(limit=500))
    return {each.id: each for each in page.items}


def statuses(found: dict[str, Approval], ids: set[str]) -> set[tuple[str, str]]:
    return {(found[each].status.value, found[each].resolution) for each in ids}


async def fill(held: Counter, group: asyncio.TaskGroup) -> tuple[set[str], list[asyncio.Task[object]]]:
    """A hundred calls: half are told to come again, half wait in person."""
    async with held.client(client_info=IMPATIENT) as client:
        told = await asyncio.gather(*(client.call_tool(DELETE, wanted(f"t{each}")) for each in range(ANSWERED)))
    answered = {str(said(each)["approval_id"]) for each in told}

    async def stay(number: int) -> object:
        with contextlib.suppress(Exception):  # the gateway goes away under it
            async with held.client() as client:
                return await client.call_tool(DELETE, wanted(f"p{number}"))

    staying = [group.create_task(stay(each)) for each in range(IN_PERSON)]
    await held.asked(ANSWERED + IN_PERSON)
    return answered, staying


async def test_a_restart_cancels_what_was_waited_for_in_person_and_keeps_the_rest(tmp_path: Path) -> None:
    async with asyncio.TaskGroup() as group, counter(tmp_path, PATIENT) as held:
        answered, _ = await fill(held, group)
        others = {each.id for each in held.board} - answered
    async with counter(tmp_path, PATIENT) as again:
        found = await approvals(again)
        waiting = {each.id for each in again.board}
        for name in ("t0", "t1"):
            await again.approve(_of(found, name))
        before = again.sends()
        async with again.client() as client:
            ran = await client.call_tool(DELETE, wanted("t0"))
            named = await client.call_tool(DELETE, wanted("t1", _approval_id=_of(found, "t1")))

    assert statuses(found, others) == {("cancelled", "server shutdown")}
    assert statuses(found, answered) == {("pending", "")}
    assert waiting == answered
    assert len(found) == ANSWERED + IN_PERSON
    assert [text_of(each) for each in (ran, named)] == ["No such note."] * 2
    assert (before, again.sends()) == (0, 2)


def _of(found: dict[str, Approval], name: str) -> str:
    return next(each.id for each in found.values() if each.asked["arguments"] == {"name": name})


@contextlib.contextmanager
def killed_later(folder: Path) -> "Generator[subprocess.Popen[str]]":
    """A gateway as a process of its own, once it serves."""
    argv = [sys.executable, "-m", "interlock", "serve", "--config", str(folder / "interlock.yaml")]
    argv += ["--data-dir", str(folder / "data"), "--port", "0"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=clean()) as process:
        try:
            yield process
        finally:
            process.kill()


def address_of(process: "subprocess.Popen[str]", folder: Path) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if "http://" in line:
            return "http" + line.split("http", 1)[1].split()[0].split("/mcp")[0].rstrip("/.,") + "/mcp"
    raise AssertionError("the gateway did not start")


async def test_after_a_crash_only_what_callers_were_told_to_come_again_for_stays_open(tmp_path: Path) -> None:
    config_of(tmp_path, held_config(tmp_path, PATIENT))
    with killed_later(tmp_path) as process:
        url = address_of(process, tmp_path)
        async with asyncio.TaskGroup() as group:

            async def stay(number: int) -> None:
                with contextlib.suppress(Exception):  # the gateway dies under it
                    async with Client(url) as client:
                        await client.call_tool(DELETE, wanted(f"p{number}"))

            async with Client(url, client_info=IMPATIENT) as client:
                told = await asyncio.gather(*(client.call_tool(DELETE, wanted(f"t{each}")) for each in range(20)))
            answered = {str(said(each)["approval_id"]) for each in told}
            for each in range(20):
                group.create_task(stay(each))
            await _asked(DataFolder(tmp_path / "data"), url, 40)
            process.send_signal(signal.SIGKILL)
            process.wait()
    async with counter(tmp_path, PATIENT) as again:
        found = await approvals(again)
        runs = await again.history(ActivityType.TOOL_CALL)

    others = found.keys() - answered
    assert statuses(found, set(others)) == {("cancelled", "gateway restarted")}
    assert statuses(found, answered) == {("pending", "")}
    assert (len(found), runs, again.sends()) == (40, [], 0)


async def _asked(folder: DataFolder, url: str, count: int) -> None:
    """Wait until so many questions are on record."""
    pending = url.replace("/mcp", f"/api/v1/approvals?status=pending&limit={count}")
    headers = {"authorization": f"Bearer {folder.credential()}"}
    async with httpx2.AsyncClient(headers=headers, verify=NO_TLS) as http, asyncio.timeout(30):
        while len((await http.get(pending)).json()["items"]) < count:
            pass


async def test_approved_before_the_restart_runs_after_it_once(tmp_path: Path) -> None:
    short = "hold: {answer_after: 50ms}"
    async with counter(tmp_path, short) as held:
        async with held.client() as client:
            approval_id = str(said(await client.call_tool(DELETE, wanted()))["approval_id"])
        await held.approve(approval_id)
    async with counter(tmp_path, short) as again:
        async with again.client() as client:
            ran = await client.call_tool(DELETE, wanted())
            recorded = await client.call_tool(DELETE, wanted(_approval_id=approval_id))
        done = await again.approval(approval_id)

    assert [text_of(each) for each in (ran, recorded)] == ["No such note."] * 2
    assert (again.sends(), done.status) == (1, ApprovalState.APPROVED)


async def test_a_denial_is_remembered_over_a_restart(tmp_path: Path) -> None:
    short = "hold: {answer_after: 50ms}"
    async with counter(tmp_path, short) as held:
        async with held.client() as client:
            approval_id = str(said(await client.call_tool(DELETE, wanted()))["approval_id"])
        await held.deny(approval_id, "never")
    async with counter(tmp_path, short) as again, again.client() as client:
        refused = await client.call_tool(DELETE, wanted())

    assert said(refused)["message"] == "Tool call denied. Reason: never"
    assert len(again.board) == 0


# Quotas ---------------------------------------------------------------------------------------------------------


async def test_a_flood_of_one_agent_asks_twenty_times_and_leaves_room_for_others(tmp_path: Path) -> None:
    async with counter(tmp_path) as held, asyncio.TaskGroup() as group:
        flooder, other = await held.token("flooder"), await held.token("other")
        async with held.client(token=flooder) as client, held.client(token=other) as beside:
            calls = [group.create_task(client.call_tool(DELETE, wanted(f"n{each}"))) for each in range(1000)]
            refused = [await each for each in asyncio.as_completed(calls[20:])][:980]
            waiting = await held.asked(20)
            repeat = group.create_task(client.call_tool(DELETE, wanted("n0")))
            another = group.create_task(beside.call_tool(DELETE, wanted("n0")))
            await held.asked(21)
            for each in list(held.board):
                await held.deny(each.id)
            await asyncio.gather(repeat, another, *calls[:20])

    assert len(waiting) == 20
    assert {said(each)["code"] for each in refused} == {"QUOTA"}
    assert said(repeat.result())["code"] == said(another.result())["code"] == "DENIED"
    assert held.sends() == 0


@pytest.mark.parametrize("limit", [1, 3])
async def test_the_quota_is_what_the_operator_says(tmp_path: Path, limit: int) -> None:
    text = f"hold: {{answer_after: 50ms, max_pending_per_caller: {limit}}}"
    async with counter(tmp_path, text) as held, held.client() as client:
        results = [await client.call_tool(DELETE, wanted(f"n{each}")) for each in range(limit + 2)]

    assert [said(each)["code"] for each in results] == ["PENDING"] * limit + ["QUOTA"] * 2


async def test_a_lost_http_client_is_no_reason_to_wait(tmp_path: Path) -> None:
    """A connection that breaks without a word is seen, and nobody is asked any more."""
    async with counter(tmp_path) as held:
        body: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": DELETE,
                "arguments": wanted(),
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        }
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": DELETE,
        }
        async with httpx2.AsyncClient(verify=NO_TLS) as http, asyncio.TaskGroup() as group:
            calling = group.create_task(http.post(held.running.url, json=body, headers=headers))
            waiting = await held.one()
            calling.cancel()
        done = await held.resolved(waiting.id)

    assert (done.status, done.resolution) == (ApprovalState.CANCELLED, "client disconnected")
