"""What stands in front of every route: identity, roles, and the body."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from tests.web.office import HOST, HOUR, Office

JSON = {"Content-Type": "application/json"}


async def get(running: Office, authorization: str | None) -> httpx2.Response:
    headers = {} if authorization is None else {"Authorization": authorization}
    return await running.http.get("/api/v1/settings", headers=headers)


def assert_unauthenticated(answer: httpx2.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/problem+json"


async def test_without_a_token_nobody_is_let_in_although_this_machine_may_call_tools(bare: Office) -> None:
    answer = await get(bare, None)

    assert_unauthenticated(answer)
    assert answer.json()["detail"] == "REST always needs a token, also on this machine."


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer x", "Bearer il_000000000000_" + "x" * 43, "Basic eA=="]
)
async def test_a_credential_that_is_not_ours_is_refused(bare: Office, authorization: str) -> None:
    assert_unauthenticated(await get(bare, authorization))


async def test_an_expired_token_is_refused_from_that_moment_on(bare: Office) -> None:
    text = await bare.issue("soon", "admin", expires_at=bare.clock.now() + HOUR)
    before = await get(bare, f"Bearer {text}")
    bare.clock.forward(HOUR)

    assert before.status_code == 200
    assert_unauthenticated(await get(bare, f"Bearer {text}"))


@pytest.mark.parametrize(
    ("role", "path", "status"), [("admin", "/settings", 200), ("agent", "/settings", 403), ("admin", "/nothing", 404)]
)
async def test_every_answer_is_for_one_reader_only(bare: Office, role: str, path: str, status: int) -> None:
    answer = await bare.ask("GET", path, role)

    assert answer.status_code == status
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")


async def test_a_refusal_at_the_door_is_for_one_reader_too(bare: Office) -> None:
    assert (await get(bare, None)).headers["cache-control"] == "no-store"


# The body -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"name":"a","name":"b","roles":["agent"]}', "A key stands twice in one object."),
        (b'{"name":"a","n\\u0061me":"b","roles":["agent"]}', "A key stands twice in one object."),
        (b'{"name":NaN}', "The body is not valid JSON"),
        (b'{"name":1e999}', "The body is not valid JSON"),
        (b'{"name":"\\ud800"}', "The body is not valid JSON"),
        (b'{"name":"\xff"}', "The body is not valid JSON"),
        (b'{"name":"a"} x', "The body is not valid JSON"),
        (b"{'name':'a'}", "The body is not valid JSON"),
        (b'{"name":' + b"[" * 70 + b"]" * 70 + b"}", "The JSON is nested deeper than 64 levels."),
        (b"[]", "body: Input should be a valid dictionary"),
        (b"null", "body: "),
        (b"", "body: "),
    ],
)
async def test_a_body_that_two_readers_could_read_differently_is_refused(
    bare: Office, body: bytes, detail: str
) -> None:
    answer = await bare.ask("POST", "/tokens", content=body, headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
    assert answer.json()["detail"].startswith(detail)
    assert len(await bare.store.list_tokens()) == 1


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", None])
async def test_a_body_must_be_declared_as_json(bare: Office, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = await bare.ask("POST", "/tokens", content=b'{"name":"a","roles":["agent"]}', headers=headers)

    assert answer.status_code == 400
    assert answer.json()["detail"] == "The body is not declared as JSON."


async def test_json_may_be_declared_with_its_encoding(bare: Office) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = await bare.ask("POST", "/tokens", content=b'{"name":"a","roles":["agent"]}', headers=headers)

    assert answer.status_code == 201


async def test_a_body_that_is_too_long_is_refused(bare: Office) -> None:
    answer = await bare.ask("POST", "/tokens", content=b" " * 10_001, headers=JSON)

    assert (answer.status_code, answer.json()["detail"]) == (413, "The body is longer than 10000 bytes.")


async def test_a_body_that_never_ends_is_given_up(bare: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.receive.edge.READ_SECONDS", 0.01)
    status, told = await _with_endless_body(bare, await bare.token("admin"))

    assert (status, told["code"]) == (408, "BAD_REQUEST")


async def test_roles_are_looked_at_before_the_body(bare: Office) -> None:
    status, told = await _with_endless_body(bare, await bare.token("auditor"))

    assert (status, told["code"]) == (403, "FORBIDDEN")


async def test_a_query_that_nothing_reads_is_refused(bare: Office) -> None:
    answer = await bare.ask("GET", "/settings?verbose=1")

    assert (answer.status_code, answer.json()["detail"]) == (400, "verbose: it is not known here")


async def test_a_value_in_the_wrong_place_is_not_repeated(bare: Office) -> None:
    secret = "hunter2" * 5
    body = {"name": "Not A Name", "roles": [secret], "ttl": secret, secret[:3]: secret}
    answer = await bare.ask("POST", "/tokens", json=body)

    assert answer.status_code == 400
    assert secret not in answer.text


async def _with_endless_body(running: Office, token: str) -> tuple[int, Any]:
    """Ask for a token with a body that never comes; the status and the answer."""
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {"host": HOST, "authorization": f"Bearer {token}", "content-type": "application/json"}
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/tokens",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    async with asyncio.timeout(20):
        await running.app(scope, never, send)
    return sent[0]["status"], json.loads(sent[1]["body"])
