"""A request of a client that is taken along the path, and what its server wants to know on the way.

Most servers may not ask anything, and then this is one step to the pipeline. Where they may, a legacy client is asked
in the stream of its request; of a modern one the request ends with the questions, and another one goes on with the
call. Whoever serves a method says what the reply looks like; what it is to ask stands here once for all of them.
"""

from collections.abc import Awaitable, Mapping

import msgspec
from msgspec import Struct

from interlock import errors
from interlock.core.model import CALL_METHOD, Call, Caller, Json, JsonObject
from interlock.core.questions import Answerable, read_answerable
from interlock.errors import Reason
from interlock.kept import Origin
from interlock.pipeline import Pipeline, Reply, Way
from interlock.receive import replies, translate
from interlock.receive.asking import Account, LiveAsker
from interlock.receive.decode import Request
from interlock.receive.overhear import Tell, wanted_of
from interlock.receive.parked import BadAnswer, BadState, ParkedCall, Parking, Required
from interlock.receive.repeated import RawHeaders
from interlock.receive.sessions import Session

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


class Instead(Exception):
    """The client gets this answer, and not the reply to its call: it is asked something, or what it sent is none."""

    def __init__(self, answer: bytes) -> None:
        super().__init__("another answer")
        self.answer = answer


class Turns:
    """Takes the calls of clients along the path."""

    def __init__(self, pipeline: Pipeline, parking: Parking) -> None:
        self._pipeline = pipeline
        self.parking = parking

    async def run(self, request: Request, call: Call, context: Context, tell: Tell) -> Reply:
        """What comes of a call; raises Instead."""
        if context.modern and (self._pipeline.may_ask(call.server) or _goes_on(request)):
            return await self._parked(request, call, context, tell)
        if context.session is not None and self._pipeline.may_ask(call.server):
            return await self._asked(request, call, context.session, context, tell)
        return await self.run_unasked(request, call, context, tell)

    async def run_unasked(self, request: Request, call: Call, context: Context, tell: Tell) -> Reply:
        """The same for a method about which nobody is asked anything."""
        heard = wanted_of(request.params, tell, context.log_level, modern=context.modern)
        return await self._pipeline.run(call, Way(context.origin, None, heard.listener, heard.level))

    async def _asked(self, request: Request, call: Call, session: Session, context: Context, tell: Tell) -> Reply:
        """Serve a call of a legacy client, which is asked in the stream of the call."""
        heard = wanted_of(request.params, tell, session.log_level, modern=False)
        account = Account(session.can, call.server)
        asker = LiveAsker(session, tell, account)
        reply = await self._pipeline.run(call, Way(context.origin, None, heard.listener, heard.level, asker))
        if account.problem is not None and reply.answer is not None and reply.answer.error is not None:
            reply = Reply(reply.activity, refusal=account.problem.reason)
        return reply

    async def _parked(self, request: Request, call: Call, context: Context, tell: Tell) -> Reply:
        """Begin a call of a modern client, or go on with one, until it ends or its client has to answer something."""
        heard = wanted_of(request.params, tell, None, modern=True)

        def run(parked: ParkedCall) -> Awaitable[Reply]:
            listener = None if heard.listener is None else parked.hear
            return self._pipeline.run(call, Way(context.origin, None, listener, heard.level, parked))

        try:
            if _goes_on(request):
                parked = self.parking.find(call, request)
            else:
                account = Account(_declared(request), call.server)
                parked = self.parking.begin(call, account, run, _given(request))
            outcome = parked if isinstance(parked, Required) else await self.parking.outcome(parked, heard.listener)
        except BadState:
            raise await self._turned_away(request, context, errors.BAD_STATE(tool=call.shown)) from None
        except BadAnswer as bad:
            raise await self._turned_away(request, context, errors.BAD_INPUT(problem=bad)) from None
        if isinstance(outcome, Required):
            raise Instead(replies.response(request.id, replies.for_era(outcome.result(), modern=True)))
        problem = parked.account.problem if isinstance(parked, ParkedCall) else None
        if problem is not None and _has_failed(outcome):
            raise Instead(translate.error(request.id, problem.code, problem.reason, problem.data))
        return outcome

    async def _turned_away(self, request: Request, context: Context, reason: Reason) -> Instead:
        name = str(request.params["name"]) if request.method == CALL_METHOD else request.method
        reply = await self._pipeline.turn_away(context.caller, name, reason, context.origin)
        return Instead(translate.error(request.id, translate.INVALID_PARAMS, reply.refusal or reason))


def _goes_on(request: Request) -> bool:
    """Whether a request is meant to go on with a call that waits."""
    return "requestState" in request.params


def _given(request: Request) -> JsonObject:
    """The answers that came with a request."""
    given: Json = request.params.get("inputResponses")
    return given if isinstance(given, Mapping) else {}


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
