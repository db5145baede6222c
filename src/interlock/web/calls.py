"""Calling a tool from REST: the dashboard's try-it form, `interlock call`, `interlock run-tool` and the lab.

The operator acts here as an agent of its own, `operator-agent`, through the same pipeline as every other agent: what is
held for them is held for it, and the operator may answer for it. The result comes back byte for byte. When the client
goes away, the call is cancelled.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import Request, Response
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.decide import Entry, LabEntry, RunToolEntry
from interlock.core.intent import OPERATION_OF_VARIANT
from interlock.core.model import Call, Caller, Declaration, Variant
from interlock.core.safety import LabPolicy, RunToolFlags
from interlock.kept import Origin
from interlock.pipeline import Reply, Way
from interlock.receive.catalog import call_of
from interlock.receive.identify import OPERATOR_AGENT, Principal
from interlock.store.protocol import StoreUnavailable
from interlock.web.answers import JSON, encoded
from interlock.web.parts import Here, Parts, Who
from interlock.web.problems import Refusal
from interlock.web.tools import server_id

_AGENT = "agent"
_VARIANTS = {operation.value: variant for variant, operation in OPERATION_OF_VARIANT.items()}


class DeclaredIntent(BaseModel):
    """What the call is about to do. Checked on the path like that of any agent, so any value is taken here."""

    model_config = ConfigDict(extra="forbid")

    operation_type: Any = Field(default=None, description="read, write or destructive")
    data_sensitivity: Any = Field(default=None, description="public, internal, private or unknown")
    reason: Any = Field(default=None, description="Why, in at most 1000 characters.")


class WantedCall(BaseModel):
    """A call. Without `variant` it is direct, which needs no declaration; `approve` and `dangerous` are the flags of
    run-tool, the three after them those of the lab."""

    model_config = ConfigDict(extra="forbid", strict=True)

    arguments: dict[str, Any] = {}
    entry: Literal["try-it", "call", "run-tool", "lab"] = "try-it"
    variant: Literal["read", "write", "destructive"] | None = None
    intent: DeclaredIntent | None = None
    approve: bool = False
    dangerous: bool = False
    execute_destructive: bool = False
    strict: bool = False
    unchecked: bool = Field(default=False, description="Whether arguments that do not fit the schema are sent too.")


@dataclass(frozen=True, slots=True)
class ToolError:
    """A JSON-RPC error of the server."""

    code: int
    message: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What the server answered: a result, in which `isError` may be true, or an error."""

    activity_id: str
    result: dict[str, Any] | None = None
    error: ToolError | None = None


async def call_tool(server: str, tool: str, wanted: WantedCall, request: Request, here: Here, who: Who) -> Response:
    """Call a tool and give back what its server answered."""
    call = _call(server, tool, wanted, here, who)
    way = Way(Origin(wanted.entry), _entry(wanted, who))
    reply = await _unless_gone(request, here.pipeline.run(call, way))
    # A read is written in its own time; whoever gets the id of an activity should find it.
    with contextlib.suppress(StoreUnavailable):
        await here.pipeline.settled()
    return _answer(reply)


def _entry(wanted: WantedCall, who: Principal) -> Entry | None:
    """What stands in the place of posture and intent; None where nothing does."""
    if wanted.entry == "run-tool":
        return RunToolEntry(RunToolFlags(wanted.approve, wanted.dangerous))
    if wanted.entry != "lab":
        return None
    if who.kind == _AGENT:
        raise Refusal(errors.LAB_NOT_FOR_AGENTS())
    return LabEntry(LabPolicy(wanted.execute_destructive, wanted.strict), wanted.unchecked)


def _caller(who: Principal, here: Parts) -> Caller:
    """A person calls as the agent of the operator, and answers for it. Whoever is no person calls as itself, so that it
    cannot ask under one name and answer under another."""
    workspace = who.workspace or here.workspaces.default
    if here.callers.is_person(who):
        return Caller(OPERATOR_AGENT, workspace, who.scope, who.token, who.name)
    return replace(who.as_caller(), workspace=workspace, may_call=True)


def _call(server: str, tool: str, wanted: WantedCall, here: Parts, who: Principal) -> Call:
    variant = Variant.DIRECT
    if wanted.variant is not None and wanted.entry not in ("run-tool", "lab"):
        variant = _VARIANTS[wanted.variant]
    caller = _caller(who, here)
    declaration = _declaration(wanted, variant)
    return call_of(caller, server_id(here.pipeline.book, server), tool, wanted.arguments, variant, declaration)


def _declaration(wanted: WantedCall, variant: Variant) -> Declaration:
    intent = wanted.intent or DeclaredIntent()
    operation, reason = intent.operation_type, intent.reason
    if operation is None and wanted.entry == "call":
        # The verb of the command line says it already.
        operation = OPERATION_OF_VARIANT.get(variant)
    if reason is None and variant is Variant.DIRECT:
        reason = wanted.arguments.get("_justification")
    given = wanted.intent is not None or operation is not None
    return Declaration(given, operation, intent.data_sensitivity, reason)


async def _unless_gone(request: Request, work: Coroutine[Any, Any, Reply]) -> Reply:
    """Wait for a call, and cancel it when the client goes away first."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(work)
        watching = group.create_task(_cancel_when_gone(request, running))
        running.add_done_callback(lambda _: watching.cancel())
    if running.cancelled():
        raise Refusal(errors.CANCELLED(resolution="client disconnected"))
    return running.result()


async def _cancel_when_gone(request: Request, running: asyncio.Task[Reply]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    running.cancel()


def _answer(reply: Reply) -> Response:
    """The server's own bytes, in an envelope of ours: parsing them anew could change them."""
    answer = reply.answer
    if answer is None:
        raise Refusal(reply.refusal or errors.INDETERMINATE(), reply.activity or None)
    head = b'{"activity_id":' + encoded(reply.activity)
    if answer.error is None:
        return Response(head + b',"result":' + answer.result + b"}", media_type=JSON)
    error = answer.error
    told = b',"error":{"code":%d,"message":' % error.code + encoded(error.message)
    more = b',"data":' + error.data if error.data else b""
    return Response(head + told + more + b"}}", media_type=JSON)
