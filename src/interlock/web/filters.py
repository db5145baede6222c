"""Which activities are meant: the same questions for listing, exporting and counting, understood in one place."""

from enum import StrEnum
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.lifecycle import CallState
from interlock.core.model import Micros, OperationType
from interlock.core.safety import Effect, SafetyClass
from interlock.store.protocol import ActivityFilter, ActivityType
from interlock.web import times
from interlock.web.problems import Refusal

_Word = TypeVar("_Word", bound=StrEnum)


class ActivityFilters(BaseModel):
    """Which activities are meant. `type` and `status` may be repeated or separated by commas."""

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


def filter_of(query: ActivityFilters, now: Micros) -> ActivityFilter:
    """The filter that a question means. Raises Refusal with the field that is wrong."""
    return ActivityFilter(
        types=words("type", query.type, ActivityType),
        statuses=words("status", query.status, CallState),
        server=query.server,
        tool=query.tool,
        caller=query.caller,
        session_id=query.session_id,
        intent_type=query.intent_type,
        safety_class=query.safety_class,
        verdict=query.verdict,
        since=_time("since", query.since, now),
        until=_time("until", query.until, now),
    )


def words(field: str, given: list[str], known: type[_Word]) -> tuple[_Word, ...]:
    """The words of a field that may be repeated or separated by commas. Raises Refusal with the words it takes."""
    split = [word.strip() for each in given for word in each.split(",")]
    by_word = {each.value: each for each in known}
    if any(word not in by_word for word in split):
        raise Refusal(errors.BAD_FIELDS(problems=f"{field}: each word must be one of {', '.join(by_word)}"))
    return tuple(by_word[word] for word in split)


def since_of(text: str, now: Micros) -> Micros:
    """The time that `since` means. Raises Refusal when it makes no sense, or has not come yet."""
    since = _time("since", text, now) or 0
    if since > now:
        raise Refusal(errors.BAD_FIELDS(problems="since: it must not be in the future"))
    return since


def _time(field: str, text: str | None, now: Micros) -> Micros | None:
    try:
        return None if text is None else times.past_of(text, now)
    except ValueError as bad:
        raise Refusal(errors.BAD_FIELDS(problems=f"{field}: {bad}")) from None
