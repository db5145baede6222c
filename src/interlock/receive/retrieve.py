"""retrieve_tools: what an agent asks for in words, and how to call what was found.

Of the tools that fit, an agent is told those that it could ever call; for the others it is as if they were not there.
The ranking is the index's business, the way in is the agent's.
"""

import asyncio
from typing import Any

from interlock import errors
from interlock.core.model import Caller, JsonObject
from interlock.core.rules import RuleBook
from interlock.core.toolbook import ListedTool, ToolBook, may_ever_call
from interlock.errors import Reason
from interlock.receive.search import Hit, ToolIndex

USAGE = (
    "Use call_tool_read for read-only operations, call_tool_write for modifications, call_tool_destructive for "
    "deletions. Intent must match tool variant."
)
MAX_FOUND, DEFAULT_FOUND = 100, 15


class Retriever:
    """Answers retrieve_tools over the tools as they are now."""

    def __init__(self) -> None:
        self._index = ToolIndex()
        self._book: ToolBook | None = None

    async def retrieve(
        self, params: JsonObject, caller: Caller, book: ToolBook, rules: RuleBook
    ) -> dict[str, Any] | Reason:
        """The tools that fit best, with how to call each; or what is wrong with the question."""
        query, limit = params.get("query"), params.get("limit", DEFAULT_FOUND)
        if not isinstance(query, str):
            return errors.BAD_REQUEST(problem="query is required", fix="Say in a few words what the tool should do.")
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_FOUND:
            return errors.BAD_REQUEST(problem=f"limit must be 1 to {MAX_FOUND}", fix="Leave it out for the default.")
        if book is not self._book:
            # Reading ten thousand tools takes most of a second, which nobody else should wait for.
            await asyncio.to_thread(self._index.update, book)
            self._book = book
        found = self._index.find(
            query, limit, lambda each: _passes(each, params) and may_ever_call(caller, each, rules)
        )
        return {
            "tools": [_shown(hit) for hit in found.hits],
            "total": found.total,
            "usage_instructions": USAGE,
        }


def _passes(each: ListedTool, params: JsonObject) -> bool:
    """The annotation filters: a missing hint counts as unsafe."""
    hints = each.tool.hints
    return (
        (params.get("read_only_only") is not True or hints.read_only is True)
        and (params.get("exclude_destructive") is not True or hints.destructive is False or hints.read_only is True)
        and (params.get("exclude_open_world") is not True or hints.open_world is False)
    )


def _shown(hit: Hit) -> dict[str, Any]:
    each = hit.tool
    return {
        "name": each.tool.shown,
        "description": each.descriptor.get("description", ""),
        "inputSchema": each.descriptor.get("inputSchema", {"type": "object"}),
        "score": hit.score,
        "server": each.tool.server,
        "annotations": each.descriptor.get("annotations", {}),
        "call_with": each.classification.call_with.value,
        "safety_class": each.classification.gateway.value,
        "class_source": each.classification.source.value,
    }
