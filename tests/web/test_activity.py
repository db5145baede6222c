"""The record, listed and filtered."""

from typing import Any

import pytest

from interlock.core.lifecycle import CallState
from interlock.core.model import OperationType
from interlock.core.safety import Effect, SafetyClass
from interlock.store.protocol import ActivityType
from interlock.web.activity import shown
from tests.stores import tamper
from tests.web.office import NOW, Office, activity

RECORDED = (
    activity(1, server="github", tool="get_issue", intent_type=OperationType.READ, safety_class=SafetyClass.READ_ONLY),
    activity(2, server="github", tool="set_title", intent_type=OperationType.WRITE, status=CallState.ERROR),
    activity(3, server="db", tool="drop", intent_type=OperationType.DESTRUCTIVE, safety_class=SafetyClass.DANGEROUS),
    activity(4, caller="ci", type=ActivityType.POLICY_DECISION, status=CallState.BLOCKED, verdict=Effect.DENY),
    activity(5, caller="ci", session_id="s-1", verdict=Effect.ALLOW, status=CallState.TIMEOUT),
    activity(6, type=ActivityType.SYSTEM),
)
ALL = [6, 5, 4, 3, 2, 1]


@pytest.fixture
async def recorded(bare: Office) -> Office:
    await bare.store.write(RECORDED)
    bare.clock.forward(10_000_000)
    return bare


async def found(running: Office, query: str) -> list[int]:
    """The numbers of the activities that a query finds, without those that tell of the tokens of the test."""
    page = await running.get(f"/activity?{query}", "auditor")
    return [int(each["id"][4:]) for each in page["items"] if each["type"] != "token_change"]


async def test_everything_is_listed_newest_first(recorded: Office) -> None:
    assert await found(recorded, "") == ALL


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("type=system", [6]),
        ("type=policy_decision,system", [6, 4]),
        ("type=policy_decision&type=system", [6, 4]),
        ("status=error", [2]),
        ("status=error,%20blocked&status=timeout", [5, 4, 2]),
        ("server=github", [2, 1]),
        ("tool=drop", [3]),
        ("caller=ci", [5, 4]),
        ("session_id=s-1", [5]),
        ("intent_type=read", [1]),
        ("intent_type=write", [2]),
        ("intent_type=destructive", [3]),
        ("safety_class=dangerous", [3]),
        ("verdict=deny", [4]),
        ("verdict=hold", []),
        ("caller=ci&verdict=allow&status=timeout", [5]),
        ("since=2026-09-21T14:13:24Z", [6, 5, 4]),
        ("until=2026-09-21T14:13:24Z", [3, 2, 1]),
        ("since=7s", [6, 5, 4, 3]),
        ("since=8s&until=6s", [3, 2]),
        ("since=7d", ALL),
        ("server=nobody", []),
        ("tool=%00", []),
    ],
)
async def test_each_filter_leaves_what_fits(recorded: Office, query: str, numbers: list[int]) -> None:
    assert await found(recorded, query) == numbers


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("type=call", "type: each word must be one of tool_call, policy_decision, approval,"),
        ("type=", "type: each word must be one of "),
        ("status=ok", "status: each word must be one of received, held, sent, success, error,"),
        ("intent_type=unknown", "intent_type: Input should be 'read', 'write' or 'destructive'"),
        ("safety_class=safe", "safety_class: Input should be 'read-only', 'write-capable',"),
        ("verdict=maybe", "verdict: Input should be 'allow', 'hold' or 'deny'"),
        ("since=yesterday", "since: must be an ISO 8601 time such as 2026-11-15T09:30:00Z, or a duration"),
        ("until=5", "until: must be an ISO 8601 time"),
        ("limit=0", "limit: Input should be greater than or equal to 1"),
        ("limit=501", "limit: Input should be less than or equal to 500"),
        ("limit=ten", "limit: Input should be a valid integer"),
        ("cursor=mine", "cursor: This is not a cursor of the activity list"),
        ("statsu=error", "statsu: it is not known here; known are type, status, server,"),
    ],
)
async def test_a_wrong_filter_is_named_with_what_would_be_accepted(bare: Office, query: str, problem: str) -> None:
    answer = await bare.ask("GET", f"/activity?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
    assert answer.json()["detail"].startswith(problem)


async def test_pages_follow_each_other_without_a_gap(recorded: Office) -> None:
    seen: list[str] = []
    query = "type=tool_call,policy_decision,system&limit=4"
    page = await recorded.get(f"/activity?{query}")
    while True:
        seen += [each["id"] for each in page["items"]]
        if page["next"] is None:
            break
        page = await recorded.get(f"/activity?{query}&cursor={page['next']}")

    assert seen == [f"act-{number:04}" for number in ALL]


async def test_a_page_holds_fifty_unless_more_are_asked_for(bare: Office) -> None:
    await bare.store.write([activity(number) for number in range(60)])

    assert len((await bare.get("/activity?type=tool_call"))["items"]) == 50
    assert len((await bare.get("/activity?type=tool_call&limit=500"))["items"]) == 60


async def test_one_activity_is_shown_with_everything_of_its_body(recorded: Office) -> None:
    body: dict[str, Any] = {"entry": "mcp", "metadata": {"intent": {"reason": "x"}, "warnings": []}, "extra": [1]}
    await recorded.store.write([activity(7, body=body, workspace="ws", rule_id="r", approval_id="a", server="db")])

    assert await recorded.get("/activity/act-0007") == {
        "id": "act-0007",
        "at": "2026-09-21T14:13:27.000000Z",
        "type": "tool_call",
        "status": "success",
        "server": "db",
        "tool": None,
        "caller": None,
        "session_id": None,
        "workspace_id": "ws",
        "intent_type": None,
        "safety_class": None,
        "verdict": None,
        "rule_id": "r",
        "approval_id": "a",
        **body,
    }


def test_a_body_never_speaks_for_the_columns() -> None:
    told = shown(activity(1, body={"id": "forged", "caller": "forged", "at": 0, "workspace_id": "forged"}))

    assert (told["id"], told["caller"], told["workspace_id"]) == ("act-0001", None, None)
    assert told["at"] == "2026-09-21T14:13:21.000000Z"


async def test_half_a_character_on_record_can_be_read(bare: Office) -> None:
    await bare.store.write([activity(1, body={"arguments": {"text": "half \ud800"}})])

    assert (await bare.get("/activity/act-0001"))["arguments"] == {"text": "half \ud800"}


async def test_an_unknown_activity_is_not_found(bare: Office) -> None:
    answer = await bare.ask("GET", "/activity/nothing")

    assert (answer.status_code, answer.json()["detail"]) == (404, "Activity 'nothing' not found.")


def test_the_clock_of_these_tests_is_where_they_think() -> None:
    assert shown(activity(0))["at"] == "2026-09-21T14:13:20.000000Z"
    assert activity(0).at == NOW


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("status", "success\x1b[31m", "'success\\x1b[31m' is not a valid CallState"),
        ("type", "mine", "'mine' is not a valid ActivityType"),
        ("body", "{", "Expecting property name"),
    ],
)
async def test_a_row_that_was_changed_is_said_to_be_damaged_and_blames_nobody_who_asks(
    recorded: Office, column: str, value: str, told: str
) -> None:
    tamper(recorded.folder, f"UPDATE activity SET {column} = ? WHERE id = 'act-0003'", value)  # noqa: S608
    for path in ("/activity", "/activity/act-0003"):
        refused = await recorded.ask("GET", path, "auditor")

        assert (refused.status_code, refused.json()["code"]) == (503, "AUDIT_UNAVAILABLE")
        assert refused.json()["detail"].startswith(f"The record of activity 'act-0003' is damaged: {told}")
        assert refused.json()["fix"].startswith("Run `interlock audit verify`")
