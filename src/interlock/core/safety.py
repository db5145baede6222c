"""Safety classes, effects, and the tables that lead from one to the other.

A class says how much harm a tool can do; an effect says what happens to a call. The two are kept apart because the
same class meets different tables: the gateway's postures, the flags of `run-tool`, the policy of the lab. Each table
is written out in full so that it can be read against the promise made to users.

INVARIANT: `unknown` is the strictest class. In the posture `strict` an unknown tool is denied where a dangerous one is
only held, so evidence of danger must never turn `unknown` into `dangerous`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class SafetyClass(StrEnum):
    """What a tool can do, weakest first; the order of definition is the order of strictness."""

    READ_ONLY = "read-only"
    WRITE_CAPABLE = "write-capable"
    SUBPROCESS = "subprocess"
    DANGEROUS = "dangerous"
    UNKNOWN = "unknown"

    @property
    def rank(self) -> int:
        return _CLASS_RANK[self]


_CLASS_RANK: dict[SafetyClass, int] = {each: rank for rank, each in enumerate(SafetyClass)}


def strictest(classes: Iterable[SafetyClass]) -> SafetyClass:
    """The strictest of some classes; of none, read-only, because nothing speaks against it."""
    return max(classes, key=lambda each: each.rank, default=SafetyClass.READ_ONLY)


class ExecClass(StrEnum):
    """The lab's classes. Declared and presumed read-only stay distinct: one is the server's word, one is our guess."""

    READ_ONLY = "ReadOnly"
    READ_ONLY_PRESUMED = "ReadOnlyPresumed"
    MUTATING = "Mutating"
    DESTRUCTIVE = "Destructive"


class Effect(StrEnum):
    """What happens to a call, loosest first."""

    ALLOW = "allow"
    HOLD = "hold"
    DENY = "deny"

    @property
    def rank(self) -> int:
        return _EFFECT_RANK[self]


_EFFECT_RANK: dict[Effect, int] = {each: rank for rank, each in enumerate(Effect)}


class Posture(StrEnum):
    """What happens when no rule decides; loosest first."""

    OBSERVE = "observe"
    OPEN = "open"
    GUARDED = "guarded"
    STRICT = "strict"


_ALL_ALLOWED = dict.fromkeys(SafetyClass, Effect.ALLOW)

POSTURES: Mapping[Posture, Mapping[SafetyClass, Effect]] = {
    Posture.OBSERVE: _ALL_ALLOWED,
    Posture.OPEN: _ALL_ALLOWED,
    Posture.GUARDED: {
        SafetyClass.READ_ONLY: Effect.ALLOW,
        SafetyClass.WRITE_CAPABLE: Effect.ALLOW,
        SafetyClass.SUBPROCESS: Effect.HOLD,
        SafetyClass.DANGEROUS: Effect.HOLD,
        SafetyClass.UNKNOWN: Effect.HOLD,
    },
    Posture.STRICT: {
        SafetyClass.READ_ONLY: Effect.ALLOW,
        SafetyClass.WRITE_CAPABLE: Effect.HOLD,
        SafetyClass.SUBPROCESS: Effect.HOLD,
        SafetyClass.DANGEROUS: Effect.HOLD,
        SafetyClass.UNKNOWN: Effect.DENY,
    },
}


def effective_posture(everywhere: Posture, workspace: Posture | None, server: Posture | None) -> Posture:
    """A workspace's or server's own posture replaces the global one; where both have one, the stricter counts."""
    order = tuple(Posture)
    own = [each for each in (workspace, server) if each is not None]
    return max(own, key=order.index) if own else everywhere


@dataclass(frozen=True, slots=True)
class RunToolFlags:
    """The two keys of `run-tool`; `--dangerous` implies `--approve`."""

    approve: bool = False
    dangerous: bool = False


RUN_TOOL_FLAGS: Mapping[SafetyClass, str | None] = {
    SafetyClass.READ_ONLY: None,
    SafetyClass.WRITE_CAPABLE: "--approve",
    SafetyClass.SUBPROCESS: "--approve",
    SafetyClass.DANGEROUS: "--dangerous",
    SafetyClass.UNKNOWN: "",
}
"""The flag that lets `run-tool` run a class of the prefix view; the empty text where no flag does."""


def run_tool_flag_needed(safety_class: SafetyClass, flags: RunToolFlags) -> str | None:
    """The flag that is still missing; None when the tool may run, the empty text where no flag helps."""
    given = {None: True, "--approve": flags.approve or flags.dangerous, "--dangerous": flags.dangerous, "": False}
    needed = RUN_TOOL_FLAGS[safety_class]
    return None if given[needed] else needed


@dataclass(frozen=True, slots=True)
class LabPolicy:
    """What the lab may call live."""

    execute_destructive: bool = False
    strict: bool = False


def lab_flag_needed(exec_class: ExecClass, policy: LabPolicy) -> str | None:
    """What would have to change before the lab calls a tool of this class; None when it may."""
    if exec_class is ExecClass.READ_ONLY_PRESUMED and policy.strict:
        return "Leave --strict out to call tools presumed read-only."
    if exec_class is ExecClass.DESTRUCTIVE and not policy.execute_destructive:
        return "Add --execute-destructive to call it once."
    return None
