"""Server-sent events, read as they come in, whatever the pieces are.

Lines end with CR, LF or both; data of several lines is joined with LF; a comment, an id, a retry hint and an event that
is no message are passed over. An event that is too long is refused before it is whole, and so is a stream of very many
lines: an upstream can fill neither the memory nor the time of the others.
"""

from collections.abc import Iterator

from interlock.forward.link import MAX_MESSAGE, BadMessage, TooLong

MAX_LINES = 100_000
"""The lines of a stream, blank ones and comments among them: ten for each notification that an exchange may have."""

_BOM = b"\xef\xbb\xbf"
_LONGEST_LINE = MAX_MESSAGE + 64
"""A message in one line, with the field name in front."""


class EventStream:
    """Turns pieces of a body into the data of its messages."""

    def __init__(self) -> None:
        self._lines = 0
        self._after_cr = False
        self._begun = bytearray()
        """The line that has not ended yet."""
        self._data = bytearray()
        """The data of the event that has not ended yet, with an LF after each line."""
        self._event = b""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Give every message that this piece completes."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]  # the CR at the end of the last piece has ended the line already
            self._after_cr = False
        if piece:
            self._after_cr = piece.endswith(b"\r")
        for part in piece.splitlines(keepends=True):
            if len(self._begun) + len(part) > _LONGEST_LINE:
                raise _too_long(bytes(self._begun[:4] or part[:4]))
            if not part.endswith((b"\n", b"\r")):
                self._begun += part
                return
            line = bytes(self._begun + part) if self._begun else part
            self._begun.clear()
            message = self._read(line.rstrip(b"\r\n"))
            if message:
                yield message

    def _read(self, line: bytes) -> bytes:
        """Take in a line; gives the message that it completes, or nothing."""
        self._lines += 1
        if self._lines == 1:
            line = line.removeprefix(_BOM)
        elif self._lines > MAX_LINES:
            raise BadMessage("an event stream has too many lines")
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data += value.removeprefix(b" ") + b"\n"
            if len(self._data) > MAX_MESSAGE + 1:
                raise _too_long(name)
        elif name == b"event":
            self._event = value.removeprefix(b" ")
        return b""

    def _dispatch(self) -> bytes:
        """The data of the event. It is empty when the event only tells an id to resume from: that is no message."""
        data, event = bytes(self._data[:-1]), self._event
        self._data.clear()
        self._event = b""
        return data if event in (b"", b"message") else b""


def _too_long(name: bytes) -> BadMessage:
    """What is wrong with an event that is too long: if it is data, it is an answer like any other, only too long."""
    if name == b"data":
        return TooLong(f"its answer is longer than {MAX_MESSAGE} bytes")
    return BadMessage("a line of an event stream is too long")
