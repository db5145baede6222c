"""A cassette as a server."""

from typing import Any

import pytest

from interlock.core.health import Introduction
from interlock.core.model import JsonObject
from interlock.lab.played.answering import RpcError
from interlock.lab.played.cassette import Cassette, Interaction
from interlock.lab.played.replay import NOT_RECORDED, Replay


def call(result: Any, **arguments: Any) -> Interaction:
    return Interaction("tools/call", {"name": "t", "arguments": arguments}, result={"said": result})


def replay(*interactions: Interaction, **lists: list[Any]) -> Replay:
    return Replay(Cassette("s", "2025-11-25", lists, list(interactions)))


async def ask(of: Replay, **arguments: Any) -> JsonObject:
    return await of.result("tools/call", {"name": "t", "arguments": arguments, "_meta": {"progressToken": 1}})


async def refusal(of: Replay, method: str, params: JsonObject) -> RpcError:
    with pytest.raises(RpcError) as refused:
        await of.result(method, params)
    return refused.value


def test_it_shows_itself_as_the_server_that_was_recorded() -> None:
    of = Replay(Cassette("s", "2025-11-25", introduction=Introduction("records", "3", "Search first.")))

    assert (of.name, of.version, of.instructions) == ("records", "3", "Search first.")


def test_a_server_that_did_not_say_who_it_is_has_its_id() -> None:
    of = replay()

    assert (of.name, of.version, of.instructions) == ("s", "replay", "")


async def test_equal_requests_get_their_answers_in_order_and_the_last_repeats() -> None:
    of = replay(call(1, a=1), call(9, a=2), call(2, a=1))

    assert [await ask(of, a=1) for _ in range(3)] == [{"said": 1}, {"said": 2}, {"said": 2}]
    assert await ask(of, a=2) == {"said": 9}


async def test_a_recorded_error_is_answered_as_an_error() -> None:
    error = {"code": -5, "message": "no", "data": {"a": 1}}
    of = replay(Interaction("resources/read", {"uri": "a:b"}, error=error))
    refused = await refusal(of, "resources/read", {"uri": "a:b"})

    assert (refused.code, refused.message, refused.data) == (-5, "no", {"a": 1})


async def test_lists_and_what_is_advertised_are_those_of_the_server() -> None:
    of = replay(Interaction("completion/complete", {"ref": {}}, result={}), tools=[{"name": "t"}], resourceTemplates=[])

    assert await of.result("tools/list", {"cursor": None}) == {"tools": [{"name": "t"}]}
    assert await of.result("resources/templates/list", {}) == {"resourceTemplates": []}
    assert of.capabilities == {"completions": {}, "resources": {}, "tools": {}}


async def test_a_request_that_was_not_recorded_names_those_that_were() -> None:
    refused = await refusal(replay(call(1, a=1), call(2, a=2)), "tools/call", {"name": "t", "arguments": {"a": 3}})

    assert refused.code == NOT_RECORDED
    assert refused.message == ('tools/call of "t" is not recorded with {"a":3}; it is with {"a":1}; {"a":2}.')


async def test_what_was_never_asked_has_nothing_recorded() -> None:
    refused = await refusal(replay(call(1)), "tools/call", {"name": "u"})

    assert refused.message == 'Nothing is recorded for tools/call of "u".'


async def test_an_error_stays_short_and_keeps_secrets() -> None:
    of = replay(*(call(1, text=f"{number}{'x' * 1000}") for number in range(50)))
    refused = await refusal(of, "tools/call", {"name": "t", "arguments": {"password": "hunter2hunter2"}})

    assert len(refused.message) < 2000
    assert "and 45 more" in refused.message
    assert "hunter2" not in refused.message


async def test_a_method_that_is_never_recorded_is_none() -> None:
    assert (await refusal(replay(), "logging/setLevel", {"level": "info"})).code == -32601


async def test_params_without_what_they_are_about_are_not_recorded() -> None:
    of = replay(Interaction("tools/call", {}, result={}))

    assert (await refusal(of, "prompts/get", {})).code == NOT_RECORDED
