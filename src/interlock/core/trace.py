"""Which trace a call belongs to, in the terms of the W3C's Trace Context.

A caller may say whose work its call is part of, and whoever watches a whole system wants to see ours in that place.
What it says is read strictly: an identifier that is none would end up in somebody else's records under our name.

This module refuses `tracestate` and `baggage`: they are free text of the caller's, and nothing here needs them.
"""

import re

import msgspec
from msgspec import Struct, structs

from interlock.core.model import Json, Micros

_TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")
_SAMPLED = 1


class Parent(Struct, frozen=True):
    """The span that a caller says its call is part of."""

    trace_id: str
    span_id: str
    sampled: bool


class Trace(Struct, frozen=True):
    """The span of one call: which trace it is in, its own id, and the one that it is part of, if any."""

    trace_id: str
    span_id: str
    received: Micros
    parent: str | None = None
    sampled: bool = True
    goes_on: bool = False
    """Whether the server that is called is told of it."""

    @property
    def traceparent(self) -> str:
        """What a server is told, so that its own spans are part of this one."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"

    def kept(self) -> dict[str, Json]:
        """As it stands in the record of the call."""
        return structs.asdict(self)


def read_parent(given: Json) -> Parent | None:
    """What a `traceparent` says; None for anything that is none."""
    found = _TRACEPARENT.fullmatch(given) if isinstance(given, str) else None
    return None if found is None else Parent(found[1], found[2], bool(int(found[3], 16) & _SAMPLED))


def read_kept(given: Json) -> Trace | None:
    """The trace in the record of a call; None where there is none."""
    return None if given is None else msgspec.convert(given, Trace)
