"""The words by what they stand for."""

from interlock.core.poison.meanings import MEANINGS


def test_every_meaning_has_words_in_plain_small_letters() -> None:
    for meaning, words in MEANINGS.items():
        assert len(words) >= 6, meaning
        assert all(word == word.lower() and word.isascii() for word in words), meaning


def test_what_is_kept_from_people_and_people_are_different_things() -> None:
    assert not MEANINGS["hide"] & MEANINGS["user"]
    assert not MEANINGS["secret"] & MEANINGS["say"]
