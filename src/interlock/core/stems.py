"""Words brought to one form, so that a question about "deleting issues" meets a tool named `deleteIssue`.

The stemmer is light on purpose: plurals, -ing, -ed and -ion, nothing that turns one word into another one. It knows
English only; words of other languages are compared as they are written. Nothing is left out for being common: how much
a word tells is seen in the catalogue, not in a list.
"""

import re
from collections.abc import Callable
from functools import lru_cache

_RUN = re.compile(r"[^\W_]{1,64}")
"""A word as it is written. Longer ones are keys and hashes, and what an upstream sends must not fill the memory."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_AFTER_APOSTROPHE = re.compile(r"['\u2019]\w{1,2}\b")
_VOWEL = re.compile(r"[aeiouy]")
_SHORT = re.compile(r"[^aeiou]+[aeiouy][^aeiouwxy]")
"""One syllable that ends like `fil` or `not`: its `e` is what tells file from fill and note from not."""

_REMEMBERED = 1 << 14

_OTHERWISE = {
    # What people shorten.
    "app": "application",
    "config": "configuration",
    "db": "database",
    "dbs": "database",
    "dir": "directory",
    "dirs": "directory",
    "doc": "documentation",
    "docs": "documentation",
    "env": "environment",
    "ids": "id",
    "info": "information",
    "k8s": "kubernetes",
    "mongo": "mongodb",
    "msg": "message",
    "org": "organization",
    "postgres": "postgresql",
    "pr": "pull request",
    "prs": "pull request",
    "repo": "repository",
    "repos": "repository",
    # What is inflected out of rule.
    "cancelled": "cancel",
    "cancelling": "cancel",
    "children": "child",
    "embeds": "embed",
    "found": "find",
    "got": "get",
    "indices": "index",
    "labelled": "label",
    "labelling": "label",
    "made": "make",
    "people": "person",
    "ran": "run",
    "sent": "send",
    "used": "use",
    "using": "use",
    "written": "write",
    "wrote": "write",
}
_AS_IT_IS = frozenset({"alias", "embed", "news"})
"""Words that only look inflected."""


def stems_of_word(word: str) -> tuple[str, ...]:
    """The form under which a lower-case word is compared; several for some short forms."""
    return tuple(map(_stem, _OTHERWISE.get(word, word).split()))


def _stem(word: str) -> str:
    if len(word) < 4 or not word.isascii() or word in _AS_IT_IS:
        return word
    word = _singular(word)
    if (bare := _without_ending(word)) is not None:
        return bare
    if word.endswith(("tion", "sion")) and len(word) >= 8:
        return word[:-3]
    return word[:-1] if word.endswith("e") and not _SHORT.fullmatch(word[:-1]) else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and word[-2] not in "sui" else word


def _without_ending(word: str) -> str | None:
    """The stem of a form in -ing or -ed; None where the word is none, as `string` and `feed`."""
    if word.endswith("ied") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith("ing"):
        bare = word[:-3]
    elif word.endswith("ed") and not word.endswith("eed"):
        bare = word[:-2]
    else:
        return None
    if len(bare) < 3 or not _VOWEL.search(bare):
        return None
    if bare[-1] == bare[-2] and bare[-1] not in "aeioulsz":
        return bare[:-1]
    return f"{bare}e" if _SHORT.fullmatch(bare) else bare


def name_stems(name: str) -> list[str]:
    """The stems of a name, split at separators and in camelCase."""
    return [stem for run in _RUN.findall(name) for stem in _of_parts(run)]


def prose_stems(text: str) -> list[str]:
    """The stems of a text. `GitHub` counts as `github` too: capitals inside a word of prose mark a product."""
    return [stem for run in _runs(text) for stem in _of_parts_and_whole(run)]


def asked_stems(question: str, known: Callable[[str], bool]) -> list[str]:
    """The different stems of a question, in order. `GitHub` is one word where that word is known, otherwise two."""
    found: dict[str, None] = {}
    for run in _runs(question):
        whole = _of_whole(run)
        found.update(dict.fromkeys(whole if _is_camel(run) and all(map(known, whole)) else _of_parts(run)))
    return list(found)


def _runs(text: str) -> list[str]:
    return _RUN.findall(_AFTER_APOSTROPHE.sub("", text))


@lru_cache(_REMEMBERED)
def _of_parts(run: str) -> tuple[str, ...]:
    return tuple(stem for part in _CAMEL.sub(" ", run).casefold().split() for stem in stems_of_word(part))


@lru_cache(_REMEMBERED)
def _of_parts_and_whole(run: str) -> tuple[str, ...]:
    return _of_parts(run) + _of_whole(run) if _is_camel(run) and run[0].isupper() else _of_parts(run)


def _of_whole(run: str) -> tuple[str, ...]:
    return stems_of_word(run.casefold())


def _is_camel(run: str) -> bool:
    return _CAMEL.search(run) is not None
