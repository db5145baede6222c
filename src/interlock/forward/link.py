"""What a link to one upstream can do, whatever it runs over.

A link carries JSON-RPC messages and nothing else: it knows no tools, no policy and no protocol era. It gives every
request an id of its own, so that two callers who chose the same id never meet, and it bounds everything that comes
back, because what an upstream says is untrusted. Params and results travel as bytes: what was digested is what is sent,
and fields that we do not know survive.

INVARIANT: a link never sends a request twice unless it knows that not one byte of the first attempt left.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from interlock.core.questions import Answerable, Question

MAX_MESSAGE = 4 * 1024 * 1024
"""The longest message that is taken from an upstream, in bytes."""
LOG_MESSAGE = "notifications/message"


class LinkDown(Exception):
    """The upstream cannot be reached, or went away. `sent` says whether any byte of the request may have left."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.why = why
        self.sent = sent


class Stopped(Exception):
    """The call was stopped while it waited for its turn; nothing was sent. The message says what is stopped."""


class LinkTimeout(Exception):
    """The upstream did not answer in time; the request was sent and its effect is not known."""


class BadMessage(Exception):
    """The upstream sent something that is no message: too long, not UTF-8, not JSON, not JSON-RPC."""


class TooLong(BadMessage):
    """The upstream answered with more than is taken. That is no sign of trouble with anything else that it does."""


class RpcError(Struct, frozen=True):
    """A JSON-RPC error of the upstream; `data` is its JSON text, or empty."""

    code: int
    message: str
    data: bytes = b""


class Answer(Struct, frozen=True):
    """What came back for one request: the JSON text of the result, or an error."""

    result: bytes = b""
    error: RpcError | None = None


class Notification(Struct, frozen=True):
    """A message of the upstream that wants no answer; `params` is its JSON text, or empty."""

    method: str
    params: bytes = b""


Listener = Callable[[Notification], None]
Mirrored = Sequence[tuple[str, str]]
OnDown = Callable[[str], None]
"""Who is told, with the reason, that a link has to be started anew; also when it was closed on purpose."""


def nobody(why: str) -> None:
    """Whoever needs not be told."""


class Asker(Protocol):
    """Asks the client of one call."""

    @property
    def can(self) -> Answerable:
        """What the client can be asked."""
        ...

    @property
    def asked(self) -> Mapping[str, int]:
        """How often it was asked, by the kind of question; it grows as the call goes on."""
        ...

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, Answer]:
        """The answer to each question. When this is cancelled, the questions are withdrawn."""
        ...


class Link(Protocol):
    """A way to one upstream. All methods are called on the event loop that started it.

    The layer above sets `modern` and `protocol_version` when both sides have agreed; transports mirror them in headers.
    """

    modern: bool

    @property
    def protocol_version(self) -> str | None: ...

    @protocol_version.setter
    def protocol_version(self, version: str | None) -> None: ...

    @property
    def stray(self) -> int:
        """How many lines that are no messages came where only messages belong, since the link was made."""
        ...

    @property
    def in_doubt(self) -> bool:
        """Whether what an upstream asks could be about a request that was given up."""
        ...

    async def start(self) -> None:
        """Open the link; raises LinkDown when that fails."""
        ...

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
        """Send a request and wait for its answer, at most so many seconds.

        `params` is the JSON text of an object. `name` is the tool, prompt or resource it is about, for transports that
        mirror it in a header, and `mirrored` the headers in which they mirror arguments. `listener` gets the progress
        of this request: when it is given, the link adds a progress token of its own to `params._meta` and takes it out
        of what it reports. Where a request has a stream of its own, the listener gets the log messages in it too.
        `asker` gets what a legacy upstream asks because of this request; the seconds do not count meanwhile. Raises
        LinkDown, LinkTimeout or BadMessage. When the waiting task is cancelled, the upstream is told so.
        """
        ...

    async def notify(self, method: str, params: bytes) -> None:
        """Send a notification; raises LinkDown."""
        ...

    async def hear(self) -> bool:
        """Hear what the upstream says outside of any request, where that has a stream of its own, until it ends.

        Whether there could be more; False where there is no such stream. Raises LinkDown, LinkTimeout or BadMessage.
        """
        ...

    def stderr_lines(self) -> Sequence[str]:
        """The last lines that the upstream wrote to its stderr; none where there is no such thing."""
        ...

    async def close(self) -> None:
        """Let go of everything; requests that wait get LinkDown."""
        ...

    def drop(self) -> None:
        """Give up the other side at once, without a farewell; the link is in doubt and will be started anew."""
        ...
