"""`GET /tools/{server}/{tool}/history`: the definitions that a tool had, and what was done about each.

It is put together from the record of changes, which tells each new definition by the fields that differed from the
reviewed one. Older definitions are not kept whole, and the answer says so. What stands in them was written by the
server: it is shown as text, and believed in nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fastapi import Request, Response

from interlock.core.drift import Difference, Turn
from interlock.core.model import Json
from interlock.store.protocol import Activity, ActivityFilter, ActivityType
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts
from interlock.web.tools import get_tool, missing_tool, server_id

MOST_CHANGES = 500
BASELINE = "baseline"
NOTE = (
    "Only the reviewed definition and the one that is listed now are kept whole. Each other one is told by the fields "
    "that differed from what was reviewed at that time, and of a listing that changed many tools only some are told."
)
_HISTORY = "/history"
_SEEN = frozenset({Turn.APPEARED.value, Turn.CHANGED.value, Turn.RESTORED.value})


@dataclass(frozen=True, slots=True)
class PastField:
    """One field that differed, as text. The side that does not exist is null."""

    path: str
    kind: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class PastDefinition:
    """A definition. `how` it came: baseline, appeared, changed or restored.

    `changes` are the fields in which it differed from `compared_with`, and not `complete` when there were more.
    `trusted_by` is null while nobody has trusted it by name. `listed` and `reviewed` tell what it is now.
    """

    fingerprint: str | None
    how: str
    seen_at: str | None
    trusted_at: str | None = None
    trusted_by: str | None = None
    listed: bool = False
    reviewed: bool = False
    compared_with: str | None = None
    changes: list[PastField] = field(default_factory=list[PastField])
    complete: bool = True


@dataclass(frozen=True, slots=True)
class ToolHistory:
    """The definitions of a tool, newest first. Not `complete` when there are older ones than are looked at."""

    name: str
    items: list[PastDefinition]
    complete: bool
    note: str


async def get_tool_history(server: str, tool: str, request: Request, here: Here) -> Response:
    """Show the definitions that a tool had, and what was done about each."""
    if not request.scope.get("raw_path", b"").endswith(_HISTORY.encode()):
        # The slash was written as %2F: it belongs to the name of a tool.
        return await get_tool(server, tool + _HISTORY, here)
    book = here.pipeline.book
    server = server_id(book, server)
    now = await here.drift.difference(server, tool)
    wanted = ActivityFilter((ActivityType.TOOL_CHANGE,), server=server, tool=tool, limit=MOST_CHANGES)
    page = await here.store.list_activities(wanted)
    told = list(reversed(page.items))
    if now is None and not told:
        raise missing_tool(book, server, tool)
    complete = page.next is None
    first = await _first(server, told, now, here) if complete else []
    items = [_marked(each, now) for each in reversed(_definitions(first, told))]
    return json_answer(ToolHistory(f"{server}:{tool}", items, complete, NOTE))


async def _first(server: str, told: Sequence[Activity], now: Difference | None, here: Parts) -> list[PastDefinition]:
    """The definition that the first listing of the server had, if the tool was in it."""
    changes = [each for each in told if each.body.get("change") in _SEEN or each.body.get("change") == Turn.TRUSTED]
    # What was reviewed when the tool was first told of is nothing if it came later.
    found = changes[0].body.get("reviewed") if changes else None if now is None else now.listed
    began = await here.store.baseline_since(server)
    return [] if found is None else [PastDefinition(_text(found), BASELINE, times.iso_or_none(began))]


def _definitions(first: Sequence[PastDefinition], told: Sequence[Activity]) -> list[PastDefinition]:
    """The definitions in the order in which they were seen."""
    found = list(first)
    for each in told:
        change, fingerprint = each.body.get("change"), _text(each.body.get("fingerprint"))
        if change in _SEEN:
            found.append(_seen(str(change), each))
        elif change == Turn.TRUSTED:
            at = next((at for at in reversed(range(len(found))) if found[at].fingerprint == fingerprint), None)
            if at is None:
                found.append(_seen(str(change), each))
                at = -1
            found[at] = replace(found[at], trusted_at=times.iso(each.at), trusted_by=_text(each.body.get("by")))
    return found


def _seen(change: str, activity: Activity) -> PastDefinition:
    body = activity.body
    return PastDefinition(
        fingerprint=_text(body.get("fingerprint")),
        how=change,
        seen_at=times.iso(activity.at),
        compared_with=_text(body.get("reviewed")),
        changes=_fields(body.get("difference")),
        complete=body.get("more") is not True,
    )


def _fields(difference: Json) -> list[PastField]:
    fields: list[Json] = (
        list(difference) if isinstance(difference, Sequence) and not isinstance(difference, str) else []
    )
    return [
        PastField(str(each.get("path")), str(each.get("kind")), _text(each.get("before")), _text(each.get("after")))
        for each in fields
        if isinstance(each, Mapping)
    ]


def _marked(each: PastDefinition, now: Difference | None) -> PastDefinition:
    if now is None:
        return each
    return replace(each, listed=each.fingerprint == now.listed, reviewed=each.fingerprint == now.reviewed)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
