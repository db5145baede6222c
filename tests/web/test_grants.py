"""Grants over REST: listed while they can be used, counted, and revoked at once."""

from typing import Any

import pytest

from interlock.store.protocol import ActivityFilter, ActivityType
from interlock.web.times import iso
from tests.web.office import NOW, Office
from tests.web.questions import DELETE, MINUTE, REASON, ask, held


async def grant(office: Office, number: int = 1, **body: Any) -> str:
    """A question that was answered with yes; the id of the grant that it became."""
    await ask(office, number)
    answered = await office.ask("POST", f"/approvals/ap_{number:04}/approve", "approver", json=body)
    assert answered.status_code == 200, answered.text
    return f"gr_{number:04}"


async def listed(office: Office) -> list[str]:
    return [each["id"] for each in (await office.get("/grants", "auditor"))["items"]]


async def test_a_grant_is_shown_with_what_it_is_bound_to(bare: Office) -> None:
    await grant(bare, scope="identical", duration="10m")

    assert await bare.get("/grants", "auditor") == {
        "items": [
            {
                "id": "gr_0001",
                "approval_id": "ap_0001",
                "caller": "ci",
                "server": "up",
                "tool": "run_it",
                "scope": "identical",
                "digest": f"{1:064x}",
                "tool_fingerprint": "f" * 64,
                "safety_class": "subprocess",
                "workspace_id": "ws-default",
                "given_by": ["the-approver"],
                "created_at": iso(NOW),
                "expires_at": iso(NOW + 10 * MINUTE),
                "uses": 0,
                "uses_left": None,
            }
        ],
        "total": 1,
    }


async def test_only_grants_that_can_still_be_used_are_listed(bare: Office) -> None:
    await grant(bare, 1, scope="tool", duration="1m")
    await grant(bare, 2)
    bare.clock.forward(MINUTE)

    assert await listed(bare) == ["gr_0002"]


async def test_uses_are_counted(live: Office) -> None:
    token = await live.token("admin")
    async with held(live, token) as waiting:
        await live.ask("POST", f"/approvals/{waiting.id}/approve", "approver", json={"scope": "identical"})
        await waiting.answer()
    await live.ask_with(token, "POST", DELETE, json=REASON)
    (shown,) = (await live.get("/grants"))["items"]

    assert (shown["uses"], shown["uses_left"], live.sends()) == (2, None, 2)


async def test_a_grant_that_was_used_up_is_gone(live: Office) -> None:
    async with held(live, await live.token("admin")) as waiting:
        await live.ask("POST", f"/approvals/{waiting.id}/approve", "approver")
        await waiting.answer()

    assert await listed(live) == []


@pytest.mark.parametrize("role", ["admin", "approver"])
async def test_a_grant_is_revoked_at_once_and_on_record(bare: Office, role: str) -> None:
    grant_id = await grant(bare)
    revoked = await bare.ask("DELETE", f"/grants/{grant_id}", role)
    page = await bare.store.list_activities(ActivityFilter(types=(ActivityType.APPROVAL,), caller=f"the-{role}"))

    assert (revoked.status_code, revoked.json()) == (200, {"id": grant_id, "revoked_at": iso(NOW)})
    assert await listed(bare) == []
    assert [each.body for each in page.items] == [
        {"change": "grant revoked", "grant": grant_id, "scope": "once", "by": f"the-{role}"}
    ]


async def test_after_a_revocation_the_call_waits_again(live: Office) -> None:
    token = await live.token("admin")
    async with held(live, token) as waiting:
        await live.ask("POST", f"/approvals/{waiting.id}/approve", "approver", json={"scope": "identical"})
        await waiting.answer()
    (grant_id,) = await listed(live)
    await live.ask("DELETE", f"/grants/{grant_id}", "approver")
    async with held(live, token) as again:
        assert again.id != waiting.id

    assert live.sends() == 1


async def test_a_grant_is_revoked_only_once(bare: Office) -> None:
    grant_id = await grant(bare)
    await bare.ask("DELETE", f"/grants/{grant_id}")
    again = await bare.ask("DELETE", f"/grants/{grant_id}")

    assert (again.status_code, again.json()["code"]) == (404, "NOT_FOUND")


async def test_a_grant_that_there_is_not_is_answered_with_the_nearest(bare: Office) -> None:
    await grant(bare)
    refused = await bare.ask("DELETE", "/grants/gr_001")

    assert refused.status_code == 404
    assert refused.json()["detail"] == "Grant 'gr_001' not found. Did you mean 'gr_0001'?"


async def test_without_a_store_nothing_is_revoked_and_it_can_be_tried_again(bare: Office) -> None:
    grant_id = await grant(bare)
    await bare.token("admin")
    await bare.store.close()
    refused = [await bare.ask("DELETE", f"/grants/{grant_id}") for _ in range(2)]

    assert [(each.status_code, each.json()["code"]) for each in refused] == [(503, "AUDIT_UNAVAILABLE")] * 2
