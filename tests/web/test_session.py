"""Signing a browser in and out over REST."""

from typing import Any

import httpx2
import pytest

from interlock.store.protocol import ActivityFilter, ActivityType
from tests.web.office import Office

SESSION = "/api/v1/session"


async def code_of(running: Office, role: str = "approver") -> str:
    answer = await running.ask("POST", "/session/link", role, json={})
    assert answer.status_code == 201, answer.text
    return answer.json()["path"].removeprefix("/login#")


async def sign_in(running: Office, code: str) -> httpx2.Response:
    return await running.http.post(SESSION, json={"code": code})


async def signed_in(running: Office) -> dict[str, str]:
    """The headers of a browser that has just signed in."""
    answer = await sign_in(running, await code_of(running))
    running.http.cookies.clear()
    name, _, rest = answer.headers["set-cookie"].partition("=")
    return {"Cookie": f"{name}={rest.partition(';')[0]}", "X-CSRF-Token": answer.json()["csrf"]}


async def changes(running: Office) -> list[Any]:
    page = await running.store.list_activities(ActivityFilter(types=(ActivityType.SYSTEM,), limit=10))
    return [(each.body["change"], each.caller) for each in reversed(page.items)]


async def test_a_code_becomes_a_cookie_that_no_script_and_no_other_site_can_use(bare: Office) -> None:
    answer = await sign_in(bare, await code_of(bare))

    assert answer.status_code == 200
    assert answer.json() == {
        "name": "the-approver",
        "kind": "human",
        "roles": ["approver"],
        "expires_at": answer.json()["expires_at"],
        "csrf": answer.json()["csrf"],
    }
    attributes = answer.headers["set-cookie"].lower().split("; ")[1:]
    assert sorted(attributes) == ["httponly", "max-age=43200", "path=/api/v1", "samesite=strict"]


async def test_a_code_that_was_used_is_refused(bare: Office) -> None:
    code = await code_of(bare)
    await sign_in(bare, code)
    again = await sign_in(bare, code)

    assert (again.status_code, again.json()["code"]) == (401, "UNAUTHENTICATED")
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("body", [{}, {"code": 1}, {"code": "x" * 201}, {"code": "x", "name": "operator"}])
async def test_what_is_no_code_is_refused(bare: Office, body: dict[str, Any]) -> None:
    assert (await bare.http.post(SESSION, json=body)).status_code == 400


async def test_a_browser_is_asked_who_it_is(bare: Office) -> None:
    browser = await signed_in(bare)
    answer = await bare.http.get(SESSION, headers=browser)

    assert (answer.json()["name"], answer.json()["roles"]) == ("the-approver", ["approver"])
    assert answer.json()["expires_at"] is not None


async def test_whoever_brings_a_token_is_asked_too_and_has_no_end(bare: Office) -> None:
    assert (await bare.get("/session"))["expires_at"] is None


async def test_signing_in_and_out_is_on_record(bare: Office) -> None:
    browser = await signed_in(bare)
    bare.clock.forward(1)
    out = await bare.http.delete(SESSION, headers=browser)

    assert out.json() == {"signed_out": True}
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert (await bare.http.get(SESSION, headers=browser)).status_code == 401
    assert await changes(bare) == [("signed in", "the-approver"), ("signed out", "the-approver")]


async def test_a_token_is_not_touched_by_signing_out(bare: Office) -> None:
    assert (await bare.ask("DELETE", "/session")).json() == {"signed_out": False}
    assert (await bare.ask("GET", "/session")).status_code == 200


async def test_a_token_counts_and_not_the_cookie_beside_it(bare: Office) -> None:
    browser = await signed_in(bare)
    answer = await bare.ask("GET", "/session", "auditor", headers={"Cookie": browser["Cookie"]})

    assert answer.json()["name"] == "the-auditor"


async def test_an_agent_cannot_make_itself_look_like_someone_at_a_screen(bare: Office) -> None:
    supervisor = await bare.issue("supervisor", "approver", kind="agent")
    answer = await bare.ask_with(supervisor, "POST", "/session/link", json={})

    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")


async def test_a_browser_makes_no_further_links(bare: Office) -> None:
    browser = await signed_in(bare)
    answer = await bare.http.post(f"{SESSION}/link", headers=browser, json={})

    assert answer.status_code == 403
