"""The servers behind the gateway."""

import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.forward.upstream import UpstreamSpec
from interlock.web.times import time_of
from tests.upstream.tools import TOOLS
from tests.web.office import Office, fleet_of, office

UP: dict[str, Any] = {
    "id": "up",
    "namespace": "upper",
    "transport": "stdio",
    "health": "ready",
    "problem": "",
    "tools": len(TOOLS),
    "protocol_version": "2026-07-28",
    "trusted": False,
    "restarts": 0,
    "says_name": "test-upstream",
    "says_version": "1.0.0",
    "left_out": [],
    "poisoned": 0,
    "stray_lines": 0,
    "enabled": True,
    "added": False,
}


def without_time(shown: dict[str, Any]) -> dict[str, Any]:
    """A server as it is shown, without the moment at which it became ready."""
    assert time_of(shown["since"]) > 0
    return {name: value for name, value in shown.items() if name != "since"}


async def test_every_server_is_listed_with_how_it_is_doing(live: Office) -> None:
    listed = await live.get("/servers")

    assert listed["total"] == 2
    assert without_time(listed["items"][0]) == UP
    assert {name: listed["items"][1][name] for name in ("id", "health", "trusted")} == {
        "id": "odd",
        "health": "ready",
        "trusted": True,
    }


async def test_without_servers_the_list_is_empty(bare: Office) -> None:
    assert await bare.get("/servers") == {"items": [], "total": 0}


@pytest.mark.parametrize("name", ["up", "upper"])
async def test_a_server_is_found_by_its_id_and_by_its_namespace(live: Office, name: str) -> None:
    assert without_time(await live.get(f"/servers/{name}")) == UP


async def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    broken = UpstreamSpec("broken", "broken", argv=(sys.executable, "-c", "raise SystemExit(3)"))
    async with fleet_of(broken) as fleet, office(tmp_path, fleet) as running:
        shown = await running.get("/servers/broken")

    assert shown["health"] in ("down", "starting")
    assert shown["problem"]


async def test_its_last_lines_are_shown_oldest_first(live: Office) -> None:
    assert await live.get("/servers/odd/logs?limit=2") == {"items": ["line 298", "line 299"]}
    assert len((await live.get("/servers/odd/logs"))["items"]) == 200


async def test_secrets_in_its_lines_are_not_shown(live: Office) -> None:
    lines = (await live.get("/servers/curious/logs?limit=1000"))["items"]

    assert lines[0] == "started with [redacted assignment]"


@pytest.mark.parametrize("limit", ["0", "1001", "many", ""])
async def test_a_limit_must_be_a_number_that_makes_sense(live: Office, limit: str) -> None:
    answer = await live.ask("GET", f"/servers/up/logs?limit={limit}")

    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("limit: Input should be ")


@pytest.mark.parametrize("path", ["/servers/uq", "/servers/uq/logs"])
async def test_an_unknown_server_is_answered_with_the_nearest_name(tmp_path: Path, path: str) -> None:
    odd = UpstreamSpec("uqq", "other", argv=(sys.executable, "-c", ""))
    async with fleet_of(odd) as fleet, office(tmp_path, fleet) as running:
        answer = await running.ask("GET", path)

    assert answer.status_code == 404
    assert answer.json()["detail"] == "Server 'uq' not found. Did you mean 'uqq'?"
