"""Tokens: issued once, listed without secrets, revoked at once."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from interlock.core.model import Caller, OperationType, Scope
from interlock.receive.identify import Callers, Principal, mint
from interlock.receive.issuer import Issuer
from interlock.receive.jwt import Terms
from interlock.record import token_change
from interlock.store.protocol import ActivityFilter, ActivityType, Token
from interlock.web.routes import rest_app
from interlock.web.times import iso
from tests.receive.issuing import AUDIENCE, ISSUER, Signer, key_server, usual
from tests.web.office import HOST, HOUR, NOW, Office


async def create(running: Office, **body: Any) -> httpx2.Response:
    return await running.ask("POST", "/tokens", json={"name": "ci", "roles": ["agent"], **body})


async def changes(running: Office) -> list[dict[str, Any]]:
    """What is on record of tokens, newest first, without those of the test itself."""
    page = await running.store.list_activities(ActivityFilter(types=(ActivityType.TOKEN_CHANGE,)))
    return [dict(each.body) for each in page.items if each.body["by"] != "operator"]


def identified(running: Office, answer: httpx2.Response) -> Principal:
    found = running.parts.callers.identify(f"Bearer {answer.json()['token']}")
    assert isinstance(found, Principal)
    return found


async def test_a_token_is_issued_with_everything_it_was_asked_for(bare: Office) -> None:
    answer = await create(
        bare,
        roles=["approver", "agent", "agent"],
        kind="agent",
        owner="operator",
        workspace_id="ws-prod",
        servers=["git*"],
        tools=["get_*", "up:read_note"],
        ceiling="write",
        label="some-model",
        ttl="30d",
    )
    issued = answer.json()
    text = issued.pop("token")

    assert answer.status_code == 201
    assert issued == {
        "id": text.split("_")[1],
        "name": "ci",
        "kind": "agent",
        "roles": ["agent", "approver"],
        "owner": "operator",
        "minted_by": "the-admin",
        "label": "some-model",
        "workspace_id": "ws-prod",
        "servers": ["git*"],
        "tools": ["get_*", "up:read_note"],
        "ceiling": "write",
        "created_at": iso(NOW),
        "expires_at": iso(NOW + 30 * 24 * HOUR),
        "revoked_at": None,
    }


async def test_a_token_counts_before_its_answer_comes(bare: Office) -> None:
    answer = await create(bare, workspace_id="ws-prod", servers=["git*"], tools=[], ceiling="read", ttl="1h")
    scope = Scope(("git*",), (), OperationType.READ, NOW + HOUR)

    assert identified(bare, answer).as_caller() == Caller("ci", "ws-prod", scope, answer.json()["id"], "the-admin")


async def test_what_is_left_out_is_no_limit(bare: Office) -> None:
    answer = await create(bare)
    shown = answer.json()

    assert identified(bare, answer).as_caller() == Caller("ci", token=shown["id"], owner="the-admin")
    assert [shown[name] for name in ("servers", "tools", "ceiling", "workspace_id", "expires_at")] == [None] * 5


@pytest.mark.parametrize(
    ("roles", "kind"),
    [(["agent"], "agent"), (["admin"], "human"), (["agent", "approver"], "agent"), (["auditor", "approver"], "human")],
)
async def test_without_a_kind_whoever_may_call_is_an_agent(bare: Office, roles: list[str], kind: str) -> None:
    assert (await create(bare, roles=roles)).json()["kind"] == kind


async def test_whoever_asks_is_the_owner_unless_another_is_named(bare: Office) -> None:
    first = await create(bare)
    second = await create(bare, name="other", owner="ci")

    assert (first.json()["owner"], first.json()["minted_by"]) == ("the-admin", "the-admin")
    assert (second.json()["owner"], second.json()["minted_by"]) == ("ci", "the-admin")


async def test_one_principal_may_have_several_tokens(bare: Office) -> None:
    one, two = await create(bare), await create(bare)

    assert (one.status_code, two.status_code) == (201, 201)
    assert one.json()["token"] != two.json()["token"]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"name": "operator"}, "The name 'operator' is reserved for Interlock itself."),
        ({"name": "operator-agent"}, "The name 'operator-agent' is reserved"),
        ({"name": "local"}, "The name 'local' is reserved"),
        ({"name": "CI"}, "name: String should match pattern '^[a-z0-9][a-z0-9._-]{0,63}$'"),
        ({"name": "a" * 65}, "name: String should match pattern"),
        ({"name": "ci\n"}, "name: String should match pattern"),
        ({"name": ""}, "name: String should match pattern"),
        ({"name": "-ci"}, "name: String should match pattern"),
        ({"name": None}, "name: Input should be a valid string"),
        ({"roles": []}, "roles: List should have at least 1 item"),
        ({"roles": ["root"]}, "roles.0: Input should be 'agent', 'approver', 'auditor' or 'admin'"),
        ({"roles": "admin"}, "roles: Input should be a valid list"),
        ({"kind": "robot"}, "kind: Input should be 'human', 'agent' or 'service'"),
        ({"owner": "the-admni"}, "owner: there is no principal of this name. Did you mean 'the-admin'?"),
        ({"ceiling": "all"}, "ceiling: Input should be 'read', 'write' or 'destructive'"),
        ({"servers": "up"}, "servers: Input should be a valid list"),
        ({"servers": ["["]}, "servers: "),
        ({"tools": ["x" * 1001]}, "tools: the pattern is longer than 1000 characters"),
        ({"ttl": "1y"}, "ttl: must be a duration such as 15m, 12h or 30d"),
        ({"ttl": "0m"}, "ttl: must be in the future"),
        ({"ttl": 30}, "ttl: Input should be a valid string"),
        ({"expires_at": iso(NOW)}, "expires_at: must be in the future"),
        ({"expires_at": "2020-01-01"}, "expires_at: must be in the future"),
        ({"expires_at": "1h"}, "expires_at: must be an ISO 8601 time"),
        ({"expires_at": "2030-01-01", "ttl": "1h"}, "ttl: give ttl or expires_at, not both"),
        ({"workspace_id": "ws-prd"}, "workspace_id: there is no such workspace. Did you mean 'ws-prod'?"),
        ({"scope": "all"}, "scope: it is not known here; known are name, roles, kind, owner, workspace_id, servers,"),
    ],
)
async def test_what_may_not_be_issued_is_refused_and_leaves_nothing(
    bare: Office, body: dict[str, Any], detail: str
) -> None:
    answer = await create(bare, **body)

    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
    assert answer.json()["detail"].startswith(detail)
    assert [each.principal for each in await bare.store.list_tokens()] == ["the-admin"]
    assert await changes(bare) == []


@pytest.mark.parametrize("name", ["c", "ci.bot-7_x", "0", "a" * 64])
async def test_a_name_of_plain_characters_is_taken(bare: Office, name: str) -> None:
    assert (await create(bare, name=name)).json()["name"] == name


async def test_an_expiry_may_be_a_time(bare: Office) -> None:
    assert (await create(bare, expires_at="2030-01-01T00:00:00Z")).json()["expires_at"] == "2030-01-01T00:00:00.000000Z"


async def test_one_principal_has_one_kind_even_after_its_token_is_revoked(bare: Office) -> None:
    first = await create(bare, kind="service")
    await bare.ask("DELETE", f"/tokens/{first.json()['id']}")
    answer = await create(bare)

    assert answer.status_code == 400
    assert answer.json()["detail"] == "'ci' is known as service, so a token of it cannot be agent."


async def test_a_principal_that_another_gateway_has_made_of_another_kind_meanwhile_is_known_as_that(
    bare: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, _ = mint("ci", "human", ["approver"], NOW, None)
    listed = bare.store.list_tokens

    async def just_before() -> Sequence[Token]:
        monkeypatch.undo()
        found = await listed()
        assert await bare.store.add_token(token, token_change(token, "created", "operator", NOW))
        return found

    monkeypatch.setattr(bare.store, "list_tokens", just_before)
    refused = await create(bare)

    assert (refused.status_code, "known as human" in refused.text) == (400, True)
    assert [each.kind for each in await bare.store.list_tokens() if each.principal == "ci"] == ["human"]


async def test_two_who_ask_at_once_do_not_make_one_principal_two_kinds(bare: Office) -> None:
    await bare.token("admin")
    answers = await asyncio.gather(*(create(bare, kind=kind) for kind in ("human", "agent", "service") * 3))
    kinds = {each.kind for each in await bare.store.list_tokens() if each.principal == "ci"}

    assert sorted(each.status_code for each in answers) == [201] * 3 + [400] * 6
    assert len(kinds) == 1


# Listing --------------------------------------------------------------------------------------------------------


async def test_the_list_has_all_tokens_oldest_first_and_never_a_secret(bare: Office) -> None:
    issued = await create(bare)
    bare.clock.forward(HOUR)
    await bare.ask("DELETE", f"/tokens/{issued.json()['id']}")
    listed = await bare.ask("GET", "/tokens")
    secret = issued.json().pop("token").split("_", 2)[2]
    stored = next(each for each in await bare.store.list_tokens() if each.principal == "ci")

    assert listed.json()["total"] == 2
    assert sorted(each["name"] for each in listed.json()["items"]) == ["ci", "the-admin"]
    assert next(each for each in listed.json()["items"] if each["name"] == "ci") == {
        **{name: value for name, value in issued.json().items() if name != "token"},
        "revoked_at": iso(NOW + HOUR),
    }
    assert secret not in listed.text
    assert stored.secret_hash not in listed.text


async def test_a_token_whose_scope_cannot_be_read_is_shown_as_reaching_nothing(bare: Office) -> None:
    minted, _ = mint("odd", "agent", ["agent"], NOW, None)
    token = replace(minted, scope={"ceiling": "sky"})
    await bare.store.add_token(token, token_change(token, "created", "operator", NOW))
    listed = await bare.get("/tokens")
    shown = next(each for each in listed["items"] if each["name"] == "odd")

    assert (shown["servers"], shown["tools"]) == ([], [])


# Revoking -------------------------------------------------------------------------------------------------------


async def test_a_revoked_token_is_refused_at_once(bare: Office) -> None:
    text = await bare.issue("second", "admin")
    headers = {"Authorization": f"Bearer {text}"}
    before = await bare.http.get("/api/v1/settings", headers=headers)
    answer = await bare.ask("DELETE", f"/tokens/{text.split('_')[1]}")
    after = await bare.http.get("/api/v1/settings", headers=headers)

    assert answer.json() == {"id": text.split("_")[1], "revoked_at": iso(NOW)}
    assert (before.status_code, after.status_code) == (200, 401)


async def test_only_the_revoked_token_is_lost_and_not_its_principal(bare: Office) -> None:
    first, second = await bare.issue("ci", "admin"), await bare.issue("ci", "admin")
    await bare.ask("DELETE", f"/tokens/{first.split('_')[1]}")

    assert isinstance(bare.parts.callers.identify(f"Bearer {second}"), Principal)


async def test_a_revocation_outlives_the_process(bare: Office) -> None:
    text = await bare.issue("ci", "admin")
    await bare.ask("DELETE", f"/tokens/{text.split('_')[1]}")
    bare.parts.callers.replace(await bare.store.list_tokens())

    assert not isinstance(bare.parts.callers.identify(f"Bearer {text}"), Principal)


async def test_issuing_while_revoking_brings_nothing_back(bare: Office) -> None:
    await bare.token("admin")
    text = await bare.issue("victim", "admin")
    await asyncio.gather(
        *(create(bare, name=f"n{number}") for number in range(5)),
        bare.ask("DELETE", f"/tokens/{text.split('_')[1]}"),
        *(create(bare, name=f"m{number}") for number in range(5)),
    )

    assert not isinstance(bare.parts.callers.identify(f"Bearer {text}"), Principal)


async def test_a_token_is_revoked_only_once(bare: Office) -> None:
    token_id = (await create(bare)).json()["id"]
    await bare.ask("DELETE", f"/tokens/{token_id}")
    bare.clock.forward(HOUR)
    again = await bare.ask("DELETE", f"/tokens/{token_id}")

    assert (again.status_code, again.json()["code"]) == (404, "NOT_FOUND")
    assert again.json()["detail"] == f"Token '{token_id}' was revoked before, at {iso(NOW)}."
    assert len(await changes(bare)) == 2


async def test_an_unknown_token_is_not_found(bare: Office) -> None:
    answer = await bare.ask("DELETE", "/tokens/nothing")

    assert (answer.status_code, answer.json()["detail"]) == (404, "Token 'nothing' not found.")


async def test_a_token_that_cannot_be_written_down_is_not_issued(bare: Office) -> None:
    await bare.token("admin")
    await bare.store.close()
    answer = await create(bare)

    assert (answer.status_code, answer.json()["code"]) == (503, "AUDIT_UNAVAILABLE")


# The record -----------------------------------------------------------------------------------------------------


async def test_each_change_is_on_record_with_who_did_it_and_no_secret(bare: Office) -> None:
    issued = (await create(bare)).json()
    bare.clock.forward(HOUR)
    await bare.ask("DELETE", f"/tokens/{issued['id']}")

    told = {"token": issued["id"], "principal": "ci", "kind": "agent", "roles": ["agent"], "by": "the-admin"}
    limits = {"scope": {"minted_by": "the-admin", "owner": "the-admin"}, "expires_at": None}
    assert await changes(bare) == [{"change": what, **told, **limits} for what in ("revoked", "created")]
    assert issued["token"].split("_", 2)[2] not in (await bare.ask("GET", "/activity")).text


async def test_what_a_person_of_the_issuer_mints_is_minted_by_a_person(bare: Office) -> None:
    signer = Signer()
    async with key_server(signer) as server:
        issuer = Issuer(bare.clock)
        issuer.trust(Terms(ISSUER, AUDIENCE, server.url))
        callers = bare.parts.callers = Callers(bare.clock, allow_local=True, outside=issuer)
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=rest_app(bare.parts)), base_url=f"http://{HOST}")
        async with issuer.running(), http:
            for kind in ("human", "agent"):
                claims = usual(sub=f"the-{kind}", interlock_roles=["admin"], interlock_kind=kind)
                headers = {"Authorization": f"Bearer {signer.token(claims)}"}
                body = {"name": f"of-{kind}", "roles": ["approver"]}
                answer = await http.post("/api/v1/tokens", json=body, headers=headers)
                assert (answer.status_code, answer.json()["minted_by"]) == (201, f"jwt:the-{kind}")

    lineage = callers.lineage
    assert [lineage.is_person(name) for name in ("of-human", "of-agent")] == [True, False]
    assert [lineage.are_kin(f"of-{kind}", f"jwt:the-{kind}") for kind in ("human", "agent")] == [False, True]
