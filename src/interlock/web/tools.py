"""The tools of all servers as the gateway sees them: how each is classified, on what evidence, and what it says itself.

What a server wrote about its tools is shown as it came and believed in nothing; whoever shows it has to treat it as
text of a stranger.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.model import Json
from interlock.core.safety import SafetyClass
from interlock.core.toolbook import ListedTool, ToolBook, nearest
from interlock.web.answers import json_answer
from interlock.web.parts import Here
from interlock.web.problems import Refusal


@dataclass(frozen=True, slots=True)
class ShownFinding:
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool in a list. `safety_class` is the class that the gateway enforces."""

    name: str
    server: str
    namespace: str
    tool: str
    description: str
    safety_class: str
    class_source: str
    call_with: str
    annotations: dict[str, Any]
    standing: str
    fingerprint: str
    findings: list[ShownFinding]


@dataclass(frozen=True, slots=True)
class Views:
    """The four readings of the evidence: of run-tool, the lab, the call variants, and the gateway."""

    prefix: str
    exec: str
    intent: str
    gateway: str


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    source: str
    says: str
    detail: str
    decided: bool


@dataclass(frozen=True, slots=True)
class ToolDetail(ShownTool):
    """All that is known of one tool. `definition` is the descriptor as its server listed it, and `other_definitions` is
    what else it lists under this name."""

    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    views: Views
    evidence: list[ShownEvidence]
    definition: dict[str, Any]
    other_definitions: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ToolList:
    items: list[ShownTool]
    total: int


class ToolQuery(BaseModel):
    """What to list; all of it must fit."""

    model_config = ConfigDict(extra="forbid")

    server: str | None = Field(default=None, description="Id or namespace of a server.")
    safety_class: SafetyClass | None = None
    q: str | None = Field(default=None, max_length=200, description="Words of the name or the description.")


async def list_tools(query: Annotated[ToolQuery, Query()], here: Here) -> Response:
    """List tools."""
    book = here.pipeline.book
    # Servers stand in the book as they started; the list has an order that stays.
    by_server = sorted(book, key=lambda each: each.tool.server)
    found = [ShownTool(**_summary(each)) for each in by_server if _fits(each, query, book)]
    return json_answer(ToolList(found, len(found)))


async def get_tool(server: str, tool: str, here: Here) -> Response:
    """Show one tool, with the evidence behind its class."""
    return json_answer(_detail(found_tool(here.pipeline.book, server, tool)))


def found_tool(book: ToolBook, server: str, tool: str) -> ListedTool:
    """The tool of a server, which may be given by its id or its namespace."""
    found = book.find(server_id(book, server), tool)
    if found is None:
        raise missing_tool(book, server, tool)
    return found


def missing_tool(book: ToolBook, server: str, tool: str) -> Refusal:
    """The refusal of a tool that is not there, with the nearest that is."""
    name = f"{server}:{tool}"
    suggestion = nearest(name, [each.tool.shown for each in book])
    return Refusal(errors.NOT_FOUND(what=f"Tool '{name[:200]}'", suggestion=suggestion))


def server_id(book: ToolBook, server: str) -> str:
    """The id of a server that is named by its id or its namespace."""
    return book.servers_by_namespace.get(server, server)


def _fits(each: ListedTool, query: ToolQuery, book: ToolBook) -> bool:
    return (
        (query.server is None or each.tool.server == server_id(book, query.server))
        and (query.safety_class is None or each.classification.gateway is query.safety_class)
        and (query.q is None or _mentions(each, query.q))
    )


def _mentions(each: ListedTool, words: str) -> bool:
    text = f"{each.tool.shown} {_text(each.descriptor.get('description'))}".casefold()
    return all(word in text for word in words.casefold().split())


def _summary(each: ListedTool) -> dict[str, Any]:
    tool, classification = each.tool, each.classification
    return {
        "name": tool.shown,
        "server": tool.server,
        "namespace": tool.namespace,
        "tool": tool.name,
        "description": _text(each.descriptor.get("description")),
        "safety_class": classification.gateway,
        "class_source": classification.source,
        "call_with": classification.call_with,
        "annotations": _object(each.descriptor.get("annotations")) or {},
        "standing": tool.standing,
        "fingerprint": tool.fingerprint,
        "findings": _findings(each),
    }


def _findings(each: ListedTool) -> list[ShownFinding]:
    """What is odd about a tool, and its signs of poison; what both have seen is told once."""
    seen = [ShownFinding(one.code, one.text) for one in each.classification.findings]
    codes = {one.code for one in seen}
    return [*seen, *(ShownFinding(one.code, one.text) for one in each.signs if one.code not in codes)]


def _detail(each: ListedTool) -> ToolDetail:
    seen = each.classification
    return ToolDetail(
        **_summary(each),
        input_schema=_object(each.descriptor.get("inputSchema")) or {},
        output_schema=_object(each.descriptor.get("outputSchema")),
        views=Views(seen.prefix, seen.exec, seen.intent, seen.gateway),
        evidence=[ShownEvidence(one.source, one.says, one.detail, one.decided) for one in seen.evidence],
        definition=dict(each.descriptor),
        other_definitions=[dict(other) for other in each.others],
    )


# A server may write anything where a text or an object belongs; `definition` shows it as it is.


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _object(value: Json) -> dict[str, Any] | None:
    return dict(value) if isinstance(value, Mapping) else None
