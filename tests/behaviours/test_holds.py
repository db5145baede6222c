"""Many calls that wait at once, of many callers: each runs when it is approved, once, and none of the others does."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2

from interlock.core.grants import GrantScope
from interlock.core.lifecycle import ApprovalState
from interlock.store.approvals import ApprovalFilter
from tests.approving import Counter, counter, said, text_of
from tests.talking import NO_TLS
from tests.upstream.running import received

CALLERS, EACH = 10, 20
RUN = "up__run_command"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": RUN,
}


async def run(http: httpx2.AsyncClient, held: Counter, token: str, command: str) -> dict[str, Any]:
    """The result of one call, which may take a while."""
    arguments = {"command": command, "_justification": "because"}
    params = {"name": RUN, "arguments": arguments, "_meta": META}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await http.post(held.running.url, json=body, headers={**HEADERS, "authorization": f"Bearer {token}"})
    return answer.json()["result"]


def commands(held: Counter) -> list[str]:
    """What the server was told to run."""
    calls = [each.message for each in received(held.log) if each.method == "tools/call"]
    return sorted(each["params"]["arguments"]["command"] for each in calls)


async def statuses(held: Counter) -> dict[str, int]:
    approvals = held.running.gateway.store.approvals
    pages = {state: await approvals.list_approvals(ApprovalFilter(state, limit=1)) for state in ApprovalState}
    return {state.value: page.total for state, page in pages.items() if page.total}


async def test_two_hundred_calls_wait_and_those_that_are_approved_run_once(tmp_path: Path) -> None:
    http = httpx2.AsyncClient(timeout=120, limits=httpx2.Limits(max_connections=None), verify=NO_TLS)
    async with counter(tmp_path, "hold: {answer_after: never}") as held, http, asyncio.TaskGroup() as group:
        tokens = [await held.token(f"caller-{number}") for number in range(CALLERS)]
        wanted = {f"{caller}-{each}": tokens[caller] for caller in range(CALLERS) for each in range(EACH)}
        calls = {name: group.create_task(run(http, held, token, name)) for name, token in wanted.items()}
        waiting = await held.asked(CALLERS * EACH)
        over_quota = await run(http, held, tokens[0], "one more")
        for number, each in enumerate(waiting):
            await (held.approve(each.id) if number % 2 else held.deny(each.id, "no"))
        results = {name: await call for name, call in calls.items()}
        ran = sorted(name for name, result in results.items() if not result.get("isError"))
        kept = await statuses(held)

    assert over_quota["structuredContent"]["code"] == "QUOTA"
    assert len(ran) == CALLERS * EACH // 2
    assert commands(held) == ran
    assert all(f"'{name}'" in results[name]["content"][0]["text"] for name in ran)
    assert {result["structuredContent"]["code"] for result in results.values() if result.get("isError")} == {"DENIED"}
    assert kept == {"approved": len(ran), "denied": len(ran)}
    assert (len(held.board), held.board.count("caller-0"), held.board.grants()) == (0, 0, ())


async def test_two_hundred_calls_that_nobody_answers_all_time_out_and_none_runs(tmp_path: Path) -> None:
    http = httpx2.AsyncClient(timeout=120, limits=httpx2.Limits(max_connections=None), verify=NO_TLS)
    more = "hold: {answer_after: never, approval_timeout: 3}"
    async with counter(tmp_path, more) as held, http, asyncio.TaskGroup() as group:
        tokens = [await held.token(f"caller-{number}") for number in range(CALLERS)]
        calls = [
            group.create_task(run(http, held, token, f"{number}-{each}"))
            for number, token in enumerate(tokens)
            for each in range(EACH)
        ]
        results = [await call for call in calls]
        kept = await statuses(held)

    assert {result["structuredContent"]["code"] for result in results} == {"TIMEOUT"}
    assert kept == {"timeout": CALLERS * EACH}
    assert commands(held) == []
    assert len(held.board) == 0


async def test_by_a_wider_grant_each_call_gets_its_own_outcome_and_never_that_of_another(tmp_path: Path) -> None:
    async with counter(tmp_path, "hold: {answer_after: 100ms}") as held, held.client() as client:
        first = {"command": "first", "_justification": "because"}
        approval = str(said(await client.call_tool(RUN, first))["approval_id"])
        await held.approve(approval, scope=GrantScope.TOOL)
        other = await client.call_tool(RUN, {"command": "other"})
        by_id = await client.call_tool(RUN, {**first, "_approval_id": approval})
        another = await client.call_tool(RUN, {"command": "another"})
        again = await client.call_tool(RUN, {**first, "_approval_id": approval})

    assert "'other'" in text_of(other)
    assert "'first'" in text_of(by_id), "it had not run yet, though the grant was used"
    assert "'another'" in text_of(another)
    assert text_of(again) == text_of(by_id)
    assert commands(held) == ["another", "first", "other"]
