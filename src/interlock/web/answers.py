"""The one place where an answer of REST becomes bytes.

Much of what is shown here was said by agents and upstreams. It is encoded without looking at it a second time: no
number passes through a float, and a text that is no valid Unicode is written with escapes instead of failing.
"""

import msgspec
from fastapi import Response

from interlock.core.canonical import canonical_text

JSON = "application/json"


def json_answer(value: object, status: int = 200) -> Response:
    """An answer whose body is this value: plain JSON, dataclasses, or both in each other."""
    return Response(encoded(value), status, media_type=JSON)


def encoded(value: object) -> bytes:
    """A value as JSON."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return canonical_text(msgspec.to_builtins(value)).encode("ascii")
