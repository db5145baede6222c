"""The outermost layer of the HTTP face: what is checked before anything else sees a request.

Host and Origin first, before a byte of the body is read, because a web page that the operator happens to visit can send
requests to this machine. Then the size and the pace of the body, then who is calling. Each refusal is a plain HTTP
answer; none of it reaches the lane, the SDK or the record.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import Receive, Scope, Send

from interlock.alarms import Alarms
from interlock.errors import ANSWERS, Code, Reason
from interlock.receive.exchange import Whole, send_json

READ_SECONDS = 30.0
MAX_BODY = 4 * 1024 * 1024


class Refused(Exception):
    """A request that is refused at the edge."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


def nobody(reason: Reason) -> Refused:
    """The refusal of a request that nobody we know is behind, or nobody who may do anything."""
    return Refused(ANSWERS[reason.code or Code.UNAUTHENTICATED].http, f"{reason.text} {reason.fix}")


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers by lower-case name; of several with one name the last, but see `only_once`.

    White space around a value is no part of it, and the server leaves what stands behind.
    """
    return {name.decode("latin-1"): value.decode("latin-1").strip(" \t") for name, value in scope["headers"]}


def only_once(scope: Scope, names: Iterable[str]) -> None:
    """Refuse a request in which a header that means something stands twice: two readers might take different ones."""
    seen = [name for name, _ in scope["headers"]]
    if len(set(seen)) == len(seen):
        return
    for name in names:
        if seen.count(name.encode("latin-1")) > 1:
            raise Refused(400, f"The header {name} stands twice.")


class Edge:
    """Checks of one listening address. `hosts` None serves any name: only where a token is needed on every route."""

    def __init__(self, hosts: Iterable[str] | None, origins: Iterable[str] = (), max_body: int = MAX_BODY) -> None:
        self._hosts = None if hosts is None else frozenset(hosts)
        self._origins = frozenset(origins)
        self._max_body = max_body
        self._alarms = Alarms()

    def check(self, scope: Scope) -> dict[str, str]:
        """Check Host and Origin and return the headers, or raise Refused."""
        headers = headers_of(scope)
        if len(headers) < len(scope["headers"]):  # else no name stands twice
            only_once(scope, ("host", "origin", "authorization", "content-length", "mcp-session-id"))
        host = headers.get("host", "").lower()  # names of hosts are the same in any case
        if not host or (self._hosts is not None and host not in self._hosts):
            raise Refused(421, "This host name is not served here.")
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and not self._is_own(origin, host):
            raise Refused(403, "Requests from this origin are not accepted.")
        return headers

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc in (self._hosts or (host,))

    async def body(self, headers: dict[str, str], receive: Receive, whole: Whole | None = None) -> bytes:
        """The whole body, or Refused when it is too long or too slow. It may be that all of it has arrived."""
        declared = headers.get("content-length", "0")
        if not declared.isascii() or not declared.isdecimal() or len(declared) > 12:
            raise Refused(400, "The Content-Length is not a number.")
        if int(declared) > self._max_body:
            raise self._too_long()
        if whole is not None:
            return self._fitting(whole.body())
        try:
            with self._alarms.deadline(READ_SECONDS):
                return await self._read(receive)
        except TimeoutError:
            raise Refused(408, f"The body did not arrive within {READ_SECONDS:.0f} seconds.") from None

    async def _read(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        length = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "The client went away.")
            part: bytes = message.get("body", b"")
            length += len(part)
            if length > self._max_body:
                raise self._too_long()
            parts.append(part)
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)

    def _fitting(self, body: bytes) -> bytes:
        if len(body) > self._max_body:
            raise self._too_long()
        return body

    def _too_long(self) -> Refused:
        return Refused(413, f"The body is longer than {self._max_body} bytes.")


LOOPBACK = ("127.0.0.1", "localhost", "::1")


def own_hosts(host: str, port: int) -> tuple[str, ...] | None:
    """The Host values under which a loopback address is reached; None, which is any, for other addresses.

    A web page can make a browser send requests to this machine under a name of its own. What it cannot send is a
    token, and beyond loopback there is no route without one, so names need not be known there.
    """
    if host not in LOOPBACK:
        return None
    names = ("127.0.0.1", "localhost", "[::1]")
    return tuple(f"{name}:{port}" for name in names) + (names if port in (80, 443) else ())


_CHALLENGE = ((b"www-authenticate", b"Bearer"),)


async def send_refusal(send: Send, refused: Refused) -> None:
    """A refusal of the edge as an HTTP answer."""
    text = refused.why.replace('"', "'")
    headers = _CHALLENGE if refused.status == 401 else ()
    await send_json(send, refused.status, f'{{"error":"{text}"}}'.encode(), headers)
