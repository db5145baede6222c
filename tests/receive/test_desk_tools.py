"""Our tools around approvals, asked as their callers ask them."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from interlock.core.lifecycle import ApprovalState
from interlock.core.model import Caller
from interlock.kept import Origin
from interlock.receive.desk_tools import APPROVE, AWAIT, DENY, LIST
from tests.approving import DELETE, Counter, counter, said, wanted
from tests.running import desk_tools_of

BOSS = Caller("boss", token="t1", owner="operator", may_call=False, may_answer=True)  # noqa: S106 - an id
SHORT = "hold: {answer_after: 50ms}"


@pytest.fixture
async def held(tmp_path: Path) -> AsyncGenerator[Counter]:
    async with counter(tmp_path, SHORT) as made:
        yield made


async def ask(held: Counter, name: str, caller: Caller = BOSS, **params: Any) -> dict[str, Any]:
    result = await desk_tools_of(held.running.gateway).serve(name, params, caller, Origin("mcp", "s1"))
    return result["structuredContent"]


async def pending(held: Counter, name: str = "a", token: str | None = None) -> str:
    async with held.client(token=token) as client:
        return str(said(await client.call_tool(DELETE, wanted(name)))["approval_id"])


async def test_a_list_shows_the_requests_of_others_with_times_that_can_be_read(held: Counter) -> None:
    first, second = await pending(held, "a"), await pending(held, "b")
    listed = await ask(held, LIST)

    assert [each["id"] for each in listed["items"]] == [second, first]
    assert listed["items"][0]["created_at"].endswith("Z")
    assert listed["items"][0]["decided_at"] is None


async def test_an_approver_that_lists_what_waits_counts_as_listening(held: Counter) -> None:
    parts, before = held.running.gateway.parts, held.running.gateway.parts.listening()
    boss = await held.token("watcher", "agent", "approver")
    async with held.client(token=boss) as client:
        await client.call_tool(LIST, {})

    assert (before, parts.listening()) == ([], ["an approver was here a short while ago"])


async def test_a_list_shows_the_votes_that_are_there_as_rest_does(tmp_path: Path) -> None:
    async with counter(tmp_path, f"{SHORT[:-1]}, approvals_needed: 2}}") as held:
        approval_id = await pending(held)
        await ask(held, APPROVE, approval_id=approval_id)
        (shown,) = (await ask(held, LIST))["items"]

    assert shown["votes"] == [{"approver": "boss", "at": shown["votes"][0]["at"], "scope": "once"}]
    assert shown["votes"][0]["at"].endswith("Z")


async def test_nobody_sees_its_own_requests_among_those_it_could_answer(held: Counter) -> None:
    both = await held.token("both", "agent", "approver")
    await pending(held, token=both)

    assert (await ask(held, LIST, Caller("both", may_answer=True)))["items"] == []


async def test_the_answer_is_that_of_the_caller_and_its_session(held: Counter) -> None:
    approval_id = await pending(held)
    told = await ask(held, APPROVE, approval_id=approval_id, reason="fine", approver="operator", decided_by="x")
    done = await held.approval(approval_id)

    assert (told["status"], told["votes"]) == ("approved", 1)
    assert (done.approver, done.approver_session_id, done.resolution) == ("boss", "s1", "fine")


@pytest.mark.parametrize("name", [APPROVE, DENY])
@pytest.mark.parametrize("approval_id", ["", 5, None, "x" * 65])
async def test_an_id_that_is_none_is_refused(held: Counter, name: str, approval_id: Any) -> None:
    assert (await ask(held, name, approval_id=approval_id))["code"] == "BAD_REQUEST"


@pytest.mark.parametrize("reason", [5, "x" * 1001])
async def test_a_reason_that_is_none_is_refused_and_nothing_is_answered(held: Counter, reason: Any) -> None:
    approval_id = await pending(held)

    assert (await ask(held, DENY, approval_id=approval_id, reason=reason))["code"] == "BAD_REQUEST"
    assert (await held.approval(approval_id)).status is ApprovalState.PENDING


async def test_an_approval_that_there_is_not_cannot_be_answered(held: Counter) -> None:
    assert (await ask(held, DENY, approval_id="ap_nothing"))["code"] == "NOT_FOUND"


async def test_whoever_waits_learns_the_status_and_nothing_more(held: Counter) -> None:
    approval_id = await pending(held)
    waits = await ask(held, AWAIT, Caller("local"), approval_id=approval_id)
    await held.deny(approval_id, "because")
    done = await ask(held, AWAIT, Caller("local"), approval_id=approval_id)

    assert waits == {"approval_id": approval_id, "status": "pending"}
    assert done == {"approval_id": approval_id, "status": "denied"}


async def test_the_status_is_for_the_requester_and_for_approvers(held: Counter) -> None:
    approval_id = await pending(held)

    assert (await ask(held, AWAIT, Caller("other"), approval_id=approval_id))["code"] == "NOT_FOUND"
    assert (await ask(held, AWAIT, approval_id=approval_id))["status"] == "pending"


async def test_while_the_store_cannot_be_read_it_says_so(held: Counter) -> None:
    await held.running.gateway.store.close()

    assert (await ask(held, LIST))["code"] == "AUDIT_UNAVAILABLE"


async def test_a_caller_waits_for_so_many_statuses_at_a_time_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.receive.desk_tools.MAX_WATCHING", 2)
    async with counter(tmp_path, "hold: {answer_after: never, clients: {mcp: 50ms}}") as held:
        approval_id = await pending(held)
        tools = desk_tools_of(held.running.gateway)
        async with asyncio.TaskGroup() as group:
            params = {"approval_id": approval_id}
            waiting = [
                group.create_task(tools.serve(AWAIT, params, Caller("local"), Origin("mcp", "s1"))) for _ in range(3)
            ]
            done, others = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            await held.deny(approval_id)

    assert [each.result()["structuredContent"]["status"] for each in done] == ["pending"]
    assert {each.result()["structuredContent"]["status"] for each in others} == {"denied"}
