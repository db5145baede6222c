"""Who may act here, and what each has in hand."""

from typing import Any

from interlock.core.freezes import FreezeKind, Frozen
from interlock.receive.identify import Callers, mint
from interlock.record import token_change
from interlock.store.protocol import ActivityType
from tests.web.office import HOUR, Office, activity
from tests.web.questions import ask


async def listed(office: Office) -> dict[str, dict[str, Any]]:
    told = await office.get("/principals", "auditor")
    assert told["total"] == len(told["items"])
    return {each["name"]: each for each in told["items"]}


async def create(office: Office, **wanted: Any) -> str:
    answer = await office.ask("POST", "/tokens", json=wanted)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def test_a_principal_is_told_with_everything_it_has_in_hand(bare: Office) -> None:
    await create(bare, name="ci", roles=["agent"], owner="the-admin")
    await create(bare, name="ci", roles=["agent", "approver"], ttl="1d")
    await ask(bare, 1, requester="ci")
    given = await ask(bare, 2, requester="ci")
    await bare.ask("POST", f"/approvals/{given.id}/approve", "approver")
    await bare.store.write([activity(3, caller="ci"), activity(4, caller="ci", type=ActivityType.POLICY_DECISION)])

    assert (await listed(bare))["ci"] == {
        "name": "ci",
        "kind": "agent",
        "owner": "the-admin",
        "roles": ["agent", "approver"],
        "live_tokens": 2,
        "last_seen": "2026-09-21T14:13:24.000000Z",
        "pending_approvals": 1,
        "live_grants": 1,
        "calls_24h": 2,
        "frozen": False,
    }


async def test_whose_tokens_are_over_is_told_without_roles(bare: Office) -> None:
    revoked = await create(bare, name="gone", roles=["agent"])
    await create(bare, name="late", roles=["auditor"], ttl="1h")
    await bare.ask("DELETE", f"/tokens/{revoked}")
    bare.clock.forward(HOUR)
    found = await listed(bare)

    assert [(found[name]["live_tokens"], found[name]["roles"]) for name in ("gone", "late")] == [(0, []), (0, [])]
    assert (found["gone"]["owner"], found["late"]["kind"]) == ("the-admin", "human")


async def test_a_token_that_cannot_be_read_counts_for_nothing(bare: Office) -> None:
    token, _ = mint("odd", "agent", ["agent"], bare.clock.now(), None)
    odd = type(token)(
        token.id, "odd", "agent", ("agent",), token.secret_hash, token.created_at, scope={"from": "the future"}
    )
    await bare.store.add_token(odd, token_change(odd, "created", "operator", bare.clock.now()))

    assert ((await listed(bare))["odd"]["live_tokens"], (await listed(bare))["odd"]["owner"]) == (0, None)


async def test_who_needs_no_token_is_there_too(bare: Office) -> None:
    found = await listed(bare)

    assert (found["operator-agent"]["owner"], found["local"]["owner"]) == ("operator", None)
    assert found["local"]["roles"] == ["agent"]


async def test_where_local_callers_are_not_let_in_there_is_none(bare: Office) -> None:
    await bare.token("auditor")
    bare.parts.callers = Callers(bare.clock, allow_local=False)
    bare.parts.callers.replace(await bare.store.list_tokens())

    assert "local" not in await listed(bare)


async def test_whom_only_an_issuer_knows_is_told_once_seen(bare: Office) -> None:
    await bare.store.write([activity(1, caller="jwt:olga"), activity(2, caller="nobody-we-know")])
    found = await listed(bare)

    assert (found["jwt:olga"]["kind"], found["jwt:olga"]["calls_24h"]) == ("outside", 1)
    assert "nobody-we-know" not in found


async def test_calls_of_more_than_a_day_ago_do_not_count(bare: Office) -> None:
    await create(bare, name="ci", roles=["agent"])
    await bare.store.write([activity(-25 * 3600, caller="ci"), activity(1, caller="ci")])

    assert (await listed(bare))["ci"]["calls_24h"] == 1


async def test_a_stop_of_one_or_of_everybody_is_seen(bare: Office) -> None:
    await create(bare, name="ci", roles=["agent"])
    await bare.ask("POST", "/freeze", json={"caller": "ci"})
    one = {name for name, each in (await listed(bare)).items() if each["frozen"]}
    await bare.parts.room.freezer.freeze(Frozen(FreezeKind.ALL), "operator", "")
    everybody = [each["frozen"] for each in (await listed(bare)).values()]

    assert one == {"ci"}
    assert all(everybody)
