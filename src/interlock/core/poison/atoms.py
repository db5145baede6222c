"""Atoms: the small things that a sentence may say, each known by a pattern, all looked for in one pass.

A single atom seldom means anything: honest descriptions send, read, mention passwords and address the model. What
counts is which of them meet in one sentence, and that is the business of `rules`. Patterns are RE2: whatever a server
writes, the time that a text takes grows with its length and no faster.

Patterns are matched against folded text, so they are written in small letters without accents.
"""

from collections.abc import Mapping
from functools import cache

import re2

from interlock.core.poison.english import ENGLISH
from interlock.core.poison.languages import LANGUAGES
from interlock.core.poison.topics import TOPICS

_MEMORY = 64 * 1024 * 1024
"""What the automaton of all patterns may take; it is built as it is needed."""


class Atoms:
    """A table of patterns by name. One name may have several."""

    def __init__(self, table: tuple[tuple[str, str], ...]) -> None:
        options = re2.Options()
        options.max_mem = _MEMORY
        options.never_capture = True
        options.log_errors = False
        self._names = [name for name, _ in table]
        self._set = re2.Set.SearchSet(options)
        for _, pattern in table:
            self._set.Add(pattern)
        self._set.Compile()

    def found(self, text: str) -> frozenset[str]:
        """The names of the patterns that a text has."""
        matches = self._set.Match(text.encode("utf-8", "replace"))
        return frozenset(self._names[each] for each in matches or ())


@cache
def atoms() -> Atoms:
    """All atoms of sentences."""
    named: Mapping[str, str] = {f"topic:{each.name}": each.pattern for each in TOPICS}
    return Atoms((*ENGLISH, *LANGUAGES, *named.items()))
