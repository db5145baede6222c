"""The one list of routes: who may use each, what it answers, and how it may refuse.

Everything else follows from the list: the application, its description as OpenAPI, and the tests that ask every route
with every role. There are no pages that load scripts from elsewhere; the description is the documentation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from fastapi.telemetry import TelemetryConfig
from pydantic import TypeAdapter
from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from interlock import __version__
from interlock.errors import ANSWERS, Code
from interlock.web import (
    PREFIX,
    activity,
    approval_figures,
    approvals,
    audit,
    calls,
    comparison,
    events,
    export,
    freezes,
    grants,
    history,
    lab,
    notices,
    principals,
    replay,
    review,
    rules,
    servers,
    session,
    settings,
    stats,
    suggestions,
    tokens,
    tools,
    trials,
)
from interlock.web.access import ADMINS, APPROVERS, READERS, STOPPERS, VISITORS
from interlock.web.answers import JSON, json_answer
from interlock.web.door import Door, GuardedRoute, LateRoute
from interlock.web.parts import Parts
from interlock.web.problems import HANDLED, PROBLEM_JSON, Problem, answer_to

_ANYTHING = "anything"


class _AnythingConvertor(Convertor[str]):
    """The rest of a path, whatever is in it: a server may name its tools as it likes, with slashes and line ends."""

    regex = r"(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor(_ANYTHING, _AnythingConvertor())


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the list. `answer` is the shape of the answer, None when it is no JSON.

    `refusals` are the codes beyond those all share.
    """

    method: str
    path: str
    roles: frozenset[str]
    serve: Callable[..., Any]
    answer: Any
    refusals: tuple[Code, ...] = ()
    status: int = 200
    media: tuple[str, ...] = (JSON,)
    """What the answer comes as. Only JSON has a shape; anything else is described as text."""


async def get_openapi() -> Response:
    """Describe this interface as OpenAPI."""
    return json_answer(description())


_BAD, _MISSING, _STALE, _DOWN = Code.BAD_REQUEST, Code.NOT_FOUND, Code.STALE_APPROVAL, Code.UPSTREAM_DOWN
_ELSEWHERE = (Code.SELF_APPROVAL, Code.ALREADY_RESOLVED, Code.BUDGET_EXHAUSTED)
_OF_THE_PATH = tuple(code for code in Code if code not in _ELSEWHERE)
"""What a call may be refused with: nearly everything."""

_OF_ANSWERS = (_BAD, _MISSING, _STALE, Code.SELF_APPROVAL, Code.ALREADY_RESOLVED)

_SEALING = (Code.AUDIT_UNAVAILABLE,)
_EXPORTED = (export.JSON_LINES, export.CSV)
_FIGURES = approval_figures.ApprovalFigures
_APPROVAL = "/approvals/{approval_id}"
_TOOL = "/tools/{server}/{tool:anything}"

ROUTES: tuple[Route, ...] = (
    Route("GET", "/activity", READERS, activity.list_activities, activity.ActivityPage, (_BAD,)),
    # Before the route of one activity, which would take the word for an id.
    Route("GET", "/activity/export", READERS, export.export_activities, None, (_BAD,), media=_EXPORTED),
    Route("GET", "/activity/stats", READERS, stats.get_stats, stats.Stats, (_BAD,)),
    Route("GET", "/activity/{activity_id}", READERS, activity.get_activity, activity.ShownActivity, (_MISSING,)),
    Route("GET", "/approvals", READERS, approvals.list_approvals, approvals.ApprovalList, (_BAD,)),
    # Before the route of one approval, which would take the last word for an id.
    Route("GET", "/approvals/metrics", READERS, approval_figures.get_approval_figures, _FIGURES, (_BAD,)),
    Route("GET", "/approvals/stream", READERS, events.stream_approvals, None, (_BAD,), media=(events.EVENT_STREAM,)),
    Route("GET", _APPROVAL, READERS, approvals.get_approval, approvals.ShownApproval, (_MISSING,)),
    Route("GET", f"{_APPROVAL}/difference", READERS, comparison.compare_approval, comparison.Compared, (_MISSING,)),
    Route("POST", f"{_APPROVAL}/approve", APPROVERS, approvals.approve, approvals.ShownApproval, _OF_ANSWERS),
    Route("POST", f"{_APPROVAL}/deny", APPROVERS, approvals.deny, approvals.ShownApproval, _OF_ANSWERS),
    Route("POST", f"{_APPROVAL}/classify", ADMINS, approvals.classify, approvals.Classified, (_BAD, _MISSING)),
    Route("GET", "/grants", READERS, grants.list_grants, grants.GrantList),
    Route("DELETE", "/grants/{grant_id}", STOPPERS, grants.revoke_grant, grants.RevokedGrant, (_MISSING,)),
    Route("GET", "/freezes", READERS, freezes.list_freezes, freezes.FreezeList),
    Route("POST", "/freeze", STOPPERS, freezes.freeze, freezes.ShownFreeze, (_BAD, _MISSING)),
    Route("POST", "/thaw", ADMINS, freezes.thaw, freezes.ShownFreeze, (_BAD, _MISSING)),
    Route("GET", "/events", READERS, events.stream_events, None, (_BAD,), media=(events.EVENT_STREAM,)),
    Route("GET", "/tools", READERS, tools.list_tools, tools.ToolList, (_BAD,)),
    # Both before the route of one tool, which would take the last word for a part of the name.
    Route("GET", f"{_TOOL}/diff", READERS, review.get_difference, review.ShownDifference, (_MISSING,)),
    Route("GET", f"{_TOOL}/history", READERS, history.get_tool_history, history.ToolHistory, (_MISSING,)),
    Route("GET", _TOOL, READERS, tools.get_tool, tools.ToolDetail, (_MISSING,)),
    Route("POST", f"{_TOOL}/call", ADMINS, calls.call_tool, calls.CallAnswer, _OF_THE_PATH),
    Route("POST", f"{_TOOL}/trust", ADMINS, review.trust_tool, review.Trusted, (_BAD, _MISSING, _STALE)),
    Route("POST", f"{_TOOL}/override", ADMINS, review.override_tool, review.Overridden, (_BAD, _MISSING)),
    Route("GET", "/servers", READERS, servers.list_servers, servers.ServerList),
    Route("GET", "/servers/{server}", READERS, servers.get_server, servers.ShownServer, (_MISSING,)),
    Route("POST", "/servers", ADMINS, servers.add_server, servers.AddedServer, (_BAD,), 201),
    Route("DELETE", "/servers/{server}", ADMINS, servers.remove_server, servers.RemovedServer, (_MISSING,)),
    Route("POST", "/servers/{server}/enable", ADMINS, servers.enable_server, servers.ShownServer, (_MISSING,)),
    Route("POST", "/servers/{server}/disable", ADMINS, servers.disable_server, servers.ShownServer, (_MISSING,)),
    Route("POST", "/servers/{server}/restart", ADMINS, servers.restart_server, servers.ShownServer, (_MISSING,)),
    Route("GET", "/servers/{server}/logs", READERS, servers.get_server_logs, servers.LogLines, (_BAD, _MISSING)),
    Route("POST", "/servers/{server}/trust", ADMINS, review.trust_server, review.Trusted, (_BAD, _MISSING, _DOWN)),
    Route("GET", "/rules", READERS, rules.list_rules, rules.RuleList, (_BAD,)),
    Route("POST", "/rules/test", STOPPERS, trials.try_rules, trials.ShownTrial, (_BAD, _MISSING)),
    Route("POST", "/rules/replay", STOPPERS, replay.replay_rules, replay.Replayed, (_BAD,)),
    Route("GET", "/rules/suggestions", READERS, suggestions.suggest_rules, suggestions.SuggestionList, (_BAD,)),
    Route("GET", "/audit/verify", READERS, audit.verify_audit, audit.Verified, _SEALING),
    Route("GET", "/audit/checkpoints", READERS, audit.list_checkpoints, audit.SealList),
    Route("POST", "/audit/checkpoint", ADMINS, audit.make_checkpoint, audit.NewSeal, _SEALING),
    Route("POST", "/audit/prune", ADMINS, audit.prune_audit, audit.Pruned, (_BAD, *_SEALING)),
    Route("GET", "/lab/runs", READERS, lab.list_lab_runs, lab.RunList),
    Route("GET", "/lab/runs/{run_id}", READERS, lab.get_lab_run, lab.ShownRun, (_MISSING,)),
    Route("GET", "/principals", READERS, principals.list_principals, principals.PrincipalList),
    Route("GET", "/tokens", ADMINS, tokens.list_tokens, tokens.TokenList),
    Route("POST", "/tokens", ADMINS, tokens.create_token, tokens.IssuedToken, (_BAD,), 201),
    Route("DELETE", "/tokens/{token_id}", ADMINS, tokens.revoke_token, tokens.RevokedToken, (_MISSING,)),
    Route("GET", "/notices", READERS, notices.get_notices, notices.ShownNotices),
    Route("POST", "/session", VISITORS, session.sign_in, session.NewSession, (_BAD,)),
    Route("GET", "/session", READERS, session.get_session, session.ShownSession),
    Route("DELETE", "/session", READERS, session.sign_out, session.SignedOut),
    Route("POST", "/session/link", READERS, session.make_link, session.ShownLink, status=201),
    Route("GET", "/settings", READERS, settings.get_settings, dict[str, Any]),
    Route("GET", "/openapi.json", READERS, get_openapi, dict[str, Any]),
)

_QUIET: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""A variable of the environment must not be able to send what operators ask and send to somewhere else."""


def rest_app(parts: Parts) -> ASGIApp:
    """The REST interface, for requests whose path begins with `/api/v1`."""
    app = _application(_late_routes())
    app.state.parts = parts
    return Door(app, parts)


@cache
def description() -> dict[str, Any]:
    """The interface as OpenAPI; no gateway is needed to tell."""
    return _described(_application([_guarded(each) for each in ROUTES]).openapi())


def _application(routes: Sequence[BaseRoute]) -> FastAPI:
    return FastAPI(
        title="Interlock",
        version=__version__,
        summary="What a safety gateway saw, decided and let pass, and who may use it.",
        routes=list(routes),
        exception_handlers=dict.fromkeys(HANDLED, answer_to),
        redirect_slashes=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        telemetry=_QUIET,
    )


@cache
def _late_routes() -> tuple[LateRoute, ...]:
    """All routes. They hold nothing of a gateway, so what was made once serves every other in this process."""
    return tuple(LateRoute(PREFIX + each.path, each.method, partial(_guarded, each)) for each in ROUTES)


def _guarded(route: Route) -> GuardedRoute:
    return GuardedRoute(
        PREFIX + route.path,
        route.serve,
        route.roles,
        methods=[route.method],
        response_model=route.answer,
        status_code=route.status,
        operation_id=route.serve.__name__,
        tags=[route.path.split("/")[1].partition(".")[0]],
        responses={**_refusals(route), **_texts(route)},
        response_class=Response if route.answer is None else JSONResponse,
        openapi_extra={"x-roles": sorted(route.roles)},
    )


# The description ------------------------------------------------------------------------------------------------


def _refusals(route: Route) -> dict[int | str, dict[str, Any]]:
    """How each status of a refusal is described; `default` stands for those of a request that nobody should send."""
    codes = (Code.UNAUTHENTICATED, Code.FORBIDDEN, Code.AUDIT_UNAVAILABLE, *route.refusals)
    by_status: dict[int, list[Code]] = {}
    for code in sorted(set(codes), key=list(Code).index):
        by_status.setdefault(ANSWERS[code].http, []).append(code)
    told = {status: f"{HTTPStatus(status).phrase}: {', '.join(codes)}." for status, codes in by_status.items()}
    described: dict[int | str, dict[str, Any]] = {status: _refusal(text) for status, text in sorted(told.items())}
    return described | {"default": _refusal("Any other refusal.")}


def _texts(route: Route) -> dict[int | str, dict[str, Any]]:
    """How an answer that is no JSON is described."""
    if route.answer is not None:
        return {}
    content = {media: {"schema": {"type": "string"}} for media in route.media}
    return {route.status: {"description": "Successful Response", "content": content}}


def _refusal(description: str) -> dict[str, Any]:
    return {"description": description, "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _described(document: Mapping[str, Any]) -> dict[str, Any]:
    """The description that FastAPI made, with the shape of refusals and the way to identify oneself added."""
    components = document["components"]
    problem = TypeAdapter(Problem).json_schema(ref_template="#/components/schemas/{model}")
    schemas = {**components["schemas"], **problem.pop("$defs"), "Problem": problem}
    schemes = {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "il_<id>_<secret>, or a JWT"}}
    return {
        **document,
        "components": {**components, "schemas": schemas, "securitySchemes": schemes},
        "security": [{"token": []}],
    }
