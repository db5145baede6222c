"""The record of what happened: listed, filtered, and one by one. Nothing here can change it."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, Micros, OperationType
from interlock.core.safety import Effect, SafetyClass
from interlock.store.protocol import Activity, ActivityFilter, ActivityType
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.parts import Here
from interlock.web.problems import Refusal

MAX_PAGE = 500
_SHOWN_AS = {"workspace": "workspace_id"}
_Word = TypeVar("_Word", bound=StrEnum)


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
    digest: str | None = None
    result: dict[str, Any] | None = None
    timings: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ActivityPage:
    """Activities, newest first. `next` is the cursor of the page that follows."""

    items: list[ShownActivity]
    next: str | None


class ActivityQuery(BaseModel):
    """What to list. `type` and `status` may be repeated or separated by commas."""

    model_config = ConfigDict(extra="forbid")

    type: list[str] = Field(default=[], description=f"Any of {', '.join(ActivityType)}.")
    status: list[str] = Field(default=[], description=f"Any of {', '.join(CallState)}.")
    server: str | None = None
    tool: str | None = None
    caller: str | None = None
    session_id: str | None = None
    intent_type: OperationType | None = None
    safety_class: SafetyClass | None = None
    verdict: Effect | None = None
    since: str | None = Field(default=None, description="ISO 8601, or how long ago: 15m, 2h, 7d.")
    until: str | None = Field(default=None, description="The same; what happened then is left out.")
    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(default=None, description="`next` of the page before.")


async def list_activities(query: Annotated[ActivityQuery, Query()], here: Here) -> Response:
    """List activities, newest first."""
    wanted = _filter(query, here.clock.now())
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
        _SHOWN_AS.get(each.name, each.name): getattr(activity, each.name)
        for each in fields(activity)
        if each.name != "body"
    }
    columns["at"] = times.iso(activity.at)
    return columns | {name: value for name, value in activity.body.items() if name not in columns}


def _filter(query: ActivityQuery, now: Micros) -> ActivityFilter:
    return ActivityFilter(
        types=_words("type", query.type, ActivityType),
        statuses=_words("status", query.status, CallState),
        server=query.server,
        tool=query.tool,
        caller=query.caller,
        session_id=query.session_id,
        intent_type=query.intent_type,
        safety_class=query.safety_class,
        verdict=query.verdict,
        since=_time("since", query.since, now),
        until=_time("until", query.until, now),
        limit=query.limit,
        cursor=query.cursor,
    )


def _words(field: str, given: list[str], known: type[_Word]) -> tuple[_Word, ...]:
    words = [word.strip() for each in given for word in each.split(",")]
    by_word = {each.value: each for each in known}
    if any(word not in by_word for word in words):
        raise Refusal(errors.BAD_FIELDS(problems=f"{field}: each word must be one of {', '.join(by_word)}"))
    return tuple(by_word[word] for word in words)


def _time(field: str, text: str | None, now: Micros) -> Micros | None:
    try:
        return None if text is None else times.past_of(text, now)
    except ValueError as bad:
        raise Refusal(errors.BAD_FIELDS(problems=f"{field}: {bad}")) from None
