"""One way to write JSON down."""

import json

from hypothesis import given
from hypothesis import strategies as st

from interlock.core.canonical import argument_digest, canonical_text, content_hash
from interlock.core.model import Json
from tests.core.strategies import json_values


def test_keys_are_sorted_and_white_space_is_gone() -> None:
    assert canonical_text({"b": [1, 2.5, None, True], "a": "é"}) == '{"a":"\\u00e9","b":[1,2.5,null,true]}'


@given(json_values)
def test_the_canonical_text_says_the_same(value: Json) -> None:
    assert json.loads(canonical_text(value)) == value


def test_lists_keep_their_order_and_numbers_their_form() -> None:
    assert len({content_hash(value) for value in ([1, 2], [2, 1], [1.0, 2], ["1", 2], [True, 2])}) == 5


def test_a_lone_surrogate_has_a_hash() -> None:
    assert content_hash("\ud800") != content_hash("\ud801")


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4))
def test_our_own_arguments_are_not_part_of_the_digest(arguments: dict[str, Json]) -> None:
    ours: dict[str, Json] = {"_justification": "why", "_approval_id": "apr-1"}

    assert argument_digest({**arguments, **ours}) == argument_digest(arguments)
