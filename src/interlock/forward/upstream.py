"""One upstream: which protocol era it speaks, what tools it has, and one call to it.

An upstream is asked first whether it speaks the modern protocol (`server/discover`); if it does not, the classic
handshake follows. What era the agent speaks is not known here. Tool lists are taken page by page and bounded; an entry
that is no tool is left out, everything else is kept exactly as it came, because the fingerprint covers all of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

import msgspec

from interlock import __version__
from interlock.core.model import JsonObject
from interlock.forward.link import Answer, BadMessage, Link, LinkDown, LinkTimeout, Listener, Notification

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
LEGACY_KNOWN = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
MAX_TOOLS = 10_000
_CLIENT = {"name": "interlock", "version": __version__}
_PROBE_SECONDS = 10.0
_START_SECONDS = 60.0
_META = "io.modelcontextprotocol/"


class Health(StrEnum):
    """How an upstream is doing."""

    STARTING = "starting"
    READY = "ready"
    DOWN = "down"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class UpstreamSpec:
    """What the operator configured of an upstream, with references resolved. Exactly one of argv and url is set."""

    id: str
    namespace: str
    argv: tuple[str, ...] = ()
    url: str | None = None
    env: dict[str, str] = field(default_factory=dict[str, str])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    trusted: bool = False
    call_seconds: float = 120.0


class Upstream:
    """One upstream behind a link. `open_link` makes a new link that reports notifications to the given listener."""

    def __init__(self, spec: UpstreamSpec, open_link: Callable[[Listener], Link]) -> None:
        self.spec = spec
        self.health = Health.STOPPED
        self.problem = ""
        self.tools: Sequence[JsonObject] = ()
        self.protocol_version = ""
        self._link = open_link(self._heard)
        self._on_change: Callable[[], None] = lambda: None

    @property
    def modern(self) -> bool:
        return self.protocol_version == MODERN

    @property
    def link(self) -> Link:
        return self._link

    def on_tools_changed(self, tell: Callable[[], None]) -> None:
        """Say whom to tell when the upstream announces that its tools changed."""
        self._on_change = tell

    def _heard(self, notification: Notification) -> None:
        if notification.method == "notifications/tools/list_changed":
            self._on_change()

    async def start(self) -> None:
        """Open the link, agree on an era, list the tools. A failure is kept as health, not raised."""
        self.health = Health.STARTING
        try:
            await self._link.start()
            await self._negotiate()
            await self.refresh()
        except (LinkDown, LinkTimeout, BadMessage) as failed:
            self.health, self.problem = Health.DOWN, str(failed) or type(failed).__name__
        else:
            self.health, self.problem = Health.READY, ""

    async def close(self) -> None:
        self.health = Health.STOPPED
        await self._link.close()

    async def call(self, tool: str, arguments: bytes, listener: Listener | None = None) -> Answer:
        """Call a tool; the arguments go out exactly as given."""
        if self.health is not Health.READY:
            raise LinkDown(self.problem or f"it is {self.health.value}", sent=False)
        name = msgspec.json.encode(tool)
        params = b'{"name":' + name + b',"arguments":' + arguments + self._envelope(b",") + b"}"
        return await self._link.request(
            "tools/call", params, seconds=self.spec.call_seconds, name=tool, listener=listener
        )

    async def refresh(self) -> None:
        """List the tools anew."""
        listed: list[JsonObject] = []
        cursor: str | None = None
        while True:
            page = await self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
            tools = page.get("tools")
            listed += [tool for tool in cast("list[Any]", tools) if _is_tool(tool)] if isinstance(tools, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor or len(listed) > MAX_TOOLS:
                break
            cursor = following
        self.tools = listed[:MAX_TOOLS]

    # Agreeing on an era -----------------------------------------------------------------------------------------

    async def _negotiate(self) -> None:
        if not await self._discovered():
            await self._initialize()

    async def _discovered(self) -> bool:
        self._speak(MODERN)
        try:
            answer = await self._link.request("server/discover", self._params({}), seconds=_PROBE_SECONDS)
        except (LinkTimeout, BadMessage):
            return False
        except LinkDown as down:
            if not down.sent:
                raise
            return False
        found = _decoded(answer.result) if answer.error is None else {}
        versions = found.get("supportedVersions")
        return isinstance(versions, list) and MODERN in cast("list[Any]", versions)

    async def _initialize(self) -> None:
        self._speak("")
        asked = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
        answer = await self._link.request("initialize", msgspec.json.encode(asked), seconds=_START_SECONDS)
        if answer.error is not None:
            raise LinkDown(f"initialize was refused: {answer.error.message}", sent=True)
        version = _decoded(answer.result).get("protocolVersion")
        if version not in LEGACY_KNOWN:
            raise LinkDown(f"it speaks protocol {version!r}, which we do not", sent=True)
        self._speak(str(version))
        await self._link.notify("notifications/initialized", b"{}")

    def _speak(self, version: str) -> None:
        """Take up a protocol version; links that mirror it in headers are told."""
        self.protocol_version = version
        for name, value in (("protocol_version", version or None), ("modern", version == MODERN)):
            if hasattr(self._link, name):
                setattr(self._link, name, value)

    # Messages ---------------------------------------------------------------------------------------------------

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer = await self._link.request(method, self._params(params), seconds=_START_SECONDS)
        if answer.error is not None:
            raise LinkDown(f"{method} was refused: {answer.error.message}", sent=True)
        return _decoded(answer.result)

    def _params(self, params: dict[str, Any]) -> bytes:
        body = msgspec.json.encode(params)
        return b"{" + (body[1:-1] + self._envelope(b"," if len(body) > 2 else b"")) + b"}"

    def _envelope(self, separator: bytes) -> bytes:
        """What the modern protocol wants in every request, as a member to append; nothing for legacy."""
        return separator + _MODERN_META if self.modern else b""


_MODERN_META = b'"_meta":' + msgspec.json.encode(
    {
        f"{_META}protocolVersion": MODERN,
        f"{_META}clientCapabilities": {},
        f"{_META}clientInfo": _CLIENT,
    }
)


def _decoded(result: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(result)
    except (msgspec.MsgspecError, RecursionError):
        raise BadMessage("an answer is no JSON object") from None
    if not isinstance(value, dict):
        raise BadMessage("an answer is no JSON object")
    return cast("dict[str, Any]", value)


def _is_tool(value: object) -> bool:
    return isinstance(value, dict) and isinstance(cast("dict[str, Any]", value).get("name"), str)
