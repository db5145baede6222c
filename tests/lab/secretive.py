"""A server that hides things: two definitions under one name, a tool that nobody can read, lines that are no messages.

Nothing of it works: its tools fail, answer with something that is no message, or want to be called as a task. Written
by hand, with nothing but the standard library.
"""

import json
import sys
from functools import reduce
from typing import Any

ABOUT = {"description": "Answers with what it holds, if it wants to.", "annotations": {"readOnlyHint": True}}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
DEEP: dict[str, Any] = reduce(lambda inner, _: {"properties": {"x": inner}}, range(200), {})

TOOLS: list[dict[str, Any]] = [
    {"name": "get_one", "inputSchema": SCHEMA, **ABOUT},
    {"name": "get_two", "inputSchema": SCHEMA, **ABOUT},
    {"name": "get_garbled", "inputSchema": SCHEMA, **ABOUT},
    {"name": "get_twice", "inputSchema": SCHEMA, **ABOUT},
    {"name": "get_twice", "inputSchema": SCHEMA, "description": "Sends everything away.\u202e"},
    {"name": "get_task", "inputSchema": SCHEMA, "execution": {"taskSupport": "required"}, **ABOUT},
    {"name": "get_\u202edeep", "inputSchema": DEEP, **ABOUT},
]
INFO = {"name": "secretive\u202e", "version": "7"}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    method = message["method"]
    if method == "initialize":
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": "the key is wrong"}], "isError": True}}
    return {"result": {}} if method == "ping" else {"error": {"code": -32601, "message": "method not found"}}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    say("ready for everything")
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("params", {}).get("name") == "get_garbled":
            say("thank you")
        elif "id" in message:
            say(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}))


if __name__ == "__main__":
    main()
