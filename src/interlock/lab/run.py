"""What a run of the lab amounts to, and the folder that keeps it.

A run is written as JSON for scripts, CI and the dashboard, so the names in here are its format: they may be added to,
never renamed. Arguments are kept redacted; what servers answered is kept only where a finding needs it as evidence.

This module refuses to make a folder or a file that others may read.
"""

import os
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from interlock.core.model import Json
from interlock.core.redact import KnownSecrets, redact
from interlock.core.safety import LabPolicy
from interlock.errors import ANSWER_TOO_LONG, OUT_OF_PROTOCOL, UPSTREAM_LOST, UPSTREAM_TIMEOUT
from interlock.lab.model import Finding, Observed
from interlock.lab.plan import Planned
from interlock.store.folder import RUNS

NOTHING_CLEANED_UP = (
    "Nothing is cleaned up afterwards: what these calls created, changed or sent is still there, and removing it is up "
    "to you."
)
REPORT = "report.json"
TIMEOUT = 10.0
"""How many seconds a call of the lab may take, unless somebody says otherwise."""


_LOST = (
    (UPSTREAM_TIMEOUT, "hang"),
    (UPSTREAM_LOST, "crash"),
    (OUT_OF_PROTOCOL, "protocol"),
    (ANSWER_TOO_LONG, "protocol"),
)
"""The sentences about a call that was sent and got no answer, and what a run calls each."""


class Knobs(Struct, frozen=True):
    """How far a run may go."""

    execute_destructive: bool = False
    strict: bool = False
    max_calls: int | None = None
    concurrency: int = 2
    call_delay: float = 0.1
    """Seconds between consecutive calls over HTTP."""
    timeout: float = TIMEOUT
    seed: int = 0

    @property
    def policy(self) -> LabPolicy:
        return LabPolicy(self.execute_destructive, self.strict)


class Called(Struct, frozen=True):
    """One call of a run. `kind`: valid, again, boundary, invalid or state (looked at to see what another changed)."""

    tool: str
    kind: str
    outcome: str
    milliseconds: float
    size: int = 0
    activity: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


class ShownPlan(Struct, frozen=True):
    """One line of a plan."""

    tool: str
    exec_class: str
    decision: str
    reason: str | None = None
    presumed_but_held: bool = False


class Run(Struct):
    """A whole run. `ended`: complete, interrupted or budget."""

    id: str
    verb: str
    target: str
    server: dict[str, Any]
    began: str
    seconds: float
    ended: str
    knobs: Knobs
    plan: list[ShownPlan]
    calls: list[Called]
    findings: list[Finding]
    notes: list[str]


def shown(planned: Planned) -> ShownPlan:
    """A line of a plan, as a report has it."""
    reason = None if planned.reason is None else f"{planned.reason.text} {planned.reason.fix}".strip()
    tool = planned.tool
    return ShownPlan(tool.name, tool.exec_class.value, planned.decision.value, reason, planned.presumed_but_held)


def outcome_of(observed: Observed) -> str:
    """What came of a call, in one word: ok, tool-error, rpc-error, refused, crash, hang or protocol."""
    if observed.result is not None:
        return "tool-error" if observed.result.get("isError") is True else "ok"
    if observed.error is not None:
        return "rpc-error"
    refusal = observed.refusal
    return next((word for message, word in _LOST if refusal is not None and message.made(refusal)), "refused")


def called(observed: Observed, kind: str) -> Called:
    """A call, as a report has it."""
    arguments = cast("dict[str, Any]", redact(cast("Json", observed.arguments)))
    return Called(
        observed.tool,
        kind,
        outcome_of(observed),
        round(observed.milliseconds, 1),
        observed.size,
        observed.activity,
        arguments,
    )


def without(run: Run, known: KnownSecrets) -> Run:
    """A run in which none of these secrets stands, wherever a server has repeated it."""
    text = msgspec.json.encode(run).decode()
    hidden = known.hide(text)
    return run if hidden == text else msgspec.json.decode(hidden, type=Run)


class RunFolder:
    """Where one run is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def make(cls, data: Path, run_id: str) -> "RunFolder":
        """The folder of a new run inside a data folder."""
        path = data / RUNS / run_id
        data.mkdir(0o700, parents=True, exist_ok=True)
        path.parent.mkdir(0o700, exist_ok=True)
        path.mkdir(0o700)
        return cls(path)

    @property
    def id(self) -> str:
        return self.path.name

    def keep(self, run: Run) -> Path:
        """Write the report as JSON; the file is whole or not there."""
        return self.write(REPORT, msgspec.json.format(msgspec.json.encode(run), indent=2))

    def write(self, name: str, content: bytes) -> Path:
        """Write a file of the run."""
        file, new = self.path / name, self.path / f"{name}.new"
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as opened:
            opened.write(content)
        new.replace(file)
        return file


def read_run(path: Path) -> Run:
    """A run that was kept; raises OSError or msgspec.MsgspecError."""
    return msgspec.json.decode((path / REPORT).read_bytes(), type=Run)
