"""JSON with comments, edited where it stands: one member put in or taken out, every other character left as it was.

The files of clients belong to people: they hold comments, trailing commas and a hand-made layout that no reader and
writer of JSON gives back. So a text is read into positions, and an edit replaces spans of the text. What an edit gives
is read again and compared with what it should mean.

This module knows JSON and nothing of clients. It refuses what is no JSON, and what is nested too deeply.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

MAX_DEPTH = 100
_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SAME_LINE = re.compile(r"(?:[ \t]+|//[^\r\n]*|/\*[^\r\n]*?\*/)*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])|(?:true|false|null)(?!\w)")
_BLANK = " \t"
Span = tuple[int, int]


class Broken(Exception):
    """A text that is not what it should be, and where that shows; the words of the text are not repeated."""

    def __init__(self, text: str, at: int, problem: str) -> None:
        super().__init__(problem)
        self.line = text.count("\n", 0, at) + 1
        self.column = at - (text.rfind("\n", 0, at) + 1) + 1
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Node:
    """A value and the span it stands in. An object has members, a list has items, everything else has a value."""

    start: int
    end: int
    scalar: Any = None
    members: "tuple[Member, ...] | None" = None
    items: "tuple[Node, ...] | None" = None

    @property
    def value(self) -> Any:
        """What it means. Of two members with one name the last counts, as it does for the clients."""
        if self.members is not None:
            return {each.name: each.node.value for each in self.members}
        return self.scalar if self.items is None else [each.value for each in self.items]

    def member(self, name: str) -> "Node | None":
        found = [each.node for each in self.members or () if each.name == name]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: where its name begins, its value, and where the comma after it stands, if one does."""

    name: str
    start: int
    node: Node
    comma: int | None


def parse(text: str) -> Node:
    """The text with positions; raises Broken. An empty text is an empty object."""
    if not text.strip(" \t\r\n\ufeff"):
        return Node(len(text), len(text), members=())
    reader = _Reader(text)
    node = reader.value(MAX_DEPTH)
    if reader.here() < len(text):
        reader.fail("something stands after the end")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith("\ufeff") else 0

    def here(self) -> int:
        """Where the next thing that means something stands."""
        found = _TRIVIA.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def fail(self, problem: str) -> NoReturn:
        raise Broken(self._text, self._at, problem)

    def _sees(self, char: str) -> bool:
        return self._text.startswith(char, self.here())

    def value(self, depth: int) -> Node:
        if depth == 0:
            self.fail("it is nested too deeply")
        if self._sees("{"):
            return self._object(depth)
        if self._sees("["):
            return self._list(depth)
        pattern = _STRING if self._sees('"') else _PLAIN
        start = self._at
        scalar = self._scalar(pattern, "a value is expected")
        return Node(start, self._at, scalar)

    def _scalar(self, pattern: re.Pattern[str], problem: str) -> Any:
        found = pattern.match(self._text, self._at)
        if found is None:
            self.fail(problem)
        try:
            scalar = json.loads(found[0])
        except ValueError:
            self.fail(problem)
        self._at = found.end()
        return scalar

    def _object(self, depth: int) -> Node:
        start, self._at = self._at, self._at + 1
        members: list[Member] = []
        while not self._sees("}"):
            self._follows(members)
            name_at = self._at
            name = self._scalar(_STRING, "a name in double quotes is expected")
            if not self._sees(":"):
                self.fail("a colon is expected")
            self._at += 1
            node = self.value(depth - 1)
            members.append(Member(name, name_at, node, self._comma()))
        self._at += 1
        return Node(start, self._at, members=tuple(members))

    def _list(self, depth: int) -> Node:
        start, self._at = self._at, self._at + 1
        items: list[Node] = []
        after: int | None = 0
        while not self._sees("]"):
            if after is None:
                self.fail("a comma or the end of the list is expected")
            items.append(self.value(depth - 1))
            after = self._comma()
        self._at += 1
        return Node(start, self._at, items=tuple(items))

    def _follows(self, members: Sequence[Member]) -> None:
        if members and members[-1].comma is None:
            self.fail("a comma or the end of the object is expected")

    def _comma(self) -> int | None:
        """Where the comma stands that follows what was just read."""
        end = self._at
        if self._sees(","):
            self._at += 1
            return self._at - 1
        self._at = end  # what follows is no part of it
        return None


# Putting in -----------------------------------------------------------------------------------------------------


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the member at a path having a value; the objects on the way are made if there are none."""
    if not text.strip(" \t\r\n\ufeff"):
        return f"{text}{json.dumps(_nested(path, value), indent=2, ensure_ascii=False)}\n"
    node, rest = parse(text), list(path)
    unit = _unit(text, node)
    while True:
        if node.members is None:
            raise Broken(text, node.start, "an object is expected")
        inside = node.member(rest[0])
        if inside is None:
            at, new = _inserted(text, node, rest[0], _nested(rest[1:], value), unit)
            return text[:at] + new + text[at:]
        node, rest = inside, rest[1:]
        if not rest:
            base = _indentation(text, node.start)
            new = _rendered(value, unit, base, _line_end(text))
            return text[: node.start] + new + text[node.end :]


def _nested(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _inserted(text: str, node: Node, name: str, value: Any, unit: str) -> tuple[int, str]:
    """Where a new first member of an object goes, and its text. The first place leaves every comma as it is."""
    opened, line_end = node.start + 1, _line_end(text)
    first = node.members[0] if node.members else None
    inside = text[opened : first.start if first else node.end - 1]
    if first and "\n" not in inside:
        return first.start, f"{_member(name, value, '', '', '')}, "
    indent = _indentation(text, first.start) if first else _indentation(text, node.start) + unit
    new = line_end + indent + _member(name, value, unit, indent, line_end) + ("," if first else "")
    found = _SAME_LINE.match(text, opened)
    at = found.end() if found else opened
    if "\n" in inside and text.startswith(("\n", "\r\n"), at):
        return at, new
    if first:  # a comment of several lines begins on the line of the brace
        return opened, new
    return opened, new + line_end + _indentation(text, node.start)


def _member(name: str, value: Any, unit: str, indent: str, line_end: str) -> str:
    shown = _rendered(value, unit, indent, line_end) if unit else json.dumps(value, ensure_ascii=False)
    return f"{json.dumps(name, ensure_ascii=False)}: {shown}"


def _rendered(value: Any, unit: str, base: str, line_end: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", line_end + base)


def _indentation(text: str, at: int) -> str:
    """What the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(_BLANK))]


def _unit(text: str, root: Node) -> str:
    """By how much the text indents: as its first member is."""
    return (_indentation(text, root.members[0].start) if root.members else "") or "  "


def _line_end(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


# Taking out -----------------------------------------------------------------------------------------------------


def drop(text: str, path: Sequence[str], names: Collection[str]) -> str:
    """The text without some members of the object at a path. Comments outside of them stay."""
    node: Node | None = parse(text)
    for name in path:
        node = node.member(name) if node else None
    members = list((node.members if node else None) or ())
    gone = [each for each in members if each.name in names]
    spans = [span for each in gone for span in _spans(text, each)]
    if gone and members[-1].comma is None and members[-1].name in names:
        # The one that is last now has a comma that nothing follows.
        kept = [each for each in members if each.name not in names]
        spans += [(each.comma, each.comma + 1) for each in kept[-1:] if each.comma is not None]
    return without(text, spans)


def _spans(text: str, member: Member) -> Iterable[Span]:
    end = member.node.end
    if member.comma is None:
        return [_whole_lines(text, member.start, end)]
    if text[end : member.comma].strip():  # a comment stands before the comma
        return [_whole_lines(text, member.start, end), (member.comma, member.comma + 1)]
    return [_whole_lines(text, member.start, member.comma + 1)]


def _whole_lines(text: str, start: int, end: int) -> Span:
    """A span, with the rest of its lines if nothing else stands on them, and with the blanks around it if it does."""
    left, right = start, end
    while left and text[left - 1] in _BLANK:
        left -= 1
    while right < len(text) and text[right] in _BLANK:
        right += 1
    begins_line = left == 0 or text[left - 1] == "\n"
    if begins_line and text.startswith("\r\n", right):
        return left, right + 2
    if begins_line and text.startswith("\n", right):
        return left, right + 1
    return (start, right) if text[end - 1] == "," else (left, end)


def without(text: str, spans: Iterable[Span]) -> str:
    """The text without some spans."""
    kept: list[str] = []
    at = 0
    for start, end in sorted(spans):
        kept.append(text[at : max(start, at)])
        at = max(end, at)
    return "".join([*kept, text[at:]])
