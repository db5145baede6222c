"""`POST /rules/replay`: what the rules, or a candidate for them, would have said about the calls of the record.

Nothing is called and nothing is recorded: each call is brought back as it was and decided about once more, with the
class that its tool had then unless the candidate sets another. Calls that a gate refused before any rule was asked are
left out, because no rule changes them.

A record is long and calls come meanwhile. So it is read in slices, decided about in another thread, one replay at a
time, and only as many calls as anybody should wait for.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.decide import Facts, decide
from interlock.core.model import Micros
from interlock.core.policy import Draft
from interlock.errors import ConfigError
from interlock.store.protocol import Activity, ActivityFilter, Store
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.filters import since_of
from interlock.web.parts import Here, Parts
from interlock.web.past import CALLS, Past, past_of, reasons_of, ruled, was_ruled
from interlock.web.problems import Refusal
from interlock.web.rules import namespaces

MOST_CALLS = 50_000
"""The newest so many are replayed: a few seconds."""
MOST_SHOWN = 200
SLICE = 100
"""Calls that are read at once: few enough that whoever waits for the loop meanwhile hardly notices."""
MAX_CONFIG = 256 * 1024


@dataclass(frozen=True, slots=True)
class Said:
    """A verdict, what gave it, and why."""

    verdict: str
    rule_id: str | None
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class ChangedCall:
    """A call about which the candidate says something else. Not `exact` when something of its arguments is hidden."""

    activity_id: str
    at: str
    tool: str
    caller: str | None
    workspace_id: str | None
    safety_class: str | None
    exact: bool
    before: Said
    after: Said


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many calls were decided about once more, and what would change. `skipped` are those that no rule decided.

    `counts` has each change as `allow → hold`; `items` are the newest of the calls that change. Not `complete` when
    there are more calls than are replayed at once: then of the newest.
    """

    since: str
    calls: int
    skipped: int
    changed: int
    complete: bool
    counts: dict[str, int]
    items: list[ChangedCall]


class WantedReplay(BaseModel):
    """Which calls, and a candidate: the whole text of an interlock.yaml. Without one it is what is in force."""

    model_config = ConfigDict(extra="forbid", strict=True)

    since: str = Field(default="7d", max_length=100, description="ISO 8601, or how long ago: 15m, 2h, 7d.")
    config: str | None = Field(default=None, max_length=MAX_CONFIG)


async def replay_rules(wanted: WantedReplay, here: Here) -> Response:
    """Say what a candidate for the rules would have changed over the calls of the record. Calls nothing."""
    now = here.clock.now()
    since = since_of(wanted.since, now)
    draft = await _draft(wanted.config, here)
    async with here.replaying:
        return json_answer(await _replayed(here.store, draft, namespaces(here), since))


async def _draft(text: str | None, here: Parts) -> Draft:
    if text is None:
        return Draft(here.pipeline.policy)
    try:
        return await asyncio.to_thread(here.draft, text)
    except ConfigError as bad:
        raise Refusal(errors.CANDIDATE_UNFIT(problems="\n".join(bad.problems))) from None


@dataclass(slots=True)
class _Found:
    """What a replay has found so far."""

    calls: int = 0
    skipped: int = 0
    counts: Counter[str] = field(default_factory=Counter[str])
    items: list[ChangedCall] = field(default_factory=list[ChangedCall])


async def _replayed(store: Store, draft: Draft, known: Mapping[str, str], since: Micros) -> Replayed:
    found, cursor = _Found(), None
    servers = {**known, **draft.namespaces}
    for _ in range(MOST_CALLS // SLICE):
        page = await store.list_activities(ActivityFilter(CALLS, since=since, limit=SLICE, cursor=cursor))
        await asyncio.to_thread(_look, page.items, draft, servers, found)
        cursor = page.next
        if cursor is None:
            break
    changed = found.counts.total()
    counts = dict(found.counts.most_common())
    return Replayed(times.iso(since), found.calls, found.skipped, changed, cursor is None, counts, found.items)


def _look(activities: Sequence[Activity], draft: Draft, servers: Mapping[str, str], found: _Found) -> None:
    for activity in activities:
        past = past_of(activity) if was_ruled(activity) else None
        if past is None:
            found.skipped += 1
            continue
        found.calls += 1
        before, after = ruled(activity), _after(past, draft, servers)
        if after.verdict == before:
            continue
        found.counts[f"{before} → {after.verdict}"] += 1
        if len(found.items) < MOST_SHOWN:
            found.items.append(_changed(activity, past, Said(before, activity.rule_id, reasons_of(activity)), after))


def _after(past: Past, draft: Draft, servers: Mapping[str, str]) -> Said:
    call, policy = past.call, draft.policy
    override = draft.overrides.get(call.server, {}).get(call.tool)
    tool = past.known(servers.get(call.server, call.server), override)
    verdict = decide(Facts(call, tool, policy.rules, 0, policy.entry_for(call), policy.hold))
    return Said(verdict.effect, verdict.ground.id, [each.text for each in verdict.reasons])


def _changed(activity: Activity, past: Past, before: Said, after: Said) -> ChangedCall:
    return ChangedCall(
        activity_id=activity.id,
        at=times.iso(activity.at),
        tool=past.call.shown,
        caller=activity.caller,
        workspace_id=activity.workspace,
        safety_class=activity.safety_class,
        exact=past.exact,
        before=before,
        after=after,
    )
