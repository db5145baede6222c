"""The record of what happened: listed, filtered, and one by one. Nothing here can change it."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import Field

from interlock import errors
from interlock.core.model import Json
from interlock.store.protocol import Activity
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.filters import ActivityFilters, filter_of
from interlock.web.parts import Here
from interlock.web.problems import Refusal

MAX_PAGE = 500
_SHOWN_AS = {"workspace": "workspace_id"}


@dataclass(frozen=True, slots=True)
class ShownActivity:
    """One activity. What follows `approval_id` is there where it applies; more may follow."""

    id: str
    at: str
    type: str
    status: str
    server: str | None
    tool: str | None
    caller: str | None
    session_id: str | None
    workspace_id: str | None
    intent_type: str | None
    safety_class: str | None
    verdict: str | None
    rule_id: str | None
    approval_id: str | None
    entry: str | None = None
    request_id: str | None = None
    client: str | None = None
    model: str | None = None
    class_source: str | None = None
    reasons: list[dict[str, Any]] | None = None
    metadata: dict[str, Any] | None = None
    arguments: dict[str, Any] | None = None
    arguments_kept: bool | None = None
    digest: str | None = None
    result: dict[str, Any] | None = None
    timings: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ActivityPage:
    """Activities, newest first. `next` is the cursor of the page that follows."""

    items: list[ShownActivity]
    next: str | None


class ActivityQuery(ActivityFilters):
    """What to list. `type` and `status` may be repeated or separated by commas."""

    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(default=None, description="`next` of the page before.")


async def list_activities(query: Annotated[ActivityQuery, Query()], here: Here) -> Response:
    """List activities, newest first."""
    wanted = replace(filter_of(query, here.clock.now()), limit=query.limit, cursor=query.cursor)
    try:
        page = await here.store.list_activities(wanted)
    except ValueError as bad:
        raise Refusal(errors.BAD_FIELDS(problems=f"cursor: {bad}")) from None
    return json_answer({"items": [shown(each) for each in page.items], "next": page.next})


async def get_activity(activity_id: str, here: Here) -> Response:
    """Show one activity."""
    found = await here.store.get_activity(activity_id)
    if found is None:
        raise Refusal(errors.NOT_FOUND(what=f"Activity '{activity_id[:100]}'", suggestion=""))
    return json_answer(shown(found))


def shown(activity: Activity) -> dict[str, Json]:
    """An activity as it is shown: its columns, then everything of its body."""
    columns: dict[str, Json] = {
        _SHOWN_AS.get(name, name): getattr(activity, name) for name in activity.__struct_fields__ if name != "body"
    }
    columns["at"] = times.iso(activity.at)
    return columns | {name: value for name, value in activity.body.items() if name not in columns}
