"""The list of routes: who may use each, and how it is described. A new route is tested here without a word."""

import json
import re
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote

import httpx2
import jsonschema_rs
import pytest

from interlock import __version__
from interlock.errors import Code
from interlock.lab.archive import Archive
from interlock.lab.run import RunFolder
from interlock.receive.identify import ROLES
from interlock.store.audit.anchor import ANCHOR
from interlock.web import PREFIX, events
from interlock.web.access import VISITORS
from interlock.web.door import SIGN_IN
from interlock.web.routes import ROUTES, Route, description
from tests.lab.runs import a_run
from tests.web.office import HOUR, Office, fleet_of, office, sealer_of
from tests.web.questions import ask as ask_approvers


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Office]:
    """One office for all questions that leave no trace in the answers to others."""
    async with fleet_of() as fleet, office(tmp_path_factory.mktemp("shared"), fleet) as running:
        yield running


IDS = [f"{each.method} {each.path}" for each in ROUTES]


def path_of(route: Route) -> str:
    """A path that the route serves, with something that does not exist in its blanks."""
    return re.sub(r"\{[^}]*\}", "nothing", route.path)


async def ask(running: Office, route: Route, token: str | None) -> httpx2.Response:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    body: Any = {} if route.method == "POST" else None
    # A stream never ends, unless it is not begun.
    query = "?types=nothing" if events.EVENT_STREAM in route.media else ""
    return await running.http.request(route.method, PREFIX + path_of(route) + query, headers=headers, json=body)


async def credential(running: Office, kind: str) -> str | None:
    """A credential that is wrong in one way, or that has exactly one role."""
    match kind:
        case "none":
            return None
        case "wrong":
            return (await running.token("admin"))[:-1] + "-"
        case "expired":
            text = await running.issue("expired", "admin", expires_at=running.clock.now() + HOUR)
            running.clock.forward(HOUR)
            return text
        case "revoked":
            text = await running.issue("revoked", "admin")
            answer = await running.ask("DELETE", f"/tokens/{text.split('_')[1]}")
            assert answer.status_code == 200
            return text
        case role:
            return await running.token(role)


OPEN = [each for each in ROUTES if each.roles == VISITORS]
"""What needs no token, because it is given a code instead."""


def test_the_only_route_for_whoever_is_not_known_is_signing_in() -> None:
    assert [(each.method, PREFIX + each.path) for each in OPEN] == [SIGN_IN]


@pytest.mark.parametrize("kind", ["none", "wrong", "revoked", "expired"])
@pytest.mark.parametrize("route", [each for each in ROUTES if each not in OPEN], ids=str)
async def test_no_other_route_is_served_without_a_valid_token(shared: Office, route: Route, kind: str) -> None:
    answer = await ask(shared, route, await credential(shared, kind))

    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("route", ROUTES, ids=IDS)
async def test_each_route_is_served_to_its_roles_and_to_no_others(shared: Office, route: Route, role: str) -> None:
    answer = await ask(shared, route, await credential(shared, role))

    assert (answer.status_code == 403) == (role not in route.roles), answer.text
    assert answer.status_code != 401


@pytest.mark.parametrize("route", ROUTES, ids=IDS)
def test_no_route_is_for_agents_and_changes_are_for_admins_or_approvers(route: Route) -> None:
    assert "agent" not in route.roles
    own = route.path.startswith("/session")  # whoever may look may also come and go
    assert route.method == "GET" or own or route.roles <= {"admin", "approver"}


def test_an_admin_does_not_answer_for_calls() -> None:
    answers = [each for each in ROUTES if each.path.endswith(("/approve", "/deny"))]

    assert [each.roles for each in answers] == [{"approver"}] * 2


def test_tokens_are_for_admins_alone() -> None:
    assert {each.roles for each in ROUTES if each.path.startswith("/tokens")} == {frozenset({"admin"})}


@pytest.mark.parametrize("route", ROUTES, ids=IDS)
async def test_without_a_store_a_route_says_so_or_does_not_need_one(bare: Office, route: Route) -> None:
    token = await bare.issue("both", "admin", "approver")
    await bare.store.close()
    answer = await ask(bare, route, token)

    assert answer.status_code < 500 or answer.json()["code"] == "AUDIT_UNAVAILABLE"


# The description ------------------------------------------------------------------------------------------------


@pytest.fixture
async def document(shared: Office) -> dict[str, Any]:
    return await shared.get("/openapi.json", "auditor")


def operation(document: dict[str, Any], route: Route) -> dict[str, Any]:
    path = re.sub(r":[a-z]+\}", "}", PREFIX + route.path)
    return document["paths"][path][route.method.lower()]


def refs(document: dict[str, Any]) -> set[str]:
    """Every reference in a document."""
    return set(re.findall(r'"\$ref": "([^"]*)"', json.dumps(document)))


async def test_the_description_names_itself_and_the_way_in(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert (document["info"]["title"], document["info"]["version"]) == ("Interlock", __version__)
    assert document["security"] == [{"token": []}]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


async def test_the_description_is_the_same_without_a_gateway(document: dict[str, Any]) -> None:
    assert json.loads(json.dumps(description())) == document


async def test_the_description_has_the_routes_of_the_list_and_no_others(document: dict[str, Any]) -> None:
    described = sum(len(operations) for operations in document["paths"].values())

    assert described == len(ROUTES)
    assert all(operation(document, route)["operationId"] == route.serve.__name__ for route in ROUTES)


async def test_nothing_in_the_description_leads_nowhere(document: dict[str, Any]) -> None:
    schemas = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

    assert refs(document) <= schemas
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


@pytest.mark.parametrize("route", ROUTES, ids=IDS)
async def test_each_route_is_described_with_its_answer_and_its_refusals(document: dict[str, Any], route: Route) -> None:
    described = operation(document, route)
    refusals = {status: each for status, each in described["responses"].items() if status != str(route.status)}

    assert described["description"]
    assert described["x-roles"] == sorted(route.roles)
    assert list(described["responses"][str(route.status)]["content"]) == list(route.media)
    assert {"401", "403", "503", "default"} <= set(refusals)
    assert all(list(each["content"]) == ["application/problem+json"] for each in refusals.values())


async def test_a_call_is_described_with_every_code_of_the_path(document: dict[str, Any]) -> None:
    route = next(each for each in ROUTES if each.path.endswith("/call"))
    told = " ".join(each["description"] for each in operation(document, route)["responses"].values())

    assert all(code in told for code in (Code.DENIED_BY_RULE, Code.INVALID_ARGUMENTS, Code.UPSTREAM_TIMEOUT))


async def answers(live: Office) -> dict[str, httpx2.Response]:
    """One good answer of every route, by the name of its function."""
    called = await live.ask("POST", "/tools/up/echo/call", json={"arguments": {"a": 1}})
    issued = await live.ask("POST", "/tokens", json={"name": "ci", "roles": ["agent"], "servers": ["up"], "ttl": "1d"})
    first, second = await ask_approvers(live, 1), await ask_approvers(live, 2)
    third = await ask_approvers(live, 3, tool="echo")
    answered = {
        "approve": await live.ask("POST", f"/approvals/{first.id}/approve", "approver", json={"resolution": "fine"}),
        "deny": await live.ask("POST", f"/approvals/{second.id}/deny", "approver"),
    }
    stopped = {
        "freeze": await live.ask("POST", "/freeze", "approver", json={"server": "upper", "reason": "why not"}),
        "thaw": await live.ask("POST", "/thaw", json={"server": "up"}),
    }
    activity_id, token_id = called.json()["activity_id"], issued.json()["id"]
    paths = {
        "list_activities": "/activity",
        "list_approvals": "/approvals",
        "get_approval": f"/approvals/{first.id}",
        "compare_approval": f"/approvals/{second.id}/difference",
        "get_approval_figures": "/approvals/metrics",
        "list_grants": "/grants",
        "list_freezes": "/freezes",
        "get_stats": "/activity/stats",
        "get_activity": f"/activity/{activity_id}",
        "list_tools": "/tools",
        "get_tool": f"/tools/odd/{quote('a/b', safe='')}",
        "get_difference": f"/tools/odd/{quote('a/b', safe='')}/diff",
        "list_servers": "/servers",
        "get_server": "/servers/up",
        "get_server_logs": "/servers/odd/logs",
        "list_lab_runs": "/lab/runs",
        "get_lab_run": f"/lab/runs/{probed(live)}",
        "list_rules": "/rules",
        "suggest_rules": "/rules/suggestions",
        "get_tool_history": f"/tools/odd/{quote('a/b', safe='')}/history",
        "list_principals": "/principals",
        "list_tokens": "/tokens",
        "get_notices": "/notices",
        "get_settings": "/settings",
        "get_openapi": "/openapi.json",
        "get_session": "/session",
    }
    posts: dict[str, tuple[str, Any]] = {
        "trust_tool": ("/tools/up/echo/trust", {}),
        "trust_server": ("/servers/up/trust", {}),
        "override_tool": ("/tools/up/echo/override", {"safety_class": "dangerous"}),
        "try_rules": ("/rules/test", {"tool": "up:delete_note"}),
        "replay_rules": ("/rules/replay", {"since": "1h"}),
        "classify": (f"/approvals/{third.id}/classify", {"safety_class": "read-only"}),
    }
    added = await live.ask("POST", "/servers", json={"id": "new", "command": "prog"})
    changed = {
        "add_server": added,
        "disable_server": await live.ask("POST", "/servers/new/disable"),
        "enable_server": await live.ask("POST", "/servers/new/enable"),
        "restart_server": await live.ask("POST", "/servers/new/restart"),
        "remove_server": await live.ask("DELETE", "/servers/new"),
    }
    asked = {name: await live.ask("GET", path) for name, path in paths.items()}
    told = {name: await live.ask("POST", path, json=body) for name, (path, body) in posts.items()}
    revoked = await live.ask("DELETE", f"/tokens/{token_id}")
    ungranted = await live.ask("DELETE", f"/grants/{asked['list_grants'].json()['items'][0]['id']}")
    ended = {"call_tool": called, "create_token": issued, "revoke_token": revoked, "revoke_grant": ungranted}
    return asked | told | changed | answered | stopped | ended | await sessions(live) | await proof(live)


async def proof(live: Office) -> dict[str, httpx2.Response]:
    """What there is to say of the log once somebody seals it."""
    live.parts.sealer = sealer_of(live, live.folder / ANCHOR)
    sealed = await live.ask("POST", "/audit/checkpoint", json={})
    await live.ask("POST", "/freeze", "approver", json={})
    return {
        "make_checkpoint": sealed,
        "prune_audit": await live.ask("POST", "/audit/prune", json={"keep_records": 1}),
        "list_checkpoints": await live.ask("GET", "/audit/checkpoints"),
        "verify_audit": await live.ask("GET", "/audit/verify"),
    }


def probed(live: Office) -> str:
    """A run of the lab that was kept."""
    live.parts.archive = Archive(live.log.parent)
    run = a_run()
    RunFolder.make(live.log.parent, run.id).keep(run)
    return run.id


async def sessions(live: Office) -> dict[str, httpx2.Response]:
    linked = await live.ask("POST", "/session/link", json={})
    code = linked.json()["path"].partition("#")[2]
    signed = await live.http.post("/api/v1/session", json={"code": code})
    return {"make_link": linked, "sign_in": signed, "sign_out": await live.ask("DELETE", "/session")}


async def test_every_answer_has_the_shape_that_is_described(live: Office) -> None:
    document = await live.get("/openapi.json")
    given = await answers(live)
    for route in (each for each in ROUTES if each.answer is not None):
        answer = given[route.serve.__name__]
        schema = operation(document, route)["responses"][str(route.status)]["content"]["application/json"]["schema"]
        validator = jsonschema_rs.validator_for({**schema, "components": document["components"]})

        assert answer.status_code == route.status, answer.text
        validator.validate(answer.json())


async def test_every_refusal_has_the_shape_that_is_described(bare: Office, document: dict[str, Any]) -> None:
    problem = {"$ref": "#/components/schemas/Problem", "components": document["components"]}
    validator = jsonschema_rs.validator_for(problem)
    for role, path in (("agent", "/settings"), ("admin", "/nothing"), ("admin", "/activity?limit=0")):
        validator.validate((await bare.ask("GET", path, role)).json())
    asked = await ask_approvers(bare)
    path = f"/approvals/{asked.id}/deny"
    await bare.ask("POST", path, "approver")
    late = (await bare.ask("POST", path, "approver")).json()
    validator.validate(late)
    assert not validator.is_valid({**late, "winner": {"status": 7}})


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/api/v1/docs", "/openapi.json"])
async def test_there_are_no_pages_that_load_from_elsewhere(bare: Office, path: str) -> None:
    answer = await bare.http.get(path, headers={"Authorization": f"Bearer {await bare.token('admin')}"})

    assert answer.status_code == 404
