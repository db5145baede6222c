"""Our own lane for tools/call: from a decoded request to the answer, whatever transport it came over.

The SDK serves the rest of the protocol; calls are ours, because a call is where holding, progress, cancellation and
speed have to be one thing. The lane hands every call to the pipeline and owns nothing of the decision.
"""

from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from interlock import errors
from interlock.clock import SystemClock
from interlock.core.model import Call, Caller
from interlock.core.questions import Answerable, read_answerable
from interlock.errors import Reason
from interlock.pipeline import Pipeline, Reply
from interlock.receive import replies, translate
from interlock.receive.asking import Account, LiveAsker
from interlock.receive.catalog import Catalog, Search
from interlock.receive.decode import Request
from interlock.receive.overhear import Tell, wanted_of
from interlock.receive.parked import BadAnswer, BadState, ParkedCall, Parking, Required
from interlock.receive.repeated import HEADER_MISMATCH, RawHeaders, mismatch
from interlock.receive.retrieve import Retriever
from interlock.receive.sealed import Seal
from interlock.receive.sessions import Session
from interlock.record import Origin

INVALID_PARAMS = -32602
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


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

    def __init__(self, pipeline: Pipeline, catalog: Catalog, parking: Parking | None = None) -> None:
        self._pipeline = pipeline
        self.parking = Parking(Seal(SystemClock())) if parking is None else parking
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
            if context.modern and (self._pipeline.may_ask(resolved.server) or _goes_on(request)):
                return await self._parked(request, resolved, context, tell)
            if context.session is not None and self._pipeline.may_ask(resolved.server):
                return await self._asked(request, resolved, context.session, context, tell)
            heard = wanted_of(request.params, tell, context.log_level, modern=context.modern)
            reply = await self._pipeline.run(resolved, context.origin, listener=heard.listener, log_level=heard.level)
            return _answer(request, reply, resolved, context)
        result = await self._local(resolved, name, context)
        return replies.response(request.id, replies.for_era(msgspec.json.encode(result), modern=context.modern))

    # Calls of servers that may ask ------------------------------------------------------------------------------

    async def _asked(self, request: Request, call: Call, session: Session, context: Context, tell: Tell) -> bytes:
        """Serve a call of a legacy client, which is asked in the stream of the call."""
        heard = wanted_of(request.params, tell, session.log_level, modern=False)
        account = Account(session.can, call.server)
        asker = LiveAsker(session, tell, account)
        reply = await self._pipeline.run(
            call, context.origin, listener=heard.listener, log_level=heard.level, asker=asker
        )
        if account.problem is not None and reply.answer is not None and reply.answer.error is not None:
            reply = Reply(reply.activity, refusal=account.problem.reason)
        return _answer(request, reply, call, context)

    async def _parked(self, request: Request, call: Call, context: Context, tell: Tell) -> bytes:
        """Begin a call of a modern client, or go on with one, until it ends or its client has to answer something."""
        heard = wanted_of(request.params, tell, None, modern=True)

        def run(parked: ParkedCall) -> Awaitable[Reply]:
            listener = None if heard.listener is None else parked.hear
            return self._pipeline.run(call, context.origin, listener=listener, log_level=heard.level, asker=parked)

        try:
            if _goes_on(request):
                parked = self.parking.find(call, request)
            else:
                parked = self.parking.begin(call, Account(_declared(request), call.server), run)
            outcome = parked if isinstance(parked, Required) else await self.parking.outcome(parked, heard.listener)
        except BadState:
            return await self._turned_away(request, context, errors.BAD_STATE(tool=call.shown))
        except BadAnswer as bad:
            return await self._turned_away(request, context, errors.BAD_INPUT(problem=bad))
        if isinstance(outcome, Required):
            return replies.response(request.id, replies.for_era(outcome.result(), modern=True))
        problem = parked.account.problem if isinstance(parked, ParkedCall) else None
        if problem is not None and _has_failed(outcome):
            return translate.error(request.id, problem.code, problem.reason, problem.data)
        return _answer(request, outcome, call, context)

    async def _turned_away(self, request: Request, context: Context, reason: Reason) -> bytes:
        reply = await self._pipeline.turn_away(context.caller, str(request.params["name"]), reason, context.origin)
        return translate.error(request.id, INVALID_PARAMS, reply.refusal or reason)

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


def _goes_on(request: Request) -> bool:
    """Whether a request is meant to go on with a call that waits. Answers to what nobody asked are passed over."""
    return "requestState" in request.params


def _declared(request: Request) -> Answerable:
    meta = request.params.get("_meta")
    return read_answerable(meta.get(_CAPABILITIES) if isinstance(meta, Mapping) else None)


class _Result(msgspec.Struct):
    isError: bool = False  # noqa: N815 - the name on the wire


def _has_failed(reply: Reply) -> bool:
    if reply.answer is None or reply.answer.error is not None:
        return reply.refusal is None
    try:
        return msgspec.json.decode(reply.answer.result, type=_Result).isError
    except msgspec.MsgspecError:
        return True
