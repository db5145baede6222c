"""The pieces of a sentence that a judgement can be learned from: words and their neighbours, meanings, atoms, letters.

Each piece is a number: the checksum of its text, cut to the size of a table of weights. Pieces are of several kinds,
and each kind is counted by itself, because a sentence has ten times as many groups of letters as words. Addresses,
paths, numbers and the tool's own names are replaced by what they are: a judgement must not hang on one host.

Nothing here knows what is poison.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, pairwise
from zlib import crc32

from interlock.core.poison.meanings import MEANINGS

ROOM = 1 << 19
"""How many different pieces there are, a power of two."""

_ADDRESS = re.compile(r"\b[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_LINK = re.compile(
    r"\b(?:https?|ftp|wss?)://[^\s)>\]\"'`]+|\bwww\.\S+"
    r"|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:example|test|invalid|com|net|org|io|dev)\b(?:/[^\s)>\]\"'`]*)?"
)
_PATH = re.compile(
    r"(?:~|\$home|%\w+%|\.{1,2})?[/\\](?:[\w.*-]+[/\\])*[\w.*-]+"
    r"|(?<!\w)\.(?:env|ssh|aws|npmrc|netrc|git\w*|kube|bash\w*|zsh\w*|config|docker)\b[\w./-]*"
)
_NAME = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")
_NUMBER = re.compile(r"\b\d[\d.,]*\b")
_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?|[<>\[\]{}$!#:=]")
_ENDINGS = ("ing", "ed", "es", "s", "ly")
_LONGER_ENDINGS = ("ingly", "edly", "ing", "ed", "es", "s", "ly", "ion", "ions")
_STANDS_FOR = ("LINK", "ADDRESS", "PATH", "OWN", "OTHER")
_NEAR, _NEARER = 8, 5
_MOST_MEANINGS = 14
_MOST_LETTERS = 2_000
"""Letters of one sentence that are read; nobody writes longer ones to be understood."""
_OTHER_LETTERS = 0x250

KINDS = ("words", "neighbours", "placed", "beginnings", "signs", "letters", "atoms", "meanings")
_SEEDS = {kind: crc32(kind.encode()) for kind in KINDS}

Pieces = dict[str, list[int]]
"""The pieces of each kind, as often as they occur."""


def pieces_of(sentence: str, *, parameter: bool, own: frozenset[str], atoms: Sequence[str]) -> Pieces:
    """The pieces of a folded sentence. `own` are the names of the tool and its parameters, `atoms` what was found."""
    words = words_in(sentence[:_MOST_LETTERS], own)
    stems = [_stem(word, _ENDINGS) for word in words]
    place = "parameter:" if parameter else "tool:"
    letters = f" {' '.join(words)} "
    texts = {
        "words": _runs(stems),
        "neighbours": _apart(stems),
        "placed": (place + stem for stem in stems),
        "beginnings": (word[:size] for word in words if len(word) > 5 for size in (4, 5)),
        "signs": _signs(letters),
        "letters": (letters[at : at + size] for size in (3, 4, 5) for at in range(len(letters) - size + 1)),
        "atoms": (*atoms, *(f"{one}|{other}" for one, other in combinations(atoms, 2))),
        "meanings": _meanings(words),
    }
    return {kind: _numbers(kind, found) for kind, found in texts.items()}


def together(parts: Sequence[Pieces]) -> Pieces:
    """The pieces of several sentences as one."""
    return {kind: [*chain.from_iterable(part[kind] for part in parts)] for kind in KINDS}


def words_in(sentence: str, own: frozenset[str]) -> list[str]:
    """The words of a sentence, with what is particular replaced by what it is."""

    def named(match: re.Match[str]) -> str:
        found = match[0]
        return " OWN " if found in own else f" OTHER {found.replace('_', ' ')} "

    for pattern, stands_for in ((_ADDRESS, " ADDRESS "), (_LINK, " LINK "), (_PATH, " PATH ")):
        sentence = pattern.sub(stands_for, sentence)
    return _WORD.findall(_NUMBER.sub(" NUM ", _NAME.sub(named, sentence)))


def _numbers(kind: str, texts: Iterable[str]) -> list[int]:
    seed, last = _SEEDS[kind], ROOM - 1
    return [crc32(text.encode("utf-8", "replace"), seed) & last for text in texts]


def _stem(word: str, endings: tuple[str, ...]) -> str:
    return next((word[: -len(each)] for each in endings if word.endswith(each) and len(word) - len(each) >= 4), word)


def _runs(stems: list[str]) -> Iterator[str]:
    """One, two and three words in a row."""
    yield from stems
    yield from map(" ".join, pairwise(stems))
    yield from map(" ".join, zip(stems, stems[1:], stems[2:], strict=False))


def _apart(stems: list[str]) -> Iterator[str]:
    """Two words with one to three between them."""
    for gap in range(2, _NEARER):
        yield from map("~".join, zip(stems, stems[gap:], strict=False))


def _signs(letters: str) -> Iterator[str]:
    """Pairs and triples of letters in which one is of a script that has no spaces or no Latin letters."""
    if letters.isascii():
        return
    for size in (2, 3):
        for at in range(len(letters) - size + 1):
            group = letters[at : at + size]
            if any(ord(char) > _OTHER_LETTERS for char in group):
                yield group


# Meanings -------------------------------------------------------------------------------------------------------


def _meaning_stem(word: str) -> str:
    stem = _stem(word, _LONGER_ENDINGS)
    return stem[:-1] if stem.endswith("e") and len(stem) > 4 else stem


def _by_stem() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for meaning, words in MEANINGS.items():
        for stem in {_meaning_stem(word) for word in words}:
            table[stem] = (*table.get(stem, ()), meaning)
    return table


_MEANING_OF = {**_by_stem(), **{each: (each,) for each in _STANDS_FOR}}


def _meanings(words: list[str]) -> Iterator[str]:
    """What the words stand for: each alone, in the order of two that are near, and any three of one sentence."""
    found = [_MEANING_OF.get(word) or _MEANING_OF.get(_meaning_stem(word), ()) for word in words]
    different = sorted({each for meanings in found for each in meanings})
    yield from different
    pairs = {
        f"{earlier}>{later}"
        for at, meanings in enumerate(found)
        for later in meanings
        for before in found[max(0, at - _NEAR) : at]
        for earlier in before
    }
    yield from pairs
    yield from map("|".join, combinations(different[:_MOST_MEANINGS], 3))
