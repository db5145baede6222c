"""Which trace a request belongs to: the one that its client names, or a new one.

MCP puts `traceparent` into `_meta` (the protocol reserves the name), and HTTP into a header: `_meta` comes first,
because a proxy on the way may have put a span of its own into the header, and what an agent says of its own work is
closer to the call. Neither is believed to say who calls: it is for display, like a session.

Made only where the operator wants traces; everybody else is spared the work.
"""

import secrets
from collections.abc import Mapping

from interlock.clock import Clock
from interlock.core.model import Json
from interlock.core.trace import Trace, read_parent

TRACEPARENT = "traceparent"


class Traced:
    """Says of each request which trace it belongs to. With `goes_on`, servers are told as well."""

    def __init__(self, clock: Clock, *, goes_on: bool) -> None:
        self._clock = clock
        self._goes_on = goes_on

    def __call__(self, meta: Json, headers: Mapping[str, str]) -> Trace:
        """The trace of a request that has just come."""
        told = meta.get(TRACEPARENT) if isinstance(meta, Mapping) else None
        parent = read_parent(told) or read_parent(headers.get(TRACEPARENT))
        now, span_id = self._clock.now(), secrets.token_hex(8)
        if parent is None:
            return Trace(secrets.token_hex(16), span_id, now, goes_on=self._goes_on)
        return Trace(parent.trace_id, span_id, now, parent.span_id, parent.sampled, self._goes_on)
