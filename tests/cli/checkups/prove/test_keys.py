"""The proofs about the second key hold on a sound gateway, and see who turns it twice, alone or for another call."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interlock import errors
from interlock.errors import Reason
from interlock.pipeline import Pipeline
from tests.cli.checkups.prove.boxes import DENIES, nothing, tried_on

NAMES = ("self-approval", "other-arguments", "used-once")
TERMS = {
    "two votes": "hold: {approvals_needed: 2}\n",
    "named approvers": "hold: {approvers: [alice]}\n",
    "people": "hold: {approvers: [humans]}\n",
    "four eyes": "route_rules: [{id: two, tool_pattern: '*__delete_*', effect: hold, four_eyes: true}]\n",
}


@pytest.mark.parametrize("name", NAMES)
async def test_it_holds_on_a_sound_gateway(tmp_path: Path, name: str) -> None:
    result = await tried_on(tmp_path, name)

    assert result.state == "held", result.text


@pytest.mark.parametrize("terms", TERMS)
async def test_it_holds_under_other_terms_too(tmp_path: Path, terms: str) -> None:
    result = await tried_on(tmp_path, "used-once", TERMS[terms])

    assert result.state == "held", result.text


@pytest.mark.parametrize("name", NAMES)
async def test_where_nothing_is_held_there_is_nothing_to_try(tmp_path: Path, name: str) -> None:
    assert (await tried_on(tmp_path, name, "posture: open\n")).state == "not applicable"


async def test_an_asker_that_may_answer_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.approve.approvers.refusal_to", nothing)
    result = await tried_on(tmp_path, "self-approval")

    assert result.state == "BROKEN", result.text


async def test_an_asker_that_is_refused_for_another_reason_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_among(*_: object) -> Reason:
        return errors.NOT_AMONG_APPROVERS(approvers="alice")

    monkeypatch.setattr("interlock.approve.approvers.refusal_to", not_among)
    result = await tried_on(tmp_path, "self-approval")

    assert (result.state, "and not because it is the asker's" in result.text) == ("BROKEN", True)


def same(arguments: object) -> str:
    return "the same digest for all"


async def test_an_approval_that_fits_any_arguments_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.receive.catalog.content_hash", same)
    result = await tried_on(tmp_path, "other-arguments")

    assert (result.state, "other arguments" in result.text) == ("BROKEN", True)


async def test_a_call_that_is_sent_twice_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = Pipeline._forward  # pyright: ignore[reportPrivateUsage]

    async def twice(self: Pipeline, call: Any, found: Any, verdict: Any, way: Any) -> Any:
        await forward(self, call, found, verdict, way)
        return await forward(self, call, found, replace(verdict, grant=None), way)

    monkeypatch.setattr(Pipeline, "_forward", twice)
    result = await tried_on(tmp_path, "used-once", DENIES)

    assert (result.state, "2 times" in result.text) == ("BROKEN", True)
