"""What a result says to the model that reads it: orders, and nothing else.

Results are the words of strangers: pages, mails, files. They speak of passwords and of sending things all day, so here
only what is said to the model itself counts: drop your instructions, keep it from the user, marks that imitate the
model's own, letters that are never drawn. A quick look comes first, because nearly every result has none of the words
by which such an order could begin; only around those words a text is read closely.

A result in which an order could begin, and of which readers would see different things or which is nested too deeply to
be read, is told as that: there is no other reason to write like this than to be read by one and not by another.

This module changes nothing and sees the first part of a result only.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_plus

import re2

from interlock.core.model import Json, JsonObject
from interlock.core.poison import signs
from interlock.core.poison.atoms import atoms
from interlock.core.poison.encoded import inner_texts
from interlock.core.poison.hidden_text import HiddenKind, hidden_in
from interlock.core.poison.markup import marks
from interlock.core.poison.prose import said
from interlock.core.poison.readings import folded, sentences
from interlock.core.poison.signs import Sign, sign, strongest
from interlock.core.poison.texts import Walk
from interlock.core.words import word_set

LOOKED_AT = 64 * 1024
"""How many bytes of a result are looked at."""
_AROUND, _MOST_BEGINNINGS = 300, 400
_SHORTEST_KEY = 12
"""Shorter keys say nothing to a model, and there are many of them."""
_MOST_VARIANTS = 8
"""So many selectors in one text draw nothing: they spell."""
_ORDERS = frozenset({signs.OVERRIDE, signs.ROLE_TAGS, signs.CONCEALMENT, signs.CLAIMED_APPROVAL})
_SPOKEN = word_set("override reveal obey persona consent conceal quiet")
_MARKS = ("<", "[", "system")
_BEGINNINGS = (
    r"ignor|disregard|forget |overrul|set aside|pay no |stop (?:following|obeying|listening)|not follow|no longer "
    r"|bypass|"
    r"supersede|precedence|priority over|restrictions|objective|reprogrammed|new (?:role|instruct|rules|orders)|from "
    r"(?:now|here) on|"
    r"you are now|obey|comply|without question|treat |(?:not|n't|never|nobody|no one|without) (?:\w+ )?(?:tell|inform"
    r"|notify|mention|"
    r"reveal|disclos|let|bring|surface)|should not know|must not|aware|conceal|hidden from|hide |secretly|between us"
    r"|keep this|"
    r"system prompt|system message|im_start|im_end|\[(?:\\?/)?inst\]|<<sys|<system"
    r"|\[system|system:|system override|pre-?approved|has approved|"
    r"overrides |忽略|无视|無視|忘记|игнор|забудь|ignorier|vergiss|oublie|olvid|ignora|不要告|무시"
)
_GAP = r"(?:\\[nrt]|%[0-9A-F]{2}|&\w{2,8};|\W)+"
"""What may stand between two words; the quick look sees a tab as JSON writes it, a blank as HTML and addresses do."""
_MARGIN = re.compile(r"(?m)^(?:<[^<>\n]*>|[^\w\n])+")
"""What stands before the first word of a line: an order is one in a quotation or a heading too."""
_QUICK = re2.Options()
_QUICK.never_capture = True
_OTHER_LETTERS = r"\x{370}-\x{556}"
"""Greek, Cyrillic and Armenian ones, many of which look like ours."""
_DISGUISES = (
    r"[A-Za-z0-9+/]{60,}|[\x{200b}-\x{200f}\x{2060}-\x{2064}\x{fe00}-\x{fe0e}\x{e0000}-\x{e01ef}]|(?:\b\w ){8}"
    r"|&(?:amp;)*#|(?:%[0-9A-Fa-f]{2}){3}|[\x{ff21}-\x{ff5a}\x{1d400}-\x{1d7ff}\x{249c}-\x{24e9}\x{1f110}-\x{1f149}]"
    rf"|[A-Za-z][{_OTHER_LETTERS}]|[{_OTHER_LETTERS}][A-Za-z]"
)
"""Ways to write in which no beginning would be seen, so that a text with one of them is read closely."""
_ENCODED = re.compile(r"&#?\w|%[0-9A-Fa-f]{2}|\w\+\w")
_BEGINNING = re2.compile(f"(?i){_BEGINNINGS.replace(' ', _GAP)}", _QUICK)
_LOOK = re2.compile(f"(?i:{_BEGINNINGS.replace(' ', _GAP)})|{_DISGUISES}", _QUICK)


def result_signs(result: bytes) -> tuple[Sign, ...]:
    """The hard signs in the JSON text of a result; what is no JSON object has none."""
    if not may_speak(result[:LOOKED_AT]):
        return ()
    try:
        content, repeated = _decoded(result)
    except ValueError:
        return ()
    except RecursionError:
        return (sign(signs.TOO_DEEP, ""),)
    if not isinstance(content, Mapping):
        return ()
    found = [sign(signs.REPEATED_KEY, "")] if repeated else []
    return strongest([*found, *(each for each in _signs(content) if each.hard)])


def may_speak(begin: bytes) -> bool:
    """The quick look: whether there is anything in which an order could begin."""
    return _LOOK.search(begin) is not None or (b"\\u" in begin and _LOOK.search(_unescaped(begin)) is not None)


def _unescaped(begin: bytes) -> bytes:
    r"""A piece of JSON with its letters in place of `\uXXXX`, also of JSON that stands in a text of it.

    Many servers write every letter like this that is not ASCII, so it has to be quick; that it may read a little too
    much does no harm, because whatever is found is read closely.
    """
    once = begin.replace(b"\\\\", b"\\").replace(b"\\\\", b"\\")
    text = once.decode("utf-8", "replace").encode("raw_unicode_escape").decode("raw_unicode_escape", "replace")
    # One letter beyond the first 65,536 is written as two escapes.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _decoded(result: bytes) -> tuple[Json, bool]:
    """What a JSON text stands for, and whether an object in it has two members of one name."""
    repeated = False

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        nonlocal repeated
        once = dict(pairs)
        repeated = repeated or len(once) < len(pairs)
        return once

    # The decoder of the standard library, because it also takes half letters; and no number is too large to be a float.
    return json.loads(result, object_pairs_hook=members, parse_int=float), repeated


def _signs(content: JsonObject) -> Iterator[Sign]:
    # No value takes less than a byte, so numbers before an order do not use up what is looked at.
    room, walk = LOOKED_AT, Walk(LOOKED_AT)
    for text in walk.texts(content):
        if room <= 0 or (text.is_key and len(text.text) < _SHORTEST_KEY):
            continue
        taken = text.text[:room]
        room -= len(taken)
        yield from _unseen(taken, text.where)
        for each in _readings(taken):
            yield from _orders(each, text.where)
    if walk.too_deep:
        yield sign(signs.TOO_DEEP, "")


def _readings(text: str) -> Iterator[str]:
    """A text as it stands, as HTML and addresses mean it, and what is encoded in it."""
    yield text
    yield from inner_texts(text)
    if (
        any(map(text.__contains__, "&%+"))
        and _ENCODED.search(text)
        and (meant := unquote_plus(html.unescape(text))) != text
    ):
        yield meant
        yield from inner_texts(meant)


def _orders(text: str, where: str) -> Iterator[Sign]:
    for window in _windows(text):
        plain = _MARGIN.sub("", window)
        found = _said(plain, where)
        # An order is one too if each of its words has a line of its own.
        if not found and "\n" in plain:
            found = _said(" ".join(plain.split()), where)
        if any(mark in window for mark in _MARKS):
            found += marks(window, where)
        yield from (each for each in found if each.code in _ORDERS)


def _said(plain: str, where: str) -> list[Sign]:
    spoken = any(atoms().found(each) & _SPOKEN for each in sentences(plain))
    return said(plain, where) if spoken else []


def _windows(text: str) -> Iterator[str]:
    """What stands around the words by which an order could begin. Each part of a text is given once."""
    content, end = folded(text).encode("utf-8", "replace"), 0
    for number, match in enumerate(_BEGINNING.finditer(content)):
        if number >= _MOST_BEGINNINGS:
            return
        if match.start() >= end:
            begin, end = max(match.start() - _AROUND, 0), match.end() + _AROUND
            yield content[begin:end].decode("utf-8", "ignore")


def _unseen(text: str, where: str) -> Iterator[Sign]:
    hidden = None if text.isascii() else hidden_in(text)
    if hidden is None:
        return
    spells = HiddenKind.TAG in hidden.kinds or (HiddenKind.VARIATION in hidden.kinds and hidden.count >= _MOST_VARIANTS)
    if spells:
        yield sign(signs.HIDDEN_TEXT, where, hidden.says or hidden.excerpt)
