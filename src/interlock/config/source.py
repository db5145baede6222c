"""YAML read with the position of every key and value, so that a problem can be shown where it stands.

Nodes are composed, not constructed: no tag can build an object, a duplicate key is an error, and what cannot be read as
what it claims to be is reported instead of guessed. Size and depth are bounded: aliases can make a small file huge.
This module knows YAML and nothing of settings.
"""

import math
import re
import warnings
from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from interlock.config.document import Document, Position, Problem
from interlock.config.paths import Path
from interlock.core.model import Json

MAX_NODES = 200_000
MAX_DEPTH = 100
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_BASES = {"0x": 16, "0o": 8, "0b": 2}


def parse(text: str, where: str) -> Document:
    """Parse a YAML text. Problems are collected in the document, not raised."""
    document = Document()
    try:
        with warnings.catch_warnings():
            # The parser warns of an anchor used twice by printing lines of the file.
            warnings.simplefilter("ignore")
            root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = Position(where, mark.line + 1, mark.column + 1) if mark else where
        document.problems.append(Problem(str(at), f"not valid YAML: {_told(error.problem)}"))
    except YAMLError:
        document.problems.append(Problem(where, "not valid YAML: it holds a character that YAML does not allow"))
    except RecursionError:
        document.problems.append(Problem(where, "not usable: it is nested too deeply"))
    else:
        if root is not None:
            _read(document, where, root)
    return document


def _told(problem: str | None) -> str:
    """What the parser complains about, without the words of the file: they may be a secret."""
    text = problem or "it cannot be read"
    if "another document" in text:
        return "it holds more than one document"
    if any(word in text for word in ("alias", "anchor", "tag")):
        return text.partition("'")[0].partition('"')[0].strip() + "; quote values that begin with * & or !"
    return text


def _read(document: Document, where: str, root: Node) -> None:
    try:
        document.value = _Reader(document, where).read(root, ())
    except _TooMuch as stop:
        document.problems.append(stop.problem)


class _TooMuch(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class _Reader:
    """Walks a composed node tree and fills in the document."""

    def __init__(self, document: Document, where: str) -> None:
        self._document = document
        self._where = where
        self._count = 0

    def _position(self, node: Node) -> Position:
        return Position(self._where, node.start_mark.line + 1, node.start_mark.column + 1)

    def _complain(self, node: Node, text: str) -> None:
        self._document.problems.append(Problem(str(self._position(node)), text))

    def read(self, node: Node, path: Path) -> Json:
        self._count += 1
        if self._count > MAX_NODES:
            raise _TooMuch(Problem(str(self._position(node)), "not usable: it is too large"))
        if len(path) > MAX_DEPTH:
            raise _TooMuch(
                Problem(str(self._position(node)), "not usable: it is nested too deeply, or refers to itself")
            )
        self._document.values.setdefault(path, self._position(node))
        if isinstance(node, MappingNode):
            return dict(self._members(node, path))
        if isinstance(node, SequenceNode):
            return [self.read(child, (*path, at)) for at, child in enumerate(node.value)]
        return self._scalar(node)

    def _members(self, node: MappingNode, path: Path) -> Iterator[tuple[str, Json]]:
        seen: set[str] = set()
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._complain(key_node, "a key must be a text")
                continue
            key = key_node.value
            if key in seen:
                self._complain(key_node, f"key '{key}' stands here twice; keep one of them")
            seen.add(key)
            self._document.keys[(*path, key)] = self._position(key_node)
            if isinstance(value_node, ScalarNode) and not value_node.value:
                # An empty value has no place of its own; its key is where the reader looks.
                self._document.values[(*path, key)] = self._position(key_node)
            yield key, self.read(value_node, (*path, key))

    def _scalar(self, node: Node) -> Json:
        text = node.value if isinstance(node, ScalarNode) else ""
        try:
            return _value_of(node.tag, text)
        except (KeyError, ValueError):
            self._complain(node, "this cannot be read as the kind of value it claims to be; quote it if it is a text")
            return None


_DIGITS = {2: re.compile("[01]+"), 8: re.compile("[0-7]+"), 10: re.compile("[0-9]+"), 16: re.compile("[0-9a-f]+")}


def _whole_number(text: str) -> int:
    digits = text.replace("_", "").lower()
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits.removeprefix("+"))
    base = _BASES.get(digits[:2], 10)
    digits = digits[2:] if base != 10 else digits
    if not _DIGITS[base].fullmatch(digits) or len(digits) > 64:
        raise ValueError
    number = int(sign + digits, base)
    if abs(number) >= 2**63:
        raise ValueError
    return number


def _value_of(tag: str, text: str) -> Json:
    """The value of a scalar; raises ValueError or KeyError when it is not what its tag says."""
    standard, _, kind = tag.rpartition(":")
    if standard != "tag:yaml.org,2002":
        raise ValueError
    text.encode("utf-8")  # half a character can be escaped in YAML, and can never be stored
    match kind:
        case "null":
            if text.lower() not in ("", "~", "null"):
                raise ValueError
            return None
        case "bool":
            return _BOOLEANS[text.lower()]
        case "int":
            return _whole_number(text)
        case "float":
            number = float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
            if not math.isfinite(number):
                raise ValueError
            return number
        case _:
            return text
