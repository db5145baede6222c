"""Texts that match a regular expression, for the ordinary expressions that schemas use.

A small grammar is read: characters, classes, groups, choices and repetitions. Anchors are passed over, since whoever
asks checks the text against the pattern anyway. What is not understood is refused with `NotUnderstood`; nothing is
guessed, and no regular expression is ever run here.
"""

import string
from collections.abc import Iterator
from random import Random

from msgspec import Struct

MAX_PATTERN = 1_000
_MAX_NEST = 20
_LETTERS = string.ascii_lowercase + string.digits + string.ascii_uppercase
_OTHERS = "_-. ,:;@#%+=~!?&$*()[]{}<>|^'\"`\\/\t\n"
_POOL = _LETTERS + _OTHERS
"""What characters are chosen from, harmless ones first."""

_CLASSES = {"d": string.digits, "w": _LETTERS + "_", "s": " \t\n"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_UNICODE = {"L": string.ascii_letters, "Lu": string.ascii_uppercase, "Ll": string.ascii_lowercase, "N": string.digits}


class NotUnderstood(Exception):
    """The pattern is outside the grammar, or asks for a text that is too long."""


class One(Struct, frozen=True):
    """One of these characters."""

    of: str


class Each(Struct, frozen=True):
    """All of these, one after the other."""

    of: "tuple[Node, ...]"


class Either(Struct, frozen=True):
    """One of these."""

    of: "tuple[Node, ...]"


class Times(Struct, frozen=True):
    """The same thing a number of times; None is without end."""

    of: "Node"
    least: int
    most: int | None


Node = One | Each | Either | Times


def matching(pattern: str, chance: Random, *, length: int, limit: int) -> Iterator[str]:
    """Texts that should match, short ones first, then one of about the given length. Raises NotUnderstood."""
    node = Reader(pattern).read()
    for repeats in dict.fromkeys((1, 2, 4, 12, min(length, limit), 0)):
        yield Writer(chance, repeats, limit).written(node)


class Writer:
    """Writes one text, and gives up on one that grows beyond its limit or takes too many steps to nothing."""

    def __init__(self, chance: Random, repeats: int, limit: int) -> None:
        self._chance = chance
        self._repeats = repeats
        self._limit = limit
        self._steps = 0

    def written(self, node: Node) -> str:
        self._steps += 1
        if self._steps > 2 * self._limit + MAX_PATTERN:
            raise NotUnderstood
        if isinstance(node, One):
            # Harmless characters come first; what lies beyond them is only used when there is nothing else.
            usual = [each for each in node.of if each in _LETTERS] or node.of
            return self._chance.choice(usual)
        if isinstance(node, Either):
            return self.written(self._chance.choice(node.of))
        if isinstance(node, Each):
            return "".join([self.written(each) for each in node.of])
        wanted = self._repeats if node.most is None else min(self._repeats, node.most)
        return "".join([self.written(node.of) for _ in range(max(node.least, wanted))])


class Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MAX_PATTERN:
            raise NotUnderstood
        self._text = pattern
        self._at = 0

    def read(self) -> Node:
        node = self._choice(0)
        if self._at < len(self._text):
            raise NotUnderstood
        return node

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        found = self._peek()
        if not found:
            raise NotUnderstood
        self._at += 1
        return found

    def _took(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _choice(self, nest: int) -> Node:
        if nest > _MAX_NEST:
            raise NotUnderstood
        branches = [self._sequence(nest)]
        while self._took("|"):
            branches.append(self._sequence(nest))
        return branches[0] if len(branches) == 1 else Either(tuple(branches))

    def _sequence(self, nest: int) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            if self._took("^") or self._took("$") or self._took("\\b"):
                continue
            parts.append(self._repeated(self._atom(nest)))
        return Each(tuple(parts))

    def _atom(self, nest: int) -> Node:
        first = self._next()
        if first == "(":
            return self._group(nest)
        if first == "[":
            return One(self._class())
        if first == ".":
            return One(_POOL.replace("\n", ""))
        if first == "\\":
            return One(self._escaped())
        if first in "*+?{":
            raise NotUnderstood
        return One(first)

    def _group(self, nest: int) -> Node:
        if self._took("?") and not self._took(":"):
            if not (self._took("P<") or self._took("<")) or self._peek() in ("=", "!"):
                raise NotUnderstood
            while self._next() != ">":
                pass
        inside = self._choice(nest + 1)
        if not self._took(")"):
            raise NotUnderstood
        return inside

    def _repeated(self, node: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return node
        _ = self._took("?") or self._took("+")
        return Times(node, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._took(sign):
                return bounds
        if not self._took("{"):
            return None
        end = self._text.find("}", self._at)
        least, comma, most = self._text[self._at : end].partition(",")
        if end < 0 or not _is_count(least) or (most and not _is_count(most)):
            raise NotUnderstood
        self._at = end + 1
        if not comma:
            return int(least), int(least)
        return int(least), int(most) if most else None

    def _escaped(self) -> str:
        sign = self._next()
        if sign in _CLASSES:
            return _CLASSES[sign]
        if sign.lower() in _CLASSES:
            return _without(_CLASSES[sign.lower()])
        if sign in "xu":
            return self._code(2 if sign == "x" else 4)
        if sign == "p":
            return self._property()
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign.isalnum():
            raise NotUnderstood
        return sign

    def _code(self, digits: int) -> str:
        if self._took("{"):
            end = self._text.find("}", self._at)
            code, self._at = self._text[self._at : end], end + 1
        else:
            code, self._at = self._text[self._at : self._at + digits], self._at + digits
        if not code or len(code) > 6 or any(each not in string.hexdigits for each in code):
            raise NotUnderstood
        point = int(code, 16)
        if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
            raise NotUnderstood
        return chr(point)

    def _property(self) -> str:
        for name, members in _UNICODE.items():
            if self._took(f"{{{name}}}"):
                return members
        raise NotUnderstood

    def _class(self) -> str:
        negated = self._took("^")
        members = ""
        first = True
        while first or self._peek() != "]":
            first = False
            members += self._class_part()
        self._at += 1
        found = _without(members) if negated else members
        if not found:
            raise NotUnderstood
        return found

    def _class_part(self) -> str:
        low = self._class_member()
        if len(low) != 1 or self._peek() != "-" or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            return low
        self._at += 1
        high = self._class_member()
        if len(high) != 1 or high < low:
            raise NotUnderstood
        inside = "".join(each for each in _POOL if low <= each <= high)
        return inside or low

    def _class_member(self) -> str:
        first = self._next()
        if first == "[":
            # Sets inside sets mean different things to different engines.
            raise NotUnderstood
        return self._escaped() if first == "\\" else first


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 6


def _without(members: str) -> str:
    return "".join(each for each in _POOL if each not in members)
