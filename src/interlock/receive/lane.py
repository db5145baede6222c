"""Our own lane for tools/call: from a decoded request to the answer, whatever transport it came over.

The SDK serves the rest of the protocol; calls are ours, because a call is where holding, progress, cancellation and
speed have to be one thing. The lane hands every call to the pipeline and owns nothing of the decision.
"""

from typing import Any

import msgspec
from msgspec import Struct

from interlock.core.model import Call, Caller
from interlock.errors import Reason
from interlock.pipeline import Pipeline, Reply
from interlock.receive import replies
from interlock.receive.catalog import Catalog, Search
from interlock.receive.decode import Request
from interlock.receive.overhear import Tell, wanted_of
from interlock.receive.repeated import HEADER_MISMATCH, RawHeaders, mismatch
from interlock.receive.retrieve import Retriever
from interlock.receive.sessions import Session
from interlock.record import Origin

INVALID_PARAMS = -32602


class Context(Struct, frozen=True):
    """Who calls and how: the caller, the era of its protocol, and what it says of itself for display."""

    caller: Caller
    modern: bool
    origin: Origin
    session: Session | None = None
    headers: RawHeaders | None = None
    """Those of a modern request, which repeat parts of its body; None where there are none."""

    @property
    def log_level(self) -> str | None:
        """The level of log messages that the session asked for."""
        return None if self.session is None else self.session.log_level


class Lane:
    """Serves tools/call."""

    def __init__(self, pipeline: Pipeline, catalog: Catalog) -> None:
        self._pipeline = pipeline
        self._retriever = Retriever()
        self.catalog = catalog

    @property
    def pipeline(self) -> Pipeline:
        return self._pipeline

    async def serve(self, request: Request, context: Context, tell: Tell) -> bytes:
        """The JSON-RPC answer to one tools/call."""
        name, arguments = request.params.get("name"), request.params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            problem = "params.name must be a text and params.arguments an object"
            return replies.error_response(request.id, INVALID_PARAMS, problem)
        resolved = self.catalog.resolve(name, arguments, context.caller, self._pipeline.book)
        if isinstance(resolved, Call):
            differs = None if context.headers is None else mismatch(resolved, self._pipeline.book, context.headers)
            if differs is not None:
                return replies.error_response(request.id, HEADER_MISMATCH, differs)
            heard = wanted_of(request.params, tell, context.log_level, modern=context.modern)
            reply = await self._pipeline.run(resolved, context.origin, listener=heard.listener, log_level=heard.level)
            return _answer(request, reply, resolved, context)
        result = await self._local(resolved, name, context)
        return replies.response(request.id, replies.for_era(msgspec.json.encode(result), modern=context.modern))

    async def _local(self, resolved: Search | Reason, name: str, context: Context) -> dict[str, Any]:
        if isinstance(resolved, Reason):
            reply = await self._pipeline.turn_away(context.caller, name, resolved, context.origin)
            return replies.refusal_result(reply.refusal or resolved)
        rules = self._pipeline.policy.rules
        found = await self._retriever.retrieve(resolved.params, context.caller, self._pipeline.book, rules)
        if isinstance(found, Reason):
            return replies.refusal_result(found)
        return replies.text_result(msgspec.json.encode(found).decode(), found)


def _answer(request: Request, reply: Reply, call: Call, context: Context) -> bytes:
    if reply.refusal is not None or reply.answer is None:
        reason = reply.refusal or Reason("no answer")
        refused = msgspec.json.encode(replies.refusal_result(reason))
        return replies.response(request.id, replies.for_era(refused, modern=context.modern))
    error = reply.answer.error
    if error is not None:
        return replies.error_response(request.id, error.code, error.message, error.data)
    return replies.response(request.id, replies.for_era(reply.answer.result, modern=context.modern))
