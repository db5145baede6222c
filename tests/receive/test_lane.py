"""Calls of the wrong shape, and whose progress it is; the rest of the lane is seen through the wire in behaviours."""

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.core.model import Caller
from interlock.kept import Origin
from interlock.receive.catalog import Catalog, Expose
from interlock.receive.decode import Request
from interlock.receive.lane import Lane
from interlock.receive.turns import Context
from tests.running import desk_tools_of, serving, turns_of

CONTEXT = Context(Caller("agent"), modern=False, origin=Origin("test"))


async def answered(folder: Path, params: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    heard: list[dict[str, Any]] = []
    async with serving(folder) as running:
        lane = Lane(
            running.gateway.pipeline,
            Catalog(Expose.BOTH),
            turns_of(running.gateway),
            desk_tools_of(running.gateway),
        )
        answer = await lane.serve(
            Request(7, "tools/call", params), CONTEXT, lambda message: heard.append(json.loads(message))
        )
    return json.loads(answer), heard


@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": "x", "arguments": [1]}, {"name": "x", "arguments": None}])
async def test_a_call_of_the_wrong_shape_is_a_protocol_error(tmp_path: Path, params: dict[str, Any]) -> None:
    answer, _ = await answered(tmp_path, params)

    assert (answer["id"], answer["error"]["code"]) == (7, -32602)


async def test_a_refusal_is_a_result_and_not_a_protocol_error(tmp_path: Path) -> None:
    answer, _ = await answered(tmp_path, {"name": "sample__nothing", "arguments": {}})

    assert answer["result"]["isError"] is True
    assert answer["result"]["structuredContent"]["code"] == "UNKNOWN_TOOL"


async def test_a_bad_search_is_refused_with_a_way_out(tmp_path: Path) -> None:
    answer, _ = await answered(tmp_path, {"name": "retrieve_tools", "arguments": {}})

    assert answer["result"]["structuredContent"]["code"] == "BAD_REQUEST"


@pytest.mark.parametrize("token", [True, None, 1.5, [1]])
async def test_a_progress_token_that_is_none_is_ignored(tmp_path: Path, token: Any) -> None:
    params = {"name": "sample__list_notes", "arguments": {}, "_meta": {"progressToken": token}}
    answer, heard = await answered(tmp_path, params)

    assert "result" in answer
    assert heard == []
