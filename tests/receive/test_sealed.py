"""States that clients carry: good for one call, one caller and a while."""

import pytest
from msgspec.structs import replace

from interlock.core.canonical import argument_digest
from interlock.core.model import Call, Caller, Variant
from interlock.receive.sealed import MAX_STATE, Seal, Unsealed, new_waiting
from tests.fakes import FakeClock

CALL = Call(Caller("ada", "home"), "up", "ask", {}, argument_digest({}))
WAITING = new_waiting()


def test_a_state_leads_back_to_its_call() -> None:
    seal = Seal(FakeClock())

    assert seal.open(CALL, seal.close(CALL, WAITING, 600)) == WAITING


@pytest.mark.parametrize(
    "other",
    [
        replace(CALL, caller=Caller("eve", "home")),
        replace(CALL, caller=Caller("ada", "work")),
        replace(CALL, caller=Caller("ada")),
        replace(CALL, server="far"),
        replace(CALL, tool="delete"),
        replace(CALL, digest=argument_digest({"a": 1})),
        replace(CALL, variant=Variant.DESTRUCTIVE),
        replace(CALL, method="prompts/get"),
    ],
)
def test_a_state_is_worth_nothing_for_another_call(other: Call) -> None:
    seal = Seal(FakeClock())
    state = seal.close(CALL, WAITING, 600)
    with pytest.raises(Unsealed):
        seal.open(other, state)


def test_a_state_is_worth_nothing_at_another_gateway() -> None:
    state = Seal(FakeClock()).close(CALL, WAITING, 600)
    other = Seal(FakeClock())
    with pytest.raises(Unsealed):
        other.open(CALL, state)


def test_a_state_ends_with_its_time() -> None:
    clock = FakeClock()
    seal = Seal(clock)
    state = seal.close(CALL, WAITING, 600)
    clock.forward(600_000_000 - 1)

    assert seal.open(CALL, state) == WAITING
    clock.forward(1)
    with pytest.raises(Unsealed):
        seal.open(CALL, state)


def test_no_bit_of_a_state_can_be_changed() -> None:
    seal = Seal(FakeClock())
    state = seal.close(CALL, WAITING, 600)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    opened: list[str] = []
    for at, letter in enumerate(state[:-1]):  # the last letter has bits that mean nothing
        other = alphabet[(alphabet.index(letter) + 1) % 64]
        try:
            seal.open(CALL, state[:at] + other + state[at + 1 :])
            opened.append(state)
        except Unsealed:
            pass

    assert opened == []


@pytest.mark.parametrize(
    "state",
    [None, 5, {}, ["a"], "", "A", "AAAA", "=", "ä" * 60, "A" * 75, "A" * (MAX_STATE + 1), "A" * 10_000_000, "!" * 75],
)
def test_what_is_no_state_is_refused(state: object) -> None:
    seal = Seal(FakeClock())
    with pytest.raises(Unsealed):
        seal.open(CALL, state)


def test_a_state_tells_nothing() -> None:
    state = Seal(FakeClock()).close(CALL, WAITING, 600)

    assert "ada" not in state
    assert len(state) <= MAX_STATE
