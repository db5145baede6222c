"""The proofs about the doors hold on a sound gateway, and see each door that was left open."""

from pathlib import Path
from typing import Any

import pytest

from interlock.receive.edge import Edge, headers_of
from interlock.receive.identify import Callers
from tests.cli.checkups.prove.boxes import nothing, tried_on


@pytest.mark.parametrize("name", ["revoked-token", "strangers", "foreign-pages"])
async def test_it_holds_on_a_sound_gateway(tmp_path: Path, name: str) -> None:
    result = await tried_on(tmp_path, name)

    assert result.state == "held", result.text


async def test_a_token_that_outlives_its_end_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Callers, "drop", nothing)

    assert (await tried_on(tmp_path, "revoked-token")).state == "BROKEN"


async def test_a_route_that_answers_agents_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.web.access.refusal_of", nothing)
    result = await tried_on(tmp_path, "strangers")

    assert (result.state, "with the token of an agent" in result.text) == ("BROKEN", True)


async def test_a_door_that_takes_any_name_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(self: Edge, scope: Any) -> dict[str, str]:
        return headers_of(scope)

    monkeypatch.setattr(Edge, "check", check)

    assert (await tried_on(tmp_path, "foreign-pages")).state == "BROKEN"


async def test_beyond_loopback_every_door_asks_for_a_token(tmp_path: Path) -> None:
    result = await tried_on(tmp_path, "foreign-pages", "listen: {host: 0.0.0.0}\n")

    assert (result.state, "asks for a token" in result.text) == ("not applicable", True)
