"""The operator's word about tools: what changed since they were reviewed, trust in what they are now, and their class.

Trust can be bound to a fingerprint, so that what somebody looked at is what they trust: a server may list something
else between a look and a click. What is answered here counts already.
"""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.core.drift import Difference
from interlock.core.safety import SafetyClass
from interlock.errors import InterlockError
from interlock.receive.identify import Principal
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts, Who
from interlock.web.problems import Refusal
from interlock.web.servers import found_server
from interlock.web.tools import get_tool, missing_tool, server_id

_DIFF = "/diff"


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One field that differs. `path` is a JSON pointer; the side that does not exist is null."""

    path: str
    kind: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """How a tool differs from what was reviewed, or from nothing if nobody has reviewed it.

    `fingerprint` is of what is listed now. `complete` is false when more fields differ than are shown.
    """

    name: str
    standing: str
    fingerprint: str
    reviewed_fingerprint: str | None
    changes: list[ShownChange]
    complete: bool
    meanings: list["ShownMeaning"]


@dataclass(frozen=True, slots=True)
class ShownMeaning:
    """What a change means: `grade` is grave, notable or plain."""

    grade: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Trusted:
    """The tools that count as reviewed from now on and did not before."""

    trusted: list[str]


@dataclass(frozen=True, slots=True)
class Overridden:
    """The class that was set, null for none, and what the gateway makes of the tool now, if it is listed."""

    name: str
    override: str | None
    safety_class: str | None
    class_source: str | None


class WantedTrust(BaseModel):
    """Trust in a tool as it is listed now."""

    model_config = ConfigDict(extra="forbid", strict=True)

    fingerprint: str | None = Field(default=None, description="Refuse if the tool is listed with another one by now.")


class WholeServer(BaseModel):
    """Trust in everything that a server lists now: there is nothing to choose."""

    model_config = ConfigDict(extra="forbid")


class WantedOverride(BaseModel):
    """The class of a tool, whatever its evidence says; null lets the evidence speak again."""

    model_config = ConfigDict(extra="forbid")

    safety_class: SafetyClass | None


async def get_difference(server: str, tool: str, request: Request, here: Here) -> Response:
    """Show how a tool differs from what was reviewed."""
    if not request.scope.get("raw_path", b"").endswith(_DIFF.encode()):
        # The slash was written as %2F: it belongs to the name of a tool.
        return await get_tool(server, tool + _DIFF, here)
    book = here.pipeline.book
    server = server_id(book, server)
    found = await here.drift.difference(server, tool)
    if found is None:
        raise missing_tool(book, server, tool)
    return json_answer(_shown(f"{server}:{tool}", found))


async def trust_tool(server: str, tool: str, wanted: WantedTrust, here: Here, who: Who) -> Response:
    """Trust a tool as it is listed now."""
    server = server_id(here.pipeline.book, server)
    with _refusals():
        trusted = await here.drift.trust(server, tool, who.name, wanted.fingerprint)
    return json_answer(Trusted([f"{server}:{each}" for each in trusted]))


async def trust_server(server: str, wanted: WholeServer, here: Here, who: Who) -> Response:
    """Trust all tools of a server as they are listed now."""
    server = found_server(here.upstreams, server).id
    with _refusals():
        trusted = await here.drift.trust(server, None, who.name)
    return json_answer(Trusted([f"{server}:{each}" for each in trusted]))


async def override_tool(server: str, tool: str, wanted: WantedOverride, here: Here, who: Who) -> Response:
    """Set the class of a tool for good, or let its evidence speak again."""
    return json_answer(await overridden(server_id(here.pipeline.book, server), tool, wanted.safety_class, here, who))


async def overridden(
    server: str, tool: str, safety_class: SafetyClass | None, here: Parts, who: Principal
) -> Overridden:
    """Set the class of a tool, or unset it."""
    with _refusals():
        await here.drift.override(server, tool, safety_class, who.name)
    found = here.pipeline.book.find(server, tool)
    seen = (None, None) if found is None else (found.classification.gateway, found.classification.source)
    return Overridden(f"{server}:{tool}", safety_class, *seen)


@contextlib.contextmanager
def _refusals() -> Generator[None]:
    try:
        yield
    except InterlockError as refused:
        raise Refusal(refused.reason) from None


def _shown(name: str, found: Difference) -> ShownDifference:
    changes = [ShownChange(each.path, each.kind, each.before, each.after) for each in found.changes]
    meant = [ShownMeaning(each.grade, each.path, each.text) for each in found.meanings]
    return ShownDifference(name, found.standing, found.listed, found.reviewed, changes, found.complete, meant)
