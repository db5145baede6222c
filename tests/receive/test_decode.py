"""What two parsers might read differently is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.model import Json
from interlock.receive.decode import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Notice,
    Request,
    Response,
    Undecodable,
    decode_json,
    decode_message,
)
from tests.core.strategies import json_values


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b'{"a":1,"a":2}',
        b'{"a":1,"\\u0061":2}',
        b'[{"x":{"k":":","k":1}}]',
        b'{"a":"\\u003a","b":1,"b":2}',
        b'"\\ud800"',
        b'{"\\udc00":1}',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b"\xef\xbb\xbf{}",
        b'{"a":1}x',
        b"01",
        b"1e999",
        b"9" * 5000,
        b"[" * 65 + b"]" * 65,
        b'{"a":' * 65 + b"1" + b"}" * 65,
        b"[" * 100_000,
        b'"a\x00b"',
        b"{'a':1}",
        b'{"a":1,}',
    ],
)
def test_what_is_not_one_unambiguous_json_value_is_refused(raw: bytes) -> None:
    with pytest.raises(Undecodable) as refused:
        decode_json(raw)

    assert refused.value.code == PARSE_ERROR
    assert refused.value.why


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 64 + b"]" * 64,
        b'{"a":{"a":1},"b":[{"a":1},{"a":2}]}',
        b'{"time":"10:30","url":"http://x:1/"}',
        b'{"a:b":":"}',
        b'{"\\u003a":":","b":"\\u003a\\u003a"}',
        b'"\\ud83d\\ude00"',
        b' \r\n\t{"a" : 1} ',
        b"123456789012345678901234567890",
        b"[" + b"{}," * 99 + b"{}]",
    ],
)
def test_what_is_unambiguous_is_decoded_as_everybody_would(raw: bytes) -> None:
    assert decode_json(raw) == json.loads(raw)


@given(json_values)
def test_every_json_value_comes_through_unchanged(value: Json) -> None:
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), compact):
        assert decode_json(text.encode("utf-8")) == value


@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize(("comma", "colon"), [(", ", ": "), (",", ":")])
@given(st.dictionaries(st.text(max_size=3), json_values, min_size=1, max_size=3), json_values)
def test_a_key_that_stands_twice_is_always_seen(
    comma: str, colon: str, ensure_ascii: bool, members: dict[str, Json], again: Json
) -> None:
    write = json.JSONEncoder(separators=(comma, colon), ensure_ascii=ensure_ascii).encode
    key = next(iter(members))
    doubled = write(members)[:-1] + comma + write(key) + colon + write(again) + "}"

    with pytest.raises(Undecodable, match="twice"):
        decode_json(doubled.encode("utf-8"))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', Request(1, "tools/call", {})),
        (b'{"jsonrpc":"2.0","id":"a","method":"x","params":{"y":1}}', Request("a", "x", {"y": 1})),
        (b'{"jsonrpc":"2.0","method":"notifications/x"}', Notice("notifications/x", {})),
    ],
)
def test_requests_and_notices_are_told_apart(raw: bytes, message: Request | Notice) -> None:
    assert decode_message(raw) == message


@pytest.mark.parametrize("body", ['"result":{}', '"error":{"code":1,"message":"x"}'])
def test_an_answer_of_the_client_is_recognised(body: str) -> None:
    message = decode_message(f'{{"jsonrpc":"2.0","id":7,{body}}}'.encode())

    assert isinstance(message, Response)
    assert message.id == 7


@pytest.mark.parametrize(
    ("raw", "request_id"),
    [
        (b"[]", None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', None),
        (b'"x"', None),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":{},"method":"x"}', None),
        (b'{"jsonrpc":"1.0","id":1,"method":"x"}', 1),
        (b'{"id":1,"method":"x"}', 1),
        (b'{"jsonrpc":"2.0","id":1,"Method":"x"}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","PARAMS":{}}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":""}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"a b"}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":null}', 1),
        (b'{"jsonrpc":"2.0"}', None),
        (b'{"jsonrpc":"2.0","id":1}', 1),
        (b'{"jsonrpc":"2.0","id":1,"result":1,"error":1}', 1),
        (b'{"jsonrpc":"2.0","result":1}', None),
    ],
)
def test_what_is_no_json_rpc_message_is_refused_with_its_id_if_it_has_one(raw: bytes, request_id: int | None) -> None:
    with pytest.raises(Undecodable) as refused:
        decode_message(raw)

    assert (refused.value.code, refused.value.id) == (INVALID_REQUEST, request_id)
