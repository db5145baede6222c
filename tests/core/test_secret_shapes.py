"""Each shape finds what its issuer writes, says whose it is, and finds nothing in what people write every day."""

import base64
import json
import random

import pytest
import re2

from interlock.core.redact import redact, redact_text
from interlock.core.secret_shapes import SECRET_SHAPES
from tests.core.honest import HONEST
from tests.issued import NAMED, SHAPED, issued, one_of_each

ISSUERS = 60
"""At least so many are known."""


def test_the_issuers_that_people_use_are_known() -> None:
    assert len(SECRET_SHAPES) >= ISSUERS
    assert len({name for name, _ in SECRET_SHAPES}) == len(SECRET_SHAPES)


@pytest.mark.parametrize(("name", "shape"), SECRET_SHAPES, ids=[name for name, _ in SECRET_SHAPES])
def test_a_shape_fits_what_its_issuer_writes(name: str, shape: str) -> None:
    chance = random.Random(name)

    for _ in range(20):
        made = issued(SHAPED[name], chance)
        text = f"see {made.text} there".encode()
        (found,) = re2.compile(shape).finditer(text)
        assert made.body.encode() in text[slice(*found.span())]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_of_a_credential_is_left_beside_its_marker(seed: int) -> None:
    for each in one_of_each(seed):
        shown = redact_text(f"see {each.text} there")
        assert not [at for at in range(len(each.body) - 7) if each.body[at : at + 8] in shown], (each, shown)


@pytest.mark.parametrize("text", HONEST)
def test_honest_text_comes_through_as_it_is(text: str) -> None:
    value = {"text": text, "lines": [text, {"again": text}]}

    assert redact_text(text) == text
    assert redact(value) == value
    assert redact_text(json.dumps(value)) == json.dumps(value)


def test_there_are_enough_honest_texts() -> None:
    assert len(set(HONEST)) >= 100


def test_what_is_random_and_has_no_mark_of_an_issuer_comes_through() -> None:
    chance = random.Random(7)
    for _ in range(300):
        image = base64.b64encode(chance.randbytes(600)).decode()
        numbers = {"sha": chance.randbytes(20).hex(), "md5": chance.randbytes(16).hex(), "image": image}
        assert redact(numbers) == numbers


def test_every_name_has_its_example() -> None:
    assert set(SHAPED) == {name for name, _ in SECRET_SHAPES}
    assert set(SHAPED).isdisjoint(NAMED)
