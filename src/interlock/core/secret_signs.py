"""The signs by which a secret is known: the name it is kept under, or the shape that its issuer gave it.

In a text a name is a sign only together with what follows it: `password=…`, `"password": "…"` however often the quotes
are escaped, or `--password …`. Some programs and languages have ways of their own to write that, such as `IDENTIFIED BY
'…'`. A text is not parsed here; whoever can decode it should, and then the names are keys.

This module finds and never changes: what stands in place of a secret is the business of `redact`. It knows no values,
so a secret without a name or a shape of its own goes unseen.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from interlock.core.secret_letters import ALIKE
from interlock.core.secret_names import HINTS, MARKER, SECRET_KEYS, is_secret_header, is_secret_key, is_secret_label
from interlock.core.secret_phrases import BEFORE_QUOTES, BEFORE_WORDS, PHRASE_HINTS
from interlock.core.secret_shapes import RANDOM, SECRET_SHAPES

# In JSON that was not decoded a word may begin right after an escape: the n of a line break is no letter before it.
_ESCAPE = r"\\[bfnrt]|\\u[0-9a-fA-F]{4}"
_NAME = rf"(?:[A-Za-z0-9_$][A-Za-z0-9_.$-]*)?(?:{HINTS})[A-Za-z0-9_.$-]*"
_QUOTE = r"\\*[\"']"
_FLAG = rf"(?i)(--?{_NAME})(?:({_QUOTE})\s*,\s*|(=)|\s+)"
_MEMBER = rf"(?i)({_QUOTE})?(?:{_ESCAPE})?({_NAME})({_QUOTE})?\s*(=>|[:=])\s*"
"""A name and what stands between it and its value. Whether the name is that of a secret is asked afterwards."""
_NAME_MEMBER = rf"(?i){_QUOTE}(?:name|key|header){_QUOTE}\s*:\s*{_QUOTE}({_NAME}){_QUOTE}"
_PAIR = rf"{_NAME_MEMBER}\s*,\s*({_QUOTE})values?{_QUOTE}\s*:\s*"
_TURNED_PAIR = rf"(?i){_QUOTE}values?{_QUOTE}\s*:\s*{_QUOTE}([^\"'\\]+){_QUOTE}\s*,\s*{_NAME_MEMBER}"
"""A name and a value that are members side by side: `"name": "DB_PASSWORD", "value": "…"`, or the other way round."""
_LISTED = rf"(?i)(?:(define\()|[\[,]\s*\[)\s*{_QUOTE}({_NAME}){_QUOTE}\s*,\s*"
"""A name and a value that are items side by side: of a constant, and of a header in a list of them."""

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
_ANY_NAMED = "|".join(f"(?:{each})" for each in (_FLAG, _MEMBER, _PAIR, _TURNED_PAIR, _LISTED))
_BEFORE_QUOTES = f"(?:{'|'.join(BEFORE_QUOTES)})"
_BEFORE_WORDS = "|".join(BEFORE_WORDS)
_SIGN = re2.compile(f"{_ANY_SHAPE}|{_ANY_NAMED}|{_BEFORE_QUOTES}{_QUOTE}|{_BEFORE_WORDS}", _OPTIONS)
"""One pass for the common case, in which there is nothing to hide."""
# A name that is nothing but a secret word, however it is taken apart: `S.S.N.`. The n of a line break is no letter.
_GAP = r"(?:(?-i:[^A-Za-z0-9])|\\[nrt])*"
_SPREAD = f'"{_GAP}(?:{"|".join(_GAP.join(word) for word in sorted(SECRET_KEYS))}){_GAP}"'
_WORDS = f"{HINTS}|{PHRASE_HINTS}|basic|ssws"
_HINT = re2.compile(rf"{_ANY_SHAPE}|(?i:{_WORDS}|{_SPREAD})|\\[ubf/]|\[redacted|{ALIKE}", _OPTIONS)
"""The same for JSON that is not decoded. An escape can hide a shape, unless a word of it is a hint by itself, and so
can a character that is not drawn or is drawn wide; and what was hidden before can stand in the middle of a name."""

_ESCAPED = re.compile(f"_|{_ESCAPE}".encode())
_WORD_END = re.compile(rb"\w+")
_OPENING = re.compile(rb"(\\*)([\"'])")
_CLOSING = {quote: re.compile(rb"(\\*)" + quote) for quote in (b'"', b"'")}
_BRACKET = re.compile(rb"[\[\]{}]")
_BARE = re.compile(rb"(?:[^\s,;&\"'\\]|\\+[^\s\"'\\])+")
_WORD = re.compile(rb"[^\s\"'\\]{3,}")
_OPENS_WORD = re.compile(rb"\\*[\"'][^\s,:;\]})\"'\\]")
_PORTS = re.compile(rb"[0-9.]+:[0-9:.]+")
_BARE_MEMBER = re.compile(rb"[^\s,;&\"'}\]\\]+")
_BEFORE = {
    "bearer": re.compile(rb"\w+\s+"),
    "basic": re.compile(rb"\w+\s+"),
    "okta": re.compile(rb"\w+\s+"),
    "header": re.compile(rb"[\w-]+\s*:\s*(?:\w+\s+)?"),
    "azure": re.compile(rb"\w+="),
    "signed-url": re.compile(rb"[^=]+="),
    "element": re.compile(rb"[^>]+>"),
    "url-password": re.compile(rb"[^/]+/\\?/[^/:]*:"),
    "url-token": re.compile(rb"[^/]+/\\?/"),
}
_AFTER = {"element": b"</", "url-password": b"@", "url-token": b"@"}
"""What belongs to a shape and not to the secret: so a token has one mark, with a name before it or without."""
_RANDOM = {kind: re2.compile(pattern, _OPTIONS) for kind, pattern in RANDOM.items()}
_CONSTANTS = frozenset((b"true", b"false", b"null", b"none", b"undefined"))
_LEAST_AFTER = {b":": 6, b"=": 3, b"=>": 3}
"""How long a value without quotes has to be. After a colon there may be prose."""

_MARKER = re.compile(MARKER.pattern.encode())


@dataclass(frozen=True, slots=True)
class Sign:
    """What is hidden of a text, as a part of its UTF-8; what it is; and where in it the secret itself stands, without
    the name before it. A value that had no quotes, where others do, gets those that its name has."""

    start: int
    end: int
    kind: str
    secret: slice
    quote: bytes = b""


def may_hold_secrets(json: bytes) -> bool:
    """Whether it is worth while to decode a JSON text and to look at its keys."""
    return _HINT.search(json) is not None


def signs_in(raw: bytes) -> list[Sign]:
    """Every secret that shows itself in a text, in order; of two that begin together the longer comes first. They may
    overlap."""
    if _SIGN.search(raw) is None:
        return []
    found = list(_named(raw))
    if _SHAPED.search(raw) is not None:
        shaped = (_shaped(raw, name, *match.span()) for name, find in _finders() for match in find(raw))
        found += [sign for sign in shaped if _is_random(raw, sign)]
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


def _is_random(raw: bytes, sign: Sign) -> bool:
    """Whether it looks as random as a secret of its shape does; most shapes say enough by themselves."""
    return sign.kind not in _RANDOM or _RANDOM[sign.kind].search(raw[sign.secret]) is not None


def _named(raw: bytes) -> Iterator[Sign]:
    """What is known by its name, or by what stands before it."""
    for pattern, sign_of in _LOOKS:
        covered = 0
        for match in pattern.finditer(raw):
            # What stands in a value that is hidden already is not looked at again: that would take quadratic time.
            if match.end() >= covered and (sign := sign_of(raw, match)) is not None:
                covered = sign.end
                yield sign


def _flag(raw: bytes, match: Any) -> Sign | None:
    """`--password x`, `--password=x`, and `"--password", "x"` in a list."""
    flag, closed, equals = match.groups()
    if not is_secret_label(flag.decode()):
        return None
    if closed:
        return _quoted(raw, match.end())
    return _with_name(raw, match.start(), match.end(), 1 if equals else 3, "flag")


def _member(raw: bytes, match: Any) -> Sign | None:
    """`password=x`, `"password": "x"`, and everything in between."""
    opened, key, closed, separator = match.groups()
    if not is_secret_label(name := key.decode()):
        return None
    if opened and closed:
        return _quoted(raw, match.end()) or _plain(raw, match.end(), opened, whole=is_secret_key(name))
    if separator == b":" and not is_secret_key(name):
        return None  # `auth: required` and the like are prose
    return _with_name(raw, match.start(2), match.end(), _LEAST_AFTER[separator], "assignment")


def _pair(raw: bytes, match: Any) -> Sign | None:
    """`"name": "DB_PASSWORD", "value": "x"`, where it cannot be decoded."""
    name, quote = match.groups()
    if not is_secret_label(name.decode()):
        return None
    return _quoted(raw, match.end()) or _plain(raw, match.end(), quote, whole=True)


def _turned_pair(raw: bytes, match: Any) -> Sign | None:
    """`"value": "x", "name": "DB_PASSWORD"`."""
    value, name = match.groups()
    if not is_secret_label(name.decode()) or _MARKER.match(value):
        return None
    start, end = match.span(1)
    return Sign(start, end, "value", slice(start, end))


def _listed(raw: bytes, match: Any) -> Sign | None:
    """`define('DB_PASSWORD', 'x')` and `[["Authorization", "x"]]`."""
    defined, name = match.groups()
    promises = is_secret_label if defined else is_secret_header
    return _quoted(raw, match.end()) if promises(name.decode()) else None


def _word(raw: bytes, at: int) -> Sign | None:
    """The word that begins here, or what stands in quotes; but not what follows if they end here: `"mysql -p", "x"`.
    Ports are none: `docker run --name mysql -p3306:3306`."""
    if _OPENS_WORD.match(raw, at):
        return _quoted(raw, at)
    found = _WORD.match(raw, at)
    if found is None or _MARKER.match(raw, at) or _PORTS.fullmatch(found[0]):
        return None
    return Sign(at, found.end(), "value", slice(*found.span()))


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


_LOOKS: tuple[tuple[Any, Callable[[bytes, Any], Sign | None]], ...] = (
    (re2.compile(_FLAG), _flag),
    (re2.compile(_MEMBER), _member),
    (re2.compile(_PAIR), _pair),
    (re2.compile(_TURNED_PAIR), _turned_pair),
    (re2.compile(_LISTED), _listed),
    (re2.compile(_BEFORE_QUOTES, _OPTIONS), lambda raw, match: _quoted(raw, match.end())),
    (re2.compile(_BEFORE_WORDS, _OPTIONS), lambda raw, match: _word(raw, match.end())),
)
"""What is looked for by its name, and what makes a sign of it."""
