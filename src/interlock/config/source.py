"""YAML read with the position of every key and value, so that a problem can be shown where it stands.

Nodes are composed, not constructed: no tag can build an object, a duplicate key is an error, and a date or a number in
an odd notation is what the reader of the file would take it for. This module knows YAML and nothing of settings.
"""

from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from interlock.config.document import Document, Position, Problem
from interlock.config.paths import Path
from interlock.core.model import Json


def parse(text: str, where: str) -> Document:
    """Parse a YAML text. Problems are collected in the document, not raised."""
    document = Document()
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = Position(where, mark.line + 1, mark.column + 1) if mark else where
        document.problems.append(Problem(str(at), f"not valid YAML: {error.problem}"))
    except YAMLError as error:
        document.problems.append(Problem(where, f"not valid YAML: {str(error).splitlines()[0]}"))
    else:
        if root is not None:
            document.value = _Reader(document, where).read(root, ())
    return document


class _Reader:
    """Walks a composed node tree and fills in the document."""

    def __init__(self, document: Document, where: str) -> None:
        self._document = document
        self._where = where

    def _position(self, node: Node) -> Position:
        return Position(self._where, node.start_mark.line + 1, node.start_mark.column + 1)

    def read(self, node: Node, path: Path) -> Json:
        self._document.values[path] = self._position(node)
        if isinstance(node, MappingNode):
            return dict(self._members(node, path))
        if isinstance(node, SequenceNode):
            return [self.read(child, (*path, at)) for at, child in enumerate(node.value)]
        return _scalar(node)

    def _members(self, node: MappingNode, path: Path) -> Iterator[tuple[str, Json]]:
        seen: set[str] = set()
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, ScalarNode) else ""
            if key in seen:
                self._document.problems.append(
                    Problem(str(self._position(key_node)), f"key '{key}' stands here twice; keep one of them")
                )
            seen.add(key)
            self._document.keys[(*path, key)] = self._position(key_node)
            yield key, self.read(value_node, (*path, key))


def _scalar(node: Node) -> Json:
    text = node.value if isinstance(node, ScalarNode) else ""
    match node.tag.rpartition(":")[2]:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text.replace("_", ""), 0)
        case "float":
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
        case _:
            return text
