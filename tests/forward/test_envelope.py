"""JSON-RPC on the wire."""

import json

import pytest

from interlock.forward.envelope import (
    Message,
    Question,
    Reply,
    cancelled_text,
    notification_text,
    own_progress,
    read_message,
    reply_text,
    request_text,
    with_progress_token,
)
from interlock.forward.link import Answer, BadMessage, Notification, RpcError

ODD_PARAMS = b'{ "b" : 1.0,"a":"\\u00e9\xc3\xa9", "n":1e400,"big":12345678901234567890123 }'


def test_params_leave_as_they_are() -> None:
    assert request_text(7, "tools/call", ODD_PARAMS) == (
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + ODD_PARAMS + b"}"
    )
    assert notification_text("a/b", ODD_PARAMS) == b'{"jsonrpc":"2.0","method":"a/b","params":' + ODD_PARAMS + b"}"


def test_a_method_cannot_break_out_of_its_place() -> None:
    assert json.loads(request_text(1, '","id":2,"x":"', b"{}"))["id"] == 1


def test_a_cancellation_names_the_request() -> None:
    assert json.loads(cancelled_text(7)) == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 7},
    }


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (b"{}", b'{"_meta":{"progressToken":7}}'),
        (b'{"a":1.0,"b":[1e400]}', b'{"a":1.0,"b":[1e400],"_meta":{"progressToken":7}}'),
        (b'{"_meta":{"x": 1.0 ,"progressToken":"caller"},"a":1}', b'{"_meta":{"x":1.0,"progressToken":7},"a":1}'),
    ],
)
def test_a_progress_token_is_put_in_and_the_rest_keeps_its_bytes(params: bytes, expected: bytes) -> None:
    assert with_progress_token(params, 7) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"a": 1.0}}', Reply(b"7", Answer(b'{"a": 1.0}'))),
        (b' {"result" : null, "id": "x" , "jsonrpc":"2.0","extra":[]} ', Reply(b'"x"', Answer(b"null"))),
        (b'{"jsonrpc":"2.0","id":7,"result":{},"error":null}', Reply(b"7", Answer(b"{}"))),
        (
            b'{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no","data":[1.0]}}',
            Reply(b"7", Answer(error=RpcError(-1, "no", b"[1.0]"))),
        ),
        (
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}',
            Reply(b"null", Answer(error=RpcError(-1, "no"))),
        ),
        (b'{"jsonrpc":"2.0","method":"a","params":[ 1 ]}', Notification("a", b"[ 1 ]")),
        (b'{"jsonrpc":"2.0","method":"a"}', Notification("a")),
        (b'{"jsonrpc":"2.0","method":"ping","id":"q-1"}', Question(b'"q-1"', "ping")),
        (b'{"jsonrpc":"2.0","method":"a","id":-3,"params":{}}', Question(b"-3", "a", b"{}")),
        (b'{"jsonrpc":"2.0","id":7.0,"result":1}', Reply(b"7.0", Answer(b"1"))),
        (
            '{"jsonrpc":"2.0","method":"é","params":{"ü":"\U0001f600"}}'.encode(),
            Notification("é", '{"ü":"😀"}'.encode()),
        ),
    ],
)
def test_messages_are_told_apart(text: bytes, message: Message) -> None:
    assert read_message(text) == message


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"null",
        b"7",
        b"[]",
        b'[{"jsonrpc":"2.0","id":7,"result":{}}]',
        b'{"id":7,"result":{}}',
        b'{"jsonrpc":"1.0","id":7,"result":{}}',
        b'{"jsonrpc":2.0,"id":7,"result":{}}',
        b'{"jsonrpc":"2.0","id":7}',
        b'{"jsonrpc":"2.0","result":{}}',
        b'{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}',
        b'{"jsonrpc":"2.0","id":7,"error":{"code":"1","message":""}}',
        b'{"jsonrpc":"2.0","id":7,"error":{"code":1}}',
        b'{"jsonrpc":"2.0","id":7,"error":"no"}',
        b'{"jsonrpc":"2.0","id":null,"method":"a"}',
        b'{"jsonrpc":"2.0","id":[1],"method":"a"}',
        b'{"jsonrpc":"2.0","id":1,"method":null}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":7,"result":{}} {"jsonrpc":"2.0","id":7,"result":{}}',
        b'{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":7,"result":{"a":01}}',
        b'{"jsonrpc":"2.0","id":7,"result":"\x01"}',
        b'{"jsonrpc":"2.0","id":7,"result":"\xff"}',
        b'{"jsonrpc":"2.0","id":7,"result":"\xed\xa0\x80"}',
        b'{"jsonrpc":"2.0","id":7,"result":{},"other":"\xff"}',
        b'{"jsonrpc":"2.0","id":7,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":7,"result":{}}',
        '{"jsonrpc":"2.0","id":7,"result":{}}'.encode("utf-16"),
    ],
)
def test_everything_else_is_refused(text: bytes) -> None:
    with pytest.raises(BadMessage):
        read_message(text)


def test_a_ping_is_answered_and_everything_else_declined() -> None:
    assert json.loads(reply_text(Question(b'"a"', "ping"))) == {"jsonrpc": "2.0", "id": "a", "result": {}}
    assert json.loads(reply_text(Question(b"7", "sampling/createMessage"))) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32601, "message": "Method not found"},
    }


@pytest.mark.parametrize(
    ("notification", "reported"),
    [
        (
            Notification("notifications/progress", b'{"progressToken":7,"progress":0.50}'),
            Notification("notifications/progress", b'{"progress":0.50}'),
        ),
        (Notification("notifications/progress", b'{"progressToken":8,"progress":1}'), None),
        (Notification("notifications/progress", b'{"progressToken":"7","progress":1}'), None),
        (Notification("notifications/progress", b'{"progress":1}'), None),
        (Notification("notifications/message", b'{"progressToken":7}'), None),
    ],
)
def test_only_progress_of_this_request_is_its_own(notification: Notification, reported: Notification | None) -> None:
    assert own_progress(notification, 7) == reported


@pytest.mark.parametrize("params", [b"", b"[]", b"null"])
def test_progress_without_params_is_refused(params: bytes) -> None:
    with pytest.raises(BadMessage):
        own_progress(Notification("notifications/progress", params), 7)
