"""What a client hears of a request before its answer: progress, and the log messages that it asked for.

Progress is told to whoever gave a token, under that token. A log message is told to the client in whose call it came,
if that client asked for messages of this level: since 2026-07-28 with each request, before that once for its session.
Whoever asked for nothing hears nothing, and costs nothing. Progress whose words give the model orders is told without
words. Messages that came outside of any call may be about somebody
else's, so they never get here.
"""

from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Struct

from interlock.core.model import Json, JsonObject
from interlock.core.poison.results import result_signs
from interlock.pipeline import LOG_MESSAGE, Notification
from interlock.receive import replies

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of log messages, the least grave first."""
_NUMBERS = frozenset({"progress", "total"})
_LEVEL_KEY = "io.modelcontextprotocol/logLevel"

Tell = Callable[[bytes], bool | None]
"""Sends a message to the client before the answer; False says that it does not read fast enough."""


class _Message(msgspec.Struct):
    level: str = ""


_MESSAGE = msgspec.json.Decoder(_Message)


def level_of(value: Json) -> str | None:
    """A level that a client asked for; None when it is none."""
    return value if isinstance(value, str) and value in LEVELS else None


class Overheard(Struct, frozen=True):
    """What the client of one request wants to hear: who passes it on, and the level of log messages, if any."""

    listener: Callable[[Notification], None] | None = None
    level: str | None = None


def wanted_of(params: JsonObject, tell: Tell, session_level: str | None, *, modern: bool) -> Overheard:
    """What the client of a request with these params wants to hear."""
    given = params.get("_meta")
    meta = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    token = meta.get("progressToken")
    if isinstance(token, bool) or not isinstance(token, str | int):
        token = None
    level = level_of(meta.get(_LEVEL_KEY)) if modern else session_level
    if token is None and level is None:
        return Overheard()

    def pass_on(heard: Notification) -> None:
        if heard.method == LOG_MESSAGE:
            if level is not None and _is_grave(heard, level):
                tell(replies.notification(heard.method, heard.params))
        elif token is not None:
            members = _members(heard.params or b"{}")
            members["progressToken"] = msgspec.Raw(msgspec.json.encode(token))
            tell(replies.notification(heard.method, msgspec.json.encode(members)))

    return Overheard(pass_on, level)


def _members(progress: bytes) -> dict[str, msgspec.Raw]:
    members = msgspec.json.decode(progress, type=dict[str, msgspec.Raw])
    if not result_signs(progress):
        return members
    return {name: each for name, each in members.items() if name in _NUMBERS and bytes(each)[:1] in b"-0123456789"}


def _is_grave(heard: Notification, level: str) -> bool:
    try:
        said = _MESSAGE.decode(heard.params)
    except msgspec.MsgspecError:
        return False
    return said.level in LEVELS and LEVELS.index(said.level) >= LEVELS.index(level)
