"""The seed's lifecycle through official clients, in both eras and over both transports: each arrow with its text."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import mcp_types as types
import pytest
from mcp.client import Client, ClientRequestContext

from interlock.approve import desk
from interlock.core.lifecycle import ApprovalState, CallState
from interlock.core.model import Json
from interlock.store.protocol import ActivityType
from tests.approving import BOSS, DELETE, Counter, counter, first_line, said, text_of, wanted
from tests.behaviours.conftest import ERAS
from tests.running import server_yaml, serving
from tests.upstream.everything import everything_argv

DOORS = ("http", "stdio")
each_way = pytest.mark.parametrize(("era", "door"), [(era, door) for era in ERAS for door in DOORS])
RAN = "No such note."


@pytest.fixture
async def held(tmp_path: Path) -> AsyncGenerator[Counter]:
    async with counter(tmp_path) as made:
        yield made


# The two phases -------------------------------------------------------------------------------------------------


@each_way
async def test_a_held_call_without_a_reason_is_told_to_give_one(held: Counter, era: str, door: str) -> None:
    async with held.client(era, door) as client:
        direct = await client.call_tool(DELETE, wanted(why=None))
        declared = {"name": "up:delete_note", "args": {"name": "a"}, "intent": {"operation_type": "destructive"}}
        variant = await client.call_tool("call_tool_destructive", declared)

    sentence = (
        "This tool requires approval before execution. Retry your call with an additional `{}` field explaining why "
        "you need to use this tool."
    )
    assert [said(each)["message"] for each in (direct, variant)] == [
        sentence.format("_justification"),
        sentence.format("intent.reason"),
    ]
    assert said(direct)["code"] == said(variant)["code"] == "JUSTIFICATION_REQUIRED"
    assert (len(held.board), held.sends()) == (0, 0)


@each_way
async def test_pending_approved_executes(held: Counter, era: str, door: str) -> None:
    async with held.client(era, door) as client, asyncio.TaskGroup() as group:
        calling = group.create_task(client.call_tool(DELETE, wanted()))
        waiting = await held.one()
        before = held.sends()
        await held.approve(waiting.id)
        result = await calling

    done = await held.approval(waiting.id)
    assert (before, held.sends()) == (0, 1)
    assert (text_of(result), result.is_error) == (RAN, False)
    assert (done.status, done.approver, done.approver_type) == (ApprovalState.APPROVED, "operator", "cli")


@each_way
@pytest.mark.parametrize(("why", "told"), [("Too risky", "Too risky"), ("", "no reason given")])
async def test_pending_denied_errors(held: Counter, era: str, door: str, why: str, told: str) -> None:
    async with held.client(era, door) as client, asyncio.TaskGroup() as group:
        calling = group.create_task(client.call_tool(DELETE, wanted()))
        await held.deny((await held.one()).id, why)
        result = await calling

    assert (result.is_error, said(result)["code"]) == (True, "DENIED")
    assert first_line(result) == f"Tool call denied. Reason: {told}"
    assert held.sends() == 0


@each_way
async def test_pending_timeout_errors(tmp_path: Path, era: str, door: str) -> None:
    async with counter(tmp_path, "hold: {approval_timeout: 1}") as held, held.client(era, door) as client:
        result = await client.call_tool(DELETE, wanted())
        (approval,) = await held.history()

    assert (result.is_error, said(result)["code"]) == (True, "TIMEOUT")
    assert first_line(result) == "Tool call denied. Reason: timed out"
    assert (approval.status, held.sends()) == (CallState.TIMEOUT, 0)


@each_way
async def test_pending_cancelled_when_the_client_leaves(held: Counter, era: str, door: str) -> None:
    async with held.client(era, door) as client:
        async with asyncio.TaskGroup() as group:
            calling = group.create_task(client.call_tool(DELETE, wanted()))
            waiting = await held.one()
            calling.cancel()
        done = await held.resolved(waiting.id)
        # This official client fails if it is closed while the answer to what it cancelled is on its way.
        await client.list_tools()

    assert (done.status, done.resolution) == (ApprovalState.CANCELLED, "client disconnected")
    assert (done.approver_type, held.sends()) == ("system", 0)


@pytest.mark.parametrize("era", ERAS)
async def test_a_gateway_that_stops_tells_those_who_wait(tmp_path: Path, era: str) -> None:
    async with asyncio.TaskGroup() as group, counter(tmp_path) as held:
        connected = asyncio.Event()

        async def call() -> types.CallToolResult:
            async with held.client(era) as client:
                connected.set()
                return await client.call_tool(DELETE, wanted())

        calling = group.create_task(call())
        waiting = await held.one()
        await held.running.gateway.parts.room.desk.close()
        result = await calling
        done = await held.approval(waiting.id)

    assert first_line(result) == "Tool call cancelled. Reason: server shutdown"
    assert (done.status, done.resolution, held.sends()) == (ApprovalState.CANCELLED, "server shutdown", 0)


# Impatient clients ----------------------------------------------------------------------------------------------


@each_way
async def test_an_impatient_client_is_told_to_come_again_and_its_repeat_runs_once(
    tmp_path: Path, era: str, door: str
) -> None:
    async with counter(tmp_path, "hold: {answer_after: 200ms}") as held, held.client(era, door) as client:
        told = await client.call_tool(DELETE, wanted())
        waiting = said(told)
        again = await client.call_tool(DELETE, wanted(why=None))
        await held.approve(waiting["approval_id"])
        status = await client.call_tool("interlock__await_approval", {"approval_id": waiting["approval_id"]})
        ran = await client.call_tool(DELETE, wanted(why=None))
        other = await client.call_tool(DELETE, wanted("b"))
        once_more = await client.call_tool(DELETE, wanted())

    assert (waiting["status"], told.is_error, waiting["code"]) == ("pending", False, "PENDING")
    assert waiting["approval_id"] in text_of(told)
    assert "interlock__await_approval" in text_of(told)
    assert said(again)["approval_id"] == waiting["approval_id"], "a repeat while pending attaches"
    assert said(status) == {"approval_id": waiting["approval_id"], "status": "approved"}
    assert text_of(ran) == RAN
    assert held.sends() == 1
    others = {said(each)["approval_id"] for each in (other, once_more)}
    assert len({waiting["approval_id"], *others}) == 3, "other arguments, and the same call after its run, ask anew"


async def test_a_client_is_answered_after_the_time_that_its_name_has(tmp_path: Path) -> None:
    text = "hold: {answer_after: never, clients: {mcp: 100ms}}"
    async with counter(tmp_path, text) as held, held.client() as client:
        told = await client.call_tool(DELETE, wanted())

    assert said(told)["status"] == "pending"


async def test_a_pending_answer_is_an_error_where_the_tool_promises_a_shape(tmp_path: Path) -> None:
    text = "route_rules: [{id: all, effect: hold}]\nhold: {answer_after: 100ms}\nexpose: direct\nservers:\n"
    text += server_yaml("all", everything_argv(tmp_path / "all.log"))
    arguments = {"location": "New York", "_justification": "look"}
    async with serving(tmp_path, text) as running, Client(running.url) as client:
        told = await client.call_tool("all__get-structured-content", arguments)

    assert (told.is_error, said(told)["status"]) == (True, "pending")


@pytest.mark.parametrize("era", ERAS)
async def test_whoever_waits_with_a_progress_token_hears_that_it_waits(
    held: Counter, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "PROGRESS_SECONDS", 0.02)
    heard: list[tuple[float, str | None]] = []
    enough = asyncio.Event()

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))
        if len(heard) >= 3:
            enough.set()

    async with held.client(era) as client, asyncio.TaskGroup() as group:
        calling = group.create_task(client.call_tool(DELETE, wanted(), progress_callback=listen))
        waiting = await held.one()
        await enough.wait()
        await held.approve(waiting.id)
        result = await calling

    steps = [step for step, _ in heard]
    assert text_of(result) == RAN
    assert steps == sorted(steps)
    assert len(set(steps)) == len(steps), "progress only grows"
    assert heard[0][1] == f"Waiting for approval {waiting.id}"


# Being asked for the reason -------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_can_be_asked_is_asked_for_its_reason(tmp_path: Path, era: str) -> None:
    asked: list[str] = []

    async def answer(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"justification": "the disk is full"})

    async with (
        counter(tmp_path, "hold: {ask_justification: elicit}") as held,
        held.client(era, elicitation_callback=answer) as client,
        asyncio.TaskGroup() as group,
    ):
        calling = group.create_task(client.call_tool(DELETE, wanted(why=None)))
        waiting = await held.one()
        approval = await held.approval(waiting.id)
        await held.approve(waiting.id)
        result = await calling

    assert (len(asked), text_of(result)) == (1, RAN)
    assert approval.asked["justification"] == "the disk is full"
    assert held.sends() == 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_declines_or_cannot_be_asked_is_told_to_give_a_reason(tmp_path: Path, era: str) -> None:
    async def decline(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async with counter(tmp_path, "hold: {ask_justification: elicit}") as held:
        async with held.client(era, elicitation_callback=decline) as client:
            declined = await client.call_tool(DELETE, wanted(why=None))
        async with held.client(era) as client:
            mute = await client.call_tool(DELETE, wanted(why=None))

    assert [said(each)["code"] for each in (declined, mute)] == ["JUSTIFICATION_REQUIRED"] * 2
    assert (len(held.board), held.sends()) == (0, 0)


# A supervising agent --------------------------------------------------------------------------------------------


@each_way
async def test_a_supervising_agent_answers_for_another_over_mcp(held: Counter, era: str, door: str) -> None:
    worker, boss = await held.token("worker"), await held.token("boss", "approver")
    async with (
        held.client(era, door, worker) as agent,
        held.client(era, door, boss) as supervisor,
        asyncio.TaskGroup() as group,
    ):
        listed = {tool.name for tool in (await supervisor.list_tools()).tools}
        hidden = {tool.name for tool in (await agent.list_tools()).tools}
        calling = group.create_task(agent.call_tool(DELETE, wanted()))
        waiting = await held.one()
        seen = said(await supervisor.call_tool("interlock__list_pending_approvals", {}))
        arguments = {"approval_id": waiting.id, "reason": "looked at it"}
        answered = await supervisor.call_tool("interlock__approve_tool_call", arguments)
        result = await calling

    approving = {"interlock__list_pending_approvals", "interlock__approve_tool_call", "interlock__deny_tool_call"}
    done = await held.approval(waiting.id)
    assert listed == {*approving, "interlock__await_approval"}
    assert not approving & hidden
    assert [each["id"] for each in seen["items"]] == [waiting.id]
    assert seen["items"][0]["arguments"] == {"name": "a"}
    assert seen["items"][0]["justification"] == "tidying up"
    assert said(answered)["status"] == "approved"
    assert (text_of(result), held.sends()) == (RAN, 1)
    assert (done.approver, done.approver_type, done.resolution) == ("boss", "mcp_agent", "looked at it")


@pytest.mark.parametrize("era", ERAS)
async def test_a_supervising_agent_denies_with_its_reason(held: Counter, era: str) -> None:
    worker, boss = await held.token("worker"), await held.token("boss", "approver")
    async with held.client(era, token=worker) as agent, held.client(era, token=boss) as supervisor:
        async with asyncio.TaskGroup() as group:
            calling = group.create_task(agent.call_tool(DELETE, wanted()))
            waiting = await held.one()
            await supervisor.call_tool("interlock__deny_tool_call", {"approval_id": waiting.id, "reason": "no"})
            result = await calling
        twice = await supervisor.call_tool("interlock__deny_tool_call", {"approval_id": waiting.id})

    assert first_line(result) == "Tool call denied. Reason: no"
    assert said(twice)["message"] == "approval already resolved"


async def test_an_approver_calls_no_tools_and_an_agent_answers_for_nobody(held: Counter) -> None:
    worker, boss = await held.token("worker"), await held.token("boss", "approver")
    async with held.client(token=boss) as supervisor, held.client(token=worker) as agent:
        called = await supervisor.call_tool("up__read_note", {"name": "a"})
        declared = {"name": "up:read_note", "args": {"name": "a"}, "intent": {"operation_type": "read"}}
        by_variant = await supervisor.call_tool("call_tool_read", declared)
        answered = await agent.call_tool("interlock__approve_tool_call", {"approval_id": "ap_1"})

    assert [said(each)["code"] for each in (called, by_variant)] == ["FORBIDDEN", "FORBIDDEN"]
    assert said(answered)["code"] == "UNKNOWN_TOOL"
    assert held.sends() == 0


# The record -----------------------------------------------------------------------------------------------------


async def test_the_approval_has_everything_that_a_reviewer_needs(tmp_path: Path) -> None:
    text = "workspaces: [{id: ws, name: Works}]\nroute_rules: [{id: gone, tool_pattern: 'up__delete_*', effect: hold}]"
    async with counter(tmp_path, text) as held:
        token = await held.token("worker", label="some-model")
        async with held.client("legacy", token=token) as client, asyncio.TaskGroup() as group:
            calling = group.create_task(client.call_tool(DELETE, wanted("a", "tidy; password=hunter2hunter2")))
            waiting = await held.one()
            approval = await held.approval(waiting.id)
            await held.deny(waiting.id)
            await calling
        (told,) = await held.history()
        (call,) = await held.history(ActivityType.POLICY_DECISION)

    asked: dict[str, Json] = dict(approval.asked)
    assert asked["arguments"] == {"name": "a"}
    assert asked["request_client_type"] == "mcp"
    assert asked["request_model"] == "some-model"
    assert asked["workspace_name"] == "Works"
    assert asked["request_session_id"]
    assert "hunter2hunter2" not in str(asked)
    assert (approval.rule_id, approval.tool_name, approval.owner) == ("gone", DELETE, "operator")
    assert (approval.key.caller, approval.key.workspace, approval.key.safety_class) == ("worker", "ws", "dangerous")
    assert (told.id, told.status, told.body["change"]) == (waiting.id, CallState.DENIED, "denied")
    assert (call.approval_id, call.status, call.verdict) == (waiting.id, CallState.DENIED, "hold")


async def test_the_run_of_an_approved_call_names_its_approval(held: Counter) -> None:
    async with held.client() as client, asyncio.TaskGroup() as group:
        calling = group.create_task(client.call_tool(DELETE, wanted()))
        waiting = await held.one()
        await held.approve(waiting.id, BOSS)
        await calling
    (call,) = await held.history(ActivityType.TOOL_CALL)

    assert (call.approval_id, call.status, call.verdict) == (waiting.id, CallState.SUCCESS, "allow")
