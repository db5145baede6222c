"""A mock server: what a manifest says, as the script of a server.

It answers what it was told to and nothing else: it checks no arguments, keeps no state but how often a tool was called,
and fails only where a fault is declared, and then only when the tool is called.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NoReturn

from interlock.core.model import Json, JsonObject
from interlock.lab.played.answering import INVALID_PARAMS, NO_METHOD, Crashed, Garbled, RpcError
from interlock.lab.played.filling import filled
from interlock.lab.played.manifest import Fault, FaultKind, Manifest, MockTool

FAULT = -32000
"""The code of the error that `fault: error` answers with."""


class Mock:
    """The script that a manifest is."""

    instructions = ""

    def __init__(self, manifest: Manifest) -> None:
        self.name, self.version = manifest.name, manifest.version
        self._manifest = manifest
        self._tools = {each.name: each for each in manifest.tools}
        self._resources = {each.uri: each for each in manifest.resources}
        self._prompts = {each.name: each for each in manifest.prompts}
        self._called = dict.fromkeys(self._tools, 0)
        self._answers: dict[str, Callable[[JsonObject], Awaitable[JsonObject]]] = {}
        if manifest.tools:
            self._answers |= {"tools/list": self._list_tools, "tools/call": self._call}
        if manifest.resources:
            self._answers |= {
                "resources/list": self._list_resources,
                "resources/templates/list": self._list_templates,
                "resources/read": self._read,
            }
        if manifest.prompts:
            self._answers |= {"prompts/list": self._list_prompts, "prompts/get": self._get}

    @property
    def capabilities(self) -> JsonObject:
        return {family: {} for family in ("tools", "resources", "prompts") if f"{family}/list" in self._answers}

    async def result(self, method: str, params: JsonObject) -> JsonObject:
        answer = self._answers.get(method)
        if answer is None:
            raise RpcError(NO_METHOD, f"This server has no method '{method}'.")
        return await answer(params)

    async def _list_tools(self, params: JsonObject) -> JsonObject:
        return {"tools": [each.descriptor for each in self._manifest.tools]}

    async def _list_resources(self, params: JsonObject) -> JsonObject:
        return {"resources": [each.descriptor for each in self._manifest.resources]}

    async def _list_templates(self, params: JsonObject) -> JsonObject:
        return {"resourceTemplates": []}

    async def _list_prompts(self, params: JsonObject) -> JsonObject:
        return {"prompts": [each.descriptor for each in self._manifest.prompts]}

    async def _call(self, params: JsonObject) -> JsonObject:
        tool = self._tools.get(_text(params, "name"))
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"This server has no tool '{_text(params, 'name')}'.")
        arguments = _arguments(params)
        if tool.fault is not None:
            await _fail(tool.fault, tool)
        at = min(self._called[tool.name], len(tool.responses) - 1)
        self._called[tool.name] += 1
        return _object(filled(tool.responses[at], arguments))

    async def _read(self, params: JsonObject) -> JsonObject:
        resource = self._resources.get(_text(params, "uri"))
        if resource is None:
            raise RpcError(INVALID_PARAMS, f"This server has no resource '{_text(params, 'uri')}'.")
        kind = {key: value for key, value in resource.descriptor.items() if key == "mimeType"}
        return {"contents": [{"uri": resource.uri, **kind, "text": resource.text}]}

    async def _get(self, params: JsonObject) -> JsonObject:
        prompt = self._prompts.get(_text(params, "name"))
        if prompt is None:
            raise RpcError(INVALID_PARAMS, f"This server has no prompt '{_text(params, 'name')}'.")
        about = {key: value for key, value in prompt.descriptor.items() if key == "description"}
        return {**about, "messages": filled(list(prompt.messages), _arguments(params))}


async def _fail(fault: Fault, tool: MockTool) -> None:
    """What a fault does before the tool would answer; a slow one only takes its time."""
    match fault.kind:
        case FaultKind.SLOW:
            await asyncio.sleep(fault.milliseconds / 1000)
        case FaultKind.HANG:
            await _never()
        case FaultKind.ERROR:
            raise RpcError(FAULT, f"The tool '{tool.name}' fails, as its manifest says.")
        case FaultKind.GARBAGE:
            raise Garbled
        case FaultKind.CRASH:
            raise Crashed


async def _never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets this event")


def _text(params: JsonObject, key: str) -> str:
    value = params.get(key)
    if not isinstance(value, str):
        raise RpcError(INVALID_PARAMS, f"'{key}' must be a text.")
    return value


def _arguments(params: JsonObject) -> JsonObject:
    return _object(params.get("arguments") or {})


def _object(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise RpcError(INVALID_PARAMS, "'arguments' must be an object.")
    return value
