"""The signs by which a secret is known: the name it is kept under, or the shape that its issuer gave it.

A name speaks through its words, so that `DB_PASSWORD`, `dbPassword` and `db.password` are one. In a text a name is a
sign only together with what follows it: `password=…`, `"password": "…"` however often the quotes are escaped, or
`--password …`. A text is not parsed here; whoever can decode it should, and then the names are keys.

This module finds and never changes: what stands in place of a secret is the business of `redact`. It knows no values,
so a secret without a name or a shape of its own goes unseen.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from typing import Any

import re2

from interlock.core.secret_shapes import SECRET_SHAPES
from interlock.core.words import word_set, words_of

SECRET_KEYS = word_set(
    "password passwd passphrase passcode pwd secret secrets token tokens apikey authorization cookie cookies credential"
    " credentials bearer otp pin cvv cvc ssn privatekey accesskey secretkey connectionstring sessionid jsessionid"
    " phpsessid"
)
"""A key is secret when one of its words, or all of them joined, is in this list."""

SECRET_PAIRS = frozenset(
    (first, second)
    for second, firsts in (("key", "api access private secret signing auth encryption client master"),)
    for first in firsts.split()
) | {("connection", "string"), ("session", "id")}
"""Or when two of its words stand side by side like this."""

SECRET_LABELS = word_set("pass auth jwt")
"""As the last word of a key these promise a secret too, if what is kept under it is a text or a list. An object is
looked into, and a number is left: `auth` has settings, and `pass` counts tests."""

HARMLESS_KEYS = word_set("max_tokens maxtokens token_count tokencount tokens_used page_token next_page_token")
"""Keys that sound secret and are not: hiding them would only hide what a reviewer needs."""

_WORDS = "pass|pwd|secret|token|key|auth|cookie|credential|bearer|otp|pin|cvv|cvc|ssn|jwt|sess|connection"
"""In every name that promises a secret there is one of these."""

# In JSON that was not decoded a word may begin right after an escape: the n of a line break is no letter before it.
_ESCAPE = r"\\[bfnrt]|\\u[0-9a-fA-F]{4}"
_NAME = rf"(?:[A-Za-z0-9_$][A-Za-z0-9_.$-]*)?(?:{_WORDS})[A-Za-z0-9_.$-]*"
_QUOTE = r"\\*[\"']"
_FLAG = rf"(?i)(--?{_NAME})(?:({_QUOTE})\s*,\s*|(=)|\s+)"
_MEMBER = rf"(?i)({_QUOTE})?(?:{_ESCAPE})?({_NAME})({_QUOTE})?\s*(=>|[:=])\s*"
"""A name and what stands between it and its value. Whether the name is that of a secret is asked afterwards."""

# Names are joined to a credential by `_`: `backup_AKIA…`.
_BEGINS = rf"(?:\b|_|{_ESCAPE})"
_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_ENOUGH = 8
"""So many characters of a shape are counted when all shapes are looked for at once. Each one that is counted makes the
automaton larger, and one that does not fit into its memory is a hundred times slower."""


def _loosely(shape: str) -> str:
    """A shape that fits wherever this one does, and perhaps elsewhere."""
    begins, _, _ = shape.partition("(?s:")  # what may go on without an end
    return _COUNT.sub(lambda count: count[0] if int(count[1]) <= _ENOUGH else f"{{{_ENOUGH},}}", begins)


_BOUND = tuple(_loosely(shape).removeprefix(r"\b") for _, shape in SECRET_SHAPES if shape.startswith(r"\b"))
_UNBOUND = tuple(_loosely(shape) for _, shape in SECRET_SHAPES if not shape.startswith(r"\b"))

_OPTIONS = re2.Options()
_OPTIONS.never_capture = True
# What most of them begin with is looked for once, which makes the search a third shorter.
_ANY_SHAPE = f"{_BEGINS}(?:{'|'.join(_BOUND)})|{'|'.join(_UNBOUND)}"
_SHAPED = re2.compile(_ANY_SHAPE, _OPTIONS)
_SIGN = re2.compile(f"{_ANY_SHAPE}|(?:{_FLAG})|(?:{_MEMBER})", _OPTIONS)
"""One pass for the common case, in which there is nothing to hide."""
# A name that is nothing but a secret word, however it is taken apart: `S.S.N.`. The n of a line break is no letter.
_GAP = r"(?:(?-i:[^A-Za-z0-9])|\\[nrt])*"
_SPREAD = f'"{_GAP}(?:{"|".join(_GAP.join(word) for word in sorted(SECRET_KEYS))}){_GAP}"'
_UNSEEN = "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
UNSEEN = re.compile(_UNSEEN)
"""Characters that are not drawn, wherever they stand."""
_HINT = re2.compile(rf"{_ANY_SHAPE}|(?i:{_WORDS}|basic|ssws|{_SPREAD})|\\[ubf/]|\[redacted|{_UNSEEN}", _OPTIONS)
"""The same for JSON that is not decoded. An escape can hide a shape, unless a word of it is a hint by itself, and so
can a character that is not drawn; and what was hidden before can stand in the middle of a name."""
_FLAGS = re2.compile(_FLAG)
_MEMBERS = re2.compile(_MEMBER)

_ESCAPED = re.compile(f"_|{_ESCAPE}".encode())
_WORD_END = re.compile(rb"\w+")
_OPENING = re.compile(rb"(\\*)([\"'])")
_CLOSING = {quote: re.compile(rb"(\\*)" + quote) for quote in (b'"', b"'")}
_BRACKET = re.compile(rb"[\[\]{}]")
_BARE = re.compile(rb"(?:[^\s,;&\"'\\]|\\+[^\s\"'\\])+")
_BARE_MEMBER = re.compile(rb"[^\s,;&\"'}\]\\]+")
_BEFORE = {
    "bearer": re.compile(rb"\w+\s+"),
    "basic": re.compile(rb"\w+\s+"),
    "okta": re.compile(rb"\w+\s+"),
    "header": re.compile(rb"[\w-]+\s*:\s*(?:\w+\s+)?"),
    "azure": re.compile(rb"\w+="),
    "signed-url": re.compile(rb"[^=]+="),
    "element": re.compile(rb"[^>]+>"),
    "url-password": re.compile(rb"[^/]+//?[^/:]*:"),
}
_AFTER = {"element": b"</", "url-password": b"@"}
"""What belongs to a shape and not to the secret: so a token has one mark, with a name before it or without."""
_CONSTANTS = frozenset((b"true", b"false", b"null", b"none", b"undefined"))
_LEAST_AFTER = {b":": 6, b"=": 3, b"=>": 3}
"""How long a value without quotes has to be. After a colon there may be prose."""

MARKER = re.compile(r"\[redacted[a-z0-9 :-]*\]")
"""What stands in place of a secret, and is therefore none."""
_MARKER = re.compile(MARKER.pattern.encode())

_LONG_NAME = 100
"""Longer names are judged each time, so that what is remembered stays small."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What is hidden of a text, as a part of its UTF-8; what it is; and where in it the secret itself stands, without
    the name before it. A value that had no quotes, where others do, gets those that its name has."""

    start: int
    end: int
    kind: str
    secret: slice
    quote: bytes = b""


class _Promise(IntEnum):
    """What a name promises."""

    NOTHING = 0
    SECRET_TEXT = 1
    SECRET = 2


def is_secret_key(key: str) -> bool:
    """Whether a key's name promises a secret, whatever is kept under it."""
    return _promise(key) is _Promise.SECRET


def is_secret_label(key: str) -> bool:
    """Whether a key's name promises a secret if a text is kept under it."""
    return _promise(key) is not _Promise.NOTHING


def _promise(key: str) -> _Promise:
    return _remembered(key) if len(key) <= _LONG_NAME else _judged(key)


def _judged(key: str) -> _Promise:
    if key.lower() in HARMLESS_KEYS:
        return _Promise.NOTHING
    words = words_of(MARKER.sub("", key))
    pairs = itertools.pairwise(words)
    if not SECRET_KEYS.isdisjoint(words) or "".join(words) in SECRET_KEYS or not SECRET_PAIRS.isdisjoint(pairs):
        return _Promise.SECRET
    return _Promise.SECRET_TEXT if words and words[-1] in SECRET_LABELS else _Promise.NOTHING


_remembered = lru_cache(4096)(_judged)


def may_hold_secrets(json: bytes) -> bool:
    """Whether it is worth while to decode a JSON text and to look at its keys."""
    return _HINT.search(json) is not None


def signs_in(raw: bytes) -> list[Sign]:
    """Every secret that shows itself in a text, in order; of two that begin together the longer comes first. They may
    overlap."""
    if _SIGN.search(raw) is None:
        return []
    found = [*_flags(raw), *_members(raw)]
    if _SHAPED.search(raw) is not None:
        found += [_shaped(raw, name, *match.span()) for name, find in _finders() for match in find(raw)]
    return sorted(found, key=lambda sign: (sign.start, -sign.end))


@cache
def _finders() -> tuple[tuple[str, Callable[[bytes], Iterator[Any]]], ...]:
    """What finds each shape by itself. Most commands never meet one, and to make them all takes a while."""
    whole = ((name, shape.replace(r"\b", _BEGINS, 1)) for name, shape in SECRET_SHAPES)
    return tuple((name, re2.compile(shape, _OPTIONS).finditer) for name, shape in whole)


def _shaped(raw: bytes, name: str, start: int, end: int) -> Sign:
    """A credential without the escape before it, but with the rest of the word: a second one may be joined to it, which
    would show itself only when the first is gone."""
    escape, joined = _ESCAPED.match(raw, start), _WORD_END.match(raw, end - 1)
    start, end = escape.end() if escape else start, joined.end() if joined else end
    before = _BEFORE[name].match(raw, start, end) if name in _BEFORE else None
    return Sign(start, end, name, slice(before.end() if before else start, end - len(_AFTER.get(name, b""))))


def _flags(raw: bytes) -> Iterator[Sign]:
    """`--password x`, `--password=x`, and `"--password", "x"` in a list."""
    for match in _FLAGS.finditer(raw):
        flag, closed, equals = match.groups()
        if not is_secret_label(flag.decode()):
            continue
        if closed:
            sign = _quoted(raw, match.end())
        else:
            sign = _with_name(raw, match.start(), match.end(), 1 if equals else 3, "flag")
        if sign is not None:
            yield sign


def _members(raw: bytes) -> Iterator[Sign]:
    """`password=x`, `"password": "x"`, and everything in between."""
    covered = 0
    for match in _MEMBERS.finditer(raw):
        opened, key, closed, separator = match.groups()
        # What stands in a value that is hidden already is not looked at again: that would take quadratic time.
        if match.end() < covered or not is_secret_label(name := key.decode()):
            continue
        if opened and closed:
            sign = _quoted(raw, match.end()) or _plain(raw, match.end(), opened, whole=is_secret_key(name))
        elif separator == b":" and not is_secret_key(name):
            continue  # `auth: required` and the like are prose
        else:
            sign = _with_name(raw, match.start(2), match.end(), _LEAST_AFTER[separator], "assignment")
        if sign is not None:
            covered = sign.end
            yield sign


def _with_name(raw: bytes, start: int, at: int, least: int, shown: str) -> Sign | None:
    """A value, together with its name that begins at `start`. Without quotes it has to have a certain length."""
    value = _quoted(raw, at)
    if value is not None:
        closing = _OPENING.match(raw, value.end)
        return Sign(start, closing.end() if closing else value.end, shown, value.secret)
    found = _BARE.match(raw, at)
    if found is None or found.end() - at < least or _MARKER.match(raw, at):
        return None
    return Sign(start, found.end(), shown, slice(at, found.end()))


def _quoted(raw: bytes, at: int) -> Sign | None:
    """The value in quotes that begins here, without them.

    Quotes inside JSON text inside JSON text have 1, 3, 7, … backslashes before them. The same number of them, or that
    and an escaped backslash or more, closes the value; fewer end the text that it stands in.
    """
    opening = _OPENING.match(raw, at)
    if opening is None:
        return None
    level, end = len(opening[1]), len(raw)
    for closing in _CLOSING[opening[2]].finditer(raw, opening.end()):
        escapes = len(closing[1])
        if escapes < level or escapes % (2 * level + 2) == level:
            end = closing.end() - 1 - min(escapes, level)
            break
    if end <= opening.end() or _MARKER.match(raw, opening.end()):
        return None
    return Sign(opening.end(), end, "value", slice(opening.end(), end))


def _plain(raw: bytes, at: int, quote: bytes, *, whole: bool) -> Sign | None:
    """The value without quotes of a name in quotes: a number, or an object or a list if those are hidden whole."""
    if not whole:
        return None
    if raw[at : at + 1] in (b"[", b"{") and not _MARKER.match(raw, at):
        end = _end_of_brackets(raw, at)
        return Sign(at, end, "value", slice(at, end), quote)
    found = _BARE_MEMBER.match(raw, at)
    if found is None or found[0].lower() in _CONSTANTS:
        return None
    return Sign(at, found.end(), "value", slice(at, found.end()), quote)


def _end_of_brackets(raw: bytes, at: int) -> int:
    """Where the bracket that opens here is closed. Brackets in texts are counted too: this is no parser."""
    depth = 0
    for bracket in _BRACKET.finditer(raw, at):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth == 0:
            return bracket.end()
    return len(raw)
