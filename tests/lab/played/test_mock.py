"""What a mock says, and how it fails."""

import asyncio
from typing import Any

import pytest

from interlock.core.model import Json, JsonObject
from interlock.lab.played.answering import Crashed, Garbled, RpcError
from interlock.lab.played.manifest import manifest_of
from interlock.lab.played.mock import Mock


def mock(**members: Any) -> Mock:
    return Mock(manifest_of({"mock_server": {"name": "m", **members}}))


def text(said: str) -> Json:
    return {"content": [{"type": "text", "text": said}]}


async def call(of: Mock, name: str = "t", **arguments: Any) -> JsonObject:
    return await of.result("tools/call", {"name": name, "arguments": arguments})


async def code_of(of: Mock, method: str, params: JsonObject) -> int:
    with pytest.raises(RpcError) as refused:
        await of.result(method, params)
    return refused.value.code


def test_only_what_is_declared_is_advertised() -> None:
    resource: Json = {"uri": "a:b", "name": "r"}
    prompt: Json = {"name": "p", "messages": [{}]}

    assert mock().capabilities == {}
    assert mock(tools=[{"name": "t"}]).capabilities == {"tools": {}}
    assert mock(resources=[resource], prompts=[prompt]).capabilities == {"resources": {}, "prompts": {}}


async def test_what_is_not_advertised_is_no_method() -> None:
    assert await code_of(mock(), "tools/list", {}) == -32601
    assert await code_of(mock(tools=[{"name": "t"}]), "resources/list", {}) == -32601


async def test_a_tool_answers_with_its_arguments_in_place() -> None:
    of = mock(tools=[{"name": "t", "response": text("found ${args.q}")}])

    assert await call(of, q="it") == text("found it")


async def test_responses_come_one_after_the_other_and_the_last_repeats() -> None:
    of = mock(tools=[{"name": "t", "response": [text("one"), text("two")]}])

    assert [await call(of) for _ in range(3)] == [text("one"), text("two"), text("two")]


async def test_an_unknown_tool_and_bad_params_are_errors() -> None:
    of = mock(tools=[{"name": "t"}])

    assert await code_of(of, "tools/call", {"name": "u"}) == -32602
    assert await code_of(of, "tools/call", {}) == -32602
    assert await code_of(of, "tools/call", {"name": "t", "arguments": [1]}) == -32602


async def test_resources_and_prompts() -> None:
    of = mock(
        resources=[{"uri": "a:b", "name": "r", "mime_type": "text/plain", "text": "hello"}],
        prompts=[{"name": "p", "messages": [{"role": "user", "content": {"type": "text", "text": "${args.who}"}}]}],
    )

    assert await of.result("resources/read", {"uri": "a:b"}) == {
        "contents": [{"uri": "a:b", "mimeType": "text/plain", "text": "hello"}]
    }
    assert await of.result("prompts/get", {"name": "p", "arguments": {"who": "me"}}) == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "me"}}]
    }
    assert await of.result("resources/templates/list", {}) == {"resourceTemplates": []}
    assert (await of.result("prompts/list", {}))["prompts"] == [{"name": "p"}]
    assert await code_of(of, "resources/read", {"uri": "x:y"}) == -32602
    assert await code_of(of, "prompts/get", {"name": "x"}) == -32602


# Faults -----------------------------------------------------------------------------------------------------------


def faulty(fault: str) -> Mock:
    return mock(tools=[{"name": "t", "fault": fault}])


async def test_a_fault_is_of_calls_only() -> None:
    assert (await faulty("crash").result("tools/list", {}))["tools"]


async def test_an_error_is_one_of_the_protocol() -> None:
    assert await code_of(faulty("error"), "tools/call", {"name": "t"}) == -32000


@pytest.mark.parametrize(("fault", "raised"), [("garbage", Garbled), ("crash", Crashed)])
async def test_garbage_and_crash_are_left_to_the_wire(fault: str, raised: type[Exception]) -> None:
    with pytest.raises(raised):
        await call(faulty(fault))


async def test_what_hangs_never_answers() -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call(faulty("hang")), 0.02)


async def test_what_is_slow_answers_after_its_time() -> None:
    began = asyncio.get_running_loop().time()

    assert await call(faulty("slow:30")) == text("ok")
    assert asyncio.get_running_loop().time() - began >= 0.03
