"""The MCP face over HTTP: one ASGI app that sends every request to the lane, to the passage, to the SDK, or away.

edge (Host, Origin, size) → identify → decode ─┬─ tools/call → lane
                                               ├─ lists, resources, prompts, completions → passage
                                               └─ handshake, discovery, streams → SDK, the session bound to the caller
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from typing import TypeAlias

import msgspec
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from msgspec import Struct
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

from interlock.alarms import Alarms
from interlock.core.model import CALL_METHOD
from interlock.core.questions import read_answerable
from interlock.errors import Reason
from interlock.kept import Origin
from interlock.receive import replies
from interlock.receive.connection import WHOLE
from interlock.receive.decode import Message, Notice, Request, RequestId, Response, Undecodable, decode_message
from interlock.receive.earshot import Hearer, Opening, Voice
from interlock.receive.edge import Edge, Refused, nobody, send_refusal
from interlock.receive.exchange import HttpExchange, send_accepted, send_json
from interlock.receive.identify import Callers, Principal
from interlock.receive.lane import Lane
from interlock.receive.overhear import Tell
from interlock.receive.server import CALLER_KEY, OPENING_KEY, Rest
from interlock.receive.sessions import Session, Sessions
from interlock.receive.traced import Traced
from interlock.receive.turns import Context
from interlock.receive.workspaces import Workspaces

_LEGACY = (None, *HANDSHAKE_PROTOCOL_VERSIONS)
"""The versions that begin with a handshake, or none at all. Every other one, unknown ones too, is the modern way."""
_LEGACY_STATUSES: Mapping[int, int] = {}
"""Before 2026-07-28 the status says nothing of an error in the answer."""
_ADMITTED = frozenset({"agent", "approver"})
"""The roles that have something to do here: calling tools, and answering for those who do."""
CANCELLED = -32000
IDLE_SECONDS = 30 * 60
REAP_SECONDS = 60
_META = "io.modelcontextprotocol/"
_Serve: TypeAlias = Callable[[Request, Context, Tell], Awaitable[bytes]]


class _Incoming(Struct, frozen=True):
    """One HTTP request after the edge: the connection, who is behind it, and its session."""

    scope: Scope
    receive: Receive
    send: Send
    headers: dict[str, str]
    principal: Principal
    session: Session | None


class Face:
    """The app behind `/mcp`."""

    def __init__(
        self,
        edge: Edge,
        callers: Callers,
        sessions: Sessions,
        lane: Lane,
        rest: Rest,
        workspaces: Workspaces | None = None,
        traced: Traced | None = None,
    ) -> None:
        self._edge = edge
        self._callers = callers
        self.workspaces = workspaces or Workspaces()
        self._sessions = sessions
        self._lane = lane
        self._passage = rest.passage
        self._sdk = rest.asgi()
        self._rest = rest
        self._side = asyncio.TaskGroup()
        self._alarms = Alarms()
        self._traced = traced

    def __len__(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """The lifespan: the SDK's session manager, and the task group for what runs beside a call."""
        sdk, waiting = self._rest.server.session_manager.run(), self._lane.turns.parking.running()
        async with sdk, asyncio.TaskGroup() as side, waiting:
            self._side = side
            reaper = side.create_task(self._reap())
            yield
            reaper.cancel()
            self._passage.earshot.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._serve(scope, receive, send)
        except Refused as refused:
            await send_refusal(send, refused)
        except Undecodable as bad:
            await send_json(send, 400, replies.error_response(bad.id, bad.code, bad.why))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = self._edge.check(scope)
        principal = self._callers.identify(headers.get("authorization"))
        if isinstance(principal, Reason):
            principal = await self._callers.admit(headers.get("authorization"))
        if isinstance(principal, Reason):
            raise nobody(principal)
        if not principal.roles & _ADMITTED:
            raise Refused(403, "This token is neither one of an agent nor one of an approver.")
        principal = self.workspaces.place(principal, headers, self._callers)
        scope[CALLER_KEY] = principal.as_caller()
        incoming = _Incoming(scope, receive, send, headers, principal, self._session(headers, principal))
        if scope["method"] == "POST":
            await self._post(incoming)
        else:
            await self._pass_on(incoming)

    async def _post(self, incoming: _Incoming) -> None:
        body = await self._edge.body(incoming.headers, incoming.receive, incoming.scope.get(WHOLE))
        message = decode_message(body)
        serve = self._server_of(incoming, message)
        if isinstance(message, Request) and serve is not None:
            await self._call(incoming, message, serve)
            return
        if isinstance(message, Notice) and message.method == "notifications/cancelled":
            _cancel(incoming.session, message)
        if isinstance(message, Response) and incoming.session is not None and incoming.session.answered(message):
            await send_accepted(incoming.send)
            return
        send = self._noting(incoming, message)
        await self._sdk(_trimmed(incoming.scope), _replay(body, incoming.receive), send)

    def _server_of(self, incoming: _Incoming, message: Message) -> _Serve | None:
        """Who of us serves a message; None when it is the SDK."""
        if not isinstance(message, Request):
            return None
        if message.method == CALL_METHOD:
            return self._lane.serve
        served = self._passage.serves(message.method, modern=_is_modern(incoming))
        return self._passage.serve if served else None

    # Sessions ---------------------------------------------------------------------------------------------------

    def _session(self, headers: dict[str, str], principal: Principal) -> Session | None:
        session_id = headers.get("mcp-session-id")
        if session_id is None:
            return None
        session = self._sessions.find(session_id, principal.name)
        if session is None:
            # The same answer for an unknown session and for somebody else's.
            raise Refused(404, "Session not found.")
        return session

    def _noting(self, incoming: _Incoming, message: Message) -> Send:
        """Notes the session that the SDK opens in its answer to `initialize`."""
        send, principal = incoming.send, incoming.principal
        if not isinstance(message, Request) or message.method != "initialize":
            return send
        if self._sessions.are_enough(principal.name):
            raise Refused(429, "There are too many sessions of this caller. End those that are not used any more.")
        client = _client_name(message.params.get("clientInfo"))
        can = read_answerable(message.params.get("capabilities"))
        opening = incoming.scope[OPENING_KEY] = Opening()

        async def noting(event: AsgiMessage) -> None:
            for name, value in event.get("headers", ()):
                if name.lower() == b"mcp-session-id":
                    hearer = self._hearer(opening, principal)
                    self._sessions.opened(value.decode("latin-1"), principal.name, client, hearer, can)
            await send(event)

        return noting

    def _hearer(self, opening: Opening, principal: Principal) -> Hearer:
        """What tells a new session of changes."""
        voice = Voice(opening, self._side)
        hearer = Hearer(principal.as_caller(), voice.deliver, voice.end)
        self._passage.earshot.add(hearer)
        return hearer

    def _close(self, session_id: str) -> None:
        """A session is over: nobody needs to be told anything any more."""
        session = self._sessions.closed(session_id)
        if session is not None and session.hearer is not None:
            self._passage.forget(session.hearer)

    async def _pass_on(self, incoming: _Incoming) -> None:
        session = incoming.session
        scope = _trimmed(incoming.scope)
        if session is None:
            await self._sdk(scope, incoming.receive, incoming.send)
            return
        if incoming.scope["method"] == "DELETE":
            self._close(session.id)
            for cancel in list(session.running.values()):
                cancel()
        session.streams += 1
        try:
            await self._sdk(scope, incoming.receive, incoming.send)
        finally:
            session.streams -= 1
            self._sessions.touch(session)

    async def end_sessions(self) -> None:
        """End every session, so that nobody goes on listening; calls that are under way go on."""
        self._passage.earshot.end()
        for session_id in self._sessions.ids():
            await self._end(session_id)

    async def _end(self, session_id: str) -> None:
        self._close(session_id)
        await self._sdk(_delete(session_id), _no_more, _nobody)

    async def _reap(self) -> None:
        """Now and then end the sessions that nobody uses."""
        while True:
            await asyncio.sleep(REAP_SECONDS)
            await self.end_idle()

    async def end_idle(self) -> int:
        """End the sessions that were idle for too long, as their clients would have; returns how many."""
        ended = [each.id for each in self._sessions.idle_for(IDLE_SECONDS)]
        for session_id in ended:
            await self._end(session_id)
        return len(ended)

    # Calls ------------------------------------------------------------------------------------------------------

    async def _call(self, incoming: _Incoming, request: Request, serve: _Serve) -> None:
        session = incoming.session
        modern = _is_modern(incoming)
        rejected = _modern_rejection(incoming, request) if modern else None
        if rejected is not None:
            await send_json(incoming.send, 400, rejected)
            return
        if not modern and session is None:
            raise Refused(400, "A call needs the Mcp-Session-Id of an initialized session.")
        origin = _origin(request, incoming, self._traced, modern=modern)
        headers = incoming.scope["headers"] if modern else None
        context = Context(incoming.scope[CALLER_KEY], modern, origin, session, headers)
        statuses = ERROR_CODE_HTTP_STATUS if modern else _LEGACY_STATUSES
        whole = incoming.scope.get(WHOLE)
        exchange = HttpExchange(incoming.receive, incoming.send, self._side, self._alarms, statuses, whole)
        if session is not None:
            session.running[request.id] = exchange.cancel
        try:
            await exchange.run(serve(request, context, exchange.tell), partial(_cancelled, request.id))
        finally:
            if session is not None:
                session.running.pop(request.id, None)
                self._sessions.touch(session)


def _is_modern(incoming: _Incoming) -> bool:
    return incoming.headers.get("mcp-protocol-version") not in _LEGACY


def _cancelled(request_id: RequestId) -> bytes:
    return replies.error_response(request_id, CANCELLED, "Request cancelled")


def _cancel(session: Session | None, message: Notice) -> None:
    wanted = message.params.get("requestId")
    cancel = session.running.get(wanted) if session is not None and isinstance(wanted, str | int) else None
    if cancel is not None:
        cancel()


def _modern_rejection(incoming: _Incoming, request: Request) -> bytes | None:
    """What is wrong with the envelope or the mirrored headers of a modern request, as an error answer."""
    doubled = None
    if len(incoming.headers) < len(incoming.scope["headers"]):  # else no name stands twice
        doubled = find_duplicated_routing_header(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in incoming.scope["headers"]
        )
    if doubled is not None:
        return replies.error_response(request.id, -32020, f"{doubled} header appears more than once")
    routed = classify_inbound_request({"method": request.method, "params": request.params}, headers=incoming.headers)
    if isinstance(routed, InboundLadderRejection):
        data = b"" if routed.data is None else msgspec.json.encode(routed.data)
        return replies.error_response(request.id, routed.code, routed.message, data)
    return None


def _origin(request: Request, incoming: _Incoming, traced: Traced | None, *, modern: bool) -> Origin:
    session, principal = incoming.session, incoming.principal
    meta = request.params.get("_meta")
    known = meta if isinstance(meta, dict) else {}
    client = _client_name(known.get(f"{_META}clientInfo")) if modern else None if session is None else session.client
    named = known.get("model")
    model = named if isinstance(named, str) else principal.label
    trace = None if traced is None else traced(meta, incoming.headers)
    named_session = _connection(incoming) if session is None else session.id
    return Origin("mcp", named_session, str(request.id), client, model, trace)


def _connection(incoming: _Incoming) -> str:
    """Stands for a session where the protocol has none: this caller, on this connection. For display only."""
    peer = incoming.scope.get("client")
    return f"{incoming.principal.name}@{peer[1]}" if peer else incoming.principal.name


def _client_name(info: object) -> str | None:
    name = info.get("name") if isinstance(info, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return name[:200] if isinstance(name, str) else None


def _trimmed(scope: Scope) -> Scope:
    """The request with its headers as everybody but the SDK reads them, without the white space around a value."""
    scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    return scope


def _delete(session_id: str) -> Scope:
    """The request with which a client ends its session."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "DELETE",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"mcp-session-id", session_id.encode("latin-1"))],
        "client": None,
        "server": None,
    }


async def _no_more() -> AsgiMessage:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nobody(event: AsgiMessage) -> None:
    """Takes an answer that nobody reads."""


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once more for the next reader, then whatever really comes."""
    waiting: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> AsgiMessage:
        return waiting.pop() if waiting else await receive()

    return replay
