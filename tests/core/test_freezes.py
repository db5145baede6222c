"""What a stop means for one call."""

import pytest

from interlock.core.freezes import Freeze, FreezeKind, Frozen, frozen_for
from interlock.core.model import Call, Caller

CALL = Call(Caller("ci-1"), "github", "create_issue", {}, "d")
ALL = Frozen(FreezeKind.ALL)
SERVER, CALLER = Frozen(FreezeKind.SERVER, "github"), Frozen(FreezeKind.CALLER, "ci-1")


def stops(*what: Frozen, reason: str = "") -> dict[Frozen, Freeze]:
    return {each: Freeze(each, 1, "operator", reason) for each in what}


@pytest.mark.parametrize(
    ("what", "told"),
    [(ALL, "everything"), (SERVER, "server 'github'"), (CALLER, "caller 'ci-1'")],
)
def test_a_stop_is_about_everything_a_server_or_a_caller(what: Frozen, told: str) -> None:
    assert frozen_for(CALL, stops(what)) == told
    assert frozen_for(CALL, stops(what, reason="incident 5")) == f"{told} (incident 5)"


@pytest.mark.parametrize("what", [Frozen(FreezeKind.SERVER, "ci-1"), Frozen(FreezeKind.CALLER, "github")])
def test_a_stop_of_something_else_stops_nothing(what: Frozen) -> None:
    assert frozen_for(CALL, stops(what)) is None


def test_without_a_stop_nothing_is_stopped() -> None:
    assert frozen_for(CALL, {}) is None


def test_of_several_the_widest_is_told_and_each_is_lifted_by_itself() -> None:
    assert frozen_for(CALL, stops(CALLER, SERVER, ALL)) == "everything"
    assert frozen_for(CALL, stops(CALLER, SERVER)) == "server 'github'"
