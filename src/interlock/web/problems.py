"""Refusals of REST as problem+json (RFC 9457), with our code and our fix.

Whatever goes wrong on the way, the client gets the same shape: what happened, the code to act on, and what to do next.
Nothing that was sent is repeated in an answer, because it may be a secret in the wrong place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from interlock import errors
from interlock.core.toolbook import nearest
from interlock.errors import ANSWERS, Code, Reason
from interlock.receive.decode import Undecodable
from interlock.store.protocol import Damaged, StoreUnavailable, Uncertain
from interlock.web import PREFIX
from interlock.web.answers import encoded

PROBLEM_JSON = "application/problem+json"
_SHOWN_PROBLEMS = 5
_NOT_KNOWN = "it is not known here"


@dataclass(frozen=True, slots=True)
class Winner:
    """Who was faster, and what became of an approval by that. `approver` is null where `approver_type` is system."""

    status: str
    approver: str | None
    approver_type: str | None
    decided_at: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal as clients see it.

    `activity_id` is there when the refusal is on record, and `winner` when somebody else was faster.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    fix: str
    activity_id: str | None = None
    winner: Winner | None = None


class Refusal(Exception):
    """Ends a request with a reason. The status follows from its code, unless HTTP has a better one."""

    def __init__(
        self,
        reason: Reason,
        activity_id: str | None = None,
        status: int | None = None,
        winner: Winner | None = None,
    ) -> None:
        super().__init__(reason.text)
        self.reason = reason
        self.activity_id = activity_id
        self.status = status
        self.winner = winner


def problem_answer(
    reason: Reason,
    *,
    status: int | None = None,
    activity_id: str | None = None,
    winner: Winner | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A reason as an answer. The status follows from the code, unless HTTP has a better one."""
    code = reason.code or Code.DENIED
    told = status or ANSWERS[code].http
    problem = Problem("about:blank", HTTPStatus(told).phrase, told, reason.text, code, reason.fix, activity_id, winner)
    shown = {name: value for name, value in asdict(problem).items() if value is not None}
    return Response(encoded(shown), told, headers, PROBLEM_JSON)


def invalid(found: Sequence[Mapping[str, Any]], accepted: Mapping[str, Sequence[str]]) -> Reason:
    """What is wrong with the fields of a request, from what validation found.

    `accepted` has the names that are known in `query` and in `body`.
    """
    problems = [_field_problem(each["loc"], each["type"], each["msg"], accepted) for each in found]
    return errors.BAD_FIELDS(problems="; ".join(problems[:_SHOWN_PROBLEMS]))


def unknown(names: Iterable[str]) -> Reason:
    """Refuses fields where none is accepted."""
    return errors.BAD_FIELDS(problems="; ".join(f"{name[:60]}: {_NOT_KNOWN}" for name in [*names][:_SHOWN_PROBLEMS]))


def _field_problem(place: Sequence[str | int], kind: str, message: str, accepted: Mapping[str, Sequence[str]]) -> str:
    where, *path = place
    field = ".".join(str(each)[:60] for each in path) or str(where)
    if kind != "extra_forbidden":
        return f"{field}: {message}"
    known = accepted.get(str(where), ()) if len(path) == 1 else ()
    return f"{field}: {_NOT_KNOWN}" + (f"; known are {', '.join(known)}" if known else "")


# What becomes of each exception ---------------------------------------------------------------------------------


async def answer_to(request: Request, failed: Exception) -> Response:
    """The answer to whatever ended a request."""
    match failed:
        case Refusal():
            return problem_answer(
                failed.reason, status=failed.status, activity_id=failed.activity_id, winner=failed.winner
            )
        case Undecodable():
            return problem_answer(errors.BODY_NOT_JSON(problem=failed.why))
        case Damaged():
            return problem_answer(errors.RECORD_DAMAGED(what=failed.what, problem=failed.problem))
        case Uncertain():
            return problem_answer(errors.STORE_UNCERTAIN())
        case StoreUnavailable():
            return problem_answer(errors.STORE_UNREACHABLE())
        case HTTPException(status_code=405):
            return _wrong_method(request)
        case HTTPException():
            return _wrong_path(request)
        case _:
            raise failed


HANDLED = (Refusal, Undecodable, StoreUnavailable, HTTPException)
"""What `answer_to` has an answer for; anything else is a fault of ours and stays one."""


def _wrong_method(request: Request) -> Response:
    routes = [each for each in _routes(request) if each.path_regex.match(request.scope["path"])]
    allowed = ", ".join(sorted({method for each in routes for method in each.methods or ()}))
    reason = errors.METHOD_NOT_ALLOWED(method=request.method, allowed=allowed)
    return problem_answer(reason, status=405, headers={"Allow": allowed})


def _wrong_path(request: Request) -> Response:
    path: str = request.scope["path"].removeprefix(PREFIX)
    suggestion = nearest(path, [each.path_format.removeprefix(PREFIX) for each in _routes(request)])
    return problem_answer(errors.NOT_FOUND(what=f"Path '{path[:200]}'", suggestion=suggestion))


def _routes(request: Request) -> list[Route]:
    return [each for each in request.app.routes if isinstance(each, Route)]
