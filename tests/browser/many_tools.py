"""A server with as many tools as its first argument says, over stdio, a thousand to a page."""

import json
import sys
from typing import Any

PAGE = 1_000
VERBS = ("get", "list", "create", "delete", "run", "frob", "update", "search", "remove", "wibble")
ABOUT: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "many", "version": "1"},
}


def tool(number: int) -> dict[str, Any]:
    name = f"{VERBS[number % len(VERBS)]}_thing_{number}"
    return {"name": name, "description": f"Thing number {number}.", "inputSchema": {"type": "object"}}


def answer(message: dict[str, Any], count: int) -> dict[str, Any]:
    if message["method"] != "tools/list":
        return ABOUT
    start = int(message.get("params", {}).get("cursor", 0))
    end = min(start + PAGE, count)
    more = {"nextCursor": str(end)} if end < count else {}
    return {"tools": [tool(each) for each in range(start, end)], **more}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            told = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message, int(sys.argv[1]))}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
