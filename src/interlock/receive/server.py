"""The rest of the protocol, served by the SDK: handshake, discovery, lists, streams. Calls come here only by mistake.

All use of the SDK's server is in this module. It never sees a tools/call in practice, because the lane takes every one
before; should one arrive all the same, it is counted and handed to the same lane.
"""

from collections.abc import Callable
from typing import Any

import mcp_types as types
import msgspec
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette

from interlock import __version__
from interlock.core.model import Caller
from interlock.receive.decode import Request
from interlock.receive.lane import Context, Lane
from interlock.record import Origin

CALLER_KEY = "interlock.caller"
"""Where the edge puts the caller it identified into the ASGI scope."""

LOCAL_CALLER = Caller("local")


class Rest:
    """The SDK's server around our catalogue."""

    def __init__(self, lane: Lane, count_stray_call: Callable[[], None]) -> None:
        self._lane = lane
        self._count_stray_call = count_stray_call
        hint = CacheHint(ttl_ms=0, scope="private")
        self.server: Server[Any] = Server(
            "interlock",
            version=__version__,
            instructions="Find tools with retrieve_tools, then call them with the call_tool_* it recommends.",
            cache_hints={"tools/list": hint},
            get_tool_input_schema=lambda name: None,
            on_list_tools=self._list_tools,
            on_call_tool=self._stray_call,
        )

    def asgi(self) -> Starlette:
        # Our own reaper ends idle sessions: the SDK's timer does not see the calls that the lane serves. And our edge
        # has checked Host and Origin before the body was read, for every name that is served here.
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        return self.server.streamable_http_app(session_idle_timeout=None, transport_security=unchecked)

    async def _list_tools(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        caller = caller_of(context)
        listed = self._lane.catalog.tools_for(caller, self._lane.pipeline.book, self._lane.pipeline.policy.rules)
        return types.ListToolsResult(tools=[types.Tool.model_validate(each) for each in listed])

    async def _stray_call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        self._count_stray_call()
        request = Request(0, "tools/call", params.model_dump(by_alias=True, mode="json", exclude_none=True))
        answer = await self._lane.serve(request, Context(caller_of(context), False, Origin("mcp")), lambda _: None)
        said = msgspec.json.decode(answer)
        if "error" in said:
            raise MCPError(said["error"]["code"], said["error"]["message"])
        return types.CallToolResult.model_validate(said["result"])


def caller_of(context: ServerRequestContext[Any]) -> Caller:
    """The caller that the edge identified; nobody else can put one there."""
    request = context.request
    found = None if request is None else request.scope.get(CALLER_KEY)
    return found if isinstance(found, Caller) else LOCAL_CALLER
