"""Long lists in pages, with cursors that nobody can make but us.

A cursor says where the next page begins in one list, of one caller, as it was when the cursor was given: a list that
changed since would skip entries or show some twice, so its cursors are refused and the client begins again. Nothing is
kept for a client that never comes back.
"""

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

PAGE = 1_000
"""How many entries one answer has."""
_MAC = 16
_OFFSET = 4


class StaleCursor(Exception):
    """A cursor of another list, of this one as it was before, or of nobody."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, and the cursor of the next one."""

    begin: int
    end: int
    cursor: str | None = None


class Pages:
    """Cuts lists. A list is known by its owner (which list, and whose) and by the names in it."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def cut(self, owner: str, names: Sequence[str], cursor: str | None) -> Page:
        """The page that a cursor stands for, the first one without any; raises StaleCursor."""
        begin = 0 if cursor is None else self._offset(owner, names, cursor)
        end = min(begin + PAGE, len(names))
        return Page(begin, end, None if end == len(names) else self._cursor(owner, names, end))

    def _offset(self, owner: str, names: Sequence[str], cursor: str) -> int:
        try:
            raw = base64.b64decode(cursor, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise StaleCursor from None
        begin = int.from_bytes(raw[:_OFFSET])
        if not secrets.compare_digest(self._cursor(owner, names, begin).encode(), cursor.encode()):
            raise StaleCursor
        return begin

    def _cursor(self, owner: str, names: Sequence[str], begin: int) -> str:
        mac = hashlib.blake2b(key=self._key, digest_size=_MAC)
        offset = begin.to_bytes(_OFFSET)
        for part in (offset, owner.encode("utf-8", "surrogatepass"), *(name.encode() for name in names)):
            mac.update(len(part).to_bytes(8) + part)
        return base64.urlsafe_b64encode(offset + mac.digest()).decode("ascii")
