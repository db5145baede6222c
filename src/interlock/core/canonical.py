"""One way to write JSON down, so that equal values have equal hashes.

Keys are sorted and no white space is kept. List order, number form and every character of a text count: a hash that
forgave more would also forgive an attack. Used for argument digests, tool fingerprints and the content hash of rules.
"""

import hashlib
import json
from collections.abc import Collection

from interlock.core.model import Json, JsonObject

RESERVED_ARGUMENTS = frozenset({"_justification", "_approval_id"})
"""Arguments that are ours: never forwarded, never part of what an approval is bound to."""


_write = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=True).encode
"""Made once: `json.dumps` would make a new encoder for every text."""


def canonical_text(value: Json) -> str:
    """The canonical JSON text of a value; lone surrogates are written as escapes, so it always encodes."""
    return _write(value)


def content_hash(value: Json) -> str:
    """SHA-256 of the canonical text, in hex."""
    return hashlib.sha256(canonical_text(value).encode("ascii")).hexdigest()


def argument_digest(arguments: JsonObject, reserved: Collection[str] = RESERVED_ARGUMENTS) -> str:
    """The digest that binds an approval to the arguments of a call."""
    return content_hash({key: value for key, value in arguments.items() if key not in reserved})
