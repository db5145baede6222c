"""The right to act, which lasts for a while after a look."""

import pytest

from interlock.approve.lease import Lease
from interlock.store.protocol import OutOfTouch
from interlock.store.shared import IN_TOUCH, LEASE
from tests.fakes import FakeClock


def test_who_has_never_looked_may_not_act() -> None:
    lease = Lease("gw_1", FakeClock())

    assert not lease.holds
    with pytest.raises(OutOfTouch):
        lease.check()


def test_it_lasts_from_when_the_look_was_begun_and_ends_before_others_take_us_for_dead() -> None:
    clock = FakeClock()
    lease = Lease("gw_1", clock)
    lease.looked(clock.ticks())
    clock.forward(IN_TOUCH - 1)
    lease.check()
    clock.forward(1)

    assert not lease.holds
    assert IN_TOUCH < LEASE


def test_what_was_decided_in_another_run_is_let_pass_by_none() -> None:
    clock = FakeClock()
    lease = Lease("gw_1", clock)
    lease.looked(clock.ticks())
    lease.check("gw_1")
    lease.run = "gw_2"

    with pytest.raises(OutOfTouch):
        lease.check("gw_1")
