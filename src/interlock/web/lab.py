"""`GET /lab/runs` and `GET /lab/runs/{id}`: what probes and scans found.

A report holds what servers said. It is answered as JSON and nothing else: the page of the dashboard shows it as text,
and the HTML report, which is a document of its own, is never served from the origin of the dashboard.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from fastapi import Response

from interlock import errors
from interlock.core.model import Json
from interlock.core.redact import KnownSecrets, redact
from interlock.lab.archive import Unreadable
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts
from interlock.web.problems import Refusal


@dataclass(frozen=True, slots=True)
class RunOutline:
    """A run in the list. `findings` counts them by severity: high, medium, low, info."""

    id: str
    verb: str
    target: str
    began: str
    seconds: float
    ended: str
    tools: int
    calls: int
    findings: dict[str, int]


@dataclass(frozen=True, slots=True)
class RunList:
    """The newest runs, the newest first. `total` counts all; `unreadable` those of the newest that are broken."""

    items: list[RunOutline]
    total: int
    unreadable: int


@dataclass(frozen=True, slots=True)
class RunKnobs:
    """How far the run might go. `call_delay` and `timeout` are seconds."""

    execute_destructive: bool
    strict: bool
    max_calls: int | None
    concurrency: int
    call_delay: float
    timeout: float
    seed: int


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What was decided about one tool. `reason` says why it was not called."""

    tool: str
    exec_class: str
    decision: str
    reason: str | None
    presumed_but_held: bool


@dataclass(frozen=True, slots=True)
class RunCall:
    """One call. `activity` is its id in the activity log."""

    tool: str
    kind: str
    outcome: str
    milliseconds: float
    size: int
    activity: str | None
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunFinding:
    """Something that whoever writes or uses the server should know, with what was seen."""

    code: str
    severity: str
    text: str
    tool: str | None
    fix: str
    evidence: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A whole run. `ended` is complete, interrupted or budget."""

    id: str
    verb: str
    target: str
    server: dict[str, Any]
    began: str
    seconds: float
    ended: str
    knobs: RunKnobs
    plan: list[RunPlan]
    calls: list[RunCall]
    findings: list[RunFinding]
    notes: list[str]


async def list_lab_runs(here: Here) -> Response:
    """List the newest runs of the lab."""
    return json_answer(await asyncio.to_thread(_listed, here))


async def get_lab_run(run_id: str, here: Here) -> Response:
    """Show one run of the lab."""
    shown = await asyncio.to_thread(_shown, here, run_id)
    if shown is None:
        raise Refusal(errors.NOT_FOUND(what=f"Run '{run_id[:100]}'", suggestion=""))
    return json_answer(shown)


# Both read files and look for secrets in what may be megabytes, so they are done beside the event loop.


def _listed(here: Parts) -> Json:
    kept = here.archive.newest()
    items = redact(cast("Json", msgspec.to_builtins(kept.runs)), KnownSecrets(here.hidden))
    return {"items": items, "total": kept.total, "unreadable": kept.unreadable}


def _shown(here: Parts, run_id: str) -> Json:
    try:
        run = here.archive.run(run_id)
    except Unreadable:
        return None
    return None if run is None else redact(cast("Json", msgspec.to_builtins(run)), KnownSecrets(here.hidden))
