"""The plain questions of those who watch a process: does it live, is it ready, and its figures.

Beyond loopback there is no route without a token, not even for these. Whether the gateway lives and is ready is told
to whoever may call; what says more, the figures and `/readyz?verbose`, is for readers only.
"""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs

from starlette.types import Scope, Send

from interlock.errors import Reason
from interlock.receive.edge import Refused, nobody
from interlock.receive.exchange import send_json
from interlock.web.access import READERS
from interlock.web.answers import encoded
from interlock.web.parts import Parts
from interlock.web.readiness import is_ready, readiness

_METHODS = ("GET", "HEAD")
_MOST_QUERY = 1000


def is_probe(scope: Scope) -> bool:
    """Whether this is one of the plain questions."""
    return scope["path"] in _PROBES and scope["method"] in _METHODS


async def answer_probe(parts: Parts, scope: Scope, headers: Mapping[str, str], send: Send) -> None:
    """Answer a plain question. Raises Refused."""
    verbose = scope["path"] == "/readyz" and _asks_for("verbose", scope)
    found = await parts.callers.admit(headers.get("authorization"))
    if isinstance(found, Reason):
        raise nobody(found)
    if (verbose or scope["path"] == "/metrics") and not found.roles & READERS:
        raise Refused(403, "This is for tokens with the role admin, auditor or approver.")
    await (_readyz_verbose if verbose else _PROBES[scope["path"]])(parts, send)


def _asks_for(name: str, scope: Scope) -> bool:
    return name in parse_qs(scope["query_string"][:_MOST_QUERY].decode("latin-1"), keep_blank_values=True)


async def _livez(parts: Parts, send: Send) -> None:
    await send_json(send, 200, b'{"alive":true}')


async def _readyz(parts: Parts, send: Send) -> None:
    ready = is_ready(parts)
    await send_json(send, 200 if ready else 503, encoded({"ready": ready}))


async def _readyz_verbose(parts: Parts, send: Send) -> None:
    found = await readiness(parts)
    await send_json(send, 200 if found.ready else 503, encoded(found))


async def _metrics(parts: Parts, send: Send) -> None:
    body, kind = parts.metrics.text()
    headers = [(b"content-type", kind.encode("latin-1")), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_PROBES: Mapping[str, Callable[[Parts, Send], Awaitable[None]]] = {
    "/livez": _livez,
    "/readyz": _readyz,
    "/metrics": _metrics,
}
