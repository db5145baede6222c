"""What each caller sees, and what a name it calls stands for.

In `search` mode an agent sees four tools of ours and finds the others with retrieve_tools; in `direct` mode it sees
every tool as `namespace__tool`; `both` is both. A tool that a caller may not reach is not listed, and calling it
answers exactly like a tool that does not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from interlock import errors
from interlock.core.canonical import RESERVED_ARGUMENTS, content_hash
from interlock.core.intent import read_declaration
from interlock.core.model import Call, Caller, Declaration, Json, JsonObject, Variant
from interlock.core.policy import Policy
from interlock.core.rules import RuleBook
from interlock.core.toolbook import ListedTool, ToolBook, may_ever_call
from interlock.errors import Reason
from interlock.receive import desk_tools
from interlock.receive.decode import Undecodable, decode_json
from interlock.receive.retrieve import DEFAULT_FOUND, MAX_FOUND

RETRIEVE_TOOLS = "retrieve_tools"
_VARIANTS = {each.value: each for each in Variant if each is not Variant.DIRECT}


class Expose(StrEnum):
    SEARCH = "search"
    DIRECT = "direct"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Search:
    """A call of retrieve_tools."""

    params: JsonObject


@dataclass(frozen=True, slots=True)
class DeskWork:
    """A call of one of our tools around approvals."""

    name: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class Catalog:
    """The face that callers see, as the operator configured it."""

    expose: Expose = Expose.SEARCH
    namespacing: bool = True
    own_tools: bool = True
    """Whether our own tools around approvals are listed. They can be called either way."""

    def tools_for(self, caller: Caller, book: ToolBook, policy: Policy) -> list[dict[str, Any]]:
        """The tools/list of one caller, in a fixed order."""
        ours = desk_tools.tools_for(caller) if self.own_tools else []
        if not caller.may_call:
            return ours
        listed: list[dict[str, Any]] = [] if self.expose is Expose.DIRECT else list(_OUR_TOOLS)
        if self.expose is not Expose.SEARCH:
            seen = visible(caller, book, policy.rules)
            listed += [self._listed(each, held=policy.may_hold(caller, each)) for each in seen]
        return listed + ours

    def _listed(self, each: ListedTool, *, held: bool) -> dict[str, Any]:
        listed = {**each.descriptor, "name": self._name(each)}
        return {**listed, "inputSchema": _with_reason(listed.get("inputSchema"))} if held else listed

    def _name(self, each: ListedTool) -> str:
        return each.tool.qualified if self.namespacing else each.tool.name

    def resolve(
        self, name: str, params: JsonObject, caller: Caller, book: ToolBook
    ) -> Call | Search | DeskWork | Reason:
        """What a called name stands for. `params` are the arguments of the call as they came."""
        if name.startswith(desk_tools.PREFIX) and desk_tools.has(caller, name):
            return DeskWork(name, params)
        if not caller.may_call:
            return errors.FORBIDDEN(role="agent")
        if self.expose is not Expose.DIRECT:
            if name == RETRIEVE_TOOLS:
                return Search(params)
            if name in _VARIANTS:
                return _variant_call(_VARIANTS[name], params, caller, book)
        if name == "call_tool":
            return errors.CALL_TOOL_GONE()
        if self.expose is Expose.SEARCH:
            return errors.NOT_EXPOSED(tool=name)
        server, tool = self._split(name, book)
        return call_of(caller, server, tool, params, Variant.DIRECT, Declaration(reason=params.get("_justification")))

    def _split(self, name: str, book: ToolBook) -> tuple[str, str]:
        if self.namespacing or len(book.by_server) != 1:
            return book.split(name)
        return next(iter(book.by_server)), name


def _with_reason(schema: Json) -> dict[str, Json]:
    """The schema of a tool that may be held, with what its caller can say to reviewers."""
    known: JsonObject = schema if isinstance(schema, Mapping) else {}
    properties = known.get("properties")
    return {**known, "properties": {**(properties if isinstance(properties, Mapping) else {}), **_FOR_REVIEWERS}}


def visible(caller: Caller, book: ToolBook, rules: RuleBook) -> list[ListedTool]:
    """The tools that a caller is shown: those that it could ever call."""
    return [each for each in book if may_ever_call(caller, each, rules)]


def _variant_call(variant: Variant, params: JsonObject, caller: Caller, book: ToolBook) -> Call | Reason:
    name = params.get("name")
    if not isinstance(name, str) or not name:
        return errors.BAD_REQUEST(problem="name is required", fix="Give the tool as server:tool.")
    arguments = _arguments(params)
    if isinstance(arguments, Reason):
        return arguments
    server, tool = book.split(name)
    return call_of(caller, server, tool, arguments, variant, read_declaration(params), params.get("_approval_id"))


def _arguments(params: JsonObject) -> JsonObject | Reason:
    given: Json = params.get("args")
    if given is None and isinstance(params.get("args_json"), str):
        try:
            given = decode_json(str(params["args_json"]).encode("utf-8"))
        except Undecodable:
            return errors.BAD_REQUEST(problem="args_json is not valid JSON", fix="Send args as an object instead.")
    if given is None:
        return {}
    if not isinstance(given, dict):
        return errors.BAD_REQUEST(problem="args must be an object", fix="Send the tool's arguments as an object.")
    return given


def call_of(
    caller: Caller,
    server: str,
    tool: str,
    arguments: JsonObject,
    variant: Variant,
    declaration: Declaration,
    about: Json = None,
) -> Call:
    """The call of a tool, from its arguments as they came, and the approval that is named beside them, if one is."""
    # INVARIANT: nothing of ours reaches the upstream; reserved arguments end here.
    sent = {key: value for key, value in arguments.items() if key not in RESERVED_ARGUMENTS}
    named = arguments.get("_approval_id") or about
    # Models fill in what a schema offers: an empty id is none.
    approval = named if isinstance(named, str) and named else None
    return Call(caller, server, tool, sent, content_hash(sent), variant, declaration, approval_id=approval)


_FOR_REVIEWERS: dict[str, Json] = {
    "_justification": {
        "type": "string",
        "maxLength": 1000,
        "description": "Why you need this call. It may wait for an approval; reviewers read this, the tool never does.",
    },
    "_approval_id": {
        "type": "string",
        "description": "The approval that this call belongs to, if you come back for one that was approved before.",
    },
}

# Our own tools --------------------------------------------------------------------------------------------------


def _call_tool(variant: Variant, what: str, hints: dict[str, bool]) -> dict[str, Any]:
    operation = variant.value.removeprefix("call_tool_")
    return {
        "name": variant.value,
        "description": f"Call a tool of a connected server {what}. Find tools and their call_with by retrieve_tools.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The tool, as server:tool."},
                "args": {"type": "object", "description": "The tool's arguments."},
                "args_json": {"type": "string", "description": "The same as JSON text, for clients that need it."},
                "intent": {
                    "type": "object",
                    "properties": {
                        "operation_type": {"type": "string", "enum": [operation]},
                        "data_sensitivity": {"type": "string", "enum": ["public", "internal", "private", "unknown"]},
                        "reason": {"type": "string", "maxLength": 1000, "description": "Why you need this call."},
                    },
                    "required": ["operation_type"],
                },
                "_approval_id": _FOR_REVIEWERS["_approval_id"],
            },
            "required": ["name", "intent"],
        },
        "annotations": hints,
    }


_OUR_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": RETRIEVE_TOOLS,
        "description": "Find tools of the connected servers. Each result says with which call_tool_* to call it.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What the tool should do, in a few words."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": DEFAULT_FOUND},
                "read_only_only": {"type": "boolean"},
                "exclude_destructive": {"type": "boolean"},
                "exclude_open_world": {"type": "boolean"},
            },
            "required": ["query"],
        },
        "annotations": {"readOnlyHint": True},
    },
    _call_tool(Variant.READ, "that only reads", {"readOnlyHint": True}),
    _call_tool(Variant.WRITE, "that changes something", {"readOnlyHint": False, "destructiveHint": False}),
    _call_tool(Variant.DESTRUCTIVE, "that deletes or cannot be undone", {"destructiveHint": True}),
)
