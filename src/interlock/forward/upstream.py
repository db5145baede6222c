"""One upstream: which protocol era it speaks, what it lists, and one call to it.

An upstream is asked first whether it speaks the modern protocol (`server/discover`); if it does not, the classic
handshake follows. What era the agent speaks is not known here. Beside tools it is asked only for what it says it has.
Lists are taken page by page and bounded in every direction; each entry stays the bytes that it was, because the
fingerprint covers all of it and because reading ten thousand of them is no work for the event loop.

Failures are raised, not kept: whether an upstream is well is for its supervisor to say.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct

from interlock import __version__
from interlock.core.health import Introduction
from interlock.core.model import CALL_METHOD
from interlock.core.offers import Abilities, Kind
from interlock.core.questions import ANYTHING, Answerable
from interlock.forward.link import (
    Answer,
    Asker,
    BadMessage,
    Link,
    LinkDown,
    LinkTimeout,
    Listener,
    Mirrored,
    OnDown,
    RpcError,
)
from interlock.forward.listed import Listed, Page, read_abilities, read_introduction, read_page
from interlock.forward.pace import Pace
from interlock.forward.questions import Again, wants_more

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
LEGACY_KNOWN = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
MAX_LISTED = 10_000
MAX_PAGES = 1_000
MAX_LISTING = 16 * 1024 * 1024
"""How many entries, pages and bytes of a list are taken; what comes after that is not asked for."""
CALL_SECONDS = 120.0
"""How long a call may take unless the operator says otherwise."""

_CLIENT = {"name": "interlock", "version": __version__}
_META = "io.modelcontextprotocol/"
_METHOD_NOT_FOUND = -32601
_NOTHING = Answerable()


@dataclass(frozen=True, slots=True)
class Scope:
    """Other credentials for the same server; they are put over those of the server itself."""

    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class UpstreamSpec:
    """What the operator configured of an upstream, with references resolved. Exactly one of argv and url is set.

    The parts that may hold secrets are not shown when the spec is printed.
    """

    id: str
    namespace: str
    argv: tuple[str, ...] = field(default=(), repr=False)
    url: str | None = field(default=None, repr=False)
    env: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    trusted: bool = False
    call_seconds: float = CALL_SECONDS
    max_concurrent: int | None = None
    scopes: Mapping[str, Scope] = field(default_factory=dict[str, Scope], repr=False)
    per_caller: bool = False
    unusable: str = ""
    """Why it cannot even be tried, as a reference that leads nowhere. It is down with this problem."""

    @property
    def transport(self) -> str:
        return "stdio" if self.url is None else "http"

    def reached_like(self, other: "UpstreamSpec") -> bool:
        """Whether a link for the one would do for the other."""
        mine, others = (
            (each.argv, each.url, each.env, each.headers, each.cwd, each.unusable, each.per_caller)
            for each in (self, other)
        )
        return mine == others

    def under(self, scope: Scope) -> "UpstreamSpec":
        """The same server with other credentials."""
        return replace(self, env={**self.env, **scope.env}, headers={**self.headers, **scope.headers})


class Ask(Struct, frozen=True):
    """What an upstream is asked: a method of the protocol and its params, the JSON text of an object without `_meta`.

    `name` is the tool, prompt or resource that it is about, `log_level` from which level on somebody wants to hear the
    log messages in its stream. `mirrored` are the arguments that are repeated in headers where there are any, and
    `asker` asks the client, where that may be.
    """

    method: str
    params: bytes
    name: str | None = None
    log_level: str | None = None
    mirrored: Mirrored = ()
    asker: Asker | None = None
    stopped: Callable[[], str | None] | None = None
    """What of it is stopped by now, if anything: looked at when its turn has come, because that may take a while."""
    traceparent: str | None = None
    """Which trace it belongs to, where servers are told."""


def tool_call(
    tool: str,
    arguments: bytes,
    log_level: str | None = None,
    mirrored: Mirrored = (),
    asker: Asker | None = None,
    stopped: Callable[[], str | None] | None = None,
) -> Ask:
    """The call of a tool; the arguments go out exactly as given."""
    params = b'{"name":' + msgspec.json.encode(tool) + b',"arguments":' + arguments + b"}"
    return Ask(CALL_METHOD, params, tool, log_level, mirrored, asker, stopped)


Connect: TypeAlias = Callable[[UpstreamSpec, Listener, OnDown], Link]
"""Makes a link that reports notifications, and its own end, to whoever is given; raises ValueError."""


class Upstream:
    """One session with a server. It can be started again after it was lost."""

    def __init__(
        self,
        spec: UpstreamSpec,
        connect: Connect,
        pace: Pace,
        *,
        on_lost: OnDown,
        on_told: Listener,
    ) -> None:
        """`on_told` gets what the upstream says outside of any call."""
        self.spec = spec
        self.protocol_version = ""
        self.can = Abilities()
        self.introduction = Introduction()
        self.lost = "it is not started"
        """Why the link has to be started anew; empty while it has not."""
        self._connect = connect
        self._pace = pace
        self._on_lost = on_lost
        self._on_told = on_told
        self._link: Link | None = None
        self._spoke_legacy = False
        self._unheard = 0.0
        """How many seconds it was asked for the modern protocol and said nothing."""
        self._last_words: Sequence[str] = ()

    @property
    def modern(self) -> bool:
        return self.protocol_version == MODERN

    @property
    def link(self) -> Link:
        """The link, made when it is first needed."""
        if self._link is None:
            try:
                self._link = self._connect(self.spec, self._on_told, self._gone)
            except ValueError as unusable:
                raise LinkDown(str(unusable), sent=False) from None
        return self._link

    def logs(self) -> Sequence[str]:
        """What it last wrote to its stderr, the process before this one included."""
        return () if self._link is None else (*self._last_words, *self._link.stderr_lines())

    @property
    def stray(self) -> int:
        """How many lines it wrote that are no messages."""
        return 0 if self._link is None else self._link.stray

    def _gone(self, why: str) -> None:
        self.lost = why
        self._on_lost(why)

    async def start(self) -> None:
        """Open the link and agree on an era; raises LinkDown, LinkTimeout or BadMessage."""
        link = self.link
        self._last_words = link.stderr_lines() or self._last_words
        await self._open()
        try:
            await self._negotiate()
        except (LinkDown, LinkTimeout, BadMessage):
            self._speak("")  # whoever agreed to nothing speaks nothing
            raise

    async def close(self) -> None:
        if self._link is not None:
            await self._link.close()

    def drop(self) -> None:
        """Let go of it at once, without a farewell."""
        if self._link is not None:
            self._link.drop()

    async def call(self, ask: Ask, seconds: float, listener: Listener | None = None) -> Answer:
        """Ask for something; the params go out exactly as given, with our envelope behind them."""
        asker = ask.asker if self.spec.per_caller else None
        can = _NOTHING if asker is None else asker.can
        separator = b"" if ask.params == b"{}" else b","
        params = ask.params[:-1] + self._envelope(separator, ask.log_level, can, ask.traceparent)
        began = asyncio.get_running_loop().time()
        name, mirrored = ask.name, ask.mirrored
        answer = await self.link.request(
            ask.method, params + b"}", seconds=seconds, name=name, mirrored=mirrored, listener=listener, asker=asker
        )
        if self.modern and wants_more(answer):

            async def send(more: bytes, left: float) -> Answer:
                return await self.link.request(
                    ask.method, params + more + b"}", seconds=left, name=name, mirrored=mirrored, listener=listener
                )

            left = began + seconds - asyncio.get_running_loop().time()
            answer = await Again(send, asker, self.spec.id).until_answered(answer, left)
        if answer.error is None and not answer.result.startswith(b"{"):
            raise BadMessage("a result is no JSON object")
        return answer

    @property
    def in_doubt(self) -> bool:
        """Whether what it asks could be about a call that was given up."""
        return self._link is not None and self._link.in_doubt

    async def hear(self) -> bool:
        """Hear what a legacy upstream says outside of any request, until that ends; whether there could be more."""
        try:
            return await self.link.hear()
        except (LinkDown, LinkTimeout, BadMessage):
            return True

    async def probe(self) -> None:
        """Ask for a sign of life: any answer will do. Raises what a request raises."""
        method = "server/discover" if self.modern else "ping"
        await self.link.request(method, self._params({}), seconds=self._pace.probe)

    async def list_tools(self) -> Listed:
        """All tools, in the order of the upstream."""
        return await self._list("tools/list", "tools", self._pace.listing)

    async def list_rest(self, seconds: float) -> dict[Kind, tuple[bytes, ...]]:
        """The JSON texts of everything else that it says it has; a list that is refused is empty."""
        wanted = [kind for kind in _LISTS if (self.can.prompts if kind is Kind.PROMPTS else self.can.resources)]
        deadline = asyncio.get_running_loop().time() + seconds
        listed: dict[Kind, tuple[bytes, ...]] = {}
        for kind in wanted:
            left = deadline - asyncio.get_running_loop().time()
            with contextlib.suppress(ListRefused):
                listed[kind] = (await self._list(_LISTS[kind], kind, left)).entries
        return listed

    async def _list(self, method: str, member: str, seconds: float) -> Listed:
        listed: list[bytes] = []
        size, cursor = 0, None
        deadline = asyncio.get_running_loop().time() + seconds
        for _ in range(MAX_PAGES):
            page = await self._page(method, member, cursor, deadline)
            listed += page.entries
            size += sum(map(len, page.entries))
            if not page.cursor:  # an empty one leads back to the beginning
                return Listed(tuple(listed[:MAX_LISTED]), more=len(listed) > MAX_LISTED)
            if page.cursor == cursor or size > MAX_LISTING or len(listed) > MAX_LISTED:
                break
            cursor = page.cursor
        return Listed(tuple(listed[:MAX_LISTED]), more=True)

    async def _page(self, method: str, member: str, cursor: str | None, deadline: float) -> Page:
        seconds = deadline - asyncio.get_running_loop().time()
        if seconds <= 0:
            raise LinkTimeout(f"{method} took too long")
        params = self._params({} if cursor is None else {"cursor": cursor})
        answer = await self.link.request(method, params, seconds=seconds)
        if answer.error is not None:
            if answer.error.code == _METHOD_NOT_FOUND:
                return Page()  # it has none of these
            raise ListRefused(f"{method} was refused: {answer.error.message}")
        return read_page(method, member, answer.result)

    # Agreeing on an era -----------------------------------------------------------------------------------------

    async def _open(self) -> None:
        await self.link.start()
        self.lost = ""

    async def _negotiate(self) -> None:
        # Whoever spoke the classic protocol the last time is not asked again: some do not answer what they do not
        # know, and then it takes long. If it has changed its mind, the attempt after this one finds out.
        asked_before, self._spoke_legacy, self._unheard = self._spoke_legacy, False, 0.0
        if not asked_before and await self._discovered(self._pace.discover):
            return
        try:
            await self._initialize()
            self._spoke_legacy = True
        except _SpeaksModern:  # it was not up yet when it was asked, and takes no handshake after that question
            if not await self._discovered(self._pace.handshake):
                raise

    async def _discovered(self, seconds: float) -> bool:
        self._speak(MODERN)
        try:
            answer = await self.link.request("server/discover", self._params({}), seconds=seconds)
        except LinkTimeout:
            self._unheard = seconds
            return False
        except (LinkDown, BadMessage) as failed:
            if isinstance(failed, LinkDown) and not failed.sent:
                raise
            # Some old servers die of a method that they do not know: the handshake needs a new one.
            await self._open()
            return False
        try:
            found = _DISCOVERED.decode(answer.result)
        except (msgspec.MsgspecError, RecursionError):  # an error, or an answer to something else
            return False
        self.can = read_abilities(found.capabilities)
        self.introduction = read_introduction(found.serverInfo or _info_in(found.meta), found.instructions)
        return MODERN in found.supportedVersions

    async def _initialize(self) -> None:
        self._speak("")
        # Where each caller has a session of its own, it may ask; what a client cannot answer is refused then.
        can = (ANYTHING if self.spec.per_caller else _NOTHING).as_capabilities()
        asked = {"protocolVersion": LEGACY, "capabilities": can, "clientInfo": _CLIENT}
        params = msgspec.json.encode(asked)
        try:
            answer = await self.link.request("initialize", params, seconds=self._pace.handshake)
        except LinkTimeout:
            raise self._unanswered() from None
        if answer.error is not None:
            refused = _SpeaksModern if MODERN in _supported(answer.error) else LinkDown
            raise refused(f"initialize was refused: {answer.error.message}", sent=True)
        said = _decoded(answer.result)
        version = said.get("protocolVersion")
        if not isinstance(version, str) or version not in LEGACY_KNOWN:
            raise LinkDown(f"it speaks protocol {version!r}, which we do not", sent=True)
        self._speak(version)
        self.can = read_abilities(said.get("capabilities"))
        self.introduction = read_introduction(said.get("serverInfo"), said.get("instructions"))
        await self.link.notify("notifications/initialized", b"{}")

    def _unanswered(self) -> LinkTimeout:
        waited = f"{self._unheard + self._pace.handshake:g} s"
        if self._unheard:
            return LinkTimeout(f"it answered neither server/discover nor initialize within {waited}")
        return LinkTimeout(f"it did not answer initialize within {waited}")

    def _speak(self, version: str) -> None:
        """Take up a protocol version; links that mirror it in headers are told."""
        self.protocol_version = version
        self.link.protocol_version, self.link.modern = version or None, version == MODERN

    # Messages ---------------------------------------------------------------------------------------------------

    def _params(self, params: dict[str, Any]) -> bytes:
        body = msgspec.json.encode(params)
        return b"{" + (body[1:-1] + self._envelope(b"," if len(body) > 2 else b"")) + b"}"

    def _envelope(
        self,
        separator: bytes,
        log_level: str | None = None,
        can: Answerable = _NOTHING,
        traceparent: str | None = None,
    ) -> bytes:
        """What the modern protocol wants in every request, as a member to append; for legacy nothing but the trace."""
        if traceparent is not None:
            said = _modern_meta(log_level, can)[:-1] + b"," if self.modern else b'"_meta":{'
            return separator + said + b'"traceparent":"%s"}' % traceparent.encode()
        return separator + _modern_meta(log_level, can) if self.modern else b""


@cache
def _modern_meta(log_level: str | None, can: Answerable) -> bytes:
    # The levels are a few fixed words by the time they get here, so this is kept some hundred times at most.
    asked = {} if log_level is None else {f"{_META}logLevel": log_level}
    capabilities = can.as_capabilities()
    said = {
        f"{_META}protocolVersion": MODERN,
        f"{_META}clientCapabilities": capabilities,
        f"{_META}clientInfo": _CLIENT,
    }
    return b'"_meta":' + msgspec.json.encode({**said, **asked})


class _Discovered(msgspec.Struct):
    """What matters of the answer to `server/discover`."""

    supportedVersions: list[Any]  # noqa: N815 (its name on the wire)
    capabilities: Any = None
    serverInfo: Any = None  # noqa: N815
    instructions: Any = None
    meta: Any = msgspec.field(default=None, name="_meta")


def _info_in(meta: object) -> object:
    return cast("dict[str, Any]", meta).get(f"{_META}serverInfo") if isinstance(meta, dict) else None


_DISCOVERED = msgspec.json.Decoder(_Discovered)


class _SpeaksModern(LinkDown):
    """The upstream refuses the classic handshake and says that it speaks the modern protocol."""


class _Supported(msgspec.Struct):
    supported: list[Any]


def _supported(error: RpcError) -> list[Any]:
    """The versions that an upstream says it speaks when it refuses another."""
    try:
        return msgspec.json.decode(error.data, type=_Supported).supported
    except (msgspec.MsgspecError, RecursionError):
        return []


_LISTS = {
    Kind.RESOURCES: "resources/list",
    Kind.TEMPLATES: "resources/templates/list",
    Kind.PROMPTS: "prompts/list",
}


class ListRefused(LinkDown):
    """The upstream answered a question for a list with an error."""

    def __init__(self, why: str) -> None:
        super().__init__(why, sent=True)


def _decoded(result: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(result)
    except (msgspec.MsgspecError, RecursionError):
        raise BadMessage("an answer is no JSON object") from None
    if not isinstance(value, dict):
        raise BadMessage("an answer is no JSON object")
    return cast("dict[str, Any]", value)
