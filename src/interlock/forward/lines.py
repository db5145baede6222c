"""What a process writes, cut into lines, however it comes in pieces.

A line has a longest length, and it is refused before it is whole when it is longer; this module never keeps more than
that. It does not look into a line, but for the id in the beginning of one that is passed over.
"""

from collections import deque

from interlock.forward.link import MAX_MESSAGE
from interlock.forward.overlong import Overlong


class Lines:
    """Cuts what comes in into lines. Of a line that is too long, only the id of the request that it answers is kept."""

    def __init__(self) -> None:
        self._whole: deque[bytes] = deque()
        self._rest = bytearray()
        self.passing: Overlong | None = None
        """The line that was begun, if it is too long and is being passed over."""

    def feed(self, piece: bytes) -> bytes | None:
        """Take in a piece; the id of a request whose answer turned out to be too long. Raises BadMessage."""
        first, *others = piece.split(b"\n")
        # Only the line that was begun earlier can be too long: a piece is far smaller than a message may be.
        if self.passing is not None or len(self._rest) + len(first) > MAX_MESSAGE:
            return self._pass(first, others)
        if not others:
            self._rest += first
            return None
        if self._rest:
            self._rest += first
            first = bytes(self._rest)
        self._whole.append(first)
        self._begin(others)
        return None

    def _begin(self, others: list[bytes]) -> None:
        """Take in what follows a line: other whole ones, and one that is begun."""
        self._rest = bytearray(others.pop())
        self._whole.extend(others)

    def _pass(self, first: bytes, others: list[bytes]) -> bytes | None:
        """Pass over more of a line that is too long; the id, in the moment in which it becomes known."""
        overlong, known = self.passing, self.passing is not None and self.passing.id is not None
        if overlong is None:
            self.passing = overlong = Overlong(self._rest)
            self._rest = bytearray()
        overlong.go_on(first)
        if others:
            overlong.end()
            self.passing = None
            self._begin(others)
        return None if known else overlong.id

    def next(self) -> bytes | None:
        """The next whole line, without its end."""
        return self._whole.popleft() if self._whole else None

    def __bool__(self) -> bool:
        """Whether there is a whole line."""
        return bool(self._whole)
