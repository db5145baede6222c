"""The way for everything but tools/call: lists, resources, prompts, completions, subscriptions and log levels.

A list is answered from what the servers listed to us. Everything that reaches a server is a Call of the method that it
is, goes through the pipeline like a tool and is on record. What a server answers is passed on as it wrote it, but for
names, which get the spelling that the client used, and for the few members in which the protocol's eras differ.

These methods are served here and not by the SDK because the SDK keeps only the fields that it knows. This module
refuses to decide anything, and to send on what a client put into `_meta`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from interlock import errors
from interlock.core.canonical import RESERVED_ARGUMENTS, argument_digest
from interlock.core.model import Call, Json, JsonObject
from interlock.core.offers import COMPLETE, GET_PROMPT, READ, SUBSCRIBE, Kind
from interlock.errors import Code, Reason
from interlock.pipeline import Pipeline, Reply
from interlock.receive import replies, rewrite, translate
from interlock.receive.catalog import Catalog
from interlock.receive.decode import Request
from interlock.receive.earshot import MAX_WATCHED, Earshot, Hearer
from interlock.receive.overhear import Tell, level_of
from interlock.receive.pages import Pages, StaleCursor
from interlock.receive.spelling import Found, Spelling
from interlock.receive.turns import Context, Instead, Turns

_Handler: TypeAlias = Callable[[Request, Context, Tell], Awaitable[bytes]]
_NOT_OURS = frozenset({"_meta", "inputResponses", "requestState", *RESERVED_ARGUMENTS})
"""Params that end here: the envelope of the client, and what is meant for us, answers to questions among it."""
_ASKS = frozenset({READ, GET_PROMPT})
"""Methods about which a server may ask something."""
_CALLERS_FAULT = frozenset({Code.BAD_REQUEST, Code.NOT_FOUND, Code.UNKNOWN_TOOL})
_NOTHING_TO_COMPLETE = b'{"completion":{"values":[],"total":0,"hasMore":false}}'
LEGACY_ONLY = frozenset({SUBSCRIBE, "resources/unsubscribe", "logging/setLevel"})
"""Methods that the modern protocol does not have any more."""


class Refused(Exception):
    """The request is answered with a reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class Passage:
    """Serves the methods in `methods`."""

    def __init__(self, pipeline: Pipeline, catalog: Catalog, earshot: Earshot, turns: Turns) -> None:
        self._pipeline = pipeline
        self._turns = turns
        self._catalog = catalog
        self._spelling = Spelling(catalog.namespacing)
        self._pages = Pages()
        self.earshot = earshot
        self._handlers: Mapping[str, _Handler] = {
            "tools/list": self._list_tools,
            "resources/list": self._list(Kind.RESOURCES),
            "resources/templates/list": self._list(Kind.TEMPLATES),
            "prompts/list": self._list(Kind.PROMPTS),
            READ: self._read,
            GET_PROMPT: self._get_prompt,
            COMPLETE: self._complete,
            SUBSCRIBE: self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "logging/setLevel": self._set_level,
        }

    @property
    def methods(self) -> Sequence[str]:
        return tuple(self._handlers)

    def serves(self, method: str, *, modern: bool) -> bool:
        return method in self._handlers and not (modern and method in LEGACY_ONLY)

    async def serve(self, request: Request, context: Context, tell: Tell) -> bytes:
        """The JSON-RPC answer to one request."""
        try:
            return await self._handlers[request.method](request, context, tell)
        except Instead as other:
            return other.answer
        except Refused as refused:
            code = translate.INVALID_PARAMS if refused.reason.code in _CALLERS_FAULT else translate.REFUSED
            return translate.error(request.id, code, refused.reason)

    # Lists ------------------------------------------------------------------------------------------------------

    async def _list_tools(self, request: Request, context: Context, tell: Tell) -> bytes:
        tools = self._catalog.tools_for(context.caller, self._pipeline.book, self._pipeline.policy)
        names = [str(each["name"]) for each in tools]
        return self._listed(request, context, "tools", names, lambda at: msgspec.json.encode(tools[at]))

    def _list(self, kind: Kind) -> _Handler:
        async def listed(request: Request, context: Context, tell: Tell) -> bytes:
            rules = self._pipeline.policy.rules
            entries = [
                (f"{prefix}{name}", text)
                for offer in self._pipeline.offers.open_to(context.caller, kind.used_by, rules)
                for prefix in (self._spelling.prefix(kind, offer),)
                for name, text in offer.of(kind).items()
            ]
            names = [name for name, _ in entries]

            def renamed(at: int) -> bytes:
                name, text = entries[at]
                return rewrite.with_member(text, kind.name_member, name)

            return self._listed(request, context, kind, names, renamed)

        return listed

    def _listed(
        self, request: Request, context: Context, member: str, names: Sequence[str], text: Callable[[int], bytes]
    ) -> bytes:
        cursor = request.params.get("cursor")
        if cursor is not None and not isinstance(cursor, str):
            raise Refused(errors.STALE_CURSOR())
        try:
            page = self._pages.cut(f"{member} of {context.caller.name}", names, cursor)
        except StaleCursor:
            raise Refused(errors.STALE_CURSOR()) from None
        entries = b",".join(text(at) for at in range(page.begin, page.end))
        after = b"" if page.cursor is None else b',"nextCursor":' + msgspec.json.encode(page.cursor)
        result = b"{" + msgspec.json.encode(member) + b":[" + entries + b"]" + after + b"}"
        return _response(request, context, result, cached=True)

    # What reaches a server --------------------------------------------------------------------------------------

    async def _read(self, request: Request, context: Context, tell: Tell) -> bytes:
        found = await self._find_uri(request, context, _text(request, "uri"))
        reply = await self._run(request, context, tell, found, {**_sent(request), "uri": found.name})
        return _passed_on(request, context, reply, cached=True, prefix=found.prefix)

    async def _get_prompt(self, request: Request, context: Context, tell: Tell) -> bytes:
        offers = self._pipeline.offers.known_to(context.caller, GET_PROMPT)
        found = await self._sure(request, context, self._spelling.find_prompt(_text(request, "name"), offers))
        reply = await self._run(request, context, tell, found, {**_sent(request), "name": found.name})
        return _passed_on(request, context, reply)

    async def _complete(self, request: Request, context: Context, tell: Tell) -> bytes:
        given = request.params.get("ref")
        ref: JsonObject = cast("JsonObject", given) if isinstance(given, dict) else {}
        member, method = ("uri", READ) if ref.get("type") == "ref/resource" else ("name", GET_PROMPT)
        named = ref.get(member)
        if not isinstance(named, str):
            raise Refused(errors.BAD_PARAMS(problem=f"ref.{member} must be a text", method=request.method))
        offers = self._pipeline.offers.known_to(context.caller, method)
        find = self._spelling.find_uri if method == READ else self._spelling.find_prompt
        found = await self._sure(request, context, find(named, offers))
        if self._pipeline.offers.find(found.server, COMPLETE) is None:
            return _response(request, context, _NOTHING_TO_COMPLETE)
        sent = {**_sent(request), "ref": {**ref, member: found.name}}
        return _passed_on(request, context, await self._run(request, context, tell, found, sent))

    async def _find_uri(self, request: Request, context: Context, uri: str) -> Found:
        offers = self._pipeline.offers.known_to(context.caller, READ)
        return await self._sure(request, context, self._spelling.find_uri(uri, offers))

    async def _sure(self, request: Request, context: Context, found: Found | Reason) -> Found:
        """What was found; what was not is on record too, like the call of a tool that there is not."""
        if isinstance(found, Found):
            return found
        reply = await self._pipeline.turn_away(context.caller, request.method, found, context.origin)
        raise Refused(reply.refusal or found)

    async def _run(
        self, request: Request, context: Context, tell: Tell, found: Found, sent: Mapping[str, Json]
    ) -> Reply:
        call = Call(context.caller, found.server, request.method, sent, argument_digest(sent), method=request.method)
        run = self._turns.run if request.method in _ASKS else self._turns.run_unasked
        return await run(request, call, context, tell)

    # Subscriptions ----------------------------------------------------------------------------------------------

    async def watch(self, hearer: Hearer, uri: str, context: Context) -> Reply:
        """Have a client watch a resource; raises Refused when it is not one that it could watch."""
        request = Request(context.origin.request_id or "", SUBSCRIBE, {"uri": uri})
        found = await self._find_uri(request, context, uri)
        key = (found.server, found.name)
        if key not in hearer.watched and len(hearer.watched) >= MAX_WATCHED:
            raise Refused(errors.TOO_MANY_WATCHED(limit=MAX_WATCHED))
        if self._pipeline.offers.find(found.server, SUBSCRIBE) is None:
            raise Refused(errors.NOT_OFFERED(server=found.server, what="subscriptions"))
        reply = await self._run(request, context, _nobody, found, {"uri": found.name})
        if reply.answer is not None and reply.answer.error is None:
            if key in hearer.watched:
                self._pipeline.release(*key)
            hearer.watched[key] = uri
        return reply

    def forget(self, hearer: Hearer) -> None:
        """A client went away: nothing is watched for it any more."""
        self.earshot.remove(hearer)
        hearer.end()
        while hearer.watched:
            key, _ = hearer.watched.popitem()
            self._pipeline.release(*key)

    async def _subscribe(self, request: Request, context: Context, tell: Tell) -> bytes:
        reply = await self.watch(_hearer(context), _text(request, "uri"), context)
        return _passed_on(request, context, reply)

    async def _unsubscribe(self, request: Request, context: Context, tell: Tell) -> bytes:
        hearer, uri = _hearer(context), _text(request, "uri")
        for key in [key for key, spelled in hearer.watched.items() if spelled == uri]:
            del hearer.watched[key]
            self._pipeline.release(*key)
        return _response(request, context, b"{}")

    # Log levels -------------------------------------------------------------------------------------------------

    async def _set_level(self, request: Request, context: Context, tell: Tell) -> bytes:
        level = level_of(request.params.get("level"))
        if level is None:
            raise Refused(errors.BAD_PARAMS(problem="level must be one of the protocol's", method=request.method))
        if context.session is not None:
            context.session.log_level = level
        return _response(request, context, b"{}")


def _nobody(message: bytes) -> None:
    """Hears nothing."""


def _hearer(context: Context) -> Hearer:
    hearer = None if context.session is None else context.session.hearer
    if hearer is None:
        raise Refused(errors.BAD_PARAMS(problem="there is no session that could be told", method=SUBSCRIBE))
    return hearer


def _text(request: Request, param: str) -> str:
    value = request.params.get(param)
    if not isinstance(value, str):
        raise Refused(errors.BAD_PARAMS(problem=f"{param} must be a text", method=request.method))
    return value


def _sent(request: Request) -> dict[str, Any]:
    """The params that go on to the server."""
    return {key: value for key, value in request.params.items() if key not in _NOT_OURS}


def _passed_on(request: Request, context: Context, reply: Reply, *, cached: bool = False, prefix: str = "") -> bytes:
    """A server's answer as the client gets it."""
    if reply.answer is None:
        raise Refused(reply.refusal or Reason("no answer"))
    error = reply.answer.error
    if error is not None:
        return replies.error_response(request.id, error.code, error.message, error.data)
    try:
        result = rewrite.with_uris_of_contents(reply.answer.result, prefix) if prefix else reply.answer.result
        return _response(request, context, result, cached=cached)
    except (msgspec.MsgspecError, RecursionError):
        raise Refused(errors.BAD_ANSWER(method=request.method)) from None


def _response(request: Request, context: Context, result: bytes, *, cached: bool = False) -> bytes:
    return replies.response(request.id, replies.for_era(result, modern=context.modern, cached=cached))
