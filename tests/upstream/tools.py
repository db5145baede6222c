"""The tools of the upstream of the tests, its log, and the ways in which a call can end without a result.

Imported by `server.py`, which runs as a program of its own.
"""

import asyncio
import json
import os
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

INVALID_PARAMS = -32602
STEPS = 4
"""So often the slow tool reports progress, and once at its start."""

Message: TypeAlias = dict[str, Any]
Notify: TypeAlias = Callable[..., Awaitable[None]]
"""Sends a method and its params, and an id if it wants an answer."""
Ask: TypeAlias = Callable[[str, Message], Awaitable[Message]]
"""Asks the client something during a call; its answer, as the message that it was."""


class Refused(Exception):
    """A JSON-RPC error as the answer."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: Message = {"code": code, "message": message} | ({} if data is None else {"data": data})


class Garbage(Exception):
    """The tool is for breaking the protocol; how depends on what it runs over."""

    def __init__(self, kind: str, count: int) -> None:
        super().__init__(kind)
        self.kind, self.count = kind, count


class Log:
    """One JSON line for everything that happens, on disk before the next thing does."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("a", encoding="utf-8", buffering=1)

    def event(self, event: str, **more: Any) -> None:
        self._file.write(json.dumps({"event": event, **more}) + "\n")

    def received(self, raw: bytes, **more: Any) -> None:
        # Bytes that are no UTF-8 survive as lone surrogates, which JSON escapes.
        self.event("received", raw=raw.decode("utf-8", "surrogateescape"), **more)


def tool(name: str, description: str, arguments: str = "", **more: Any) -> Message:
    """A descriptor; the arguments are written as `name:type`, and all of them are optional."""
    properties = {each: {"type": kind} for each, kind in (word.split(":") for word in arguments.split())}
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    } | more


TOOLS = [
    tool("read_note", "Read a note.", "name:string", annotations={"readOnlyHint": True}),
    tool(
        "write_note",
        "Write a note.",
        "name:string text:string",
        annotations={"readOnlyHint": False, "destructiveHint": False},
    ),
    tool("set_level", "Set the level.", "level:integer"),
    tool("delete_note", "Delete a note.", "name:string", annotations={"readOnlyHint": False, "destructiveHint": True}),
    tool("frobnicate", "Frobnicate."),
    tool("remove_cache", "Remove the cache; it says that it only reads.", annotations={"readOnlyHint": True}),
    tool("run_command", "Run a command.", "command:string"),
    tool("echo", "Give back the arguments.", annotations={"readOnlyHint": True}, vendorField={"kept": True}),
    tool("slow", "Take a while.", "seconds:number", annotations={"readOnlyHint": True}),
    tool("huge", "Give back a long text.", "size:integer", annotations={"readOnlyHint": True}),
    tool("crash", "Exit at once."),
    tool("garbage", "Break the protocol.", "kind:string count:integer"),
    tool("fail", "Fail, with an error of the protocol if there is a code.", "code:integer"),
    tool(
        "structured",
        "Add two numbers.",
        "a:integer b:integer",
        annotations={"readOnlyHint": True},
        outputSchema={"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
    ),
    tool("touch", "Change a resource, and say so.", "uri:string"),
    tool("add", "Have one resource or prompt more, and say so.", "uri:string name:string"),
    tool(
        "ask",
        "Ask the client; several kinds at once, divided by commas, and all of that several times.",
        "kind:string message:string times:integer after_ms:number then_ms:number strict:boolean",
        annotations={"readOnlyHint": True},
    ),
    tool("ask_later", "Ask the client when the call is over.", annotations={"readOnlyHint": True}),
    tool("chatter", "Say something at every level.", annotations={"readOnlyHint": True}),
]
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    id: Any
    arguments: Message
    notify: Notify
    token: Any = None
    ask: Ask | None = None
    """How to ask a legacy client."""
    responses: Message | None = None
    state: str | None = None
    """What a modern client brought back."""

    async def progress(self, done: float, of: float) -> None:
        if self.token is not None:
            report = {"progressToken": self.token, "progress": done, "total": of, "message": f"{done} of {of}"}
            await self.notify("notifications/progress", report)


def text(words: str, **more: Any) -> Message:
    """A result that is one text."""
    return {"content": [{"type": "text", "text": words}], **more}


SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
QUESTIONS: dict[str, tuple[str, Message]] = {
    "form": ("elicitation/create", {"requestedSchema": SCHEMA}),
    "url": ("elicitation/create", {"mode": "url", "url": "https://example.com/sign-in", "elicitationId": "e-1"}),
    "evil": ("elicitation/create", {"mode": "url", "url": "javascript:alert(1)", "elicitationId": "e-1"}),
    "huge": ("elicitation/create", {"requestedSchema": {**SCHEMA, "description": "x" * 70_000}}),
    "sampling": ("sampling/createMessage", {"maxTokens": 9, "vendorField": 1}),
    "roots": ("roots/list", {}),
    "unknown": ("tasks/list", {}),
}


def question(kind: str, words: str) -> tuple[str, Message]:
    """The method and the params of a question of this kind; `words` are what a person gets to read."""
    method, params = QUESTIONS[kind]
    if method == "sampling/createMessage":
        return method, {**params, "messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    return method, params if method != "elicitation/create" else {**params, "message": words}


def answered(answers: list[Any]) -> Message:
    """The result that tells what was answered."""
    return text(json.dumps(answers), structuredContent={"answers": answers})


class Changes(Protocol):
    """What the tools can change beside notes."""

    async def touch(self, uri: str) -> None: ...

    async def add(self, uri: str | None, name: str | None) -> None: ...


class Tools:
    """What the tools do."""

    def __init__(self, log: Log, changes: Changes, file: Path | None = None) -> None:
        self._log = log
        self._changes = changes
        self._file = file
        self._notes: dict[str, str] = {}
        self._work: dict[str, Callable[[Call], Awaitable[Message]]] = {
            each["name"]: getattr(self, each["name"]) for each in TOOLS
        }

    def listed(self) -> list[Message]:
        """The tools in the file, if there is one; else its own."""
        return TOOLS if self._file is None or not self._file.exists() else json.loads(self._file.read_text())

    async def run(self, name: str, call: Call) -> Message:
        if name in self._work:
            return await self._work[name](call)
        if name in [each["name"] for each in self.listed()]:
            return text(f"This was {name}.")
        raise Refused(INVALID_PARAMS, f"Unknown tool: {name}")

    async def read_note(self, call: Call) -> Message:
        note = self._notes.get(call.arguments.get("name", ""))
        return text("There is no such note.", isError=True) if note is None else text(note)

    async def write_note(self, call: Call) -> Message:
        self._notes[call.arguments.get("name", "")] = call.arguments.get("text", "")
        return text("Written.")

    async def set_level(self, call: Call) -> Message:
        return text("Set.")

    async def delete_note(self, call: Call) -> Message:
        return text(
            "Deleted." if self._notes.pop(call.arguments.get("name", ""), None) is not None else "No such note."
        )

    async def frobnicate(self, call: Call) -> Message:
        return text("Frobnicated.")

    async def remove_cache(self, call: Call) -> Message:
        return text("Removed.")

    async def run_command(self, call: Call) -> Message:
        return text(f"Would have run {call.arguments.get('command')!r}.")

    async def echo(self, call: Call) -> Message:
        await asyncio.sleep(float(call.arguments.get("after_ms", 0)) / 1000)
        nonce = uuid.uuid4().hex
        content: Message = {
            "type": "text",
            "text": json.dumps(call.arguments),
            "vendorField": [1, 2.50, None],
            "_meta": {"vendor/content": nonce},
        }
        return {
            "content": [content],
            "arguments": call.arguments,
            "nonce": nonce,
            "vendorField": {"nested": {"kept": True}},
            "_meta": {"vendor/result": nonce},
        }

    async def slow(self, call: Call) -> Message:
        try:
            for step in range(STEPS):
                await call.progress(step, STEPS)
                await asyncio.sleep(float(call.arguments.get("seconds", 1)) / STEPS)
        except asyncio.CancelledError:
            self._log.event("cancelled", id=call.id)
            raise
        await call.progress(STEPS, STEPS)
        return text("Done.")

    async def huge(self, call: Call) -> Message:
        return text("x" * int(call.arguments.get("size", 0)))

    async def crash(self, call: Call) -> Message:
        os._exit(3)

    async def garbage(self, call: Call) -> Message:
        raise Garbage(call.arguments.get("kind", "junk"), int(call.arguments.get("count", 1)))

    async def touch(self, call: Call) -> Message:
        await self._changes.touch(call.arguments.get("uri", ""))
        return text("Touched.")

    async def add(self, call: Call) -> Message:
        await self._changes.add(call.arguments.get("uri"), call.arguments.get("name"))
        return text("Added.")

    async def chatter(self, call: Call) -> Message:
        for level in LEVELS:
            said = {"level": level, "data": {"about": call.arguments, "vendorField": 1.50}}
            await call.notify("notifications/message", said)
        return text("Said.")

    async def ask(self, call: Call) -> Message:
        """Ask in the way of the client's era, and give back what was answered."""
        kinds = str(call.arguments.get("kind", "form")).split(",")
        times = int(call.arguments.get("times", 1))
        words = call.arguments.get("message", "Say a word.")
        try:
            await asyncio.sleep(float(call.arguments.get("after_ms", 0)) / 1000)
            if call.ask is None:
                return self._want(call, [question(kind, words) for kind in kinds], times)
            answers: list[Any] = []
            for _ in range(times):
                asked = (call.ask(*question(kind, words)) for kind in kinds)
                answers += [each.get("result", each.get("error")) for each in await asyncio.gather(*asked)]
            if call.arguments.get("strict") and any("code" in each for each in answers):
                return text("It cannot be done without an answer.", isError=True)
            await asyncio.sleep(float(call.arguments.get("then_ms", 0)) / 1000)
            return answered(answers)
        except asyncio.CancelledError:
            self._log.event("cancelled", id=call.id)
            raise

    def _want(self, call: Call, questions: list[tuple[str, Message]], times: int) -> Message:
        state: list[Any] = [] if call.state is None else json.loads(call.state)
        state += [] if call.responses is None else [call.responses]
        if len(state) >= times:
            return answered([each for given in state for _, each in sorted(given.items())])
        wanted = {
            f"q{number}": {"method": method, "params": params} for number, (method, params) in enumerate(questions)
        }
        return {"resultType": "input_required", "inputRequests": wanted, "requestState": json.dumps(state)}

    async def ask_later(self, call: Call) -> Message:
        async def later() -> None:
            assert call.ask is not None
            await asyncio.sleep(0.05)
            self._log.event("answered", answer=await call.ask(*question("form", "Too late?")))

        self._later = asyncio.ensure_future(later())
        return text("Later.")

    async def fail(self, call: Call) -> Message:
        if "code" in call.arguments:
            raise Refused(call.arguments["code"], call.arguments.get("said", "It failed badly."), {"tried": 1})
        return text("It failed.", isError=True)

    async def structured(self, call: Call) -> Message:
        total = int(call.arguments.get("a", 0)) + int(call.arguments.get("b", 0))
        return text(str(total), structuredContent={"sum": total})
