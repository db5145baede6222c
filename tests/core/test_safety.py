"""Classes, effects and the tables between them."""

import pytest

from interlock.core.safety import (
    POSTURES,
    Effect,
    ExecClass,
    LabPolicy,
    Posture,
    RunToolFlags,
    SafetyClass,
    effective_posture,
    lab_flag_needed,
    run_tool_flag_needed,
    strictest,
)

ALLOW, HOLD, DENY = Effect.ALLOW, Effect.HOLD, Effect.DENY


def test_the_classes_are_ordered_from_read_only_to_unknown() -> None:
    ordered = sorted(SafetyClass, key=lambda each: each.rank)

    assert [each.value for each in ordered] == ["read-only", "write-capable", "subprocess", "dangerous", "unknown"]


def test_the_strictest_of_nothing_is_read_only() -> None:
    assert strictest([]) is SafetyClass.READ_ONLY


def test_unknown_is_stricter_than_dangerous() -> None:
    assert strictest([SafetyClass.UNKNOWN, SafetyClass.DANGEROUS]) is SafetyClass.UNKNOWN


@pytest.mark.parametrize(
    ("posture", "effects"),
    [
        (Posture.GUARDED, (ALLOW, ALLOW, HOLD, HOLD, HOLD)),
        (Posture.STRICT, (ALLOW, HOLD, HOLD, HOLD, DENY)),
        (Posture.OPEN, (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW)),
        (Posture.OBSERVE, (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW)),
    ],
)
def test_each_posture_says_what_is_promised(posture: Posture, effects: tuple[Effect, ...]) -> None:
    assert tuple(POSTURES[posture][each] for each in SafetyClass) == effects


@pytest.mark.parametrize("posture", Posture)
def test_no_posture_is_looser_on_a_stricter_class(posture: Posture) -> None:
    ranks = [POSTURES[posture][each].rank for each in sorted(SafetyClass, key=lambda each: each.rank)]

    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("workspace", "server", "effective"),
    [
        (None, None, Posture.GUARDED),
        (Posture.OPEN, None, Posture.OPEN),
        (None, Posture.STRICT, Posture.STRICT),
        (Posture.STRICT, Posture.OPEN, Posture.STRICT),
        (Posture.OBSERVE, Posture.OPEN, Posture.OPEN),
    ],
)
def test_an_own_posture_replaces_the_global_one_and_the_stricter_of_two_counts(
    workspace: Posture | None, server: Posture | None, effective: Posture
) -> None:
    assert effective_posture(Posture.GUARDED, workspace, server) is effective


@pytest.mark.parametrize(
    ("safety_class", "no_flag", "approve", "dangerous"),
    [
        (SafetyClass.READ_ONLY, None, None, None),
        (SafetyClass.WRITE_CAPABLE, "--approve", None, None),
        (SafetyClass.SUBPROCESS, "--approve", None, None),
        (SafetyClass.DANGEROUS, "--dangerous", "--dangerous", None),
        (SafetyClass.UNKNOWN, "", "", ""),
    ],
)
def test_run_tool_needs_the_flag_of_the_routing_table(
    safety_class: SafetyClass, no_flag: str | None, approve: str | None, dangerous: str | None
) -> None:
    assert run_tool_flag_needed(safety_class, RunToolFlags()) == no_flag
    assert run_tool_flag_needed(safety_class, RunToolFlags(approve=True)) == approve
    assert run_tool_flag_needed(safety_class, RunToolFlags(dangerous=True)) == dangerous


@pytest.mark.parametrize(
    ("exec_class", "policy", "may"),
    [
        (ExecClass.READ_ONLY, LabPolicy(), True),
        (ExecClass.READ_ONLY, LabPolicy(strict=True), True),
        (ExecClass.READ_ONLY_PRESUMED, LabPolicy(), True),
        (ExecClass.READ_ONLY_PRESUMED, LabPolicy(strict=True), False),
        (ExecClass.MUTATING, LabPolicy(strict=True), True),
        (ExecClass.DESTRUCTIVE, LabPolicy(), False),
        (ExecClass.DESTRUCTIVE, LabPolicy(execute_destructive=True), True),
    ],
)
def test_the_lab_may_call_what_its_policy_says(exec_class: ExecClass, policy: LabPolicy, may: bool) -> None:
    assert (lab_flag_needed(exec_class, policy) is None) is may
