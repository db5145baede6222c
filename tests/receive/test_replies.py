"""Refusals an agent can act on, and results that keep what we do not know."""

import json

import pytest

from interlock import errors
from interlock.receive import replies


def test_a_refusal_is_a_tool_result_with_a_sentence_a_code_and_a_fix() -> None:
    result = replies.refusal_result(errors.FROZEN(what="everything"))

    assert result == {
        "content": [
            {
                "type": "text",
                "text": "Calls are frozen: everything.\nWait until an operator thaws it; nothing was sent.",
            }
        ],
        "structuredContent": {
            "code": "FROZEN",
            "message": "Calls are frozen: everything.",
            "fix": "Wait until an operator thaws it; nothing was sent.",
        },
        "isError": True,
    }


def test_a_result_for_a_modern_client_gets_what_its_era_wants_and_keeps_the_rest() -> None:
    upstream = b'{"content":[{"type":"text","text":"x","vendor":1}],"odd":{"k":1.50},"_meta":{"a/b":2}}'

    result = replies.for_era(upstream, modern=True)

    assert b'"odd":{"k":1.50}' in result
    assert json.loads(result)["resultType"] == "complete"
    assert json.loads(result)["_meta"]["a/b"] == 2
    assert json.loads(result)["_meta"][replies.SERVER_INFO_KEY]["name"] == "interlock"


def test_a_result_without_meta_gets_ours_for_a_modern_client() -> None:
    result = json.loads(replies.for_era(b'{"content":[]}', modern=True))

    assert result["_meta"][replies.SERVER_INFO_KEY]["name"] == "interlock"


@pytest.mark.parametrize("meta", ["null", "5", "[]", '"x"'])
def test_a_meta_that_is_none_is_replaced_by_ours_for_a_modern_client(meta: str) -> None:
    result = json.loads(replies.for_era(f'{{"content":[],"_meta":{meta}}}'.encode(), modern=True))

    assert result["_meta"][replies.SERVER_INFO_KEY]["name"] == "interlock"


def test_what_a_modern_upstream_says_of_itself_is_kept() -> None:
    meta = b'"_meta":{"a/b":1.50,"%s":{"name":"far"}}' % replies.SERVER_INFO_KEY.encode()

    assert meta in replies.for_era(b'{"content":[],' + meta + b"}", modern=True)


@pytest.mark.parametrize("kind", ["complete", "input_required"])
def test_a_result_type_of_the_upstream_is_kept_for_a_modern_client(kind: str) -> None:
    result = replies.for_era(json.dumps({"resultType": kind}).encode(), modern=True)

    assert json.loads(result)["resultType"] == kind


def test_a_result_for_a_legacy_client_is_passed_on_byte_for_byte() -> None:
    upstream = b'{ "content" : [ ] , "odd":1.50 }'

    assert replies.for_era(upstream, modern=False) == upstream


def test_a_result_type_is_taken_away_for_a_legacy_client() -> None:
    assert json.loads(replies.for_era(b'{"resultType":"complete","x":1}', modern=False)) == {"x": 1}


@pytest.mark.parametrize("request_id", [1, "a", 'q"uote'])
def test_answers_are_json_rpc(request_id: int | str) -> None:
    assert json.loads(replies.response(request_id, b'{"a":1}')) == {
        "jsonrpc": "2.0",
        "id": request_id,
        "result": {"a": 1},
    }
    assert json.loads(replies.error_response(request_id, -32000, 'x"y', b'{"d":1}')) == {
        "jsonrpc": "2.0",
        "id": request_id,
        "error": {"code": -32000, "message": 'x"y', "data": {"d": 1}},
    }


def test_an_error_without_a_request_has_a_null_id_and_no_data() -> None:
    assert json.loads(replies.error_response(None, -32700, "bad")) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "bad"},
    }


def test_a_message_of_an_event_stream_is_one_event() -> None:
    event = replies.sse_event(replies.notification("notifications/progress", b'{"progress":1}'))

    assert event.startswith(b"event: message\r\ndata: {")
    assert event.endswith(b"}\r\n\r\n")
    assert event.count(b"\n") == 3


def test_an_event_is_one_line_whatever_white_space_is_in_the_message() -> None:
    event = replies.sse_event(b'{"a":\r\n1}')

    assert event == b'event: message\r\ndata: {"a":  1}\r\n\r\n'
