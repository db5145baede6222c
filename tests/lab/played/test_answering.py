"""One message in, one answer out, in every era."""

import json
from typing import Any

import pytest

from interlock.core.model import Json, JsonObject
from interlock.lab.played.answering import (
    CLASSIC,
    MODERN,
    SERVER_KEY,
    VERSION_KEY,
    Answerer,
    Message,
    RpcError,
    message_of,
)


class Says:
    """A script that says what it was asked."""

    name, version, instructions = "says", "7", ""

    @property
    def capabilities(self) -> JsonObject:
        return {"tools": {}}

    async def result(self, method: str, params: JsonObject) -> JsonObject:
        if method == "no/such":
            raise RpcError(-32601, "no such method", {"more": 1})
        if "deep" in params:
            deep: Json = params["deep"]
            for _ in range(2000):
                deep = [deep]
            return {"deep": deep}
        return {"asked": method, "_meta": {"own": 1}}


async def answer(method: str, *, version: str | None = None, **params: Any) -> dict[str, Any]:
    meta = {} if version is None else {"_meta": {VERSION_KEY: version}}
    return json.loads(await Answerer(Says()).answer(Message(method, {**params, **meta}, 1)))


@pytest.mark.parametrize("version", CLASSIC)
async def test_the_handshake_takes_the_revision_of_the_client(version: str) -> None:
    said = await answer("initialize", protocolVersion=version)

    assert said["result"] == {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "says", "version": "7"},
    }


@pytest.mark.parametrize(("method", "version"), [("initialize", None), ("server/discover", MODERN)])
async def test_instructions_are_told_in_every_era_where_there_are_some(method: str, version: str | None) -> None:
    script = Says()
    script.instructions = "Ask twice."
    meta = {} if version is None else {"_meta": {VERSION_KEY: version}}
    told = json.loads(await Answerer(script).answer(Message(method, meta, 1)))
    silent = await answer(method, version=version)

    assert told["result"]["instructions"] == "Ask twice."
    assert "instructions" not in silent["result"]


async def test_a_revision_that_nobody_knows_gets_the_newest_with_a_handshake() -> None:
    assert (await answer("initialize", protocolVersion="1999-01-01"))["result"]["protocolVersion"] == CLASSIC[0]


async def test_a_classic_result_is_what_the_script_says() -> None:
    assert (await answer("tools/list"))["result"] == {"asked": "tools/list", "_meta": {"own": 1}}
    assert (await answer("ping"))["result"] == {}


async def test_a_modern_result_says_that_it_is_complete_and_whose_it_is() -> None:
    called, listed = await answer("tools/call", version=MODERN), await answer("tools/list", version=MODERN)

    assert called["result"] == {
        "asked": "tools/call",
        "resultType": "complete",
        "_meta": {"own": 1, SERVER_KEY: {"name": "says", "version": "7"}},
    }
    assert listed["result"]["ttlMs"] == 0
    assert listed["result"]["cacheScope"] == "private"


async def test_a_modern_client_discovers_versions_and_capabilities() -> None:
    found = (await answer("server/discover", version=MODERN))["result"]

    assert found["supportedVersions"] == [MODERN, *CLASSIC]
    assert found["capabilities"] == {"tools": {}}


async def test_a_version_of_the_future_is_refused_with_those_that_there_are() -> None:
    refused = (await answer("tools/list", version="2999-01-01"))["error"]

    assert refused["code"] == -32022
    assert refused["data"] == {"supported": [MODERN], "requested": "2999-01-01"}


async def test_what_is_too_deep_to_be_written_is_an_error() -> None:
    assert (await answer("tools/call", deep=1))["error"]["code"] == -32602


async def test_an_error_of_the_script_is_an_error_on_the_wire() -> None:
    assert (await answer("no/such"))["error"] == {"code": -32601, "message": "no such method", "data": {"more": 1}}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":NaN}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":-1e999}}', -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"a"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"a"}', -32600),
        (b'{"jsonrpc":"2.0","id":[],"method":"a"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":[]}', -32600),
    ],
)
def test_what_is_no_request_is_refused(line: bytes, code: int) -> None:
    with pytest.raises(RpcError) as refused:
        message_of(line)

    assert refused.value.code == code


def test_a_notification_has_no_id_and_an_answer_is_for_nobody() -> None:
    assert message_of(b'{"jsonrpc":"2.0","method":"a"}') == Message("a", {})
    assert message_of(b'{"jsonrpc":"2.0","id":1,"result":{}}') is None
