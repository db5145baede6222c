"""The link to an upstream over HTTP: MCP's Streamable HTTP in both eras, on a bounded client of our own.

Every message is a POST of its own; its answer is one JSON text, or a stream of events that ends with the reply. Header
lines come from the configuration and from this module: there is no way in for those of an inbound request.

Refused: redirects, which could take our credentials elsewhere; cookies; resuming a broken stream, because a transport
cannot know whether a call may be repeated. What an upstream asks in the stream of a request goes to the asker of that
request; whatever else it asks is declined.
"""

import asyncio
import base64
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from itertools import count

from interlock.alarms import Alarms, Deadline
from interlock.core.questions import KINDS
from interlock.forward.envelope import (
    Question,
    cancelled_text,
    notification_text,
    reply_text,
    request_text,
    with_progress_token,
    withdrawn,
)
from interlock.forward.exchange import NO_STREAM, Acceptance, Exchange, Overhearing, Refused, SessionGone
from interlock.forward.http1 import field_line, is_field_value, parse_address
from interlock.forward.http_pool import Pool, Taker
from interlock.forward.link import (
    Answer,
    Asker,
    BadMessage,
    LinkDown,
    LinkTimeout,
    Listener,
    Mirrored,
    Notification,
    OnDown,
    nobody,
)
from interlock.forward.questions import Inquiries

MAX_CONNECTIONS = 256
ERRAND_CONNECTIONS = 8
LONGEST_KEPT = 200
"""Lines that repeat a longer name are made anew each time, so that what is remembered stays small."""
MAX_ERRANDS = 100
"""How many cancellations and replies may be under way; more than that are dropped."""
NOTIFY_SECONDS = 10.0
ERRAND_SECONDS = 5.0
FAREWELL_SECONDS = 2.0
HEAR_SECONDS = 24 * 3600.0
"""How long one stream for messages outside of any request is heard; then another one is opened."""

_INITIALIZE = "initialize"
_EVENTS = "text/event-stream"
_RESERVED = frozenset(
    {"host", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect"}
    | {"content-length", "content-type", "content-encoding", "accept", "accept-encoding"}
    | {"mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name"}
)
"""Headers that this module writes itself, or that would change how a message is framed."""
_POST_LINES = field_line("Content-Type", "application/json") + field_line(
    "Accept", "application/json, text/event-stream"
)


@cache
def default_tls() -> ssl.SSLContext:
    """The one TLS context of the process: reading the certificates of the system takes tens of milliseconds."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def header_text(text: str) -> str:
    """A text as the value of an MCP header: as it is when it can be, else in the protocol's base64 form."""
    looks_encoded = text.startswith("=?base64?") and text.endswith("?=")
    if is_field_value(text) and not looks_encoded:
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8')).decode('ascii')}?="


def mirrored_line(name: str, text: str) -> bytes:
    """The line that repeats something of the body; tools are few and are called again."""
    # The name of a resource is what an agent says it is, as long as a body may be.
    return _kept_line(name, text) if len(text) <= LONGEST_KEPT else field_line(name, header_text(text))


@lru_cache(maxsize=4096)
def _kept_line(name: str, text: str) -> bytes:
    return field_line(name, header_text(text))


def _configured(headers: Mapping[str, str]) -> bytes:
    """The lines of the configured headers; raises ValueError with a sentence that does not repeat a value."""
    lines = {"user-agent": field_line("User-Agent", "interlock")}  # some servers turn away who does not give one
    for name, value in headers.items():
        if name.lower() in _RESERVED:
            raise ValueError(f"header {name} cannot be configured: it is written by Interlock itself")
        lines[name.lower()] = field_line(name, value)
    return b"".join(lines.values())


class HttpLink:
    """A Link over Streamable HTTP; raises ValueError when the URL or a header cannot be used.

    The layer above sets `modern` and `protocol_version` when both sides have agreed on them.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        on_notification: Listener,
        on_down: OnDown = nobody,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        address = parse_address(url)
        context = (tls or default_tls()) if address.tls else None
        target = address.target.encode("ascii")
        lines = field_line("Host", address.authority) + field_line("Accept-Encoding", "identity")
        lines += _configured(headers)
        self.modern = False
        self.stray = 0  # what is no message is refused with the answer that it is in
        self._version: str | None = None
        self._version_line = b""
        self._origin = address.origin
        self._post_head = b"POST %s HTTP/1.1\r\n" % target + lines + _POST_LINES
        self._get_head = b"GET %s HTTP/1.1\r\n" % target + lines + field_line("Accept", _EVENTS)
        self._delete_head = b"DELETE %s HTTP/1.1\r\n" % target + lines
        self._heard = on_notification
        self._on_down = on_down
        self._session: str | None = None
        self._numbers = count(1)
        self._alarms = Alarms()
        self._deadlines: set[Deadline] = set()
        self._pool = Pool(address, context, limit=MAX_CONNECTIONS)
        # Errands have connections of their own: a call can be cancelled even when every other one is busy.
        self._errand_pool = Pool(address, context, limit=ERRAND_CONNECTIONS)
        self._errands: asyncio.TaskGroup | None = None
        """There while the link is open."""
        self._errands_under_way = 0

    @property
    def protocol_version(self) -> str | None:
        """What MCP-Protocol-Version says, if it is sent at all."""
        return self._version

    @protocol_version.setter
    def protocol_version(self, version: str | None) -> None:
        # It may be the upstream's own word: what would end the line is refused with ValueError.
        self._version_line = field_line("MCP-Protocol-Version", version) if version else b""
        self._version = version

    # Link -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open a connection, so that an upstream that is not there is known at once; raises LinkDown."""
        await self._pool.warm()
        if self._errands is None:
            self._errands = await asyncio.TaskGroup().__aenter__()

    async def request(
        self,
        method: str,
        params: bytes,
        *,
        seconds: float,
        name: str | None = None,
        mirrored: Mirrored = (),
        listener: Listener | None = None,
        asker: Asker | None = None,
    ) -> Answer:
        """Send a request and wait for its answer. LinkDown may be the more telling Refused or SessionGone."""
        number, modern = next(self._numbers), self.modern
        if listener is not None:
            params = with_progress_token(params, number)
        session = self._session_for(method)
        inquiries = None
        heard, asked = self._heard, self._decline
        if asker is not None and not modern:
            inquiries = Inquiries(asker, partial(self._run_errand, session=session, always=True))
            heard, asked = partial(self._heard_during, inquiries), partial(self._asked_during, inquiries)
        exchange = Exchange(self._origin, number, session, listener=listener, heard=heard, asked=asked)
        message = self._post(request_text(number, method, params), session, method, name, mirrored)
        try:
            carrying = self._carry(self._pool, message, exchange, seconds, inquiries)
            await (carrying if inquiries is None else inquiries.during(carrying))
        except (LinkTimeout, asyncio.CancelledError):
            # To a modern upstream the closed connection says it; a legacy one needs to be told.
            if exchange.sent and not modern and method != _INITIALIZE:
                self._run_errand(cancelled_text(number), session)
            raise
        except SessionGone as gone:
            # Requests of a session before this one may still come home.
            if session == self._session:
                self._on_down(gone.why)
            raise
        if method == _INITIALIZE and exchange.answer.error is None:
            # A session that is gone stays until here, so that every request in between hears that it is.
            self._session = exchange.new_session()
        return exchange.answer

    async def notify(self, method: str, params: bytes) -> None:
        """Send a notification; raises LinkDown, which may be Refused or SessionGone."""
        session = self._session_for(method)
        message = self._post(notification_text(method, params), session, method)
        try:
            await self._carry(self._pool, message, Acceptance(self._origin, session), NOTIFY_SECONDS)
        except (LinkTimeout, BadMessage) as failed:
            raise LinkDown(str(failed), sent=True) from None

    async def hear(self) -> bool:
        """The extra stream that legacy servers may offer for messages outside of any request."""
        if self.modern:
            return False
        session = self._session
        ends = b"\r\n" if session is None else field_line("Mcp-Session-Id", session) + b"\r\n"
        taker = Overhearing(self._origin, session, heard=self._heard, asked=self._decline)
        try:
            await self._carry(self._pool, self._get_head + self._version_line + ends, taker, HEAR_SECONDS)
        except Refused as refused:
            return refused.status not in NO_STREAM
        except SessionGone as gone:
            if session == self._session:
                self._on_down(gone.why)
            raise
        return True

    @property
    def in_doubt(self) -> bool:
        return False  # a question comes in the stream of its request

    def stderr_lines(self) -> Sequence[str]:
        return ()

    async def close(self) -> None:
        """Wake all who wait, end the session, and see every connection closed. The link can be started again."""
        errands, self._errands = self._errands, None
        for deadline in self._deadlines:
            deadline.expire()
        if self._session is not None:
            await self._end_session(self._session)
        if errands is not None:
            await errands.__aexit__(None, None, None)
        await self._pool.close()
        await self._errand_pool.close()

    def drop(self) -> None:
        """There is nothing to give up: no connection outlives its exchange by long, and those under way may end."""

    # Messages ---------------------------------------------------------------------------------------------------

    def _session_for(self, method: str) -> str | None:
        return None if self.modern or method == _INITIALIZE else self._session

    def _post(
        self,
        body: bytes,
        session: str | None,
        method: str | None = None,
        name: str | None = None,
        mirrored: Mirrored = (),
    ) -> bytes:
        lines = [self._post_head]
        if method != _INITIALIZE:
            lines.append(self._version_line)
        if session is not None:
            lines.append(field_line("Mcp-Session-Id", session))
        if self.modern and method is not None:
            lines.append(mirrored_line("Mcp-Method", method))
        if self.modern and name is not None:
            lines.append(mirrored_line("Mcp-Name", name))
        if self.modern and mirrored:
            lines += [field_line(header, header_text(value)) for header, value in mirrored]
        lines.append(b"Content-Length: %d\r\n\r\n" % len(body))
        lines.append(body)
        return b"".join(lines)

    async def _carry(
        self, pool: Pool, message: bytes, taker: Taker, seconds: float, inquiries: Inquiries | None = None
    ) -> None:
        """One exchange under a deadline, which `close` moves to now, and which stands still while somebody is asked."""
        if self._errands is None:
            raise LinkDown(f"the link to {self._origin} is not open", sent=False)
        deadline = self._alarms.deadline(seconds if inquiries is None else None)
        timer = None if inquiries is None else inquiries.begin(seconds, deadline.expire)
        self._deadlines.add(deadline)
        try:
            with deadline:
                await pool.exchange(message, taker)
        except TimeoutError:
            raise self._overdue(seconds, sent=taker.sent) from None
        finally:
            self._deadlines.discard(deadline)
            if timer is not None:
                timer.cancel()

    def _overdue(self, seconds: float, *, sent: bool) -> LinkDown | LinkTimeout:
        if self._errands is None:
            return LinkDown(f"the link to {self._origin} was closed", sent=sent)
        if not sent:
            return LinkDown(f"no connection to {self._origin} was free within {seconds:g} s", sent=False)
        return LinkTimeout(f"{self._origin} did not answer within {seconds:g} s")

    # Errands: nobody waits for them, and whether they succeed is of no matter -----------------------------------

    def _decline(self, question: Question, session: str | None) -> None:
        # Modern upstreams have no way to ask, and so there is no way to reply.
        if not self.modern:
            self._run_errand(reply_text(question), session)

    def _asked_during(self, inquiries: Inquiries, question: Question, session: str | None) -> None:
        if question.method in KINDS:
            inquiries.take(question)
        else:
            self._decline(question, session)

    def _heard_during(self, inquiries: Inquiries, told: Notification) -> None:
        question_id = withdrawn(told)
        if question_id is None:
            self._heard(told)
        else:
            inquiries.withdraw(question_id)

    def _run_errand(self, body: bytes, session: str | None, *, always: bool = False) -> None:
        """`always` is for what a person waits for; how often that is, is bounded where they are asked."""
        if self._errands is not None and (always or self._errands_under_way < MAX_ERRANDS):
            self._errands_under_way += 1
            self._errands.create_task(self._errand(body, session))

    async def _errand(self, body: bytes, session: str | None) -> None:
        try:
            with suppress(LinkDown, LinkTimeout, BadMessage):
                taker = Acceptance(self._origin, session)
                await self._carry(self._errand_pool, self._post(body, session), taker, ERRAND_SECONDS)
        finally:
            self._errands_under_way -= 1

    async def _end_session(self, session: str) -> None:
        self._session = None
        lines = (self._delete_head, self._version_line, field_line("Mcp-Session-Id", session), b"\r\n")
        with suppress(LinkDown, BadMessage, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._errand_pool.exchange(b"".join(lines), Acceptance(self._origin, session))
