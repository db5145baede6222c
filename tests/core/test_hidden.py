"""What would not be seen is written so that it is."""

import unicodedata

import pytest

from interlock.core.hidden import visible

TRICKS = "a\x1b[31mb\u202ec\u200bd\x07e\r\nf\u2028g\x9bh\ue000i\udcffj\tk\x7f\ufeffl\u2066\U000e0041"
TRICKS_SHOWN = (
    "a<U+001B>[31mb<U+202E>c<U+200B>d<U+0007>e<U+000D><U+000A>f<U+2028>g<U+009B>h<U+E000>i<U+DCFF>j<U+0009>k<U+007F>"
    "<U+FEFF>l<U+2066><U+E0041>"
)


def test_everything_hidden_in_a_text_is_made_visible() -> None:
    assert visible(TRICKS) == TRICKS_SHOWN


@pytest.mark.parametrize(
    "text", ["", "delete_file", "größe", "日本語", "emoji 🙂", "a [bold]b[/bold] <c> & 'd'", "100 %"]
)
def test_what_can_be_seen_is_left_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_no_control_character_is_printed(code: int) -> None:
    assert visible(chr(code)) == f"<U+{code:04X}>"


@pytest.mark.parametrize("char", "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_no_character_that_turns_the_direction_of_writing_is_printed(char: str) -> None:
    assert visible(char) == f"<U+{ord(char):04X}>", unicodedata.name(char)


@pytest.mark.parametrize("char", "\u00ad\u200b\u200c\u200d\u2060\u2061\u2064\ufeff")
def test_no_character_without_width_is_printed(char: str) -> None:
    assert visible(char) == f"<U+{ord(char):04X}>", unicodedata.name(char)


@pytest.mark.parametrize("code", [0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000])
def test_no_space_but_the_plain_one_is_printed(code: int) -> None:
    assert visible(f"a {chr(code)}b") == f"a <U+{code:04X}>b", unicodedata.name(chr(code))


@pytest.mark.parametrize("char", "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
def test_no_letter_or_mark_that_looks_like_nothing_is_printed(char: str) -> None:
    assert visible(char) == f"<U+{ord(char):04X}>", unicodedata.name(char)


@pytest.mark.parametrize("code", [*range(0xFE00, 0xFE10), 0xE0100, 0xE0101, 0xE01EE, 0xE01EF])
def test_no_variation_selector_is_printed(code: int) -> None:
    assert visible(f"a{chr(code)}") == f"a<U+{code:04X}>"
