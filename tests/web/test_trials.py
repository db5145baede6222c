"""Trying calls out over REST: made up ones, and those of the record."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from interlock.core.canonical import argument_digest
from interlock.core.rules import Rule
from interlock.core.safety import Effect
from interlock.store.protocol import ActivityType
from tests.web.office import Office, activity
from tests.web.test_rules import govern

URL = "/rules/test"


async def tried(office: Office, **body: Any) -> dict[str, Any]:
    answer = await office.ask("POST", URL, "approver", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def outcomes(told: dict[str, Any]) -> dict[str, str]:
    return {each["step"]: each["outcome"] for each in told["trace"]}


# Made up --------------------------------------------------------------------------------------------------------


async def test_a_call_is_decided_by_what_is_in_force_and_nothing_is_called_or_recorded(live: Office) -> None:
    govern(live, Rule("ci", Effect.DENY, caller="ci-*", args=(("id", "7*"),)))
    before = len(await live.calls())
    told = await tried(live, tool="up:delete_note", caller="ci-1", args={"id": "77"})

    assert (told["verdict"], told["rule_id"], told["matching_rules"]) == ("deny", "ci", ["ci"])
    assert outcomes(told)["rules"] == "deny"
    assert (told["exact"], told["why_not_exact"], told["recorded"]) == (True, "", None)
    assert told["not_checked"]
    assert (len(await live.calls()), live.sends()) == (before, 0)


async def test_without_more_it_is_an_agent_in_the_default_workspace_that_declares_what_the_class_amounts_to(
    live: Office,
) -> None:
    told = await tried(live, tool="upper__delete_note", args={"id": "7"})

    assert (told["tool"], told["caller"], told["workspace"]) == ("up:delete_note", "agent", "ws-default")
    assert (told["verdict"], told["operation_type"]) == ("hold", "destructive")
    assert told["approval"]["approvals_needed"] == 1


async def test_what_is_declared_and_where_the_caller_is_count(live: Office) -> None:
    govern(live, Rule("prod", Effect.DENY, workspace_id="ws-prod"))

    assert (await tried(live, tool="up:echo", workspace_id="ws-prod"))["rule_id"] == "prod"
    assert outcomes(await tried(live, tool="up:delete_note", operation_type="read"))["annotations"] == "deny"


async def test_a_stop_and_arguments_that_do_not_fit_are_seen_too(live: Office) -> None:
    unfit = await tried(live, tool="up:slow", args={"seconds": "long"})
    await live.ask("POST", "/freeze", json={"server": "up"})
    frozen = await tried(live, tool="up:delete_note", args={"id": "7"})

    assert (outcomes(unfit)["arguments"], outcomes(frozen)["freeze"]) == ("deny", "deny")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"tool": "up:none"}, 404),
        ({"tool": "nothing"}, 404),
        ({"tool": "up:echo", "workspace_id": "ws-prof"}, 400),
        ({"tool": "up:echo", "operation_type": "look"}, 400),
        ({"tool": "up:echo", "activity_id": "a"}, 400),
        ({"activity_id": "none"}, 404),
    ],
)
async def test_what_makes_no_sense_is_refused(live: Office, body: dict[str, Any], status: int) -> None:
    assert (await live.ask("POST", URL, json=body)).status_code == status


# Of the record --------------------------------------------------------------------------------------------------


async def called(office: Office, tool: str, arguments: dict[str, Any], **more: Any) -> str:
    answer = await office.ask("POST", f"/tools/up/{tool}/call", json={"arguments": arguments, **more})
    return answer.json()["activity_id"]


async def test_a_call_of_the_record_is_decided_by_what_is_in_force_now(live: Office) -> None:
    past = await called(live, "echo", {"words": "hello"}, variant="read", intent={"operation_type": "read"})
    govern(live, Rule("hello", Effect.HOLD, caller="operator-agent", args=(("words", "hel*"),)))
    told = await tried(live, activity_id=past)

    assert (told["verdict"], told["rule_id"], told["operation_type"]) == ("hold", "hello", "read")
    assert (told["exact"], told["why_not_exact"]) == (True, "")
    assert {name: told["recorded"][name] for name in ("id", "verdict", "rule_id", "status")} == {
        "id": past,
        "verdict": "allow",
        "rule_id": "posture:guarded",
        "status": "success",
    }


async def test_where_secrets_were_hidden_the_answer_is_not_exact_and_says_why(live: Office) -> None:
    past = await called(live, "echo", {"password": "swordfish-and-more"})
    told = await tried(live, activity_id=past)

    assert told["exact"] is False
    assert told["why_not_exact"].startswith("secrets in its arguments were hidden")
    assert outcomes(told)["arguments"] == "passed"


async def test_arguments_that_were_not_kept_are_said_to_be_missing(live: Office) -> None:
    kept = activity(
        1,
        server="up",
        tool="echo",
        caller="ci",
        safety_class="read-only",
        verdict="allow",
        body={"arguments": {"kept": False, "bytes": 99_999, "keys": ["a"]}, "digest": "d" * 64},
    )
    await live.store.write([kept])
    told = await tried(live, activity_id=kept.id)

    assert (told["exact"], told["caller"]) == (False, "ci")
    assert told["why_not_exact"].startswith("its arguments were too long to be kept")


async def test_arguments_of_the_record_are_held_against_the_schema_only_if_they_are_those_that_were_sent(
    live: Office,
) -> None:
    said = {"seconds": "long"}
    known: dict[str, Any] = {"server": "up", "tool": "slow", "safety_class": "read-only", "verdict": "allow"}
    for number, digest in ((1, argument_digest(said)), (2, "of something else")):
        await live.store.write([activity(number, **known, body={"arguments": said, "digest": digest})])
    exact, hidden = [await tried(live, activity_id=f"act-{number:04}") for number in (1, 2)]

    assert (outcomes(exact)["arguments"], outcomes(hidden)["arguments"]) == ("deny", "passed")


async def test_a_tool_that_is_gone_is_tried_with_the_class_it_had(live: Office) -> None:
    gone = activity(1, server="old", tool="get_x", caller="ci", safety_class="dangerous", verdict="allow")
    await live.store.write([structs.replace(gone, body={"class_source": "override", "arguments": {}, "digest": "?"})])
    told = await tried(live, activity_id=gone.id)

    assert (told["tool"], told["safety_class"], told["class_source"]) == ("old:get_x", "dangerous", "override")
    assert told["verdict"] == "hold"


async def test_what_is_no_call_of_a_tool_cannot_be_tried(live: Office) -> None:
    await live.store.write([activity(1, type=ActivityType.TOKEN_CHANGE), activity(2, tool="nothing", server="up")])

    for number in (1, 2):
        assert (await live.ask("POST", URL, json={"activity_id": f"act-{number:04}"})).status_code == 404


async def test_a_method_of_the_protocol_is_tried_like_a_tool(live: Office) -> None:
    body = {"metadata": {"method": "resources/read", "tool_variant": "direct"}, "arguments": {"uri": "x"}}
    read = activity(1, server="up", tool="resources/read", caller="ci", safety_class="read-only", verdict="allow")
    await live.store.write([structs.replace(read, body=body)])
    told = await tried(live, activity_id=read.id)

    assert (told["tool"], told["verdict"]) == ("up:resources/read", "allow")


async def test_the_posture_of_a_workspace_counts(live: Office) -> None:
    pipeline = live.parts.pipeline
    strict = type(pipeline.policy.entry.posture)("strict")
    pipeline.policy = replace(pipeline.policy, postures_of_workspaces={"ws-prod": strict})

    assert (await tried(live, tool="up:frobnicate", workspace_id="ws-prod"))["posture"] == "strict"
