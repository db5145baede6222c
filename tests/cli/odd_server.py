"""An upstream with odd names, odd words and odd answers; each line it gets is written down. Run as a program."""

import json
import sys
from pathlib import Path
from typing import Any

PICTURE = {"type": "image", "mimeType": "image/png", "data": "AAAA" * 4000}
TOOLS: list[dict[str, Any]] = [
    {"name": "get_thing", "_meta": {"safety_class": "dangerous"}, "description": "It says itself what it is."},
    {"name": "read_a/b: 100%\nü", "description": "Its name needs care in a path."},
    {"name": "list_tricks", "description": "Answers with tricks.", "annotations": {"readOnlyHint": "yes"}},
    {"name": "list_signs", "description": "\x1b[2Jcleared\n\u202esecond line", "annotations": {"readOnlyHint": "yes"}},
    {"name": "read_note", "description": "Another server has one of this name too."},
    {
        "name": "get_typed",
        "description": "Says the types of what it got.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "deep": {"type": "boolean"},
                "words": {"type": "array", "items": {"type": "string"}},
                "text": {"type": "string"},
            },
        },
    },
]


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "list_tricks":
        return {"content": [{"type": "text", "text": "a\tb\r\n\x1b[31mred\u202e"}, PICTURE]}
    return {"content": [{"type": "text", "text": json.dumps(arguments, sort_keys=True)}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        given = {"name": "odd", "version": "1"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": given}}
    if method == "tools/list":
        return {"result": {"tools": [{"inputSchema": {"type": "object"}, **each} for each in TOOLS]}}
    if method == "tools/call":
        return {"result": called(params["name"], params["arguments"])}
    return {"error": {"code": -32601, "message": "method not found"}}


def main() -> None:
    sys.stderr.write("first\nsecond \x1b[31mred \u202eback\n")
    sys.stderr.flush()
    with Path(sys.argv[1]).open("a", encoding="utf-8") as log:
        for line in sys.stdin:
            log.write(line)
            log.flush()
            message = json.loads(line)
            if "id" in message:
                said = answer(message["method"], message.get("params", {}))
                sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
