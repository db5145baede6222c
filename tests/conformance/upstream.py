"""The server behind the gateway in the conformance suites: everything that they ask for, in one of the eras.

    python -m tests.conformance.upstream --era legacy|modern

It is the official SDK, so that the suites measure the gateway and not a server of our own making, and it passes them by
itself. Its port is the first line that it prints.
"""

import argparse
import asyncio
import contextlib
import socket
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import NotificationOptions, Server
from mcp.server.context import CallNext, HandlerResult
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ServerEvent, ToolsListChanged, event_to_notification
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.conformance import contents
from tests.conformance.contents import Json, embedded, text
from tests.conformance.questions import ASKING_TOOLS, Context, Tool, Unanswered, asking_prompt, result

MODERN = "2026-07-28"
_CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
_NO_ARGUMENTS: Json = {"type": "object", "properties": {}}
_SCHEMA_TOOL = "json_schema_2020_12_tool"
_HEADER_TOOL = "test_custom_headers"
_ADDRESS: Json = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
_SCHEMAS: dict[str, Json] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    _HEADER_TOOL: {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "note": {"type": "string"}},
        "required": ["region"],
    },
    _SCHEMA_TOOL: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": _ADDRESS},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}


def _fixed(*given: Json) -> Tool:
    async def say(context: Context, arguments: Json) -> Json:
        return result(*given)

    return say


async def _fail(context: Context, arguments: Json) -> Json:
    return {**result(text("This tool always fails.")), "isError": True}


async def _log(context: Context, arguments: Json) -> Json:
    for words in ("started", "under way", "done"):
        send = context.session.send_log_message  # pyright: ignore[reportDeprecated] - the suites still ask for it
        await send("info", words, "conformance", context.request_id)
        await asyncio.sleep(0.02)
    return result(text("Logged."))


async def _progress(context: Context, arguments: Json) -> Json:
    for part in (0, 50, 100):
        await context.session.report_progress(part, 100)
        await asyncio.sleep(0.02)
    return result(text("Reported."))


class _Sdk(Server[Any]):
    """The SDK's server, which says to legacy clients too that its lists may change."""

    def create_initialization_options(self, *given: Any, **named: Any) -> InitializationOptions:
        return super().create_initialization_options(NotificationOptions(True, True, True))


class Upstream:
    """The server, and the lists that two of its tools change."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._sessions: list[ServerSession] = []
        self._changes = 0
        self._tools: dict[str, Tool] = {
            "test_simple_text": _fixed(text("A plain text.")),
            "test_image_content": _fixed(contents.IMAGE),
            "test_audio_content": _fixed(contents.AUDIO),
            "test_embedded_resource": _fixed(embedded("test://embedded-resource", "An embedded text.")),
            "test_multiple_content_types": _fixed(
                text("Three kinds:"),
                contents.IMAGE,
                embedded("test://mixed-content-resource", '{"value":123}', "application/json"),
            ),
            "test_error_handling": _fail,
            "test_tool_with_logging": _log,
            "test_logging_tool": _log,
            "test_tool_with_progress": _progress,
            "test_trigger_tool_change": self._change_tools,
            "test_trigger_prompt_change": self._change_prompts,
            _SCHEMA_TOOL: _fixed(text("Valid.")),
            _HEADER_TOOL: _fixed(text("Headed.")),
            **ASKING_TOOLS,
        }
        self._prompts = list(contents.PROMPTS)

    def app(self) -> ASGIApp:
        server = _Sdk("conformance-upstream", version="1.0.0", on_subscriptions_listen=ListenHandler(self._bus))
        handlers: dict[str, tuple[type[BaseModel], Callable[[Context, Any], Awaitable[Json]]]] = {
            "tools/list": (types.PaginatedRequestParams, self._list_tools),
            "tools/call": (types.CallToolRequestParams, self._call),
            "resources/list": (types.PaginatedRequestParams, _listing("resources", contents.RESOURCES)),
            "resources/templates/list": (
                types.PaginatedRequestParams,
                _listing("resourceTemplates", contents.TEMPLATES),
            ),
            "resources/read": (types.ReadResourceRequestParams, _read),
            "resources/subscribe": (types.SubscribeRequestParams, _nothing),
            "resources/unsubscribe": (types.UnsubscribeRequestParams, _nothing),
            "prompts/list": (types.PaginatedRequestParams, _listing("prompts", self._prompts)),
            "prompts/get": (types.GetPromptRequestParams, _prompt),
            "completion/complete": (types.CompleteRequestParams, _complete),
            "logging/setLevel": (types.SetLevelRequestParams, _nothing),
        }
        for method, (params, handler) in handlers.items():
            server.add_request_handler(method, params, _in_its_era(handler))
        server.middleware.append(self._note_session)
        return server.streamable_http_app()

    async def _note_session(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "initialize":
            self._sessions.append(ctx.session)
        return await call_next(ctx)

    async def _tell(self, event: ServerEvent) -> None:
        await self._bus.publish(event)
        for session in self._sessions:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await session.send_notification(event_to_notification(event, {}))

    async def _list_tools(self, context: Context, params: Any) -> Json:
        tools = [
            {"name": name, "description": f"The tool {name}.", "inputSchema": _SCHEMAS.get(name, _NO_ARGUMENTS)}
            for name in self._tools
        ]
        return {"tools": tools}

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> Json:
        if params.name not in self._tools:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name}.")
        return await self._tools[params.name](context, dict(params.arguments or {}))

    async def _change_tools(self, context: Context, arguments: Json) -> Json:
        self._changes += 1
        self._tools[f"test_added_{self._changes}"] = _fixed(text("Added."))
        await self._tell(ToolsListChanged())
        return result(text("There is a tool more."))

    async def _change_prompts(self, context: Context, arguments: Json) -> Json:
        self._changes += 1
        self._prompts.append({"name": f"test_added_{self._changes}", "description": "An added prompt."})
        await self._tell(PromptsListChanged())
        return result(text("There is a prompt more."))


def _in_its_era(handler: Callable[[Context, Any], Awaitable[Json]]) -> Callable[[Context, Any], Awaitable[Json]]:
    """The handler with the members that the modern protocol wants in a result; the legacy one does not know them."""

    async def handle(context: Context, params: Any) -> Json:
        try:
            given = await handler(context, params)
        except Unanswered as unanswered:
            return unanswered.result
        if context.protocol_version != MODERN:
            return given
        cached = {"ttlMs": 0, "cacheScope": "public"} if context.method in _CACHED else {}
        return {"resultType": "complete", **cached, **given}

    return handle


def _listing(member: str, entries: list[Json]) -> Callable[[Context, Any], Awaitable[Json]]:
    async def listed(context: Context, params: Any) -> Json:
        return {member: entries}

    return listed


async def _nothing(context: Context, params: Any) -> Json:
    return {}


async def _read(context: Context, params: types.ReadResourceRequestParams) -> Json:
    found = contents.read(str(params.uri))
    if found is None:
        raise MCPError(types.INVALID_PARAMS, "There is no such resource.", {"uri": str(params.uri)})
    return {"contents": [found]}


async def _prompt(context: Context, params: types.GetPromptRequestParams) -> Json:
    if params.name == contents.ASKING_PROMPT:
        return await asking_prompt(context)
    found = contents.prompt(params.name, dict(params.arguments or {}))
    if found is None:
        raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name}.")
    return found


async def _complete(context: Context, params: types.CompleteRequestParams) -> Json:
    return {"completion": {"values": ["test value"], "total": 1, "hasMore": False}}


def in_era(app: ASGIApp, era: str) -> ASGIApp:
    """The app as a server of one era: whoever speaks the other is refused, as servers did before and will do after."""

    async def gated(scope: Scope, receive: Receive, send: Send) -> None:
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"").decode("latin-1")
        modern = version not in ("", *HANDSHAKE_PROTOCOL_VERSIONS)
        if scope["type"] != "http" or modern == (era == "modern"):
            await app(scope, receive, send)
            return
        body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Unsupported protocol version"}}'
        await send({"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body})

    return gated


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=("legacy", "modern"), required=True)
    era = parser.parse_args().era
    warnings.simplefilter("ignore")  # the SDK warns of the legacy protocol, which is what this is about
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - whoever starts it reads this
    # Its other parser leaves the white space behind a header's value, which is no part of it.
    config = uvicorn.Config(in_era(Upstream().app(), era), http="h11", log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
