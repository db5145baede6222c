"""Approvals over REST: what is listed, who may answer, and that each is resolved once."""

import asyncio
from typing import Any

import httpx2
import pytest

from interlock.core.lifecycle import ApprovalEvent, ApprovalState
from interlock.core.model import HoldTerms
from interlock.core.safety import SafetyClass
from interlock.store.protocol import ActivityFilter, ActivityType
from interlock.web.times import iso
from tests.web.office import NOW, Office
from tests.web.questions import DELETE, MINUTE, REASON, ask, held

SELF = "You cannot approve your own tool call request."


async def answer(office: Office, approval_id: str, how: str = "approve", role: str = "approver", **body: Any) -> Any:
    return await office.ask("POST", f"/approvals/{approval_id}/{how}", role, json=body)


async def status(office: Office, approval_id: str) -> ApprovalState:
    found = await office.store.approvals.get_approval(approval_id)
    assert found is not None
    return found.status


# Looking --------------------------------------------------------------------------------------------------------


async def test_approvals_are_listed_newest_first_with_how_many_there_are(bare: Office) -> None:
    for number in range(1, 6):
        await ask(bare, number)
    page = await bare.get("/approvals?limit=2&offset=1", "auditor")

    assert [each["id"] for each in page["items"]] == ["ap_0004", "ap_0003"]
    assert page["total"] == 5


async def test_approvals_are_listed_by_status_workspace_and_session(bare: Office) -> None:
    await ask(bare, 1, workspace="ws-prod")
    await ask(bare, 2, asked={"request_session_id": "s-2"})
    await ask(bare, 3)
    await answer(bare, "ap_0003", "deny")

    async def listed(query: str) -> list[str]:
        return [each["id"] for each in (await bare.get(f"/approvals?{query}"))["items"]]

    assert await listed("status=denied") == ["ap_0003"]
    assert await listed("status=pending") == ["ap_0002", "ap_0001"]
    assert await listed("workspace_id=ws-prod") == ["ap_0001"]
    assert await listed("session_id=s-2") == ["ap_0002"]
    assert await listed("session_id=s-2&status=denied") == []


async def test_an_approval_is_shown_with_all_that_its_record_has(bare: Office) -> None:
    asked = {"request_client_type": "claude-code", "request_model": "m", "workspace_name": "Default"}
    await ask(bare, 1, owner="alice", asked=asked)

    assert await bare.get("/approvals/ap_0001", "approver") == {
        "id": "ap_0001",
        "status": "pending",
        "requester": "ci",
        "owner": "alice",
        "workspace_id": "ws-default",
        "workspace_name": "Default",
        "request_client_type": "claude-code",
        "request_model": "m",
        "tool_name": "upper__run_it",
        "downstream_server_id": "up",
        "tool": "run_it",
        "safety_class": "subprocess",
        "tool_fingerprint": "f" * 64,
        "digest": f"{1:064x}",
        "arguments": {"n": 1},
        "justification": "why not",
        "reasons": [{"code": None, "text": "it is held"}],
        "route_rule_id": "posture:guarded",
        "timeout_sec": 300,
        "approvals_needed": 1,
        "approvers": [],
        "four_eyes": False,
        "max_grant_sec": 900,
        "votes": [],
        "approver": None,
        "approver_session_id": None,
        "approver_type": None,
        "resolution": "",
        "created_at": iso(NOW + 1_000_000),
        "decided_at": None,
        "expires_at": iso(NOW + 301_000_000),
    }


async def test_an_approval_that_there_is_not_is_not_found(bare: Office) -> None:
    answers = [
        await bare.ask("GET", "/approvals/ap_none"),
        await answer(bare, "ap_none"),
        await answer(bare, "ap_none", "deny"),
    ]

    assert [(each.status_code, each.json()["code"]) for each in answers] == [(404, "NOT_FOUND")] * 3


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("limit=0", "limit: "),
        ("limit=501", "limit: "),
        ("offset=-1", "offset: "),
        ("offset=99999999999999999999", "offset: "),
        ("status=open", "status: "),
        ("caller=ci", "caller: it is not known here; known are status, workspace_id, session_id, limit, offset"),
    ],
)
async def test_a_question_that_makes_no_sense_is_refused_with_the_field(bare: Office, query: str, detail: str) -> None:
    refused = await bare.ask("GET", f"/approvals?{query}")

    assert refused.status_code == 400
    assert refused.json()["detail"].startswith(detail)


# Answering ------------------------------------------------------------------------------------------------------


async def test_a_yes_is_answered_with_the_approval_and_lets_the_call_run_once(live: Office) -> None:
    async with held(live, await live.token("admin")) as waiting:
        bare_calls = live.sends()
        approved = await answer(live, waiting.id, resolution="looks right")
        ran = await waiting.answer()

    shown = approved.json()
    assert (approved.status_code, shown["status"]) == (200, "approved")
    assert (shown["approver"], shown["approver_type"]) == ("the-approver", "cli")
    assert (shown["resolution"], shown["decided_at"]) == ("looks right", iso(NOW))
    assert shown["votes"] == [{"approver": "the-approver", "at": iso(NOW), "scope": "once"}]
    assert (ran.status_code, bare_calls, live.sends()) == (200, 0, 1)
    assert shown == await live.get(f"/approvals/{waiting.id}")


async def test_a_no_is_told_to_the_requester_and_sends_nothing(live: Office) -> None:
    async with held(live, await live.token("admin")) as waiting:
        denied = await answer(live, waiting.id, "deny", resolution="not today")
        refused = await waiting.answer()

    assert (denied.status_code, denied.json()["status"]) == (200, "denied")
    assert (refused.status_code, refused.json()["detail"]) == (403, "Tool call denied. Reason: not today")
    assert live.sends() == 0


@pytest.mark.parametrize("how", ["approve", "deny"])
@pytest.mark.parametrize("body", [{}, {"content": b"", "headers": {"Content-Type": "application/json"}}, {"json": {}}])
async def test_an_answer_needs_no_body(bare: Office, how: str, body: dict[str, Any]) -> None:
    await ask(bare)
    answered = await bare.ask("POST", f"/approvals/ap_0001/{how}", "approver", **body)

    assert (answered.status_code, answered.json()["resolution"]) == (200, "")


async def test_what_is_said_is_kept_without_secrets(bare: Office) -> None:
    await ask(bare)
    answered = await answer(bare, "ap_0001", "deny", resolution="use password=swordfish-and-more instead")

    assert "swordfish" not in answered.text
    assert "swordfish" not in (await bare.ask("GET", "/activity")).text


async def test_a_vote_short_of_the_quorum_leaves_it_pending(bare: Office) -> None:
    await ask(bare, terms=HoldTerms(approvals_needed=2))
    first = await answer(bare, "ap_0001")
    again = await answer(bare, "ap_0001")
    second = await bare.ask_with(await bare.issue("bob", "approver"), "POST", "/approvals/ap_0001/approve")

    assert (first.status_code, first.json()["status"], first.json()["decided_at"]) == (200, "pending", None)
    assert [each["approver"] for each in first.json()["votes"]] == ["the-approver"]
    assert (again.status_code, again.json()["code"], "winner" in again.json()) == (409, "ALREADY_RESOLVED", False)
    assert [each["approver"] for each in second.json()["votes"]] == ["the-approver", "bob"]
    assert (second.status_code, second.json()["status"]) == (200, "approved")


@pytest.mark.parametrize(
    ("body", "scope", "seconds"),
    [
        ({}, "once", 900),
        ({"scope": "identical"}, "identical", 900),
        ({"scope": "identical", "duration": "90s"}, "identical", 90),
        ({"scope": "tool", "duration": "5m"}, "tool", 300),
    ],
)
async def test_a_yes_is_given_as_widely_as_is_wished(bare: Office, body: Any, scope: str, seconds: int) -> None:
    await ask(bare)
    await answer(bare, "ap_0001", **body)
    grant = await bare.store.approvals.get_grant("ap_0001")

    assert grant is not None
    assert (grant.scope, grant.expires_at) == (scope, NOW + seconds * 1_000_000)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"scope": "everything"}, "scope: "),
        ({"scope": "tool", "duration": "soon"}, "duration: must be a duration such as"),
        ({"scope": "tool", "duration": "16m"}, "This approval cannot be given that widely: it may last for 1 to 900"),
        ({"scope": "tool", "duration": "0s"}, "This approval cannot be given that widely: it may last for 1 to 900"),
        ({"duration": "5m"}, "This approval cannot be given that widely: a duration goes with the scopes"),
        ({"resolution": "x" * 1001}, "resolution: "),
        ({"resolution": 7}, "resolution: "),
        ({"digest": 7}, "digest: "),
        ({"approved": True}, "approved: it is not known here; known are resolution, scope, duration, digest"),
        ({"decided_by": "alice"}, "decided_by: it is not known here"),
    ],
)
async def test_an_answer_that_cannot_be_taken_is_refused_and_changes_nothing(
    bare: Office, body: Any, detail: str
) -> None:
    await ask(bare)
    refused = await answer(bare, "ap_0001", **body)

    assert (refused.status_code, refused.json()["code"]) == (400, "BAD_REQUEST")
    assert refused.json()["detail"].startswith(detail)
    assert await status(bare, "ap_0001") is ApprovalState.PENDING


async def test_a_dangerous_tool_is_not_granted_as_a_whole(bare: Office) -> None:
    await ask(bare, safety_class="dangerous")
    refused = await answer(bare, "ap_0001", scope="tool")
    accepted = await answer(bare, "ap_0001", scope="identical")

    assert (refused.status_code, accepted.status_code) == (400, 200)


async def test_a_yes_can_be_bound_to_what_was_looked_at(bare: Office) -> None:
    await ask(bare)
    refused = await answer(bare, "ap_0001", digest="0" * 64)
    accepted = await answer(bare, "ap_0001", digest=f"{1:064x}")

    assert (refused.status_code, refused.json()["code"]) == (409, "STALE_APPROVAL")
    assert accepted.json()["status"] == "approved"


# Classifying ----------------------------------------------------------------------------------------------------


async def test_an_admin_classifies_the_tool_for_good_and_the_question_waits_on(live: Office) -> None:
    await ask(live, tool="frobnicate")
    body = {"safety_class": "read-only", "resolution": "harmless, password=swordfish-and-more"}
    done = await answer(live, "ap_0001", "classify", "admin", **body)
    page = await live.store.list_activities(ActivityFilter(types=(ActivityType.APPROVAL,), caller="the-admin"))
    (noted,) = page.items

    assert (done.status_code, done.json()["approval"]["status"]) == (200, "pending")
    assert (done.json()["override"]["name"], done.json()["override"]["override"]) == ("up:frobnicate", "read-only")
    assert await live.store.overrides() == {"up": {"frobnicate": SafetyClass.READ_ONLY}}
    assert await status(live, "ap_0001") is ApprovalState.PENDING
    assert (noted.approval_id, noted.body["change"], noted.body["safety_class"]) == (
        "ap_0001",
        "classified",
        "read-only",
    )
    assert "swordfish" not in str(noted.body)


@pytest.mark.parametrize("role", ["approver", "auditor"])
async def test_only_an_admin_classifies(live: Office, role: str) -> None:
    await ask(live, tool="frobnicate")
    refused = await answer(live, "ap_0001", "classify", role, safety_class="read-only")

    assert (refused.status_code, await live.store.overrides()) == (403, {})


@pytest.mark.parametrize(
    ("approval_id", "body", "status_code"),
    [
        ("ap_0001", {}, 400),
        ("ap_0001", {"safety_class": None}, 400),
        ("ap_0001", {"safety_class": "nice"}, 400),
        ("ap_0001", {"safety_class": "read-only", "approve": True}, 400),
        ("ap_none", {"safety_class": "read-only"}, 404),
    ],
)
async def test_a_class_that_cannot_be_set_is_refused(
    live: Office, approval_id: str, body: Any, status_code: int
) -> None:
    await ask(live, tool="frobnicate")
    refused = await answer(live, approval_id, "classify", "admin", **body)

    assert (refused.status_code, await live.store.overrides()) == (status_code, {})


# Once -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["approve", "deny"])
async def test_an_approval_that_is_resolved_names_who_was_faster(bare: Office, how: str) -> None:
    await ask(bare)
    bare.clock.forward(MINUTE)
    await answer(bare, "ap_0001", "deny")
    bare.clock.forward(MINUTE)
    late = await bare.ask_with(await bare.issue("bob", "approver"), "POST", f"/approvals/ap_0001/{how}")

    assert (late.status_code, late.json()["code"]) == (409, "ALREADY_RESOLVED")
    assert late.json()["detail"] == "approval already resolved"
    assert late.json()["winner"] == {
        "status": "denied",
        "approver": "the-approver",
        "approver_type": "cli",
        "decided_at": iso(NOW + MINUTE),
    }


async def test_an_answer_after_the_deadline_finds_it_timed_out(bare: Office) -> None:
    await ask(bare)
    bare.clock.forward(6 * MINUTE)
    late = await answer(bare, "ap_0001")

    assert late.status_code == 409
    assert late.json()["winner"] == {
        "status": "timeout",
        "approver": None,
        "approver_type": "system",
        "decided_at": iso(NOW + 6 * MINUTE),
    }


async def test_of_approvers_who_answer_at_once_one_wins_and_the_others_hear_who(bare: Office) -> None:
    names = [f"approver-{number}" for number in range(8)]
    tokens = {name: await bare.issue(name, "approver") for name in names}
    for number in range(1, 6):
        await ask(bare, number)
        path = f"/approvals/ap_{number:04}/"
        given = await asyncio.gather(
            *(
                bare.ask_with(tokens[name], "POST", path + ("deny" if at % 2 else "approve"))
                for at, name in enumerate(names)
            )
        )
        (won,) = [each.json() for each in given if each.status_code == 200]
        winner = {name: won[name] for name in ("status", "approver", "approver_type", "decided_at")}

        assert [each.json()["winner"] for each in given if each.status_code == 409] == [winner] * 7


async def test_a_caller_that_left_leaves_nothing_to_answer(bare: Office) -> None:
    approval = await ask(bare)
    await bare.parts.room.register.end(approval, ApprovalEvent.CANCEL, "client disconnected")
    late = await answer(bare, "ap_0001")

    assert (late.status_code, late.json()["winner"]["status"]) == (409, "cancelled")


# Who ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["admin", "auditor", "agent"])
@pytest.mark.parametrize("how", ["approve", "deny"])
async def test_nobody_answers_without_the_role(bare: Office, role: str, how: str) -> None:
    await ask(bare)
    refused = await answer(bare, "ap_0001", how, role)

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert await status(bare, "ap_0001") is ApprovalState.PENDING


async def minted(office: Office, by: str, name: str, *roles: str) -> str:
    """A token that somebody minted through REST, for an agent."""
    body = {"name": name, "roles": list(roles), "kind": "agent"}
    issued = await office.ask_with(by, "POST", "/tokens", json=body)
    assert issued.status_code == 201, issued.text
    return issued.json()["token"]


async def agent(office: Office, name: str = "root-agent") -> str:
    """An agent that may do everything but what is its own."""
    return await office.issue(name, "agent", "admin", "approver", kind="agent")


async def kin(office: Office, relation: str) -> tuple[str, str]:
    """The token of who asks, and of a relative who would answer."""
    root = await agent(office)
    match relation:
        case "same token":
            return root, root
        case "second token":
            return root, await minted(office, root, "root-agent", "approver")
        case "child":
            return root, await minted(office, root, "child", "approver")
        case "grandchild":
            child = await minted(office, root, "child", "admin")
            return root, await minted(office, child, "grandchild", "approver")
        case "parent":
            return await minted(office, root, "child", "admin"), root
        case _:  # cousins
            one = await minted(office, root, "one", "admin")
            return one, await minted(office, root, "other", "approver")


RELATIONS = ["same token", "second token", "child", "grandchild", "parent", "cousins"]


@pytest.mark.parametrize("how", ["approve", "deny"])
@pytest.mark.parametrize("relation", RELATIONS)
async def test_nobody_answers_for_a_call_of_its_own_under_any_name(live: Office, relation: str, how: str) -> None:
    asking, answering = await kin(live, relation)
    async with held(live, asking) as waiting:
        refused = await live.ask_with(answering, "POST", f"/approvals/{waiting.id}/{how}")
        after = await status(live, waiting.id)

    assert (refused.status_code, refused.json()["code"]) == (403, "SELF_APPROVAL")
    assert (refused.json()["detail"], after) == (SELF, ApprovalState.PENDING)
    assert live.sends() == 0


@pytest.mark.parametrize(
    "given",
    [
        {"headers": {"X-Principal": "the-approver"}},
        {"headers": {"X-Forwarded-User": "the-approver", "X-Interlock-Principal": "the-approver"}},
        {"headers": {"Mcp-Session-Id": "another", "Cookie": "principal=the-approver"}},
        {"json": {"decided_by": "the-approver"}},
        {"json": {"approver": "the-approver", "approved": True}},
        {"params": {"approver": "the-approver", "approved": "true"}},
    ],
    ids=str,
)
async def test_nothing_that_a_request_says_makes_it_somebody_elses(live: Office, given: dict[str, Any]) -> None:
    root = await agent(live)
    await live.token("approver")
    async with held(live, root) as waiting:
        refused = await live.ask_with(root, "POST", f"/approvals/{waiting.id}/approve", **given)
        after = await status(live, waiting.id)

    assert refused.status_code in (400, 403)
    assert after is ApprovalState.PENDING
    assert live.sends() == 0


@pytest.mark.parametrize(
    "body",
    [
        {**REASON, "approved": True},
        {**REASON, "decided_by": "the-approver"},
        {"arguments": {**REASON["arguments"], "_approval_id": "ap_0001"}},
    ],
    ids=["approved", "decided_by", "_approval_id"],
)
async def test_a_call_cannot_bring_its_own_approval(live: Office, body: Any) -> None:
    await ask(live)
    refused = await live.ask_with(await agent(live), "POST", DELETE, json=body)

    assert refused.status_code in (400, 404)
    assert live.sends() == 0


async def test_what_was_refused_to_somebody_is_on_record(bare: Office) -> None:
    root = await agent(bare)
    await ask(bare, requester="root-agent")
    await bare.ask_with(root, "POST", "/approvals/ap_0001/approve", json={"resolution": "trust me"})
    page = await bare.store.list_activities(ActivityFilter(types=(ActivityType.APPROVAL,), caller="root-agent"))
    (noted,) = [each.body for each in page.items if each.body["change"] == "refused"]

    assert (noted["code"], noted["text"], noted["door"]) == ("SELF_APPROVAL", SELF, "cli")


async def test_a_person_answers_for_the_agent_that_acts_for_it(live: Office) -> None:
    token = await live.issue("alice", "admin", "approver")
    async with held(live, token) as waiting:
        approved = await live.ask_with(token, "POST", f"/approvals/{waiting.id}/approve")
        ran = await waiting.answer()

    assert (approved.json()["requester"], approved.json()["approver"]) == ("operator-agent", "alice")
    assert (approved.status_code, ran.status_code, live.sends()) == (200, 200, 1)


async def test_with_four_eyes_the_owner_does_not_answer_for_its_agent(bare: Office) -> None:
    await ask(bare, owner="alice", terms=HoldTerms(four_eyes=True))
    refused = await bare.ask_with(await bare.issue("alice", "approver"), "POST", "/approvals/ap_0001/approve")
    other = await answer(bare, "ap_0001")

    assert (refused.status_code, refused.json()["code"], other.status_code) == (403, "SELF_APPROVAL", 200)


@pytest.mark.parametrize(("approvers", "expected"), [("humans", (200, 403)), ("agents", (403, 200))])
async def test_a_rule_chooses_between_persons_and_agents(
    bare: Office, approvers: str, expected: tuple[int, int]
) -> None:
    terms = HoldTerms(approvers=(approvers,))
    await ask(bare, 1, terms=terms)
    await ask(bare, 2, terms=terms)
    supervisor = await bare.issue("supervisor", "approver", kind="agent")
    by_person = await answer(bare, "ap_0001")
    by_agent = await bare.ask_with(supervisor, "POST", "/approvals/ap_0002/approve")

    assert (by_person.status_code, by_agent.status_code) == expected


async def test_a_revoked_approver_is_nobody(bare: Office) -> None:
    await ask(bare)
    token = await bare.issue("leaver", "approver")
    await bare.ask("DELETE", f"/tokens/{token.split('_')[1]}")
    refused = await bare.ask_with(token, "POST", "/approvals/ap_0001/approve")

    assert refused.status_code == 401
    assert await status(bare, "ap_0001") is ApprovalState.PENDING


async def test_without_a_store_no_answer_is_taken(bare: Office) -> None:
    await ask(bare)
    await bare.token("approver")
    await bare.store.close()
    answers: list[httpx2.Response] = [await answer(bare, "ap_0001", how) for how in ("approve", "deny")]

    assert [(each.status_code, each.json()["code"]) for each in answers] == [(503, "AUDIT_UNAVAILABLE")] * 2
