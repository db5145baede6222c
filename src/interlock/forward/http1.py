"""HTTP/1.1 as bytes: where requests go, what a header line may be, and how an answer is read.

Nothing here opens a connection. Answers are untrusted: HTTP/1.0 or 1.1 only, no compression, no transfer coding but
chunked, and bounds on everything that is kept. What an answer means is not known here either.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from msgspec import Struct

from interlock.forward.link import BadMessage

MAX_HEAD = 64 * 1024
MAX_FIELDS = 100

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_FIELD_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


# What goes out --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Address:
    """Where requests go. `authority` is for the Host line; `origin` is for people."""

    host: str
    port: int
    tls: bool
    authority: str
    target: str

    @property
    def origin(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.authority}"


def parse_address(url: str) -> Address:
    """Take a URL apart; raises ValueError with a sentence that does not repeat the URL, which may hold secrets."""
    if not is_visible(url):
        raise ValueError("a URL must be plain ASCII without blanks; write other characters as %XX")
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS:
        raise ValueError("a URL must start with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL must not hold a user or password; use a header")
    host = parts.hostname or ""
    if not host or "%" in host:
        raise ValueError("a URL needs a host name or address, without a zone")
    default = _DEFAULT_PORTS[parts.scheme]
    port = default if parts.port is None else parts.port
    shown = f"[{host}]" if ":" in host else host
    return Address(
        host=host,
        port=port,
        tls=parts.scheme == "https",
        authority=shown if port == default else f"{shown}:{port}",
        target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )


def field_line(name: str, value: str) -> bytes:
    """One header line. Every line is written here, so nothing can end a line and begin another; raises ValueError."""
    if not _TOKEN.fullmatch(name):
        raise ValueError("a header name must be letters, digits and dashes")
    if not is_field_value(value):
        raise ValueError(f"the value of header {name} must be printable ASCII on one line, without blanks around it")
    return f"{name}: {value}\r\n".encode("ascii")


def is_field_value(text: str) -> bool:
    """Whether a text can be the value of a header line as it is."""
    return _FIELD_VALUE.fullmatch(text) is not None


def is_visible(text: str) -> bool:
    """Whether a text is ASCII without blanks and control characters, and not empty."""
    return _VISIBLE.fullmatch(text) is not None


# What comes in --------------------------------------------------------------------------------------------------


class Head(Struct, frozen=True):
    """The start of an answer. Names are in lower case; the values of a name that came twice are joined with a comma."""

    status: int
    fields: Mapping[bytes, bytes]

    def field(self, name: bytes) -> str:
        return self.fields.get(name, b"").decode("latin-1")


class AnswerParser:
    """Reads the answers that come over one connection, one after the other."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self.begin()

    def begin(self) -> None:
        """Expect the answer to the next request."""
        self.head: Head | None = None
        self.complete = False
        self.reusable = False
        """Whether another request may follow on the connection; known when the answer is complete."""
        self.problem = ""
        """Why the rest of the answer cannot be read, or nothing."""
        self._fields: dict[bytes, bytes] = {}
        self._count = self._size = 0
        self._dry = 0
        """Bytes since the last byte of a body: they are only framing, and there is no need for much of it."""
        self._pieces: list[bytes] = []

    @property
    def until_close(self) -> bool:
        """Whether the answer ends when the connection does, because nothing else says where it ends."""
        if self.head is None or self.complete:
            return False
        return self.head.fields.keys().isdisjoint((b"content-length", b"transfer-encoding"))

    def feed(self, data: bytes) -> bytes:
        """Read on; gives what is new of the body. What came before a `problem` still counts."""
        self._dry += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self.problem = "an answer wants to speak another protocol"
        except HttpParserError as error:
            self._stumble(error)
        if self._dry > MAX_HEAD:
            self.problem = "an answer has too long a head"
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _stumble(self, error: HttpParserError) -> None:
        if self.complete:
            self.reusable = False  # what follows a complete answer spoils the connection, but not the answer
        else:
            self.problem = self.problem or f"an answer is no HTTP: {error}"

    def _refuse(self, why: str) -> None:
        """Stop the parser: it ends with an error of its own when a callback raises."""
        self.problem = why
        raise BadMessage(why)

    # The names of the following are the parser's.

    def on_message_begin(self) -> None:
        if self.complete:
            raise BadMessage("an answer came that nobody asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count += 1
        self._size += len(name) + len(value) + 4
        if self._count > MAX_FIELDS or self._size > MAX_HEAD:
            self._refuse("an answer has too many or too long headers")
        key = name.lower()
        # What follows the body is counted and passed over: nothing that was said in the head can be changed by it.
        if self.head is None:
            self._fields[key] = self._fields[key] + b", " + value if key in self._fields else value

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._parser.get_http_version() not in ("1.0", "1.1") or status < 100:
            self._refuse("an answer is neither HTTP/1.1 nor HTTP/1.0")
        if self._fields.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            self._refuse("an answer has a transfer coding other than chunked")
        if self._fields.get(b"content-encoding", b"identity").lower() != b"identity":
            self._refuse("an answer is compressed, which was not asked for")
        if status >= 200:
            self.head = Head(status, self._fields)

    def on_body(self, body: bytes) -> None:
        self._dry = 0
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self.head is None:
            self._fields = {}  # "100 Continue" and its like: the answer is still to come
            return
        self.complete = True
        self.reusable = self._parser.should_keep_alive()
