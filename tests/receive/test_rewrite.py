"""One member changes, and every other value keeps its bytes."""

import msgspec
import pytest

from interlock.receive.rewrite import with_member, with_uris_of_contents


def test_one_member_is_replaced_and_the_others_keep_their_bytes() -> None:
    text = b'{ "big": 12345678901234567890.00100, "uri" : "a:1", "x": { "y" : [1 , 2] } }'

    assert with_member(text, "uri", "up+a:1") == (
        b'{"big":12345678901234567890.00100,"uri":"up+a:1","x":{ "y" : [1 , 2] }}'
    )


def test_the_uris_of_contents_are_prefixed_and_nothing_else_is() -> None:
    result = b'{"contents":[{"uri":"a:1","n":1.50,"uris":"a:1"}, {"text":"a:1"}],"uri":"a:1","_meta":{"uri": "a:1"}}'

    assert with_uris_of_contents(result, "up+") == (
        b'{"contents":[{"uri":"up+a:1","n":1.50,"uris":"a:1"},{"text":"a:1"}],"uri":"a:1","_meta":{"uri": "a:1"}}'
    )


def test_a_result_without_contents_stays_as_it_is() -> None:
    assert with_uris_of_contents(b'{"a":1.50}', "up+") == b'{"a":1.50}'


@pytest.mark.parametrize("result", [b"7", b"[]", b'{"contents":7}', b'{"contents":[7]}', b'{"contents":[{"uri":7}]}'])
def test_what_is_not_in_the_form_of_a_result_is_refused(result: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        with_uris_of_contents(result, "up+")
