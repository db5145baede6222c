"""TOML edited where it stands: one table put in or taken out, every other character left as it was.

A table is the span from its header to the last line that says something; comments and blank lines after that belong to
whatever follows, and stay. Where servers stand in another notation (`a = {…}`, dotted names) tomlkit makes the edit.
Either way the result is read again, and an edit that changed anything else is refused.

This module knows TOML and nothing of clients.
"""

import contextlib
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from interlock.cli.clients.jsonc import Broken, Span, without

_TOKEN = re.compile(
    r"(?P<comment>#[^\n]*)|(?P<string>\"\"\"(?:\\.|[^\\])*?\"{3,5}|'''.*?'{3,5}|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*')"
    r"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<line>\n)|(?P<other>[^\s#\"'\[\]{}]+)",
    re.DOTALL,
)
_BOM = "\ufeff"
_AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a header of its own: its path, and the span of its lines."""

    path: Path
    start: int
    end: int


def parse(text: str) -> dict[str, Any]:
    """What the text means; raises Broken."""
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as broken:
        found = _AT_LINE.search(str(broken))
        raise Broken(text, _offset(text, found), "this is no TOML") from None
    except RecursionError:
        raise Broken(text, 0, "it is nested too deeply") from None


def _offset(text: str, found: re.Match[str] | None) -> int:
    if found is None:
        return len(text)
    starts = [0, *(each.end() for each in re.finditer("\n", text))]
    return min(starts[min(int(found[1]), len(starts)) - 1] + int(found[2]) - 1, len(text))


def strings(text: str) -> Iterator[tuple[Span, str]]:
    """Every text in quotes: where it stands, and what it says."""
    for token in _TOKEN.finditer(text):
        if token["string"]:
            yield token.span(), tomllib.loads(f"x = {token['string']}")["x"]


def put(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """The text with a table having these values; it comes last if it is new."""
    wanted = _with(parse(text), path, value)
    line_end = "\r\n" if "\r\n" in text else "\n"
    shorter = _without_tables(text, {tuple(path)})
    gap = "" if not shorter.strip(_BOM) else line_end if shorter.endswith("\n") else line_end * 2
    appended = shorter + gap + _rendered(path, value).replace("\n", line_end)
    return _first_that_means(text, wanted, appended, lambda: _put_by_tomlkit(text, path, value))


def drop(text: str, path: Sequence[str], names: Collection[str]) -> str:
    """The text without some tables of the table at a path."""
    wanted = _lacking(parse(text), path, names)
    shorter = _without_tables(text, {(*path, name) for name in names})
    return _first_that_means(text, wanted, shorter, lambda: _drop_by_tomlkit(text, path, names))


def _first_that_means(text: str, wanted: Mapping[str, Any], own: str, other: Callable[[], str]) -> str:
    for made in (lambda: own, other):
        # Where no table can stand, tomlkit fails in ways of its own.
        with contextlib.suppress(Broken, TypeError, LookupError, ValueError, AttributeError):
            result = made()
            if _said(parse(result)) == _said(wanted):
                return result
    raise Broken(text, 0, "its servers stand in a notation that cannot be edited safely")


def _said(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value without tables that are empty: whether one is there means nothing."""
    return {name: each for name, each in value.items() if each != {}}


# By spans -------------------------------------------------------------------------------------------------------


def tables(text: str) -> list[Table]:
    """The tables that have headers, in their order."""
    found: list[tuple[Path, int]] = []
    depth, fresh, said, ends = 0, True, 0, list[int]()
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open" and depth == 0 and fresh:
            ends.append(said)
            found.append((_path_of(text, token.start()), token.start()))
        depth += {"open": 1, "close": -1}.get(kind or "", 0)
        fresh = kind == "line" or token[0] == _BOM
        said = token.end() if kind not in ("line", "comment") else said
    ends.append(said)
    return [Table(path, start, _line_end(text, end)) for (path, start), end in zip(found, ends[1:], strict=True)]


def _path_of(text: str, at: int) -> Path:
    """The path that a header names; empty when it is no header of a plain table."""
    line = text[at : _line_end(text, at)]
    if line.startswith("[["):
        return ()
    try:
        inside: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str] = []
    while inside:
        ((name, inside),) = cast("dict[str, Any]", inside).items()
        path.append(name)
    return tuple(path)


def _line_end(text: str, at: int) -> int:
    """Where the line after a place begins."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _without_tables(text: str, gone: Collection[Path]) -> str:
    """The text without some tables and everything inside of them, and without one blank line that followed each."""
    spans: list[Span] = []
    for each in tables(text):
        if any(each.path[: len(path)] == path for path in gone):
            blank = re.compile(r"\r?\n").match(text, each.end)
            spans.append((each.start, blank.end() if blank else each.end))
    return without(text, spans)


def _rendered(path: Sequence[str], value: Mapping[str, Any]) -> str:
    import tomlkit

    header = ".".join(tomlkit.key(name).as_string() for name in path)
    return f"[{header}]\n{tomlkit.dumps(value)}"


# By tomlkit -----------------------------------------------------------------------------------------------------


def _put_by_tomlkit(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    import tomlkit

    document: Any = tomlkit.parse(text.removeprefix(_BOM))
    inside = document
    for name in path[:-1]:
        inside = inside.setdefault(name, tomlkit.table(is_super_table=True))
    inside[path[-1]] = dict(value)
    return _bom(text) + tomlkit.dumps(document)


def _drop_by_tomlkit(text: str, path: Sequence[str], names: Collection[str]) -> str:
    import tomlkit

    document: Any = tomlkit.parse(text.removeprefix(_BOM))
    inside = document
    for name in path:
        inside = inside[name]
    for name in names:
        inside.pop(name, None)
    return _bom(text) + tomlkit.dumps(document)


def _bom(text: str) -> str:
    return _BOM if text.startswith(_BOM) else ""


def _with(value: dict[str, Any], path: Sequence[str], new: Mapping[str, Any]) -> dict[str, Any]:
    if not path:
        return dict(new)
    inside = value.get(path[0], {})
    if not isinstance(inside, dict):
        return value
    return {**value, path[0]: _with(cast("dict[str, Any]", inside), path[1:], new)}


def _lacking(value: Any, path: Sequence[str], names: Collection[str]) -> Any:
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    if not path:
        return {name: each for name, each in members.items() if name not in names}
    if path[0] not in members:
        return members
    return {**members, path[0]: _lacking(members[path[0]], path[1:], names)}
