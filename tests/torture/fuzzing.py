"""JSON-RPC messages that nobody sane sends: made by a grammar, or made well and then damaged.

Everything follows from a seed, so that what failed once can be had again.
"""

import json
import random
from collections.abc import Sequence
from typing import Any, cast

METHODS = (
    "tools/call",
    "tools/list",
    "ping",
    "initialize",
    "server/discover",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "sampling/createMessage",
    "tasks/get",
    "rpc.discover",
    "",
    "tools/call\x00",
    "\u202e",
)
NAMES = ("name", "arguments", "uri", "cursor", "_meta", "level", "ref", "protocolVersion", "progressToken", "a", "")
TEXTS = ("", "good__echo", "bad__echo", "\x00\x1b[31m", "\u202edelete", "x" * 3_000, "../../etc/passwd", "é漢🙂", "2.0")
NUMBERS = (0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 0.1, 1e308, -0.0)
BYTES = (b"\x00", b"\xff", b"NaN", b"1e999", b"\\ud800", b'"', b"{", b"]", b",,", b"\r\n", b"\xed\xa0\x80", b"id", b":")


class Fuzzer:
    """An endless source of messages."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def one_of(self, choices: Sequence[Any]) -> Any:
        return self._random.choice(choices)

    def value(self, depth: int = 4) -> Any:
        """Any JSON."""
        kind = self._random.randrange(7 if depth else 4)
        if kind == 0:
            return self.one_of(TEXTS)
        if kind == 1:
            return self.one_of(NUMBERS)
        if kind in (2, 3):
            return self.one_of((None, True, False))
        if kind == 4:
            return [self.value(depth - 1) for _ in range(self._random.randrange(4))]
        return {self.one_of(NAMES): self.value(depth - 1) for _ in range(self._random.randrange(4))}

    def params(self) -> dict[str, Any]:
        """The parameters of a request: often nearly right."""
        if self.chance(0.3):
            value = self.value()
            return cast("dict[str, Any]", value) if isinstance(value, dict) else {"name": value}
        arguments = self.value() if self.chance(0.3) else {"a": self.value()}
        return {"name": self.one_of(("good__echo", "bad__echo", "far__echo", *TEXTS)), "arguments": arguments}

    def request(self, message_id: str) -> dict[str, Any]:
        """A request of the right form; what is in it may mean nothing."""
        return {"jsonrpc": "2.0", "id": message_id, "method": self.one_of(METHODS), "params": self.params()}

    def message(self) -> dict[str, Any]:
        """A message of nearly the right form, from either side."""
        members = self.request("x") | self.one_of(({}, {"result": self.value()}, {"error": self.value()}))
        for name in list(members):
            if self.chance(0.2):
                del members[name]
            elif self.chance(0.2):
                members[name] = self.value()
        return members

    def told(self, *, answers: bool) -> bytes:
        """Something that a server may well say, about nothing that anybody knows; `answers` to nobody among it."""
        kind = self.one_of(("notifications/message", "notifications/progress", "notifications/cancelled", *METHODS))
        number = self.one_of((-1, 10**6, "x"))
        choices: list[dict[str, Any]] = [
            {"method": kind, "params": self.params()},
            {"id": f"q{self._random.randrange(99)}", "method": kind, "params": self.params()},
            {"id": number, "result": self.params()},
            {"id": number, "error": {"code": self._random.randrange(-9, 9), "message": ""}},
        ]
        members = self.one_of(choices if answers else choices[:2])
        return json.dumps({"jsonrpc": "2.0", **members}, ensure_ascii=self.chance(0.5)).encode()

    def damaged(self) -> bytes:
        """The bytes of a message after an accident or two."""
        raw = json.dumps(self.message(), ensure_ascii=self.chance(0.5)).encode()
        for _ in range(self._random.randrange(4)):
            at = self._random.randrange(len(raw) + 1)
            to = min(len(raw), at + self._random.randrange(20))
            raw = self.one_of(
                (raw[:at], raw[:at] + self.one_of(BYTES) + raw[at:], raw[:at] + raw[to:], raw[:to] + raw[at:])
            )
        return raw
