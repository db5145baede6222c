"""One way to write JSON down."""

import hashlib
import json

import pytest
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


_PLAIN_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.characters(max_codepoint=160)
)


@given(st.dictionaries(st.text(max_size=4), st.one_of(_PLAIN_VALUES, json_values), max_size=4))
def test_the_hash_is_that_of_the_canonical_text_whichever_way_it_is_made(value: dict[str, Json]) -> None:
    assert content_hash(value) == hashlib.sha256(canonical_text(value).encode("ascii")).hexdigest()


@pytest.mark.parametrize("char", [*map(chr, range(256)), "\ud800", "\ufeff", "\U0001f600"])
def test_each_letter_has_the_same_hash_whichever_way_it_is_made(char: str) -> None:
    value: dict[str, Json] = {char: char, f"a{char}": 1, "b": None, f"{char}z": True, "m": -(2**63)}

    assert content_hash(value) == hashlib.sha256(canonical_text(value).encode("ascii")).hexdigest()


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**40, 0, -1])
def test_each_number_has_the_same_hash_whichever_way_it_is_made(number: int) -> None:
    assert content_hash({"n": number}) == hashlib.sha256(canonical_text({"n": number}).encode("ascii")).hexdigest()
