"""A line of an upstream that is too long to be taken, while it passes by.

An answer that is too long is no reason to lose everybody else's: it is passed over, a piece at a time and without being
kept, and only the call that it answers fails. For that the line must begin as an answer does; its id stands right
there, or in the very last bytes, as some servers write it. Both are read by sight and not by parsing, so anything
unusual is refused, and so is a line that goes on for too long.
"""

import re

from interlock.forward.link import MAX_MESSAGE, BadMessage

MAX_PASSED = 256 * 1024 * 1024
"""How long a line may be that is passed over; whoever writes a longer one is done with."""

_ENDS = 256
"""How much of the beginning and of the end of a line is looked at."""
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID = rb'"id"\s*:\s*(?P<id>\d{1,18})'
_OUTCOME = rb'"(?:result|error)"\s*:'
_ID_FIRST = re.compile(rb"\s*\{\s*(?:%b\s*,\s*)?%b\s*,\s*(?:%b\s*,\s*)?%b" % (_VERSION, _ID, _VERSION, _OUTCOME))
_OUTCOME_FIRST = re.compile(rb"\s*\{\s*(?:%b\s*,\s*)?%b" % (_VERSION, _OUTCOME))
# The last brace of a message closes the message itself, and a bare number before it cannot be inside of a text.
_ID_LAST = re.compile(rb",\s*%b\s*(?:,\s*%b\s*)?\}\s*\Z" % (_ID, _VERSION))


class Overlong:
    """One such line. `id` is the JSON text of the request that it answers, once that is known."""

    def __init__(self, begun: bytes | bytearray) -> None:
        """Begin with what there is of it; raises BadMessage when it does not look like an answer."""
        head = bytes(begun[:_ENDS])
        found = _ID_FIRST.match(head)
        if found is None and _OUTCOME_FIRST.match(head) is None:
            raise BadMessage(f"a line is longer than {MAX_MESSAGE} bytes")
        self.id = None if found is None else found["id"]
        self._passed = len(begun)
        self._tail = bytes(begun[-_ENDS:])

    def go_on(self, piece: bytes) -> None:
        """Let more of it pass; raises BadMessage."""
        self._passed += len(piece)
        if self._passed > MAX_PASSED:
            raise BadMessage(f"a line is longer than {MAX_PASSED} bytes")
        self._tail = (self._tail + piece[-_ENDS:])[-_ENDS:]

    def end(self) -> None:
        """It is over: the id is known by now, or nobody can tell whom it concerns. Raises BadMessage."""
        if self.id is None:
            found = _ID_LAST.search(self._tail)
            if found is None:
                raise BadMessage(f"a line is longer than {MAX_MESSAGE} bytes")
            self.id = found["id"]
