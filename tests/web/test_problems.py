"""Refusals as problem+json."""

import json

import pytest
from fastapi import Request
from starlette.exceptions import HTTPException

from interlock import errors
from interlock.errors import Code, Reason
from interlock.receive.decode import Undecodable
from interlock.store.protocol import StoreUnavailable
from interlock.web.problems import HANDLED, Refusal, answer_to, invalid, problem_answer, unknown
from tests.web.office import Office

REQUEST = Request({"type": "http", "method": "GET", "path": "/api/v1/x", "headers": []})


def test_a_reason_is_told_with_its_code_and_its_fix() -> None:
    answer = problem_answer(errors.FORBIDDEN(role="admin"))

    assert answer.media_type == "application/problem+json"
    assert json.loads(bytes(answer.body)) == {
        "type": "about:blank",
        "title": "Forbidden",
        "status": 403,
        "detail": "This needs the role admin.",
        "code": "FORBIDDEN",
        "fix": "Use a token with that role.",
    }


def test_a_refusal_on_record_names_its_activity() -> None:
    answer = problem_answer(errors.AUDIT_UNAVAILABLE(), activity_id="act-1")

    assert json.loads(bytes(answer.body))["activity_id"] == "act-1"


def test_a_reason_without_a_code_is_a_denial() -> None:
    answer = problem_answer(Reason("because"))

    assert (answer.status_code, json.loads(bytes(answer.body))["code"]) == (403, "DENIED")


@pytest.mark.parametrize(
    ("failed", "status", "code"),
    [
        (Refusal(errors.NOT_FOUND(what="It", suggestion="")), 404, Code.NOT_FOUND),
        (Refusal(errors.BODY_REFUSED(problem="too long"), status=413), 413, Code.BAD_REQUEST),
        (Undecodable(-32700, "no JSON"), 400, Code.BAD_REQUEST),
        (StoreUnavailable("disk full"), 503, Code.AUDIT_UNAVAILABLE),
    ],
)
async def test_each_failure_has_its_answer(failed: Exception, status: int, code: Code) -> None:
    answer = await answer_to(REQUEST, failed)
    told = json.loads(bytes(answer.body))

    assert (answer.status_code, told["status"], told["code"]) == (status, status, code)
    assert isinstance(failed, HANDLED)


async def test_what_the_database_said_is_not_told() -> None:
    answer = await answer_to(REQUEST, StoreUnavailable("/home/alice/interlock.db: disk I/O error"))

    assert b"alice" not in bytes(answer.body)


async def test_a_fault_of_ours_stays_one() -> None:
    with pytest.raises(KeyError):
        await answer_to(REQUEST, KeyError("x"))

    assert HTTPException in HANDLED
    assert Exception not in HANDLED


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/nothing", "Path '/nothing' not found."),
        ("/setings", "Path '/setings' not found. Did you mean '/settings'?"),
        ("/activity/", "Path '/activity/' not found. Did you mean '/activity'?"),
        ("/nowhere/at/all", "Path '/nowhere/at/all' not found."),
    ],
)
async def test_an_unknown_path_is_answered_with_the_nearest(bare: Office, path: str, detail: str) -> None:
    answer = await bare.ask("GET", path)

    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert answer.json()["detail"] == detail
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/tokens", "GET, POST"),
        ("HEAD", "/settings", "GET"),
        ("OPTIONS", "/tokens/x", "DELETE"),
        ("DELETE", "/tools/up/x/call", "GET, POST"),
        ("POST", "/tools/up/x", "GET"),
    ],
)
async def test_a_wrong_method_is_answered_with_those_that_are_possible(
    bare: Office, method: str, path: str, allowed: str
) -> None:
    answer = await bare.ask(method, path)

    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert answer.headers["content-type"] == "application/problem+json"


def test_every_wrong_field_is_named() -> None:
    found = [
        {"loc": ("query", "limit"), "type": "less_than_equal", "msg": "too much", "input": "hunter2"},
        {"loc": ("query", "foo"), "type": "extra_forbidden", "msg": "no", "input": "hunter2"},
        {"loc": ("body", "roles", 0), "type": "literal_error", "msg": "not a role", "input": "hunter2"},
        {"loc": ("body", "intent", "x"), "type": "extra_forbidden", "msg": "no", "input": "hunter2"},
        {"loc": ("body",), "type": "missing", "msg": "Field required", "input": None},
    ]

    assert invalid(found, {"query": ("limit", "cursor")}).text == (
        "limit: too much; foo: it is not known here; known are limit, cursor; roles.0: not a role; "
        "intent.x: it is not known here; body: Field required"
    )


def test_a_flood_of_wrong_fields_is_cut() -> None:
    assert unknown(f"{number}" * 100 for number in range(1000)).text.count(";") == 4
