"""Globs that cost the same whatever they are held against.

Patterns are written by operators, texts come from agents and may be megabytes long; `*a*a*a*b` translated to a
backtracking regex would let an agent stop the gateway. The common shapes become plain string comparisons, the rest runs
on RE2, which is linear in the text. `*` matches anything, also nothing and separators; `?` matches one character;
`[abc]`, `[a-z]`, `[!abc]` match one of a set; `[*]` is a literal star.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import re2

MAX_PATTERN = 1000
MAX_REGEX = 8 * MAX_PATTERN


class BadPattern(ValueError):
    """A glob or regex that cannot be compiled; the message says why."""


@dataclass(frozen=True, slots=True)
class Glob:
    """A compiled glob: what every match starts with, and the whole of it where it has no wildcard."""

    pattern: str
    literal_prefix: str
    literal: str | None
    matches: Callable[[str], bool]


@lru_cache(maxsize=4096)
def compile_glob(pattern: str) -> Glob:
    """Compile a glob, or raise BadPattern."""
    if len(pattern) > MAX_PATTERN:
        raise BadPattern(f"the pattern is longer than {MAX_PATTERN} characters")
    if "[" in pattern or "?" in pattern:
        prefix = pattern[: min(at for at in map(pattern.find, "*?[") if at >= 0)]
        return Glob(pattern, prefix, None, compile_regex(_as_regex(pattern)))
    head, star, rest = pattern.partition("*")
    if not star:
        return Glob(pattern, pattern, pattern, pattern.__eq__)
    if not rest:
        return Glob(pattern, head, None, lambda text: text.startswith(head))
    *middle, tail = rest.split("*")
    return Glob(pattern, head, None, _pieces(head, [piece for piece in middle if piece], tail))


def _pieces(head: str, middle: list[str], tail: str) -> Callable[[str], bool]:
    """Match `head*middle*…*tail`: each middle piece is taken where it first occurs, which never misses a match."""

    def matches(text: str) -> bool:
        end = len(text) - len(tail)
        if not (text.startswith(head) and text.endswith(tail) and len(head) <= end):
            return False
        at = len(head)
        for piece in middle:
            found = text.find(piece, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return True

    return matches


def _as_regex(pattern: str) -> str:
    out = ["(?s)\\A"]
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "[":
            end = pattern.find("]", at + 1)
            if end < 0:
                raise BadPattern("'[' is never closed; write '[[]' for a literal '['")
            out.append(_set_as_regex(pattern[at:end]))
            at = end + 1
        else:
            out.append(re2.escape(char))
    return "".join([*out, "\\z"])


def _set_as_regex(inside: str) -> str:
    negated, members = ("^", inside[1:]) if inside[0] == "!" and len(inside) > 1 else ("", inside)
    escaped = "".join(f"\\{char}" if char in "\\[]^" else char for char in members)
    return f"[{negated}{escaped}]"


def compile_regex(pattern: str) -> Callable[[str], bool]:
    """Compile a regex on RE2 to a function that says whether it occurs in a text, or raise BadPattern."""
    if len(pattern) > MAX_REGEX:
        raise BadPattern(f"the pattern is longer than {MAX_REGEX} characters")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        search = re2.compile(pattern, options).search
    except re2.error as problem:
        raise BadPattern(f"RE2 cannot compile it: {_why(problem)}") from None
    # Bytes, because RE2 would refuse a lone surrogate, and deciding never raises.
    return lambda text: search(text.encode("utf-8", "replace")) is not None


def _why(problem: Exception) -> str:
    said: object = problem.args[0] if problem.args else problem
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
