"""A server with strange tools over stdio: names that are hard to write in a URL, answers that are hard to keep."""

import json
import os
import sys
from typing import Any

NAMES = (
    "a/b",
    "a/b/call",
    "a/b/diff",
    "call",
    "diff",
    "trust/override",
    "50% off",
    "großes_Löschen",
    "line\nend",
    "?q=1#x",
    "/root",
    "a b+c",
    "Ünï/ço%dé/..x",
)
DESCRIPTORS: list[dict[str, Any]] = [
    *({"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} for name in NAMES),
    {"name": "read_exactly", "description": 5, "annotations": "none", "inputSchema": []},
    {"name": "read_refused", "description": "Answers with an error of the protocol."},
    {"name": "read_failed", "description": "Answers with a result that says it failed."},
]

EXACTLY = (
    '{"content": [],  "big":123456789012345678901234567890,"float":1.10,"exp":1E2,"text":"\\u00e9\\/","zero":-0.0}'
)
ERROR = '{"code":-32050,"message":"not \\"today\\"","data":{"retry":1.50}}'
FAILED = '{"content":[{"type":"text","text":"no"}],"isError":true}'
ANSWERS = {
    "read_exactly": f'"result":{EXACTLY}',
    "read_refused": f'"error":{ERROR}',
    "read_failed": f'"result":{FAILED}',
}

ABOUT: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "strange", "version": "1"},
}


def answer(method: str, params: dict[str, Any]) -> str:
    if method == "initialize":
        return f'"result":{json.dumps(ABOUT)}'
    if method == "tools/list":
        return f'"result":{json.dumps({"tools": DESCRIPTORS})}'
    if method == "tools/call":
        told = {"content": [{"type": "text", "text": json.dumps(params)}]}
        return ANSWERS.get(params["name"], f'"result":{json.dumps(told)}')
    return '"error":{"code":-32601,"message":"no such method"}'


def main() -> None:
    print("started with", os.environ.get("GREETING", ""), file=sys.stderr, flush=True)  # noqa: T201 - it is what it says
    for number in range(300):
        print(f"line {number}", file=sys.stderr, flush=True)  # noqa: T201
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            told = answer(message["method"], message.get("params", {}))
            print(f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},{told}}}', flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
