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


def run_tool_flag_needed(safety_class: SafetyClass, flags: RunToolFlags) -> str | None:
    """The flag still missing for a class of the prefix view; the empty string where no flag helps."""
    match safety_class:
        case SafetyClass.READ_ONLY:
            return None
        case SafetyClass.WRITE_CAPABLE | SafetyClass.SUBPROCESS:
            return None if flags.approve or flags.dangerous else "--approve"
        case SafetyClass.DANGEROUS:
            return None if flags.dangerous else "--dangerous"
        case SafetyClass.UNKNOWN:
            return ""


@dataclass(frozen=True, slots=True)
class LabPolicy:
    """What the lab may call live."""

    execute_destructive: bool = False
    strict: bool = False


def lab_flag_needed(exec_class: ExecClass, policy: LabPolicy) -> str | None:
    """What would have to change before the lab calls a tool of this class; None when it may."""
    match exec_class:
        case ExecClass.READ_ONLY | ExecClass.MUTATING:
            return None
        case ExecClass.READ_ONLY_PRESUMED:
            return "Leave --strict out to call tools presumed read-only." if policy.strict else None
        case ExecClass.DESTRUCTIVE:
            return None if policy.execute_destructive else "Add --execute-destructive to call it once."
