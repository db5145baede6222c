"""Splitting tool names into words, and finding the product prefix that a server puts before its verbs.

Servers write `deleteFile`, `delete-file`, `slack_delete_file` and `github__delete_file` for the same deed. Reading the
verb needs the words in order. This module knows nothing of classes; what a word means is the lexicon's business.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence

_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_DIGITS = "0123456789"


def word_set(text: str) -> frozenset[str]:
    """A set of words written as one text, which is how word lists are easiest to read and to review."""
    return frozenset(text.split())


def words_of(name: str) -> tuple[str, ...]:
    """The lower-case words of a name, split at separators and camelCase boundaries."""
    return tuple(word.lower() for part in _SEPARATORS.split(name) for word in _CAMEL.findall(part))


def verb_words_of(name: str) -> tuple[str, ...]:
    """The words of a name with counting digits taken off, so that `delete2` reads as `delete`."""
    return tuple(bare for word in words_of(name) if (bare := word.strip(_DIGITS)))


def without_namespace(name: str, verbs: Collection[str]) -> str:
    """The name without `server:` or `namespace__`.

    A colon always ends a namespace. What stands before a double underscore counts as one only if it holds no verb:
    otherwise `delete__read` would pass for a reading tool.
    """
    _, colon, rest = name.partition(":")
    if colon and rest:
        name = rest
    before, underscores, rest = name.rpartition("__")
    if underscores and rest and not any(word in verbs for word in verb_words_of(before)):
        return rest
    return name


def product_prefix(names: Sequence[str], verbs: Collection[str]) -> tuple[str, ...]:
    """The words that a server puts before the verb of its tools, such as `slack` or `google drive`.

    A first word counts when at least half of the tools share it, at least three of them, and it is no verb. It is
    looked for again in what remains, and never eats a whole name.
    """
    split = [verb_words_of(without_namespace(name, verbs)) for name in names]
    prefix: tuple[str, ...] = ()
    while True:
        depth = len(prefix)
        firsts = Counter(words[depth] for words in split if words[:depth] == prefix and len(words) > depth + 1)
        # A bare product name (`figma`) is no evidence for a prefix, but it does not speak against one either.
        word, shared = firsts.most_common(1)[0] if firsts else ("", 0)
        if shared < 3 or shared * 2 < len(split) or word in verbs:
            return prefix
        prefix = (*prefix, word)


def after_prefix(words: tuple[str, ...], prefix: tuple[str, ...]) -> tuple[str, ...]:
    """The words that follow the product prefix; all of them where the name does not begin with it."""
    depth = len(prefix)
    while depth and (words[:depth] != prefix[:depth] or len(words) <= depth):
        depth -= 1
    return words[depth:]
