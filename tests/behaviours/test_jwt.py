"""Tokens of an issuer, from a real server with its keys to a call on record: a second way in, and no third."""

import asyncio
import hashlib
import hmac
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from interlock.clock import SystemClock
from interlock.core.lifecycle import CallState
from tests.behaviours.test_reload import until, write
from tests.receive.issuing import AUDIENCE, ISSUER, KeyServer, Signer, document, encoded, key_server, part, usual
from tests.receive.issuing import http as answer
from tests.running import Running, server_yaml, serving
from tests.talking import META, NO_TLS
from tests.upstream.running import received, stdio_argv

FIRST, NEXT = Signer("first", number=1), Signer("next", number=2)
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-method": "tools/call",
    "mcp-protocol-version": "2026-07-28",
}


def config(folder: Path, keys_url: str, audience: str = AUDIENCE) -> str:
    return (
        "posture: open\nexpose: direct\n"
        "workspaces: [{id: ws-prod}, {id: ws-test}]\n"
        "route_rules:\n"
        "  - {id: not-in-prod, workspace_id: ws-prod, effect: deny}\n"
        "  - {id: ask-a-person, tool_pattern: up__write_note, effect: hold, approvers: [humans]}\n"
        f"identity: {{jwt: {{issuer: '{ISSUER}', audience: {audience}, jwks_url: '{keys_url}'}}}}\n"
        "servers:\n" + server_yaml("up", stdio_argv(folder / "up.log"))
    )


@pytest.fixture
async def keys() -> AsyncGenerator[KeyServer]:
    async with key_server(FIRST) as server:
        yield server


@pytest.fixture
async def gateway(tmp_path: Path, keys: KeyServer, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Running]:
    monkeypatch.setattr("interlock.app.gateway.LOOK_SECONDS", 0.01)
    async with serving(tmp_path, config(tmp_path, keys.url)) as running:
        yield running


def claims(**more: Any) -> dict[str, Any]:
    return usual(SystemClock().now(), **more)


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


async def call(
    http: httpx2.AsyncClient, running: Running, text: str, /, tool: str = "up__echo", **arguments: str
) -> httpx2.Response:
    """Call a tool as an agent does, with this token."""
    params = {"name": tool, "arguments": arguments, "_meta": META}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {**HEADERS, "mcp-name": tool, **bearer(text)}
    return await http.post(running.url, json=body, headers=headers, timeout=30)


async def rest(http: httpx2.AsyncClient, running: Running, path: str, text: str) -> httpx2.Response:
    return await http.get(f"http://{running.host}{path}", headers=bearer(text))


def is_served(answer: httpx2.Response) -> bool:
    return answer.status_code == 200 and "result" in answer.json() and not answer.json()["result"].get("isError")


async def test_an_agent_with_a_token_of_the_issuer_calls_a_tool_under_its_own_name(
    gateway: Running, http: httpx2.AsyncClient, keys: KeyServer
) -> None:
    text = FIRST.token(claims())
    answers = [await call(http, gateway, text) for _ in range(5)]
    recorded = await gateway.activities()

    assert all(map(is_served, answers))
    assert {(each.caller, each.status) for each in recorded} == {("jwt:alice", CallState.SUCCESS)}
    assert keys.paths == ["/keys"]


async def test_an_official_client_keeps_a_session_with_such_a_token(gateway: Running) -> None:
    async with httpx2.AsyncClient(headers=bearer(FIRST.token(claims())), verify=NO_TLS) as http:
        transport = streamable_http_client(gateway.url, http_client=http)
        async with Client(transport, mode="legacy") as client:
            result = await client.call_tool("up__echo", {})

    assert not result.is_error


async def test_an_auditor_with_a_token_of_the_issuer_reads_what_agents_did_and_nothing_more(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    text = FIRST.token(claims(interlock_roles=None, scope="openid interlock:auditor"))
    await call(http, gateway, FIRST.token(claims()))
    await gateway.gateway.pipeline.settled()
    listed = await rest(http, gateway, "/api/v1/activity", text)
    figures = await rest(http, gateway, "/metrics", text)
    tokens = await rest(http, gateway, "/api/v1/tokens", text)
    as_agent = await call(http, gateway, text)

    assert "jwt:alice" in {each["caller"] for each in listed.json()["items"]}
    assert figures.status_code == 200
    assert (tokens.status_code, as_agent.status_code) == (403, 403)


async def test_the_limits_of_a_token_hold(gateway: Running, http: httpx2.AsyncClient, tmp_path: Path) -> None:
    elsewhere = await call(http, gateway, FIRST.token(claims(interlock_servers=["other"])))
    in_prod = await call(http, gateway, FIRST.token(claims(interlock_workspace="ws-prod")))
    in_test = await call(http, gateway, FIRST.token(claims(interlock_workspace="ws-test")))
    in_none = await call(http, gateway, FIRST.token(claims(interlock_workspace="ws-none")))

    assert elsewhere.json()["result"]["structuredContent"]["code"] == "UNKNOWN_TOOL"
    assert in_prod.json()["result"]["structuredContent"]["code"] == "DENIED_BY_RULE"
    assert is_served(in_test)
    assert in_none.status_code == 401
    assert len([each for each in received(tmp_path / "up.log") if each.method == "tools/call"]) == 1


def refused_tokens(trap: KeyServer) -> dict[str, str]:
    """Everything that must not open the door, by what is wrong with it."""
    now, strange = SystemClock().now() // 1_000_000, Signer("first", number=3)
    unsigned = f"{part({'alg': 'none', 'kid': 'first'})}.{part(claims())}"
    with_secret = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part(claims())}"
    mac = hmac.digest(FIRST.pem, with_secret.encode(), hashlib.sha256)
    return {
        "alg none": unsigned + ".",
        "alg none with something behind it": unsigned + ".AAAA",
        "the public key as a secret": f"{with_secret}.{encoded(mac)}",
        "another audience": FIRST.token(claims(aud="other")),
        "another issuer": FIRST.token(claims(iss="https://issuer.example")),
        "expired": FIRST.token(claims(exp=now - 1)),
        "not yet": FIRST.token(claims(nbf=now + 3_600)),
        "no end": FIRST.token(claims(exp=None)),
        "unknown key": FIRST.token(claims(), kid="unknown"),
        "key of another": NEXT.token(claims(), kid="first"),
        "a key for encryption": Signer("locked", number=4).token(claims()),
        "crit": FIRST.token(claims(), crit=["exp"]),
        "jku": strange.token(claims(), jku=trap.url),
        "x5u": strange.token(claims(), x5u=trap.url),
        "jwk": strange.token(claims(), jwk=strange.jwk()),
        "huge": FIRST.token(claims(more="x" * 20_000)),
        "no JSON": FIRST.sealed(part({"alg": "ES256", "kid": "first"}), encoded(b"sub=alice")),
        "no token": "hello",
    }


async def test_nothing_else_opens_the_door_and_nothing_is_fetched_from_elsewhere(
    gateway: Running, http: httpx2.AsyncClient, keys: KeyServer, caplog: pytest.LogCaptureFixture
) -> None:
    keys.answer = answer(document(FIRST.jwk(), Signer("locked", number=4).jwk(use="enc")))
    async with key_server(Signer("first", number=3)) as trap:
        tokens = refused_tokens(trap)
        with caplog.at_level(logging.DEBUG, "interlock"):
            over_mcp = {what: (await call(http, gateway, text)).status_code for what, text in tokens.items()}
            answers = {what: await rest(http, gateway, "/api/v1/settings", text) for what, text in tokens.items()}

    assert is_served(await call(http, gateway, FIRST.token(claims())))
    assert over_mcp == dict.fromkeys(tokens, 401)
    assert {what: each.status_code for what, each in answers.items()} == dict.fromkeys(tokens, 401)
    assert all(each.json()["fix"] for each in answers.values())
    assert (trap.paths, set(keys.paths)) == ([], {"/keys"})
    said = caplog.text + "".join(each.text for each in answers.values())
    pieces = [piece for text in tokens.values() for piece in text.split(".") if len(piece) > 20]
    assert not [piece for piece in pieces if piece in said]


async def test_a_token_without_a_role_is_told_that_it_may_do_nothing(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    text = FIRST.token(claims(interlock_roles=[]))
    over_mcp, over_rest = await call(http, gateway, text), await rest(http, gateway, "/api/v1/settings", text)

    assert (over_mcp.status_code, over_rest.status_code) == (403, 403)
    assert over_mcp.json()["error"].startswith("The token gives no role here.")


async def test_keys_that_are_not_there_at_first_are_found_when_they_are(
    tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    async with key_server(FIRST) as server:
        port = server.port
    async with serving(tmp_path, config(tmp_path, server.url)) as running:
        down = await call(http, running, FIRST.token(claims()))
        operator = running.folder.credential() or ""
        shown = (await rest(http, running, "/api/v1/settings", operator)).json()["identity"]
        async with key_server(FIRST, port=port):
            text = FIRST.token(claims())

            async def is_up() -> bool:
                return is_served(await call(http, running, text))

            await until(is_up)

    assert (down.status_code, down.headers["www-authenticate"]) == (401, "Bearer")
    assert "the keys of its issuer cannot be fetched now" in down.json()["error"]
    assert (shown["keys"], shown["issuer"]) == (0, ISSUER)
    assert shown["problem"].startswith("it cannot be reached")


async def test_a_new_key_is_picked_up_without_a_restart(
    gateway: Running, http: httpx2.AsyncClient, keys: KeyServer
) -> None:
    before = await call(http, gateway, FIRST.token(claims()))
    keys.publish(NEXT)
    with_new = await call(http, gateway, NEXT.token(claims()))
    with_old = await call(http, gateway, FIRST.token(claims()))

    assert is_served(before)
    assert is_served(with_new)
    assert with_old.status_code == 401


async def test_a_flood_of_unknown_keys_is_two_fetches_and_others_are_served_meanwhile(
    gateway: Running, http: httpx2.AsyncClient, keys: KeyServer
) -> None:
    good = FIRST.token(claims())
    texts = [FIRST.token(claims(), kid=f"unknown-{number}") for number in range(1_000)]
    few = asyncio.Semaphore(20)

    async def flood(text: str) -> int:
        async with few:
            return (await rest(http, gateway, "/api/v1/settings", text)).status_code

    first = await call(http, gateway, good)
    async with asyncio.TaskGroup() as group:
        floods = [group.create_task(flood(text)) for text in texts]
        served = [await call(http, gateway, good) for _ in range(20)]

    assert [each.result() for each in floods] == [401] * 1_000
    assert all(map(is_served, [first, *served]))
    assert len(keys.paths) == 2


async def test_who_is_trusted_changes_with_the_configuration(
    gateway: Running, http: httpx2.AsyncClient, keys: KeyServer, tmp_path: Path
) -> None:
    text, for_other = FIRST.token(claims()), FIRST.token(claims(aud="other"))
    before = await call(http, gateway, text)
    write(tmp_path, config(tmp_path, keys.url, audience="other"))

    async def other_is_served() -> bool:
        return is_served(await call(http, gateway, for_other))

    await until(other_is_served)
    after = await call(http, gateway, text)
    write(tmp_path, "posture: open\nexpose: direct\nservers:\n" + server_yaml("up", stdio_argv(tmp_path / "up.log")))

    async def nobody_is_served() -> bool:
        return (await call(http, gateway, for_other)).status_code == 401

    await until(nobody_is_served)

    assert is_served(before)
    assert after.status_code == 401


async def test_a_stream_of_events_goes_on_when_its_token_has_to_be_looked_at_again(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    text = FIRST.token(claims(interlock_roles=["auditor"]))
    url = f"http://{gateway.host}/api/v1/events"
    async with asyncio.timeout(20), http.stream("GET", url, headers=bearer(text)) as stream:
        lines = stream.aiter_lines()
        while "server.ready" not in await anext(lines):
            pass
        gateway.gateway.issuer._verified.clear()  # pyright: ignore[reportPrivateUsage] - as when others push it out
        await call(http, gateway, FIRST.token(claims()))
        while "activity.success" not in await anext(lines):
            pass


# Approvals ------------------------------------------------------------------------------------------------------


async def ask(http: httpx2.AsyncClient, running: Running) -> httpx2.Response:
    """Alice calls a tool for which a person is asked."""
    note = {"name": "n", "text": "t", "_justification": "I have to."}
    return await call(http, running, FIRST.token(claims()), "up__write_note", **note)


async def pending(http: httpx2.AsyncClient, running: Running, text: str) -> str:
    """The id of the call that waits, as an approver finds it."""
    found: list[str] = []

    async def is_there() -> bool:
        listed = (await call(http, running, text, "interlock__list_pending_approvals")).json()["result"]
        found.extend(each["id"] for each in listed["structuredContent"]["items"])
        return bool(found)

    await until(is_there)
    return found[0]


async def approve(http: httpx2.AsyncClient, running: Running, text: str, approval_id: str) -> str | None:
    """The code of the refusal, if it is one."""
    answer = await call(http, running, text, "interlock__approve_tool_call", approval_id=approval_id)
    return answer.json()["result"]["structuredContent"].get("code")


def sent(folder: Path) -> int:
    return len([each for each in received(folder / "up.log") if each.method == "tools/call"])


async def test_a_person_of_the_issuer_approves_and_the_call_goes_on_under_the_name_that_asked(
    gateway: Running, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    robot = FIRST.token(claims(sub="robot", interlock_roles=["approver"], interlock_kind="agent"))
    herself = FIRST.token(claims(interlock_roles=["agent", "approver"]))
    bob = FIRST.token(claims(sub="bob", interlock_roles=["approver"]))
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask(http, gateway))
        waiting = await pending(http, gateway, bob)
        refused = [await approve(http, gateway, text, waiting) for text in (robot, herself)]
        before = sent(tmp_path)
        taken = await approve(http, gateway, bob, waiting)

    assert refused == ["FORBIDDEN", "SELF_APPROVAL"]
    assert (before, taken) == (0, None)
    assert is_served(asked.result()), asked.result().text
    assert {each.caller for each in await gateway.activities()} == {"jwt:alice"}
    assert sent(tmp_path) == 1


async def test_a_call_that_waited_does_not_go_when_its_issuer_is_trusted_no_more(
    gateway: Running, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    operator = gateway.folder.credential() or ""
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask(http, gateway))
        waiting = await pending(http, gateway, operator)
        gateway.gateway.issuer.trust(None)
        taken = await approve(http, gateway, operator, waiting)

    assert taken is None
    assert asked.result().json()["result"]["structuredContent"]["code"] == "UNAUTHENTICATED"
    assert sent(tmp_path) == 0
