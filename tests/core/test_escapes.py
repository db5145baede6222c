r"""Escapes: what they stand for is found, and so is the place where it stood."""

import json
from urllib.parse import quote

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.escapes import may_have_escapes, origins, spellings, unescaped

PLAIN = "a/b+ \u00f6\U0001f511="


@pytest.mark.parametrize(
    "written",
    [
        PLAIN,
        PLAIN.replace("/", "\\/"),
        json.dumps(PLAIN)[1:-1],
        json.dumps(json.dumps(PLAIN)[1:-1])[1:-1],
        quote(PLAIN),
        quote(quote(PLAIN, safe="+")),
        PLAIN.replace("b", "%62").replace("=", "\\u003D"),
    ],
)
def test_a_text_has_one_form_without_its_escapes(written: str) -> None:
    assert unescaped(written.encode()) == PLAIN.encode()
    assert re2.compile(spellings(PLAIN)).search(f"see {written} there".encode()) is not None


@pytest.mark.parametrize("text", ["100%", "%zz", "\\n", "\\u12", "C:\\dir"])
def test_what_is_no_escape_stays(text: str) -> None:
    assert may_have_escapes(text.encode())
    assert unescaped(text.encode()) == text.encode()


def test_half_a_letter_breaks_nothing() -> None:
    assert unescaped(b"\\ud83d.\\ude00").decode() == "\ufffd.\ufffd"
    assert not may_have_escapes(b"plain")


def test_a_blank_may_be_written_as_in_a_form() -> None:
    assert re2.compile(spellings("a b")).search(b"a+b") is not None
    assert re2.compile(spellings("a b")).search(b"a-b") is None


@given(st.lists(st.sampled_from(["a", "\u00f6", "%2B", "%25", "\\u00f6", "\\\\/", "\\ud83d\\ude00", "\\", "%"])))
def test_each_byte_is_known_by_the_place_that_it_comes_from(pieces: list[str]) -> None:
    text = "".join(pieces).encode()
    plain, places = unescaped(text), origins(text)

    assert len(places) == len(plain) + 1
    assert list(places) == sorted(places)
    assert places[-1] == len(text)
