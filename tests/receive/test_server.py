"""What the SDK serves, and a call that reaches it by mistake."""

import json
from pathlib import Path
from typing import Any, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext

from interlock.core.model import Caller, Scope
from interlock.receive.catalog import Catalog, Expose
from interlock.receive.lane import Lane
from interlock.receive.server import CALLER_KEY, LOCAL_CALLER, Rest, caller_of
from tests.running import serving


class _Request:
    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope


def context(caller: object) -> ServerRequestContext[Any]:
    request = None if caller is None else _Request({CALLER_KEY: caller})
    nothing = cast("Any", None)
    return ServerRequestContext[Any, Any](
        session=nothing, lifespan_context=nothing, protocol_version="", method="", request=request
    )


def test_the_caller_is_the_one_that_the_edge_identified() -> None:
    assert caller_of(context(Caller("ci"))) == Caller("ci")
    assert caller_of(context("ci")) == LOCAL_CALLER
    assert caller_of(context(None)) == LOCAL_CALLER


async def test_a_list_shows_what_the_caller_may_see(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        rest = Rest(Lane(running.gateway.pipeline, Catalog(Expose.DIRECT)), lambda: None)
        narrow = Caller("ci", scope=Scope(tools=("read_*",)))
        listed = await rest._list_tools(context(narrow), None)  # pyright: ignore[reportPrivateUsage]

    assert [tool.name for tool in listed.tools] == ["sample__read_note"]


async def test_a_stray_call_is_counted_and_takes_the_same_path(tmp_path: Path) -> None:
    strays: list[int] = []
    async with serving(tmp_path) as running:
        rest = Rest(Lane(running.gateway.pipeline, Catalog(Expose.BOTH)), lambda: strays.append(1))
        params = types.CallToolRequestParams(name="sample__delete_note", arguments={"name": "todo"})
        result = await rest._stray_call(context(None), params)  # pyright: ignore[reportPrivateUsage]
        recorded = await running.activities()

    assert strays == [1]
    assert result.is_error is True
    assert json.loads(json.dumps(result.structured_content))["code"] == "DENIED"
    assert [each.tool for each in recorded] == ["delete_note"]
