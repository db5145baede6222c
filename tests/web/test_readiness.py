"""Whether the gateway is ready, and what is said aloud beside that."""

from pathlib import Path

import pytest

from interlock import errors
from interlock.core.health import Health, UpstreamState
from interlock.core.safety import Posture
from interlock.forward.upstream import UpstreamSpec
from interlock.web.readiness import Check, has_servers, readiness
from tests.web.office import Office, fleet_of, office, upstream
from tests.web.questions import ask

LOUD = f"{errors.NOBODY_LISTENS().text} {errors.NOBODY_LISTENS().fix}"


def state(health: Health) -> UpstreamState:
    return UpstreamState("up", "up", "stdio", health, "", 0, "", trusted=False)


async def check(running: Office, name: str) -> Check:
    return next(each for each in (await readiness(running.parts)).checks if each.name == name)


@pytest.mark.parametrize(
    ("states", "ready"),
    [([], True), ([Health.DOWN], False), ([Health.DOWN, Health.READY], True), ([Health.STOPPED], False)],
)
def test_one_server_that_can_be_reached_is_enough(states: list[Health], ready: bool) -> None:
    assert has_servers([state(each) for each in states]) is ready


async def test_everything_is_looked_at(live: Office) -> None:
    found = await readiness(live.parts)

    assert found.ready
    assert [(each.name, each.ok) for each in found.checks] == [("servers", True), ("store", True), ("approvals", False)]
    assert found.checks[0].text == "2 of 2 servers are ready."


async def test_a_server_that_is_down_is_counted(tmp_path: Path) -> None:
    dead = UpstreamSpec("dead", "dead", ("/no/such/program",))
    async with fleet_of(dead, upstream(tmp_path / "log")) as fleet, office(tmp_path, fleet) as running:
        found = await readiness(running.parts)

    assert (found.ready, found.checks[0]) == (True, Check("servers", False, "1 of 2 servers are ready."))


async def test_a_store_that_cannot_be_read_is_said_and_changes_nothing_about_being_ready(bare: Office) -> None:
    await bare.store.close()
    found = await readiness(bare.parts)

    assert (found.ready, found.checks[1]) == (True, Check("store", False, "The store cannot be read."))


async def test_an_armed_gate_with_nobody_listening_is_said_aloud(live: Office) -> None:
    armed = await check(live, "approvals")
    await ask(live)
    waiting = await check(live, "approvals")
    await live.ask("GET", "/approvals", "approver")
    watched = await check(live, "approvals")

    assert armed == Check("approvals", False, f"0 calls wait for approval. {LOUD}")
    assert waiting == Check("approvals", False, f"1 calls wait for approval. {LOUD}")
    assert watched == Check("approvals", True, "1 calls wait for approval; an approver was here a short while ago.")


async def test_a_gate_that_holds_nothing_needs_nobody(tmp_path: Path) -> None:
    async with fleet_of(upstream(tmp_path / "log")) as fleet, office(tmp_path, fleet, Posture.OPEN) as running:
        assert await check(running, "approvals") == Check("approvals", True, "No call would wait for approval.")


async def test_without_tools_nothing_can_wait(bare: Office) -> None:
    assert (await check(bare, "approvals")).ok
