"""A server full of planted defects, one for each kind of finding, and its clean twin.

    planted.py LOG            every tool has the defect that it is named for
    planted.py LOG --clean    the same tools without them

Every call is written to the log before anything is done with it. The name of a tool is the code of the finding that it
is for, after a word that makes it read. Written by hand, with nothing but the standard library.
"""

import itertools
import json
import os
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WORDS = "Answers with the same note each time, under its own name: "
_NAME = {"name": {"type": "string", "description": "which one", "minLength": 2}}
_NAMED: dict[str, Any] = {"type": "object", "properties": _NAME, "required": ["name"], "additionalProperties": False}
_PLAIN: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
_OUTPUT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
READS, DELETES = {"readOnlyHint": True}, {"destructiveHint": True}
WRITES = {"readOnlyHint": False, "idempotentHint": False}

counter = itertools.count()
shuffled = itertools.cycle(("apple pear", "pear apple"))
held: list[str] = ["one"]

Arguments = dict[str, Any]
Run = Callable[[Arguments], Any]


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


def error(said: str) -> dict[str, Any]:
    return text(said, isError=True)


def steady(arguments: Arguments) -> Any:
    return text("steady")


def crash(arguments: Arguments) -> Any:
    os._exit(3)


def hang(arguments: Arguments) -> Any:
    time.sleep(3600)


def listed(arguments: Arguments) -> Any:
    return text(" ".join(held))


def lie(arguments: Arguments) -> Any:
    held.append(f"more {len(held)}")
    return text("only looked")


def checking(run: Run) -> Run:
    """What an honest tool does: it looks at its arguments first."""

    def checked(arguments: Arguments) -> Any:
        name = arguments.get("name")
        if set(arguments) != {"name"} or not isinstance(name, str) or len(name) < 2:
            return error("name has to be a text of two characters or more")
        return run(arguments)

    return checked


def bare(run: Run) -> Run:
    """The same for a tool that takes nothing."""
    return lambda arguments: error("it takes no arguments") if arguments else run(arguments)


class Planted:
    """A tool with a defect, and without."""

    def __init__(self, name: str, bad: Run, good: Run = steady, **more: Any) -> None:
        self.name = name
        self.bad, self.good = bad, good
        self.schema = more.get("schema", _PLAIN)
        self.output = more.get("output")
        self.annotations = more.get("annotations", READS)
        self.lacks: dict[str, Any] = more.get("lacks", {})

    def descriptor(self, *, clean: bool) -> dict[str, Any]:
        found = {"name": self.name, "description": f"{_WORDS}{self.name}.", "inputSchema": self.schema}
        found |= {"annotations": self.annotations}
        found |= {} if self.output is None else {"outputSchema": self.output}
        changed = {} if clean else self.lacks
        return {key: value for key, value in {**found, **changed}.items() if value is not None}

    def run(self, arguments: Arguments, *, clean: bool) -> Any:
        check = {id(_NAMED): checking, id(_PLAIN): bare}.get(id(self.schema), lambda run: run)
        return check(self.good if clean else self.bad)(arguments)


def _slow(arguments: Arguments) -> Any:
    time.sleep(1.2)
    return text("slow")


_UNDESCRIBED = {**_NAMED, "properties": {"name": {"type": "string", "minLength": 2}}}
_COUNTED = text("3", structuredContent={"count": 3})

TOOLS = (
    Planted("list_held", listed, listed),
    Planted("get_crash", crash, schema=_NAMED),
    Planted("get_hang", hang),
    Planted("get_protocol-error", lambda given: {"answer": 42}),
    Planted("get_garbage", lambda given: "this is no object"),
    Planted("get_annotation-lie", lie),
    Planted(
        "get_output-schema",
        lambda given: text("3", structuredContent={"count": "3"}),
        lambda given: _COUNTED,
        output=_OUTPUT,
    ),
    Planted("get_error-on-valid", lambda given: error("it went wrong"), schema=_NAMED),
    Planted("get_accepts-invalid", steady, checking(steady), schema={**_NAMED}),
    Planted("get_unstable", lambda given: text(next(shuffled))),
    Planted("get_volatile", lambda given: text(f"{uuid.uuid4()} is number {next(counter)}")),
    Planted("get_slow", _slow),
    Planted("get_oversize", lambda given: text("x" * 1_100_000)),
    Planted("get_no-arguments", steady, lacks={"inputSchema": {"type": "object", "not": {}}}),
    Planted("get_unannotated", steady, lacks={"annotations": None}),
    Planted("get_description-missing", steady, lacks={"description": None}),
    Planted("get_description-short", steady, lacks={"description": "Gets it."}),
    Planted("get_description-shared", steady, lacks={"description": f"{_WORDS}get_slow."}),
    Planted("get_parameters-undescribed", steady, schema=_NAMED, lacks={"inputSchema": _UNDESCRIBED}),
    Planted("write_held", lie, lambda given: text("written"), annotations=WRITES),
    Planted("delete_held", steady, annotations=DELETES),
)
EXPECTED = {
    each.name.removeprefix("get_"): each.name
    for each in TOOLS
    if each.name.startswith("get_") and each.name != "get_garbage"
}
"""Each planted kind of finding, and the tool that has it."""


def answer(message: dict[str, Any], *, clean: bool) -> dict[str, Any]:
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "planted", "version": "1"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": [each.descriptor(clean=clean) for each in TOOLS]}}
    found = next((each for each in TOOLS if each.name == params.get("name")), None)
    if method == "tools/call" and found is not None:
        return {"result": found.run(params.get("arguments", {}), clean=clean)}
    return {"result": {}} if method == "ping" else {"error": {"code": -32601, "message": "method not found"}}


def main(log: Path, *, clean: bool) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            with log.open("a") as kept:
                kept.write(json.dumps(message["params"]) + "\n")
        if "id" in message:
            said = {"jsonrpc": "2.0", "id": message["id"], **answer(message, clean=clean)}
            sys.stdout.write(json.dumps(said) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), clean="--clean" in sys.argv)
