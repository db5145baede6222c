"""The ways in which a model may read a text that was disguised for people and for filters.

A model reads `1gn0re`, `i g n o r e`, letters of other alphabets and letters with nothing between them as one word.
So a text is folded before it is searched: widths and look-alike letters to plain ones, what takes no room left out,
accents dropped, all in small letters. Of a folded text there are further readings without gaps and with digits as
letters.

This module judges nothing.
"""

import re
from unicodedata import category, combining, normalize

from interlock.core.poison.lookalikes import in_latin

_GAPS = re.compile(r"[^\S\n]+")
_PIECES = re.compile(r"\S+")
_WORDS = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+|[\u3002\uff01\uff1f\uff1b]|(?<=[.!?;][\"')])\s+")
_LETTERS = re.compile(r"[^a-z]+")
_LEET = str.maketrans("0134578@$!|", "oieastbasii")
_MIXED = re.compile(r"\b(?=[a-z]*[0-9@$!|])(?=[0-9@$!|]*[a-z])[a-z0-9@$!|]{3,}")
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc`", "''''")
_SPACED = re.compile(r"\b(?:\w[ .*_\-]){3,}\w\b")


def folded(text: str) -> str:
    """The text in plain small letters; its lines stay."""
    if text.isascii():
        return _GAPS.sub(" ", text.lower())
    return _GAPS.sub(" ", _PIECES.sub(lambda piece: _plain(piece[0]), normalize("NFKC", text)).casefold())


def _plain(piece: str) -> str:
    """A piece of text without white space, in plain letters; only those that are not are looked at letter by letter."""
    if piece.isascii():
        return piece
    seen = "".join(char for char in piece if category(char) not in ("Cf", "Cn", "Co", "Mn"))
    latin = _WORDS.sub(lambda word: _in_one_alphabet(word[0]), seen).translate(_APOSTROPHES)
    return "".join(map(_without_accent, latin))


def _in_one_alphabet(word: str) -> str:
    """A word whose letters are of several alphabets, in plain ones; a word of one alphabet stays."""
    if word.isascii() or not any(char.isascii() for char in word):
        return word
    return in_latin(word)


def _without_accent(char: str) -> str:
    if char.isascii():
        return char
    apart = normalize("NFD", char)
    return apart[0] if apart[0].isascii() and all(map(combining, apart[1:])) else char


def sentences(fold: str) -> list[str]:
    """The sentences of a folded text."""
    return [each.strip() for each in _SENTENCE.split(fold) if each.strip()]


def joined(fold: str) -> str | None:
    """The text with words that are spelled letter by letter put together; None where there are none."""
    if _SPACED.search(fold) is None:
        return None
    return _SPACED.sub(lambda word: re.sub(r"[ .*_\-]", "", word[0]), fold)


def unleet(fold: str) -> str | None:
    """The text with digits inside of words read as letters; None where no two words have any."""
    if len(_MIXED.findall(fold)) < 2:
        return None
    return _MIXED.sub(lambda word: word[0].translate(_LEET), fold)


def squeezed(fold: str) -> tuple[str, ...]:
    """Nothing but the letters, as they are, and with digits read as letters."""
    plain = _LETTERS.sub("", fold)
    leet = _LETTERS.sub("", fold.translate(_LEET))
    return (plain,) if leet == plain else (plain, leet)
