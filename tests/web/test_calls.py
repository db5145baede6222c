"""Calling a tool from REST: through the same path as every agent."""

import asyncio
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from interlock.core.canonical import argument_digest
from interlock.core.lifecycle import CallState
from interlock.core.policy import Policy
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect
from tests.upstream.running import received
from tests.web.office import HOST, Office
from tests.web.strange import ERROR, EXACTLY, FAILED, NAMES


async def call(running: Office, tool: str, server: str = "up", **body: Any) -> httpx2.Response:
    return await running.ask("POST", f"/tools/{server}/{quote(tool, safe='')}/call", json=body)


async def test_a_call_gives_back_the_result_and_the_id_of_its_record(live: Office) -> None:
    answer = await call(live, "write_note", "upper", arguments={"name": "a", "text": "b"})
    recorded = await live.get(f"/activity/{answer.json()['activity_id']}")

    assert answer.status_code == 200
    assert answer.json()["result"]["content"] == [{"type": "text", "text": "Written."}]
    assert {name: recorded[name] for name in ("server", "tool", "caller", "workspace_id", "status", "entry")} == {
        "server": "up",
        "tool": "write_note",
        "caller": "operator-agent",
        "workspace_id": "ws-default",
        "status": "success",
        "entry": "try-it",
    }
    assert live.sends() == 1


async def test_a_read_is_on_record_when_its_answer_comes(live: Office) -> None:
    for _ in range(20):
        answer = await call(live, "echo")
        await live.get(f"/activity/{answer.json()['activity_id']}")


async def test_a_result_comes_back_byte_for_byte(live: Office) -> None:
    answer = await call(live, "read_exactly", "odd")

    assert answer.text == f'{{"activity_id":"{answer.json()["activity_id"]}","result":{EXACTLY}}}'


async def test_a_result_that_says_it_failed_is_no_error_of_http(live: Office) -> None:
    answer = await call(live, "read_failed", "odd")

    assert answer.status_code == 200
    assert answer.text.endswith(f'"result":{FAILED}}}')


async def test_an_error_of_the_protocol_is_told_as_one(live: Office) -> None:
    answer = await call(live, "read_refused", "odd")

    assert answer.status_code == 200
    assert answer.text.endswith(f',"error":{ERROR}}}')


async def test_arguments_reach_the_server_as_they_came_and_ours_stay_here(live: Office) -> None:
    raw = b'{"arguments":{"f":1.0,"big":123456789012345678901234567890,"_justification":"x","_approval_id":"y"}}'
    path = "/tools/up/echo/call"
    await live.ask("POST", path, content=raw, headers={"Content-Type": "application/json"})
    sent = [each.raw for each in received(live.log) if each.method == "tools/call"][-1]
    (recorded,) = await live.calls()

    assert b'"arguments":{"f":1.0,"big":123456789012345678901234567890}' in sent
    assert recorded.body["digest"] == argument_digest({"f": 1.0, "big": 123456789012345678901234567890})


@pytest.mark.parametrize("name", NAMES)
async def test_a_tool_is_called_whatever_its_name_is(live: Office, name: str) -> None:
    answer = await call(live, name, "curious")

    assert answer.status_code == 200
    assert (await live.calls())[0].tool == name


@pytest.mark.parametrize(
    ("tool", "body", "status", "code"),
    [
        ("delete_note", {}, 400, "JUSTIFICATION_REQUIRED"),
        ("delete_note", {"arguments": {"_approval_id": "ap_1"}}, 404, "NOT_FOUND"),
        ("nothing", {}, 404, "UNKNOWN_TOOL"),
        ("read_note", {"arguments": {"name": 5}}, 422, "INVALID_ARGUMENTS"),
        ("read_note", {"variant": "read"}, 400, "MISSING_INTENT"),
        ("read_note", {"variant": "read", "intent": {}}, 400, "MISSING_OPERATION_TYPE"),
        ("read_note", {"variant": "read", "intent": {"operation_type": "write"}}, 400, "INTENT_MISMATCH"),
        ("read_note", {"variant": "read", "intent": {"operation_type": "all"}}, 400, "INVALID_OPERATION_TYPE"),
        (
            "read_note",
            {"entry": "call", "variant": "write", "intent": {"operation_type": "read"}},
            400,
            "INTENT_MISMATCH",
        ),
        ("delete_note", {"entry": "call", "variant": "write"}, 400, "SERVER_MISMATCH"),
        ("read_note", {"intent": {"data_sensitivity": "some"}}, 400, "INVALID_SENSITIVITY"),
        ("read_note", {"intent": {"reason": "x" * 1001}}, 400, "REASON_TOO_LONG"),
        ("write_note", {"entry": "run-tool"}, 403, "DENIED_BY_RULE"),
        ("delete_note", {"entry": "run-tool", "approve": True}, 403, "DENIED_BY_RULE"),
        ("frobnicate", {"entry": "run-tool", "dangerous": True}, 403, "UNKNOWN_CLASS"),
        ("delete_note", {"entry": "lab", "dangerous": True}, 403, "DENIED_BY_RULE"),
        ("frobnicate", {"entry": "lab", "strict": True}, 403, "DENIED_BY_RULE"),
        ("read_note", {"entry": "lab", "arguments": {"name": 5}}, 422, "INVALID_ARGUMENTS"),
        ("read_note", {"entry": "call", "unchecked": True, "arguments": {"name": 5}}, 422, "INVALID_ARGUMENTS"),
    ],
)
async def test_a_refusal_of_the_path_sends_nothing_and_is_on_record(
    live: Office, tool: str, body: dict[str, Any], status: int, code: str
) -> None:
    answer = await call(live, tool, **body)
    problem = answer.json()
    (recorded,) = await live.calls()

    assert (answer.status_code, problem["code"], problem["status"]) == (status, code, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (recorded.id, recorded.status) == (problem["activity_id"], CallState.BLOCKED)
    assert live.sends() == 0


@pytest.mark.parametrize(
    ("tool", "body", "variant", "entry"),
    [
        ("read_note", {}, "direct", "try-it"),
        ("read_note", {"variant": "read", "intent": {"operation_type": "read"}}, "call_tool_read", "try-it"),
        ("read_note", {"entry": "call", "variant": "read"}, "call_tool_read", "call"),
        ("read_note", {"entry": "call", "variant": "read", "intent": {"reason": "why"}}, "call_tool_read", "call"),
        ("write_note", {"entry": "call"}, "direct", "call"),
        ("write_note", {"entry": "run-tool", "approve": True, "variant": "read"}, "direct", "run-tool"),
        ("delete_note", {"entry": "run-tool", "dangerous": True}, "direct", "run-tool"),
        ("frobnicate", {"entry": "lab"}, "direct", "lab"),
        ("delete_note", {"entry": "lab", "execute_destructive": True, "variant": "read"}, "direct", "lab"),
        ("read_note", {"entry": "lab", "unchecked": True, "arguments": {"name": 5}}, "direct", "lab"),
    ],
)
async def test_each_entry_has_its_own_keys(
    live: Office, tool: str, body: dict[str, Any], variant: str, entry: str
) -> None:
    answer = await call(live, tool, **body)
    recorded = await live.get(f"/activity/{answer.json()['activity_id']}")

    assert answer.status_code == 200
    assert (recorded["metadata"]["tool_variant"], recorded["entry"]) == (variant, entry)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"intent": {"reason": "declared"}, "arguments": {"_justification": "argued"}}, "declared"),
        ({"arguments": {"_justification": "argued"}}, "argued"),
        ({"entry": "call", "variant": "read", "arguments": {"_justification": "argued"}}, ""),
    ],
)
async def test_a_direct_call_may_give_its_reason_as_an_argument(
    live: Office, body: dict[str, Any], reason: str
) -> None:
    answer = await call(live, "read_note", **body)
    recorded = await live.get(f"/activity/{answer.json()['activity_id']}")

    assert recorded["metadata"]["intent"]["reason"] == reason


async def test_rules_hold_for_the_operator_too(live: Office) -> None:
    live.parts.pipeline.policy = Policy(rules=RuleBook([Rule("no", Effect.DENY, caller="operator-agent")]))

    assert (await call(live, "read_note")).json()["code"] == "DENIED_BY_RULE"


@pytest.mark.parametrize("unchecked", [False, True])
async def test_a_rule_and_a_freeze_stop_the_lab(live: Office, unchecked: bool) -> None:
    body: dict[str, Any] = {"entry": "lab", "unchecked": unchecked}
    assert (await call(live, "read_note", **body)).status_code == 200
    await live.ask("POST", "/freeze", json={})
    frozen = await call(live, "read_note", **body)
    await live.ask("POST", "/thaw", json={})
    live.parts.pipeline.policy = Policy(rules=RuleBook([Rule("no", Effect.DENY, caller="operator-agent")]))
    denied = await call(live, "read_note", **body)

    assert [frozen.json()["code"], denied.json()["code"]] == ["FROZEN", "DENIED_BY_RULE"]
    assert live.sends() == 1


@pytest.mark.parametrize(
    ("kind", "role", "status"),
    [("human", "admin", 200), ("service", "admin", 200), ("agent", "admin", 403)]
    + [(kind, role, 403) for kind in ("human", "service", "agent") for role in ("agent", "approver", "auditor")],
)
async def test_the_lab_is_for_admins_who_are_no_agents(live: Office, kind: str, role: str, status: int) -> None:
    token = await live.issue(f"{kind}-{role}", role, kind=kind)
    answer = await live.ask_with(token, "POST", "/tools/up/read_note/call", json={"entry": "lab"})

    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == "FORBIDDEN"
    assert live.sends() == (status == 200)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"arguments": []}, "arguments: Input should be a valid dictionary"),
        ({"entry": "mcp"}, "entry: Input should be 'try-it', 'call', 'run-tool' or 'lab'"),
        ({"variant": "direct"}, "variant: Input should be 'read', 'write' or 'destructive'"),
        ({"approve": "true"}, "approve: Input should be a valid boolean"),
        ({"dangerous": 1}, "dangerous: Input should be a valid boolean"),
        ({"intent": "read"}, "intent: Input should be"),
        ({"intent": {"operation": "read"}}, "intent.operation: it is not known here"),
        ({"args": {}}, "args: it is not known here; known are arguments, entry, variant, intent, approve, dangerous"),
    ],
)
async def test_a_malformed_call_is_refused_before_it_is_one(live: Office, body: dict[str, Any], problem: str) -> None:
    answer = await call(live, "read_note", **body)

    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
    assert answer.json()["detail"].startswith(problem)
    assert await live.calls() == []


async def test_a_server_that_goes_away_is_a_bad_gateway(lenient: Office) -> None:
    answer = await call(lenient, "crash")

    assert (answer.status_code, answer.json()["code"]) == (502, "UPSTREAM_DOWN")
    assert answer.json()["activity_id"]


async def test_without_a_store_nothing_is_sent(live: Office) -> None:
    await live.token("admin")
    await live.store.close()

    answer = await call(live, "write_note")

    assert (answer.status_code, answer.json()["code"]) == (503, "AUDIT_UNAVAILABLE")
    assert "activity_id" not in answer.json()
    assert live.sends() == 0


async def test_a_client_that_goes_away_cancels_its_call(lenient: Office) -> None:
    gone = asyncio.Event()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(_ask_and_leave(lenient, gone))
        while lenient.sends() == 0:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        gone.set()
    (recorded,) = await lenient.calls()

    assert recorded.status is CallState.CANCELLED


async def _ask_and_leave(running: Office, gone: asyncio.Event) -> None:
    """A client that sends its request and closes the connection when it is told to."""
    messages = [{"type": "http.request", "body": b'{"arguments":{"seconds":60}}', "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    headers = {
        "host": HOST,
        "authorization": f"Bearer {await running.token('admin')}",
        "content-type": "application/json",
    }
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/tools/up/slow/call",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await running.app(scope, receive, send)
