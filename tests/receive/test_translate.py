"""A message in the words of both transports."""

import json
from typing import Any

import pytest
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request, decode_header_value

from interlock.errors import GATEWAY_LOST
from interlock.receive.decode import Request, Undecodable
from interlock.receive.translate import MAX_NAME, error, is_modern, mirrored, refusal, version_in

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
META: dict[str, Any] = {VERSION_KEY: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


@pytest.mark.parametrize(
    ("params", "modern"),
    [
        ({}, False),
        ({"_meta": {}}, False),
        ({"_meta": 5}, False),
        ({"_meta": {"progressToken": 1}}, False),
        ({"_meta": META}, True),
        ({"_meta": {VERSION_KEY: "2099-01-01"}}, True),
    ],
)
def test_who_says_its_version_in_the_message_is_modern(params: dict[str, Any], modern: bool) -> None:
    assert is_modern(params) is modern


@pytest.mark.parametrize(
    "name",
    [
        "up__echo",
        "with space",
        " edges ",
        "",
        "größe",
        "a\r\nauthorization: x",
        "\x00",
        "=?base64?dXA=?=",
        "\u2028",
        "\u00a0",
        "x" * MAX_NAME,
    ],
)
@pytest.mark.parametrize(
    ("method", "key"), [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")]
)
def test_the_headers_say_what_the_body_says_as_the_protocol_checks_it(method: str, key: str, name: str) -> None:
    params = {key: name, "_meta": META}
    headers = mirrored(Request(1, method, params))

    assert all(value.isascii() and value.isprintable() for value in headers.values())
    assert decode_header_value(headers["mcp-name"]) == name
    routed = classify_inbound_request({"method": method, "params": params}, headers=headers)
    assert isinstance(routed, InboundModernRoute)


def test_a_method_without_a_name_repeats_none() -> None:
    headers = mirrored(Request(1, "tools/list", {"_meta": META, "name": "x", "": "y"}))

    assert "mcp-name" not in headers


def test_it_is_said_that_no_argument_is_repeated() -> None:
    headers = mirrored(Request(1, "tools/list", {"_meta": META}))

    assert headers == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
        "interlock-transport": "stdio",
    }


@pytest.mark.parametrize(
    "params",
    [
        {"name": 5, "_meta": META},
        {"name": ["a"], "_meta": META},
        {"name": "x" * (MAX_NAME + 1), "_meta": META},
        {"name": "a", "_meta": {VERSION_KEY: 5}},
        {"name": "a", "_meta": {VERSION_KEY: None}},
    ],
)
def test_what_no_header_can_repeat_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(Undecodable) as refused:
        mirrored(Request("an id", "tools/call", params))

    assert (refused.value.code, refused.value.id) == (-32602, "an id")


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (b'{"id":1,"result":{"protocolVersion":"2025-06-18"}}', "2025-06-18"),
        (b'{"id":1,"result":{"protocolVersion":5}}', ""),
        (b'{"id":1,"result":{}}', ""),
        (b'{"id":1,"error":{"code":1,"message":"x"}}', ""),
        (b'{"method":"x"}', ""),
        (b"[]", ""),
    ],
)
def test_the_version_is_in_the_answer_to_initialize_or_nowhere(message: bytes, version: str) -> None:
    assert version_in(message) == version


def test_a_reason_becomes_an_error_with_its_code_and_its_fix() -> None:
    said = json.loads(error("a", -32002, GATEWAY_LOST()))

    assert (said["id"], said["error"]["code"]) == ("a", -32002)
    assert said["error"]["data"]["code"] == "INDETERMINATE"
    assert "may have had its effect" in said["error"]["message"]


@pytest.mark.parametrize(
    ("status", "body", "code", "message"),
    [
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}', -32600, "no"),
        (400, b'{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"no","data":1}}', -32020, "no"),
        (401, b'{"error":"The token is not valid."}', -32001, "The token is not valid."),
        (406, b"", -32001, "The gateway answered with status 406."),
        (500, b"<html>", -32001, "The gateway answered with status 500."),
        (500, b"[]", -32001, "The gateway answered with status 500."),
        (500, b'{"error":{"a":1}}', -32001, "The gateway answered with status 500."),
    ],
)
def test_a_refusal_over_http_becomes_the_answer_to_its_request(
    status: int, body: bytes, code: int, message: str
) -> None:
    said = json.loads(refusal(7, status, body))

    assert (said["jsonrpc"], said["id"]) == ("2.0", 7)
    assert (said["error"]["code"], said["error"]["message"]) == (code, message)
