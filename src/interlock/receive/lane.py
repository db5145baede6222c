"""Our own lane for tools/call: from a decoded request to the answer, whatever transport it came over.

The SDK serves the rest of the protocol; calls are ours, because a call is where holding, progress, cancellation and
speed have to be one thing. The lane hands every call to the pipeline and owns nothing of the decision.
"""

from typing import Any

import msgspec

from interlock.core.model import Call
from interlock.core.times import iso
from interlock.errors import Reason
from interlock.pipeline import Pipeline, Reply
from interlock.receive import replies
from interlock.receive.catalog import Catalog, DeskWork, Search
from interlock.receive.decode import Request
from interlock.receive.desk_tools import DeskTools
from interlock.receive.overhear import Tell
from interlock.receive.repeated import HEADER_MISMATCH, mismatch
from interlock.receive.retrieve import Retriever
from interlock.receive.turns import Context, Instead, Turns

INVALID_PARAMS = -32602


class Lane:
    """Serves tools/call."""

    def __init__(self, pipeline: Pipeline, catalog: Catalog, turns: Turns, desk_tools: DeskTools) -> None:
        self._pipeline = pipeline
        self.turns = turns
        self._desk_tools = desk_tools
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
            try:
                reply = await self.turns.run(request, resolved, context, tell)
            except Instead as other:
                return other.answer
            return self._answer(request, resolved, reply, context)
        result = await self._local(resolved, name, context)
        return replies.response(request.id, replies.for_era(msgspec.json.encode(result), modern=context.modern))

    def _answer(self, request: Request, call: Call, reply: Reply, context: Context) -> bytes:
        if reply.approval is None or reply.expires_at is None or reply.refusal is None:
            return _answer(request, reply, context)
        found = self._pipeline.book.find(call.server, call.tool)
        schema = found is not None and "outputSchema" in found.descriptor
        waits = replies.pending_result(reply.refusal, reply.approval, iso(reply.expires_at), is_error=schema)
        return replies.response(request.id, replies.for_era(msgspec.json.encode(waits), modern=context.modern))

    async def _local(self, resolved: Search | DeskWork | Reason, name: str, context: Context) -> dict[str, Any]:
        if isinstance(resolved, DeskWork):
            return await self._desk_tools.serve(resolved.name, resolved.params, context.caller, context.origin)
        if isinstance(resolved, Reason):
            reply = await self._pipeline.turn_away(context.caller, name, resolved, context.origin)
            return replies.refusal_result(reply.refusal or resolved)
        rules = self._pipeline.policy.rules
        found = await self._retriever.retrieve(resolved.params, context.caller, self._pipeline.book, rules)
        if isinstance(found, Reason):
            return replies.refusal_result(found)
        return replies.text_result(msgspec.json.encode(found).decode(), found)


def _answer(request: Request, reply: Reply, context: Context) -> bytes:
    if reply.refusal is not None or reply.answer is None:
        reason = reply.refusal or Reason("no answer")
        refused = msgspec.json.encode(replies.refusal_result(reason))
        return replies.response(request.id, replies.for_era(refused, modern=context.modern))
    error = reply.answer.error
    if error is not None:
        return replies.error_response(request.id, error.code, error.message, error.data)
    return replies.response(request.id, replies.for_era(reply.answer.result, modern=context.modern))
