"""One way to write JSON down, so that equal values have equal hashes.

Keys are sorted and no white space is kept. List order, number form and every character of a text count: a hash that
forgave more would also forgive an attack. Used for argument digests, tool fingerprints and the content hash of rules.
"""

import hashlib
import json
from collections.abc import Collection
from typing import cast

import msgspec

from interlock.core.model import Json, JsonObject

RESERVED_ARGUMENTS = frozenset({"_justification", "_approval_id"})
"""Arguments that are ours: never forwarded, never part of what an approval is bound to."""


_write = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=True).encode
"""Made once: `json.dumps` would make a new encoder for every text."""

_write_plain = msgspec.json.Encoder(order="sorted").encode
_PLAIN = frozenset({str, int, bool, type(None)})
"""What both encoders write in the same letters, if all of them are ASCII; numbers with a fraction are not."""


def canonical_text(value: Json) -> str:
    """The canonical JSON text of a value; lone surrogates are written as escapes, so it always encodes."""
    return _write(value)


def content_hash(value: Json) -> str:
    """SHA-256 of the canonical text, in hex."""
    return hashlib.sha256(_plain_text(value) or canonical_text(value).encode("ascii")).hexdigest()


def _plain_text(value: Json) -> bytes | None:
    """The canonical text of what most arguments are, a flat object of plain values, in a third of the time; None where
    it might be another one."""
    if type(value) is not dict or not _PLAIN.issuperset(map(type, cast("dict[str, Json]", value).values())):
        return None
    try:
        text = _write_plain(value)
    except (UnicodeEncodeError, OverflowError):  # half a letter, or a number of more than 64 bits
        return None
    return text if text.isascii() and b"\x7f" not in text else None


def argument_digest(arguments: JsonObject, reserved: Collection[str] = RESERVED_ARGUMENTS) -> str:
    """The digest that binds an approval to the arguments of a call."""
    return content_hash({key: value for key, value in arguments.items() if key not in reserved})
