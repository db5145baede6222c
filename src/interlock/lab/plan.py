"""What the lab will do with each tool, decided before anything is called.

A plan is made once, from what a server lists and from the policy of the run, so that it can be shown to a person before
the first call and held against what was sent after the last one. The same table decides again in the pipeline for every
call; a plan only keeps the lab from asking for what it would be refused.

This module refuses to call anything, and to guess: a tool that is not in the plan is not called.
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from interlock import errors
from interlock.core.safety import POSTURES, Effect, ExecClass, LabPolicy, Posture, lab_flag_needed
from interlock.errors import Reason
from interlock.lab.model import LabTool


class Decision(StrEnum):
    """What happens to one tool in a run."""

    EXECUTE = "Execute"
    EXECUTE_ONCE = "ExecuteOnce"
    GENERATE_ONLY = "GenerateOnly"
    REFUSE = "Refuse"

    @property
    def calls(self) -> bool:
        """Whether the tool is called at all."""
        return self in (Decision.EXECUTE, Decision.EXECUTE_ONCE)


_WHERE_ALLOWED = {
    ExecClass.READ_ONLY: Decision.EXECUTE,
    ExecClass.READ_ONLY_PRESUMED: Decision.EXECUTE,
    ExecClass.MUTATING: Decision.EXECUTE_ONCE,
    ExecClass.DESTRUCTIVE: Decision.EXECUTE_ONCE,
}


class Planned(Struct, frozen=True):
    """One tool and what happens to it. What is not called has a reason."""

    tool: LabTool
    decision: Decision
    reason: Reason | None = None
    presumed_but_held: bool = False
    """The lab presumes that it only reads, and the gateway, in its usual posture, would ask somebody first."""


def plan(tools: Sequence[LabTool], policy: LabPolicy, *, live: bool) -> tuple[Planned, ...]:
    """The plan for some tools. `live` is for work that needs a real call; the rest can write a test instead."""
    return tuple(_planned(tool, policy, live=live) for tool in tools)


def _planned(tool: LabTool, policy: LabPolicy, *, live: bool) -> Planned:
    presumed = tool.exec_class is ExecClass.READ_ONLY_PRESUMED
    held = POSTURES[Posture.GUARDED][tool.gateway_class] is not Effect.ALLOW
    reason = _reason(tool, policy)
    if reason is None:
        return Planned(tool, _WHERE_ALLOWED[tool.exec_class], None, presumed and held)
    return Planned(tool, Decision.REFUSE if live else Decision.GENERATE_ONLY, reason, presumed and held)


def _reason(tool: LabTool, policy: LabPolicy) -> Reason | None:
    """Why a tool is not called; None where it is."""
    if any(each != tool.descriptor for each in tool.others):
        return errors.LISTED_TWICE(tool=tool.name)
    if tool.needs_task:
        return errors.NEEDS_TASK(tool=tool.name)
    flag = lab_flag_needed(tool.exec_class, policy)
    return None if flag is None else errors.BLOCKED_BY_LAB(tool=tool.name, exec_class=tool.exec_class.value, flag=flag)
