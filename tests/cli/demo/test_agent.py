"""The agent of the demo: what its script meets at a real gateway."""

import pytest

from interlock.cli.demo.agent import STEPS, connected
from interlock.cli.demo.stage import AGENT, stage

pytestmark = pytest.mark.anyio


async def test_its_steps_meet_one_verdict_each_and_are_on_record_as_its_own() -> None:
    async with stage() as place:
        token = (await place.api.post("tokens", body={"name": AGENT, "roles": ["agent"]}))["token"]
        async with connected(place.address, token) as agent:
            saw = [await agent.take(step) for step in STEPS]
        recorded = (await place.api.get("activity", caller=AGENT))["items"]

    assert [each.code for each in saw] == [None, None, "INTENT_MISMATCH", "DENIED_BY_RULE", "UNKNOWN_TOOL"]
    assert saw[0].text == "Interlock stands between you and this note."
    assert "Did you mean 'notes:read_note'?" in saw[4].text
    assert len(recorded) == len(STEPS)
