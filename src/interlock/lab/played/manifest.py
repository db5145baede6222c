"""What a mock server is made of: the manifest that a person wrote, or a list of tools that a server once gave.

A manifest is read strictly, because a misspelt `respones` that is ignored makes a mock that lies. Every problem says
the path at which it stands; whoever read the file knows the line. A saved list is the answer of some server, so what
its tools carry beyond what is known here is kept as it is.

This module refuses to read files, and to fetch what a schema refers to.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias, cast

from msgspec import Struct

from interlock.core.model import Json, JsonObject

Path: TypeAlias = tuple[str | int, ...]
OK: JsonObject = {"content": [{"type": "text", "text": "ok"}]}
"""What a tool answers that was given no response and has no output schema."""
ANY_ARGUMENTS: JsonObject = {"type": "object"}
MAX_SLOW = 600_000
"""The longest a slow answer may take, in milliseconds."""
_SLOW = re.compile(r"slow:(\d{1,6})")


class FaultKind(StrEnum):
    """What goes wrong when a tool is called."""

    HANG = "hang"
    SLOW = "slow"
    ERROR = "error"
    GARBAGE = "garbage"
    CRASH = "crash"


class Fault(Struct, frozen=True):
    """A fault; `milliseconds` is how long a slow answer takes."""

    kind: FaultKind
    milliseconds: int = 0


_FAULTS = {str(kind): Fault(kind) for kind in FaultKind if kind is not FaultKind.SLOW}


class MockTool(Struct, frozen=True):
    """A tool as it is listed, and what it answers: one response after the other, the last one again and again."""

    descriptor: JsonObject
    responses: tuple[JsonObject, ...] = (OK,)
    fault: Fault | None = None

    @property
    def name(self) -> str:
        return cast("str", self.descriptor["name"])


class MockResource(Struct, frozen=True):
    """A resource as it is listed, and its text."""

    descriptor: JsonObject
    text: str = ""

    @property
    def uri(self) -> str:
        return cast("str", self.descriptor["uri"])


class MockPrompt(Struct, frozen=True):
    """A prompt as it is listed, and its messages."""

    descriptor: JsonObject
    messages: Sequence[Json] = ()

    @property
    def name(self) -> str:
        return cast("str", self.descriptor["name"])


class Manifest(Struct, frozen=True):
    """A whole mock server."""

    name: str
    version: str = "1"
    tools: tuple[MockTool, ...] = ()
    resources: tuple[MockResource, ...] = ()
    prompts: tuple[MockPrompt, ...] = ()


class Unfit(Struct, frozen=True):
    """A problem and where it stands. `at_key` points at the name of a member, not at its value."""

    path: Path
    text: str
    at_key: bool = False


class ManifestUnfit(Exception):
    """The manifest cannot be used; each problem is one that a person can mend."""

    def __init__(self, problems: Sequence[Unfit]) -> None:
        super().__init__("; ".join(each.text for each in problems))
        self.problems = tuple(problems)


# What may stand where ---------------------------------------------------------------------------------------------


class _Kind(Struct, frozen=True):
    type: type | tuple[type, ...]
    said: str


_TEXT, _OBJECT, _LIST = _Kind(str, "a text"), _Kind(dict, "an object"), _Kind(list, "a list")
_FLAG = _Kind(bool, "true or false")
_RESPONSES = _Kind((dict, list), "an object, or a list of them")


class _Member(Struct, frozen=True):
    """A member of an object of the manifest: its kind, and its name on the wire if it is passed on."""

    kind: _Kind
    wire: str | None = None
    required: bool = False


_TOP = {"mock_server": _Member(_OBJECT, required=True)}
_SERVER = {
    "name": _Member(_TEXT, required=True),
    "version": _Member(_TEXT),
    "tools": _Member(_LIST),
    "resources": _Member(_LIST),
    "prompts": _Member(_LIST),
}
_TOOL = {
    "name": _Member(_TEXT, "name", required=True),
    "title": _Member(_TEXT, "title"),
    "description": _Member(_TEXT, "description"),
    "input_schema": _Member(_OBJECT, "inputSchema"),
    "inputSchema": _Member(_OBJECT, "inputSchema"),
    "output_schema": _Member(_OBJECT, "outputSchema"),
    "outputSchema": _Member(_OBJECT, "outputSchema"),
    "annotations": _Member(_OBJECT, "annotations"),
    "_meta": _Member(_OBJECT, "_meta"),
    "response": _Member(_RESPONSES),
    "fault": _Member(_TEXT),
}
_SCHEMAS = frozenset({"input_schema", "inputSchema", "output_schema", "outputSchema"})
_RESPONSE = {
    "content": _Member(_LIST, "content"),
    "structuredContent": _Member(_OBJECT, "structuredContent"),
    "isError": _Member(_FLAG, "isError"),
}
_RESOURCE = {
    "uri": _Member(_TEXT, "uri", required=True),
    "name": _Member(_TEXT, "name", required=True),
    "mime_type": _Member(_TEXT, "mimeType"),
    "mimeType": _Member(_TEXT, "mimeType"),
    "text": _Member(_TEXT),
}
_PROMPT = {
    "name": _Member(_TEXT, "name", required=True),
    "description": _Member(_TEXT, "description"),
    "arguments": _Member(_LIST, "arguments"),
    "messages": _Member(_LIST, required=True),
}


# Reading ----------------------------------------------------------------------------------------------------------


def manifest_of(value: Json) -> Manifest:
    """The manifest in a value; raises ManifestUnfit with all that is wrong."""
    reader = _Reader()
    top = reader.members(value, (), _TOP)
    manifest = reader.server(top.get("mock_server", {}), ("mock_server",))
    if reader.problems:
        raise ManifestUnfit(reader.problems)
    return manifest


def saved_tools(value: Json) -> Sequence[Json] | None:
    """The tools in an answer to tools/list, whole or only its result; None when the value is something else."""
    if isinstance(value, Mapping) and isinstance(value.get("result"), Mapping):
        value = value["result"]
    tools = value.get("tools") if isinstance(value, Mapping) else None
    return tools if isinstance(tools, list) else None


def manifest_of_list(tools: Sequence[Json], name: str) -> Manifest:
    """A mock with the tools of a saved list, each of which answers that all is well."""
    problems: list[Unfit] = []
    found: dict[str, MockTool] = {}
    for at, tool in enumerate(tools):
        named = tool.get("name") if isinstance(tool, Mapping) else None
        if not isinstance(tool, Mapping) or not isinstance(named, str) or not named:
            problems.append(Unfit(("tools", at), f"tool {at + 1} has no name"))
        elif named in found:
            problems.append(Unfit(("tools", at), f"there are two tools '{named}'"))
        else:
            descriptor = tool if "inputSchema" in tool else {**tool, "inputSchema": ANY_ARGUMENTS}
            found[named] = MockTool(descriptor, (answer_for(descriptor),))
    if problems:
        raise ManifestUnfit(problems)
    return Manifest(name, tools=tuple(found.values()))


def answer_for(descriptor: JsonObject) -> JsonObject:
    """The answer of a tool that was given none: all is well, with a value that fits its output schema if it has one."""
    schema = descriptor.get("outputSchema")
    if not isinstance(schema, Mapping):
        return OK
    # Only now, because what makes values takes a while to load.
    from interlock.lab.values.examples import examples

    made = examples(schema).valid
    return {**OK, "structuredContent": made[0].arguments} if made else OK


class _Reader:
    """Goes through the parts of a manifest and keeps what is wrong."""

    def __init__(self) -> None:
        self.problems: list[Unfit] = []

    def server(self, value: Json, path: Path) -> Manifest:
        members = self.members(value, path, _SERVER)
        tools = [self._tool(each, (*path, "tools", at)) for at, each in _each(members, "tools")]
        resources = [self._resource(each, (*path, "resources", at)) for at, each in _each(members, "resources")]
        prompts = [self._prompt(each, (*path, "prompts", at)) for at, each in _each(members, "prompts")]
        self._once([each.descriptor.get("name") for each in tools], (*path, "tools"), "tools")
        self._once([each.descriptor.get("uri") for each in resources], (*path, "resources"), "resources")
        self._once([each.descriptor.get("name") for each in prompts], (*path, "prompts"), "prompts")
        return Manifest(
            str(members.get("name", "")),
            str(members.get("version", "1")),
            tuple(tools),
            tuple(resources),
            tuple(prompts),
        )

    def members(self, value: Json, path: Path, known: Mapping[str, _Member]) -> JsonObject:
        """The members of an object that are what they should be; the others become problems."""
        if not isinstance(value, Mapping):
            self.problems.append(Unfit(path, f"{_place(path)} must be an object"))
            return {}
        fitting: dict[str, Json] = {}
        for key, each in value.items():
            member = known.get(key)
            if member is None:
                self.problems.append(
                    Unfit((*path, key), f"unknown key '{key}'; known here: {', '.join(known)}", at_key=True)
                )
            elif not isinstance(each, member.kind.type):
                self.problems.append(Unfit((*path, key), f"'{key}' must be {member.kind.said}"))
            else:
                fitting[key] = each
        for key, member in known.items():
            if member.required and not value.get(key):
                self.problems.append(Unfit(path, f"'{key}' is missing"))
        return fitting

    def _listed(self, members: JsonObject, path: Path, known: Mapping[str, _Member]) -> dict[str, Json]:
        """The members that go on the wire, under their names there; two spellings of one are a problem."""
        listed: dict[str, Json] = {}
        for key, value in members.items():
            wire = known[key].wire
            if wire in listed:
                self.problems.append(Unfit((*path, key), f"'{key}' says again what stands here already", at_key=True))
            elif wire is not None:
                listed[wire] = value
        return listed

    def _tool(self, value: Json, path: Path) -> MockTool:
        members = self.members(value, path, _TOOL)
        descriptor = self._listed(members, path, _TOOL)
        descriptor.setdefault("inputSchema", ANY_ARGUMENTS)
        for key in members.keys() & _SCHEMAS:
            self._schema(cast("JsonObject", members[key]), (*path, key))
        fault = self._fault(members.get("fault"), (*path, "fault"))
        if "response" not in members:
            return MockTool(descriptor, (answer_for(descriptor),), fault)
        return MockTool(descriptor, self._responses(members["response"], (*path, "response")), fault)

    def _schema(self, schema: JsonObject, path: Path) -> None:
        # Only now, because a replay and a saved list need nothing of it.
        from interlock.lab.played.schema import flaw_in

        flaw = flaw_in(schema)
        if flaw is not None:
            where = f" at /{'/'.join(map(str, flaw.path))}" if flaw.path else ""
            self.problems.append(Unfit((*path, *flaw.path), f"'{path[-1]}' is no JSON Schema{where}: {flaw.text}"))

    def _responses(self, value: Json, path: Path) -> tuple[JsonObject, ...]:
        if not isinstance(value, list):
            return (self._response(value, path),)
        if not value:
            self.problems.append(Unfit(path, "'response' is a list without a response"))
        return tuple(self._response(each, (*path, at)) for at, each in enumerate(value))

    def _response(self, value: Json, path: Path) -> JsonObject:
        return {"content": [], **self._listed(self.members(value, path, _RESPONSE), path, _RESPONSE)}

    def _fault(self, value: Json, path: Path) -> Fault | None:
        if not isinstance(value, str):
            return None
        slow = _SLOW.fullmatch(value)
        if slow and int(slow[1]) <= MAX_SLOW:
            return Fault(FaultKind.SLOW, int(slow[1]))
        if value in _FAULTS:
            return _FAULTS[value]
        self.problems.append(
            Unfit(path, f"no such fault; there are hang, slow:<ms up to {MAX_SLOW}>, error, garbage and crash")
        )
        return None

    def _resource(self, value: Json, path: Path) -> MockResource:
        members = self.members(value, path, _RESOURCE)
        return MockResource(self._listed(members, path, _RESOURCE), str(members.get("text", "")))

    def _prompt(self, value: Json, path: Path) -> MockPrompt:
        members = self.members(value, path, _PROMPT)
        messages = cast("list[Json]", members.get("messages", []))
        return MockPrompt(self._listed(members, path, _PROMPT), messages)

    def _once(self, names: Sequence[Json], path: Path, what: str) -> None:
        for at, name in enumerate(names):
            if isinstance(name, str) and name in names[:at]:
                self.problems.append(Unfit((*path, at), f"there are two {what} '{name}'"))


def _each(members: JsonObject, key: str) -> "enumerate[Json]":
    return enumerate(cast("list[Json]", members.get(key, [])))


def _place(path: Path) -> str:
    return f"'{path[-1]}'" if path and isinstance(path[-1], str) else "this"
