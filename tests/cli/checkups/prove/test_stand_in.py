"""Stand-ins list what they are given, answer every call, do nothing, and remember what they were sent."""

import json
from typing import Any

import httpx2

from interlock.cli.checkups.prove.stand_in import StandIn, door, serving
from tests.talking import NO_TLS

ACCEPT = {"accept": "application/json, text/event-stream"}


async def asked(url: str, method: str, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with httpx2.AsyncClient(trust_env=False, verify=NO_TLS) as http:
        return json.loads((await http.post(url, json=body, headers=ACCEPT)).text)


async def test_each_has_its_own_address_and_its_own_memory() -> None:
    one, two = StandIn("one", [{"name": "a"}]), StandIn("two", [{"name": "b"}])
    with door() as (listener, address):
        async with serving({"one": one, "two": two}, listener):
            listed = await asked(address("two"), "tools/list")
            called = await asked(address("one"), "tools/call", name="a", arguments={})

    assert listed["result"]["tools"] == [{"name": "b"}]
    assert called["result"]["content"] == [{"type": "text", "text": "ok"}]
    assert (one.calls, two.calls) == (["a"], [])


async def test_whoever_watches_is_told_when_a_call_arrives() -> None:
    heard: list[str] = []
    stand_in = StandIn("one", [], on_call=heard.append)
    await stand_in.result("tools/call", {"name": "a"})

    assert heard == ["a"]


async def test_nothing_else_is_served() -> None:
    with door() as (listener, address):
        async with (
            serving({"one": StandIn("one", [])}, listener),
            httpx2.AsyncClient(trust_env=False, verify=NO_TLS) as http,
        ):
            elsewhere = await http.post(address("other"), json={})
            unknown = await asked(address("one"), "resources/list")

    assert (elsewhere.status_code, unknown["error"]["code"]) == (404, -32601)
