"""Disguises are read through: widths, look-alike letters, gaps, digits."""

import pytest

from interlock.core.poison.readings import folded, joined, sentences, squeezed, unleet


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Ignore  THE\trules", "ignore the rules"),
        ("\uff29\uff47\uff4e\uff4f\uff52\uff45", "ignore"),
        ("\u0406gn\u043ere", "ignore"),
        ("ig\u200bno\u00adre", "ignore"),
        ("pr\u00e9c\u00e9dentes", "precedentes"),
        ("d\u2019ici", "d'ici"),
        ("\u0417\u0430\u0431\u0443\u0434\u044c", "\u0437\u0430\u0431\u0443\u0434\u044c"),
        ("\u30d1\u30b9", "\u30d1\u30b9"),
    ],
)
def test_a_text_is_folded_to_plain_letters(text: str, plain: str) -> None:
    assert folded(text) == plain


def test_sentences_end_at_their_signs_and_at_lines() -> None:
    assert sentences("one two. three; four\n\nfive\u3002six ") == ["one two.", "three;", "four", "five", "six"]


def test_words_that_are_spelled_out_are_put_together() -> None:
    assert joined("i g n o r e the r.u.l.e.s") == "ignore the rules"
    assert joined("a plain text") is None


def test_digits_inside_of_words_are_read_as_letters() -> None:
    assert unleet("d1sregard the pa55word") == "disregard the password"
    assert unleet("sha256 of a text") is None


def test_only_letters_are_left_and_digits_are_read_as_letters() -> None:
    assert squeezed("ignore_all previous") == ("ignoreallprevious",)
    assert squeezed("1gn0re") == ("gnre", "ignore")
