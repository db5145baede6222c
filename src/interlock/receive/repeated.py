"""Whether the headers of a modern call say the same of its arguments as its body.

A tool may want some of its arguments repeated in headers, and what stands between us and the client may route by them.
So a call whose headers and body differ is refused, although we decide by the body alone and write the headers for the
server anew. A client over stdio has no headers; the bridge says so, and then nothing is missed. That is no proof and
needs none: whoever claims it falsely is spared a refusal and gains nothing.

A tool that the caller may not know is never looked at: the refusal would tell that it is there.
"""

from collections.abc import Sequence
from typing import TypeAlias

from mcp.shared.inbound import validate_mcp_param_headers
from starlette.datastructures import Headers

from interlock.core.mirrors import PREFIX
from interlock.core.model import Call, Variant
from interlock.core.toolbook import ToolBook, may_know
from interlock.receive.translate import OVER_STDIO

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
HEADER_MISMATCH = -32020


def mismatch(call: Call, book: ToolBook, headers: RawHeaders) -> str | None:
    """What differs; None when nothing does, or nothing has to be repeated."""
    listed = book.find(call.server, call.tool)
    if listed is None or not listed.mirrors or call.variant is not Variant.DIRECT:
        return None
    if not may_know(call.caller, listed) or _came_over_stdio(headers):
        return None
    given = Headers(raw=[(name, value.strip(b" \t")) for name, value in headers])
    rejected = validate_mcp_param_headers(listed.descriptor.get("inputSchema"), call.arguments, given)
    return None if rejected is None else rejected.message


def _came_over_stdio(headers: RawHeaders) -> bool:
    name, value = (each.encode("ascii") for each in OVER_STDIO)
    repeats = PREFIX.lower().encode("ascii")
    return (name, value) in headers and not any(each.startswith(repeats) for each, _ in headers)
