"""What the SDK serves, and a request that reaches it by mistake."""

from pathlib import Path
from typing import Any, cast

import pytest
from mcp.client import Client
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from interlock.app.gateway import Gateway
from interlock.core.model import Caller, Scope
from interlock.receive.catalog import Catalog, Expose
from interlock.receive.earshot import Earshot
from interlock.receive.lane import Lane
from interlock.receive.passage import Passage
from interlock.receive.server import CALLER_KEY, LOCAL_CALLER, Rest, caller_of
from tests.running import desk_tools_of, serving, turns_of


class _Request:
    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope


def context(caller: object, method: str = "", params: dict[str, Any] | None = None) -> ServerRequestContext[Any]:
    request = None if caller is None else _Request({CALLER_KEY: caller})
    nothing = cast("Any", None)
    return ServerRequestContext[Any, Any](
        session=nothing, lifespan_context=nothing, protocol_version="", method=method, params=params, request=request
    )


def rest_of(gateway: Gateway, expose: Expose, strays: list[int]) -> Rest:
    catalog, turns = Catalog(expose), turns_of(gateway)
    passage = Passage(gateway.pipeline, catalog, Earshot(tools=True), turns)
    return Rest(Lane(gateway.pipeline, catalog, turns, desk_tools_of(gateway)), passage, lambda: strays.append(1))


async def stray(rest: Rest, about: ServerRequestContext[Any]) -> dict[str, Any]:
    return await rest._stray(about, cast("Any", None))  # pyright: ignore[reportPrivateUsage]


def test_the_caller_is_the_one_that_the_edge_identified() -> None:
    assert caller_of(context(Caller("ci"))) == Caller("ci")
    assert caller_of(context("ci")) == LOCAL_CALLER
    assert caller_of(context(None)) == LOCAL_CALLER


async def test_a_stray_list_is_counted_and_shows_what_the_caller_may_see(tmp_path: Path) -> None:
    strays: list[int] = []
    narrow = Caller("ci", scope=Scope(tools=("read_*",)))
    async with serving(tmp_path) as running:
        listed = await stray(rest_of(running.gateway, Expose.DIRECT, strays), context(narrow, "tools/list", {}))

    assert [tool["name"] for tool in listed["tools"]] == ["sample__read_note", "interlock__await_approval"]
    assert strays == [1]


async def test_a_stray_call_is_counted_and_takes_the_same_path(tmp_path: Path) -> None:
    strays: list[int] = []
    params = {"name": "sample__delete_note", "arguments": {"name": "todo"}}
    async with serving(tmp_path) as running:
        result = await stray(rest_of(running.gateway, Expose.BOTH, strays), context(None, "tools/call", params))
        recorded = await running.activities()

    assert strays == [1]
    assert result["structuredContent"]["code"] == "JUSTIFICATION_REQUIRED"
    assert [each.tool for each in recorded] == ["delete_note"]


async def test_a_stray_request_that_is_refused_is_an_error_there_too(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        with pytest.raises(MCPError, match="uri must be a text"):
            await stray(rest_of(running.gateway, Expose.BOTH, []), context(None, "resources/read", {}))


@pytest.mark.parametrize("expose", ["search", "direct"])
async def test_what_is_served_is_declared_to_legacy_clients(tmp_path: Path, expose: str) -> None:
    async with serving(tmp_path, f"expose: {expose}\n") as running, Client(running.url, mode="legacy") as client:
        declared = client.server_capabilities

    assert declared.tools is not None
    assert declared.tools.list_changed is (expose == "direct")
    assert declared.resources is not None
    assert (declared.resources.subscribe, declared.resources.list_changed) == (True, True)
    assert declared.prompts is not None
    assert declared.prompts.list_changed is True
    assert declared.completions is not None
    assert declared.logging is not None


async def test_what_is_served_is_declared_to_modern_clients(tmp_path: Path) -> None:
    async with serving(tmp_path) as running, Client(running.url, mode="auto") as client:
        version, declared = client.protocol_version, client.server_capabilities

    assert version == "2026-07-28"
    assert declared.resources is not None
    assert (declared.resources.subscribe, declared.resources.list_changed) == (True, True)
    assert declared.prompts is not None
    assert declared.prompts.list_changed is True
    assert declared.completions is not None


@pytest.mark.parametrize(("expose", "names_it"), [("search", True), ("direct", False), ("both", True)])
async def test_instructions_name_retrieve_tools_only_where_it_is_listed(
    tmp_path: Path, expose: str, names_it: bool
) -> None:
    async with serving(tmp_path, f"expose: {expose}\n") as running, Client(running.url, mode="legacy") as client:
        instructions = client.instructions or ""

    assert instructions
    assert ("retrieve_tools" in instructions) is names_it
