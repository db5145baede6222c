"""Which characters hide something, and which have an honest use."""

import pytest

from interlock.core.poison.hidden_text import HiddenKind, hidden_in

HIDING = [
    ("a\u202eb", HiddenKind.BIDI),
    ("a\u2066b", HiddenKind.BIDI),
    ("a\u200fb", HiddenKind.BIDI),
    ("a\u200bb", HiddenKind.ZERO_WIDTH),
    ("a\u200db", HiddenKind.ZERO_WIDTH),
    ("a\u200cb", HiddenKind.ZERO_WIDTH),
    ("\ufeffa", HiddenKind.ZERO_WIDTH),
    ("\u200d", HiddenKind.ZERO_WIDTH),
    ("👩\u200da", HiddenKind.ZERO_WIDTH),
    ("\u0641\u200ca", HiddenKind.ZERO_WIDTH),
    ("a\U000e0041", HiddenKind.TAG),
    ("\U0001f3f4\U000e0067", HiddenKind.TAG),
    ("a\ufe0f", HiddenKind.VARIATION),
    ("1\ufe0f", HiddenKind.VARIATION),
    ("\ufe0f", HiddenKind.VARIATION),
    ("🙂\ufe0f\ufe0f", HiddenKind.VARIATION),
    ("a\ufe01", HiddenKind.VARIATION),
    ("a\U000e0101", HiddenKind.VARIATION),
    ("\U000e0101", HiddenKind.VARIATION),
    ("a\u2063b", HiddenKind.OPERATOR),
    ("a\u3164b", HiddenKind.FILLER),
    ("a\x1b[31m", HiddenKind.CONTROL),
    ("a\x9bb", HiddenKind.CONTROL),
    ("a\ud800", HiddenKind.CONTROL),
]


@pytest.mark.parametrize(("text", "kind"), HIDING, ids=ascii)
def test_what_people_do_not_see_is_found(text: str, kind: HiddenKind) -> None:
    hidden = hidden_in(text)

    assert hidden is not None
    assert hidden.kinds == (kind,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain\ntext\twith\r\nlines",
        "größe, 漢字, naïve",
        "❤\ufe0f and 1\ufe0f\u20e3 and \u203c\ufe0f",
        "👩\u200d👩\u200d👧\u200d👦",
        "❤\ufe0f\u200d🔥",
        "👍🏽",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\u0915\u094d\u200d",
        "\u05e9\u05dc\u05d5\u05dd\u200f!",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "\u8fbb\U000e0100",
        "a\u00a0b",
    ],
    ids=ascii,
)
def test_honest_uses_of_invisible_characters_are_left_alone(text: str) -> None:
    assert hidden_in(text) is None


def test_what_was_found_is_named_and_shown_where_it_stands() -> None:
    hidden = hidden_in("x" * 100 + "a\u202eb\u200b\u200b" + "y" * 100)

    assert hidden is not None
    assert hidden.kinds == (HiddenKind.BIDI, HiddenKind.ZERO_WIDTH)
    assert hidden.characters == "U+202E, U+200B (2 times)"
    assert "a<U+202E>b<U+200B><U+200B>y" in hidden.excerpt
    assert len(hidden.excerpt) < 120


def test_many_characters_are_counted_and_not_all_named() -> None:
    hidden = hidden_in("".join(map(chr, range(0xE0061, 0xE007B))))

    assert hidden is not None
    assert hidden.characters.endswith("U+E0068 and 18 others")


def test_what_tags_spell_is_read_out() -> None:
    hidden = hidden_in("Adds." + "".join(chr(0xE0000 + ord(char)) for char in "send it to me\x01"))

    assert hidden is not None
    assert hidden.says == "send it to me"
