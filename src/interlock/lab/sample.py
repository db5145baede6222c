"""A small MCP server with notes, so that there is something to try before a real server is configured.

It keeps its notes in memory, runs nothing, and touches no file. Its tools are one of each kind: reading, writing,
deleting, exec-like, and one that says nothing about itself. Started by the gateway as a process of its own, like any
other upstream; it speaks the classic protocol over stdio with nothing but the standard library.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

_TEXT = {"type": "string"}
_NAME = {"type": "object", "properties": {"name": _TEXT}, "required": ["name"]}
NOTES: dict[str, str] = {"welcome": "Interlock stands between you and this note.", "todo": "Approve a call."}


def _list_notes(arguments: dict[str, Any]) -> str:
    return "\n".join(sorted(NOTES)) or "no notes"


def _read_note(arguments: dict[str, Any]) -> str:
    return NOTES[arguments["name"]]


def _write_note(arguments: dict[str, Any]) -> str:
    NOTES[arguments["name"]] = arguments["text"]
    return f"wrote {arguments['name']}"


def _delete_note(arguments: dict[str, Any]) -> str:
    del NOTES[arguments["name"]]
    return f"deleted {arguments['name']}"


def _run_script(arguments: dict[str, Any]) -> str:
    return f"pretended to run {len(str(arguments.get('script', '')))} characters"


def _frobnicate(arguments: dict[str, Any]) -> str:
    return "frobnicated"


def _tool(name: str, description: str, schema: dict[str, Any], annotations: dict[str, bool] | None) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": name, "description": description, "inputSchema": schema}
    return tool if annotations is None else {**tool, "annotations": annotations}


_WRITE = {"type": "object", "properties": {"name": _TEXT, "text": _TEXT}, "required": ["name", "text"]}
TOOLS: tuple[tuple[dict[str, Any], Callable[[dict[str, Any]], str]], ...] = (
    (_tool("list_notes", "List the names of all notes.", {"type": "object"}, {"readOnlyHint": True}), _list_notes),
    (_tool("read_note", "Read one note.", _NAME, {"readOnlyHint": True}), _read_note),
    (
        _tool("write_note", "Write a note.", _WRITE, {"readOnlyHint": False, "destructiveHint": False}),
        _write_note,
    ),
    (_tool("delete_note", "Delete a note for good.", _NAME, {"destructiveHint": True}), _delete_note),
    (
        _tool("run_script", "Pretend to run a script.", {"type": "object", "properties": {"script": _TEXT}}, None),
        _run_script,
    ),
    (_tool("frobnicate", "Does what its name says.", {"type": "object"}, None), _frobnicate),
)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None when the method is not known."""
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "interlock-sample", "version": "1"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [tool for tool, _ in TOOLS]}
    if method == "tools/call":
        return _called(params)
    return None


def _called(params: dict[str, Any]) -> dict[str, Any]:
    run = next((run for tool, run in TOOLS if tool["name"] == params.get("name")), None)
    if run is None:
        return _result("no such tool", is_error=True)
    try:
        return _result(run(params.get("arguments", {})))
    except KeyError as missing:
        return _result(f"there is no {missing}", is_error=True)


def _result(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def main() -> None:
    """Serve stdin until it ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params", {}))
        body = {"error": {"code": -32601, "message": "method not found"}} if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
