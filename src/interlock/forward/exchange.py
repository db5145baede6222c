"""What the answer to a POST means: the reply to a request, the acceptance of a notification, or a refusal.

The pieces come from the connection as they arrive and are judged as they come. An exchange has one reply, with the id
of its request; anything else where the reply should be is a bad message. All counts are bounded: an upstream can be
slow, and it can say a lot, but it cannot go on for ever.
"""

from collections.abc import Callable

from interlock.forward.envelope import Question, Reply, own_progress, read_message
from interlock.forward.http1 import Head, is_visible
from interlock.forward.http_pool import BodyTaker
from interlock.forward.link import (
    LOG_MESSAGE,
    MAX_MESSAGE,
    Answer,
    BadMessage,
    LinkDown,
    Listener,
    Notification,
    TooLong,
)
from interlock.forward.sse import EventStream

MAX_NOTIFICATIONS = 10_000
"""How much an upstream may tell and ask during one request."""
MAX_STREAM = 16 * MAX_MESSAGE
"""The longest event stream, comments and all."""

NO_STREAM = (400, 404, 405, 406, 501)
"""The HTTP status of a server that has no stream for messages outside of requests."""
_JSON, _EVENTS = "application/json", "text/event-stream"
_SENTENCES = {
    401: "wants a credential, or another one (401); set the headers of this server in the configuration",
    403: "does not let us in (403); check the credential, and which hosts and origins the server accepts",
    404: "has nothing at this path (404); check the URL",
    405: "takes no POST at this path (405); check the URL",
}


class Refused(LinkDown):
    """The upstream answered with an HTTP status that is no success, and without a reply to the request."""

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why, sent=True)
        self.status = status


class SessionGone(LinkDown):
    """The upstream does not know the session any more, so it has not taken the request.

    `sent` is False although bytes have left: in the protocol, 404 for a session id means nothing but "start anew", so
    the request may be sent again after a new `initialize`. Until then every request to this session ends like this.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why, sent=False)


class Acceptance:
    """Takes the answer to a message that wants none: any success will do, and its body is of no interest."""

    def __init__(self, origin: str, session: str | None) -> None:
        self.sent = False
        self._session = session
        self._origin = origin

    def head(self, head: Head) -> None:
        if not _succeeded(head):
            raise refusal(self._origin, head.status, self._session)


class _Text:
    """Takes a body that is one text."""

    def __init__(self, whole: Callable[[bytes], None]) -> None:
        self._whole = whole
        self._body = bytearray()

    def take(self, piece: bytes) -> bool:
        if len(self._body) + len(piece) > MAX_MESSAGE:
            raise TooLong(f"its answer is longer than {MAX_MESSAGE} bytes")
        self._body += piece
        return False

    def end(self) -> None:
        self._whole(bytes(self._body))


class _Stream:
    """Takes a body that is a stream of events, until one of them ends it."""

    def __init__(self, origin: str, ended_by: Callable[[bytes], bool]) -> None:
        self._origin = origin
        self._ended_by = ended_by
        self._events = EventStream()
        self._size = 0

    def take(self, piece: bytes) -> bool:
        self._size += len(piece)
        if self._size > MAX_STREAM:
            raise BadMessage("an event stream is too long")
        return any(self._ended_by(text) for text in self._events.feed(piece))

    def end(self) -> None:
        raise LinkDown(f"{self._origin} ended the stream before it answered", sent=True)


class Exchange:
    """Takes the answer to one request. `heard` gets what is told meanwhile, `asked` what is asked in a session."""

    answer: Answer
    """There when the exchange ended well."""

    def __init__(
        self,
        origin: str,
        number: int,
        session: str | None,
        *,
        listener: Listener | None,
        heard: Listener,
        asked: Callable[[Question, str | None], None],
    ) -> None:
        self.sent = False
        self._session = session
        self._origin = origin
        self._number = number
        self._listener = listener
        self._heard = heard
        self._asked = asked
        self._head = Head(0, {})
        self._told = 0

    def new_session(self) -> str | None:
        """The session that the answer begins, if it does; raises BadMessage."""
        session = self._head.field(b"mcp-session-id")
        if session and not is_visible(session):
            raise BadMessage("a session id has characters that it must not have")
        return session or None

    def head(self, head: Head) -> BodyTaker:
        self._head = head
        kind = head.field(b"content-type").partition(";")[0].strip().lower()
        if not _succeeded(head):
            if kind != _JSON or _says_it_all(head.status, self._session):
                raise refusal(self._origin, head.status, self._session)
            return _Text(self._take_error)
        if kind == _EVENTS:
            return _Stream(self._origin, self._ended_by)
        if kind == _JSON:
            return _Text(self._take_reply)
        raise BadMessage(f"a request was answered with {head.status}, but neither with JSON nor with events")

    def _take_reply(self, text: bytes) -> None:
        message = read_message(text)
        if not isinstance(message, Reply):
            raise BadMessage("a request was answered with something that is no reply")
        self._settle(message)

    def _take_error(self, text: bytes) -> None:
        """With an HTTP status of failure, a reply counts only if it is an error, and ours."""
        refused = refusal(self._origin, self._head.status, self._session)
        try:
            self._take_reply(text)
        except BadMessage:
            raise refused from None
        if self.answer.error is None:
            raise refused

    def _ended_by(self, text: bytes) -> bool:
        message = read_message(text)
        if isinstance(message, Reply):
            self._settle(message)
            return True
        self._told += 1
        if self._told > MAX_NOTIFICATIONS:
            raise BadMessage("an upstream told or asked too much during one request")
        if isinstance(message, Question):
            self._asked(message, self._session)
        else:
            self._tell(message)
        return False

    def _settle(self, reply: Reply) -> None:
        if reply.id != b"%d" % self._number:
            raise BadMessage("a reply has the id of another request")
        self.answer = reply.answer

    def _tell(self, told: Notification) -> None:
        listener = self._listener
        # A log message in the stream of a request is about that request, and of no interest to anybody else.
        own = told if told.method == LOG_MESSAGE else own_progress(told, self._number) if listener is not None else None
        if own is None:
            self._heard(told)
        elif listener is not None:
            listener(own)


class Overhearing:
    """Takes the answer to a GET: a stream of what the upstream says outside of any request, until it ends."""

    def __init__(
        self, origin: str, session: str | None, *, heard: Listener, asked: Callable[[Question, str | None], None]
    ) -> None:
        self.sent = False
        self._session = session
        self._origin = origin
        self._heard = heard
        self._asked = asked
        self._told = 0

    def head(self, head: Head) -> BodyTaker:
        if not _succeeded(head):
            raise refusal(self._origin, head.status, self._session)
        if head.field(b"content-type").partition(";")[0].strip().lower() != _EVENTS:
            raise BadMessage("a stream was asked for and something else was sent")
        return _Stream(self._origin, self._take)

    def _take(self, text: bytes) -> bool:
        self._told += 1
        if self._told > MAX_NOTIFICATIONS:
            raise BadMessage("an upstream told or asked too much outside of requests")
        message = read_message(text)
        if isinstance(message, Question):
            self._asked(message, self._session)
        elif isinstance(message, Notification) and message.method != LOG_MESSAGE:
            self._heard(message)
        return False


def refusal(origin: str, status: int, session: str | None) -> LinkDown:
    """What to raise for a status that is no success."""
    if status == 404 and session is not None:
        return SessionGone(f"{origin} does not know the session any more (404)")
    if 300 <= status < 400:
        return Refused(f"{origin} redirects ({status}), which is not followed; put the final URL in its place", status)
    return Refused(f"{origin} {_SENTENCES.get(status, f'answered with HTTP status {status}')}", status)


def _succeeded(head: Head) -> bool:
    return 200 <= head.status < 300


def _says_it_all(status: int, session: str | None) -> bool:
    """Whether a status leaves nothing open that the body could answer."""
    return status < 400 or status in (401, 403) or (status == 404 and session is not None)
