"""What stands in front of every route: who asks, may they, and what did they send.

The caller is identified before anything else, and the roles are looked at before a byte of the body is read. The body
is read within the bounds of the edge and decoded strictly, once, by the decoder that agents meet too: the value that is
checked is the value that is used. Host and Origin are checked further out, for all faces together.
"""

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import MutableHeaders
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interlock import errors
from interlock.errors import Code, Reason
from interlock.receive.decode import decode_json
from interlock.receive.edge import Refused, headers_of
from interlock.receive.identify import Principal
from interlock.web import PREFIX, access
from interlock.web.access import VISITOR
from interlock.web.browsers import Browser
from interlock.web.parts import BROWSER_KEY, PRINCIPAL_KEY, Parts, parts_of, principal_of
from interlock.web.problems import Refusal, invalid, problem_answer, unknown

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""On every answer: what is shown here is for one reader, and is never anything but what it says it is."""

SIGN_IN = ("POST", f"{PREFIX}/session")
"""The one request for which nobody has to be known: it is how a browser comes to be."""

_VISITOR = Principal(VISITOR, "human", frozenset({VISITOR}))
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


class Door:
    """The ASGI layer in front of the routes."""

    def __init__(self, app: ASGIApp, parts: Parts) -> None:
        self._app = app
        self._callers = parts.callers
        self._browsers = parts.browsers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = await self._identified(scope)
        closed = _with_headers(send)
        if isinstance(found, Reason):
            challenge = _CHALLENGE if found.code is Code.UNAUTHENTICATED else None
            await problem_answer(found, headers=challenge)(scope, receive, closed)
        else:
            known = {PRINCIPAL_KEY: found.principal, BROWSER_KEY: found.browser}
            await self._app({**scope, **known}, receive, closed)

    async def _identified(self, scope: Scope) -> "_Identified | Reason":
        """By token, else by cookie. Without either a caller on this machine is `local`, who only calls tools."""
        headers = headers_of(scope)
        authorization = headers.get("authorization")
        if authorization is not None:
            principal = await self._callers.admit(authorization)
            return principal if isinstance(principal, Reason) else _Identified(principal)
        if (scope["method"], scope["path"]) == SIGN_IN:
            return _Identified(_VISITOR)  # the code in the body is the credential, whatever cookie comes along
        found = self._browsers.identify(scope["method"], headers)
        if found is None:
            return errors.REST_NEEDS_TOKEN()
        return found if isinstance(found, Reason) else _Identified(found.principal, found.browser)


@dataclass(frozen=True, slots=True)
class _Identified:
    """Who asks, and the browser, where it is by one."""

    principal: Principal
    browser: Browser | None = None


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return with_headers


class StrictRequest(Request):
    """A request whose body has been read and decoded already."""

    def __init__(self, request: Request, raw: bytes, value: Any) -> None:
        super().__init__(request.scope, request.receive)
        self._raw = raw
        self._value = value

    async def body(self) -> bytes:
        return self._raw

    async def json(self) -> Any:
        return self._value


class GuardedRoute(APIRoute):
    """A route that looks at the roles first, then at the body, and only then serves."""

    def __init__(self, path: str, endpoint: Callable[..., Any], roles: frozenset[str], **options: Any) -> None:
        self.roles = roles
        super().__init__(path, endpoint, **options)
        self._accepted = {
            "query": _names(each.field_info.annotation for each in self.dependant.query_params),
            "body": _names(each.field_info.annotation for each in self.dependant.body_params),
        }

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        serve = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            forbidden = access.refusal_of(principal_of(request), self.roles)
            if forbidden is not None:
                raise Refusal(forbidden)
            if request.query_params and not self.dependant.query_params:
                raise Refusal(unknown(request.query_params))
            strict = request if self.body_field is None else await _strictly(request)
            try:
                return await serve(strict)
            except RequestValidationError as found:
                raise Refusal(invalid(found.errors(), self._accepted)) from None

        return guarded


class LateRoute(Route):
    """The place of a route that is made when it is first asked for: to make all of them takes longer than all the rest
    of a gateway, and a verb of the command line asks for one or two."""

    def __init__(self, path: str, method: str, make: Callable[[], GuardedRoute]) -> None:
        super().__init__(path, make, methods=[method])
        self.methods = {method}  # without the HEAD that comes with GET there and not with the routes that are made
        self._made = cache(make)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        found = super().matches(scope)
        return self._made().matches(scope) if found[0] is Match.FULL else found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._made().handle(scope, receive, send)


async def _strictly(request: Request) -> StrictRequest:
    headers = headers_of(request.scope)
    try:
        raw = await parts_of(request).edge.body(headers, request.receive)
    except Refused as refused:
        raise Refusal(errors.BODY_REFUSED(problem=refused.why), status=refused.status) from None
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if raw and kind != "application/json":
        raise Refusal(errors.BODY_NOT_JSON(problem="The body is not declared as JSON."))
    return StrictRequest(request, raw, decode_json(raw) if raw else None)


def _names(models: Iterable[Any]) -> tuple[str, ...]:
    return tuple(name for model in models if issubclass(model, BaseModel) for name in model.model_fields)
