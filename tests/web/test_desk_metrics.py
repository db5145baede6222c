"""The figures of the desk for Prometheus."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from interlock.core.lifecycle import ApprovalEvent
from interlock.core.model import HoldTerms
from interlock.web.desk_metrics import SECONDS
from tests.web.office import HOUR, NOW, Office
from tests.web.questions import MINUTE, ask


def value(office: Office, name: str, **labels: str) -> float | None:
    """One figure, as somebody who collects them reads it."""
    families = text_string_to_metric_families(office.parts.metrics.text()[0].decode())
    samples = [sample for family in families for sample in family.samples]
    return next((each.value for each in samples if each.name == name and each.labels == labels), None)


async def test_how_many_wait_and_for_how_long_is_told_as_it_is_now(bare: Office) -> None:
    before = value(bare, "interlock_approvals_pending"), value(bare, "interlock_approvals_oldest_wait_seconds")
    await ask(bare, 1)
    await ask(bare, 60)
    bare.clock.forward(MINUTE + 1_000_000)
    during = value(bare, "interlock_approvals_pending"), value(bare, "interlock_approvals_oldest_wait_seconds")
    await bare.ask("POST", "/approvals/ap_0001/deny", "approver")

    assert (before, during) == ((0, 0), (2, 60))
    assert value(bare, "interlock_approvals_pending") == 1
    assert value(bare, "interlock_approvals_oldest_wait_seconds") == 1


async def test_the_oldest_wait_outlives_a_restart(bare: Office) -> None:
    await ask(bare, 1)
    await bare.store.approvals.mark_answered("ap_0001")
    bare.clock.forward(MINUTE + 1_000_000)
    register = bare.parts.room.register
    for each in register.board:
        register.board.remove(each)
    await register.load()

    assert value(bare, "interlock_approvals_oldest_wait_seconds") == 60


async def test_approvals_are_counted_by_how_they_ended(bare: Office) -> None:
    for number in range(1, 6):
        await ask(bare, number)
    await bare.ask("POST", "/approvals/ap_0001/approve", "approver")
    await bare.ask("POST", "/approvals/ap_0002/approve", "approver")
    await bare.ask("POST", "/approvals/ap_0003/deny", "approver")
    await bare.parts.room.register.end_all(["ap_0004"], ApprovalEvent.CANCEL, "client disconnected")
    bare.clock.forward(HOUR)
    await bare.parts.room.register.expire(bare.clock.now())

    counts = {each: value(bare, "interlock_approvals_total", status=each) for each in ("approved", "denied", "timeout")}
    assert counts == {"approved": 2, "denied": 1, "timeout": 1}
    assert value(bare, "interlock_approvals_total", status="cancelled") == 1
    assert value(bare, "interlock_approvals_total", status="pending") is None


async def test_nothing_has_ended_at_the_beginning_and_that_is_a_figure_too(bare: Office) -> None:
    await ask(bare, terms=HoldTerms(approvals_needed=2))
    await bare.ask("POST", "/approvals/ap_0001/approve", "approver")

    assert value(bare, "interlock_approvals_total", status="approved") == 0


async def test_waits_are_a_histogram_of_what_somebody_answered(bare: Office) -> None:
    for number, seconds in enumerate((1, 7, 200), 1):
        at = bare.clock.now()
        await ask(bare, number, created_at=at, expires_at=at + HOUR)
        bare.clock.forward(seconds * 1_000_000)
        await bare.ask("POST", f"/approvals/ap_{number:04}/approve", "approver")
    await ask(bare, 4, created_at=NOW, expires_at=bare.clock.now() + 1)
    bare.clock.forward(1)
    await bare.parts.room.register.expire(bare.clock.now())

    bucket = "interlock_approval_wait_seconds_bucket"
    assert [value(bare, bucket, le=each) for each in ("1.0", "10.0", "120.0", "300.0", "+Inf")] == [1, 2, 2, 3, 3]
    assert value(bare, "interlock_approval_wait_seconds_count") == 3
    assert value(bare, "interlock_approval_wait_seconds_sum") == pytest.approx(208)


async def test_stops_are_counted_while_they_are_in_force(bare: Office) -> None:
    await bare.ask("POST", "/freeze")
    await bare.ask("POST", "/freeze", json={"caller": "local"})
    during = value(bare, "interlock_frozen")
    await bare.ask("POST", "/thaw")

    assert (during, value(bare, "interlock_frozen")) == (2, 1)


async def test_what_agents_write_never_becomes_a_label(bare: Office) -> None:
    await ask(bare, requester="evil-caller", workspace="evil-workspace", asked={"request_client_type": "evil"})
    await bare.ask("POST", "/approvals/ap_0001/deny", "approver", json={"resolution": "evil"})

    assert b"evil" not in bare.parts.metrics.text()[0]


def test_the_bounds_go_up() -> None:
    assert list(SECONDS) == sorted(set(SECONDS))
