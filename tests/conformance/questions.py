"""The tools with which the conformance suites look at questions to the client.

Each asks in the way of the era that it is called in. In the legacy protocol it asks while it runs; in the modern one
its result says what it needs, and the client calls it again with the answers. What it has to remember in between is in
`requestState`, signed, because it comes back from the client.
"""

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.conformance.contents import Json, said, text

Context: TypeAlias = ServerRequestContext[Any]
Tool: TypeAlias = Callable[[Context, Json], Awaitable[Json]]
_KEY = secrets.token_bytes(32)
MISSING_CAPABILITY = -32021


def result(*contents: Json) -> Json:
    return {"content": list(contents)}


# What is asked --------------------------------------------------------------------------------------------------


def _elicit(message: str, properties: Json, required: Iterable[str] = ()) -> Json:
    schema: Json = {"type": "object", "properties": properties, "required": list(required)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def _form(message: str, field: str, kind: str = "string") -> Json:
    return _elicit(message, {field: {"type": kind}}, [field])


def _sampling(words: str) -> Json:
    messages = [{"role": "user", "content": text(words)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}


_ROOTS: Json = {"method": "roots/list", "params": {}}
_DEFAULTS: Json = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_PLAIN = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
_ENUMS: Json = {
    "untitledSingle": {"type": "string", "enum": _PLAIN},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _PLAIN}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}


# How it is asked ------------------------------------------------------------------------------------------------


class Unanswered(Exception):
    """A modern client has to call again, with the answers; `result` is what it is told."""

    def __init__(self, requests: Json, state: str | None) -> None:
        super().__init__("unanswered")
        kept = {} if state is None else {"requestState": _signed(state)}
        self.result = {"resultType": "input_required", "inputRequests": requests, **kept}


def _signed(state: str) -> str:
    return f"{state}.{hmac.new(_KEY, state.encode(), hashlib.sha256).hexdigest()}"


def _state(context: Context) -> str | None:
    """What we said to be remembered; None at the beginning."""
    given = (context.params or {}).get("requestState")
    if given is None:
        return None
    state = str(given).rpartition(".")[0]
    if not hmac.compare_digest(_signed(state), str(given)):
        raise MCPError(types.INVALID_PARAMS, "The requestState is not the one that was sent.")
    return state


async def _ask(context: Context, requests: Json, state: str | None = None) -> Json:
    """The answers to these questions, in the way of the client's era."""
    if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        return {key: await _ask_now(context, request) for key, request in requests.items()}
    answers: Json = dict((context.params or {}).get("inputResponses") or {})
    if not requests.keys() <= answers.keys() or _state(context) != state:
        raise Unanswered(requests, state)
    return {key: answers[key] for key in requests}


async def _ask_now(context: Context, request: Json) -> Json:
    asked, answered = _KINDS[request["method"]]
    metadata = ServerMessageMetadata(related_request_id=context.request_id)
    answer = await context.session.send_request(asked.model_validate(request), answered, metadata=metadata)
    return answer.model_dump(by_alias=True, mode="json", exclude_none=True)


_KINDS: dict[str, tuple[Any, type[types.Result]]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}


# Who asks -------------------------------------------------------------------------------------------------------


def asking(requests: Json, state: str | None = None) -> Tool:
    """A tool that needs all these answers."""

    async def ask(context: Context, arguments: Json) -> Json:
        answers = await _ask(context, requests, state)
        return result(text(f"state-ok, and the answers are {answers}"))

    return ask


async def ask_a_model(context: Context, arguments: Json) -> Json:
    return await asking({"prompt": _sampling(arguments["prompt"])})(context, arguments)


async def ask_a_person(context: Context, arguments: Json) -> Json:
    wanted = {"username": {"type": "string"}, "email": {"type": "string"}}
    return await asking({"person": _elicit(arguments["message"], wanted, wanted)})(context, arguments)


async def ask_twice(context: Context, arguments: Json) -> Json:
    legacy = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    if legacy or _state(context) != "second":
        await _ask(context, {"step1": _form("Step 1: your name?", "name")}, "first")
    if not legacy and _state(context) == "first":
        raise Unanswered({"step2": _COLOUR}, "second")
    await _ask(context, {"step2": _COLOUR}, "second")
    return result(text("That is all."))


def _askable(context: Context) -> Json:
    can = context.session.client_capabilities or types.ClientCapabilities()
    requests: Json = {}
    if can.sampling is not None:
        requests["capital"] = _CAPITAL
    if can.elicitation is not None:
        requests["name"] = _NAME
    return requests


async def ask_what_can_be_asked(context: Context, arguments: Json) -> Json:
    requests = _askable(context)
    return await asking(requests)(context, arguments) if requests else result(text("There is nobody to ask."))


async def need_sampling(context: Context, arguments: Json) -> Json:
    if "capital" not in _askable(context):
        needed: Json = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_CAPABILITY, "This tool needs a client with a model.", needed)
    return result(text("The client has a model."))


async def report_and_ask(context: Context, arguments: Json) -> Json:
    await context.session.report_progress(1, 2)
    return await ask_what_can_be_asked(context, arguments)


async def asking_prompt(context: Context) -> Json:
    answers = await _ask(context, {"user_context": _form("Which context?", "context")})
    return said(text(f"A prompt in this context: {answers['user_context']}"))


_NAME, _COLOUR = _form("Your name?", "name"), _form("Step 2: your colour?", "color")
_CONFIRMATION = _form("Sure?", "ok", "boolean")
_CAPITAL = _sampling("What is the capital of France?")
_ALL: Json = {"user_name": _NAME, "greeting": _sampling("A greeting, please."), "client_roots": _ROOTS}
ASKING_TOOLS: dict[str, Tool] = {
    "test_sampling": ask_a_model,
    "test_elicitation": ask_a_person,
    "test_elicitation_sep1034_defaults": asking({"person": _elicit("Change what is wrong.", _DEFAULTS)}),
    "test_elicitation_sep1330_enums": asking({"choice": _elicit("Choose.", _ENUMS)}),
    "test_missing_capability": need_sampling,
    "test_streaming_elicitation": report_and_ask,
    "test_input_required_result_elicitation": asking({"user_name": _NAME}),
    "test_input_required_result_sampling": asking({"capital_question": _CAPITAL}),
    "test_input_required_result_list_roots": asking({"client_roots": _ROOTS}),
    "test_input_required_result_request_state": asking({"confirm": _CONFIRMATION}, "asked"),
    "test_input_required_result_tampered_state": asking({"confirm": _CONFIRMATION}, "asked"),
    "test_input_required_result_multiple_inputs": asking(_ALL, "asked"),
    "test_input_required_result_multi_round": ask_twice,
    "test_input_required_result_capabilities": ask_what_can_be_asked,
}
