"""What the SDK serves: handshake, discovery, and the streams on which clients hear of changes.

All use of the SDK's server is in this module. It never sees a tools/call, a list or a read in practice, because the
lane and the passage take every one before; should one arrive all the same, it is counted and handed to them.
"""

from collections.abc import Callable
from typing import Any

import mcp_types as types
import msgspec
from mcp.server import NotificationOptions, Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import ListenHandler, ServerEvent
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette

from interlock import __version__
from interlock.core.health import Introduction
from interlock.core.model import CALL_METHOD, Caller
from interlock.kept import Origin
from interlock.receive.catalog import Expose
from interlock.receive.decode import Request
from interlock.receive.earshot import Earshot, Hearer, Opening
from interlock.receive.lane import Lane
from interlock.receive.passage import Passage, Refused
from interlock.receive.turns import Context

CALLER_KEY = "interlock.caller"
"""Where the edge puts the caller it identified into the ASGI scope."""
OPENING_KEY = "interlock.opening"
"""Where the edge puts an Opening into the ASGI scope of an `initialize`."""
MAX_LISTENING = 1_024
"""How many modern clients may listen at the same time."""

_DIRECT = "Call the tools by the names under which they are listed. A call may wait until somebody has approved it."
_SEARCH = "Find tools with retrieve_tools, then call them with the call_tool_* it recommends."
_INSTRUCTIONS = {Expose.SEARCH: _SEARCH, Expose.DIRECT: _DIRECT, Expose.BOTH: _SEARCH}

LOCAL_CALLER = Caller("local")


class _Sdk(Server[Any]):
    """The SDK's server, which says that lists may change; by itself it says so to modern clients only."""

    def __init__(self, *more: Any, tools_change: bool, **named: Any) -> None:
        super().__init__(*more, **named)
        self._tools_change = tools_change

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        told = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=self._tools_change)
        return super().create_initialization_options(told, experimental_capabilities, extensions)


def introduction_of(expose: Expose) -> Introduction:
    """What a gateway says of itself."""
    return Introduction("interlock", __version__, _INSTRUCTIONS[expose])


class Rest:
    """The SDK's server around our lane and our passage. `introduction` is what clients are told about it."""

    def __init__(
        self,
        lane: Lane,
        passage: Passage,
        count_stray: Callable[[], None],
        introduction: Introduction | None = None,
    ) -> None:
        told = introduction or introduction_of(lane.catalog.expose)
        self._lane = lane
        self.passage = passage
        self._count_stray = count_stray
        self._listening = 0
        self.server: Server[Any] = _Sdk(
            told.name,
            version=told.version,
            instructions=told.instructions or None,
            get_tool_input_schema=_no_schema,
            on_subscriptions_listen=self._listen,
            tools_change=lane.catalog.expose is not Expose.SEARCH,
        )
        # What is registered here is what the SDK declares; who really serves it is decided before.
        for method in (CALL_METHOD, *passage.methods):
            self.server.add_request_handler(method, types.RequestParams, self._stray)
        self.server.middleware.append(_note_session)

    def asgi(self) -> Starlette:
        # Our own reaper ends idle sessions: the SDK's timer does not see the calls that the lane serves. And our edge
        # has checked Host and Origin before the body was read, for every name that is served here.
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        return self.server.streamable_http_app(session_idle_timeout=None, transport_security=unchecked)

    async def _stray(self, context: ServerRequestContext[Any], params: types.RequestParams) -> dict[str, Any]:
        self._count_stray()
        request = Request(0, context.method, dict(context.params or {}))
        serve = self._lane.serve if context.method == CALL_METHOD else self.passage.serve
        answer = await serve(request, Context(caller_of(context), False, Origin("mcp")), lambda _: None)
        said = msgspec.json.decode(answer)
        if "error" in said:
            raise MCPError(said["error"]["code"], said["error"]["message"])
        return said["result"]

    # Listening --------------------------------------------------------------------------------------------------

    async def _listen(
        self, context: ServerRequestContext[Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve the stream on which a modern client hears of changes, until it goes away."""
        if self._listening >= MAX_LISTENING:
            raise MCPError(types.INTERNAL_ERROR, "Too many clients listen already")
        hearer = Hearer(caller_of(context))
        handler = ListenHandler(_Bus(self.passage.earshot, hearer))
        hearer.end = handler.close
        self._listening += 1
        try:
            return await handler(context, await self._narrowed(hearer, context, params))
        finally:
            self._listening -= 1
            self.passage.forget(hearer)

    async def _narrowed(
        self,
        hearer: Hearer,
        context: ServerRequestContext[Any],
        params: types.SubscriptionsListenRequestParams,
    ) -> types.SubscriptionsListenRequestParams:
        """What a client wants to hear, without the resources that it may not watch; the client is told what is left."""
        wanted = params.notifications
        origin = Origin("mcp", None, str(context.request_id), None)
        about = Context(hearer.caller, True, origin)
        watched: list[str] = []
        for uri in dict.fromkeys(wanted.resource_subscriptions or ()):
            try:
                reply = await self.passage.watch(hearer, uri, about)
            except Refused:
                continue
            if reply.answer is not None and reply.answer.error is None:
                watched.append(uri)
        left = wanted.model_copy(update={"resource_subscriptions": watched or None})
        return params.model_copy(update={"notifications": left})


class _Bus:
    """What the SDK's handler takes for its source of events: what one hearer is told."""

    def __init__(self, earshot: Earshot, hearer: Hearer) -> None:
        self._earshot = earshot
        self._hearer = hearer

    async def publish(self, event: ServerEvent) -> None:
        self._hearer.deliver(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self._hearer.deliver = listener
        self._earshot.add(self._hearer)
        return lambda: self._earshot.remove(self._hearer)


async def _note_session(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Keep the SDK's side of a session that was opened: what it is told of changes goes through that."""
    result = await call_next(ctx)
    opening = None if ctx.request is None else ctx.request.scope.get(OPENING_KEY)
    if isinstance(opening, Opening) and ctx.method == "initialize":
        opening.session = ctx.session
    return result


def _no_schema(name: str) -> None:
    """The SDK would list our tools for a schema otherwise, although it serves no call."""


def caller_of(context: ServerRequestContext[Any]) -> Caller:
    """The caller that the edge identified; nobody else can put one there."""
    request = context.request
    found = None if request is None else request.scope.get(CALLER_KEY)
    return found if isinstance(found, Caller) else LOCAL_CALLER
