"""The arguments that a tool wants repeated in headers, so that what stands in between can route without reading bodies.

Since 2026-07-28 a property of a tool's schema may name such a header with `x-mcp-header`. A name that is no token, that
stands twice, or a property that holds no simple value makes all of them void: clients must not call such a tool with
headers, and servers do not expect them. What is not reached through `properties` alone is not looked for.

Nothing here writes or reads a header; values are plain texts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from interlock.core.model import Json, JsonObject

KEY = "x-mcp-header"
PREFIX = "Mcp-Param-"
MAX_MIRRORS = 32
"""How many arguments of a tool may be repeated; a schema with more has none."""
MAX_DEPTH = 8
MAX_VALUE = 8_000
"""The longest value that is repeated; servers refuse longer headers anyway."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_TYPES = frozenset({"string", "integer", "boolean"})
_Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mirror:
    """One argument, found by the names that lead to it, and the header that repeats it."""

    header: str
    path: _Path


def mirrors_of(descriptor: JsonObject) -> tuple[Mirror, ...]:
    """The mirrors that a tool's descriptor declares; none when something is wrong with one of them."""
    marked = list(_marked(descriptor.get("inputSchema"), ()))
    if not marked or len(marked) > MAX_MIRRORS:
        return ()
    names = [schema[KEY] for _, schema in marked]
    tokens = [name for name in names if isinstance(name, str) and _TOKEN.fullmatch(name)]
    simple = all(isinstance(kind := schema.get("type"), str) and kind in _TYPES for _, schema in marked)
    if not simple or len({token.lower() for token in tokens}) < len(names):
        return ()
    return tuple(Mirror(PREFIX + token, path) for token, (path, _) in zip(tokens, marked, strict=True))


def _marked(schema: Json, path: _Path) -> Iterator[tuple[_Path, JsonObject]]:
    """The properties below a schema that name a header."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or len(path) >= MAX_DEPTH:
        return
    for name, inner in cast("JsonObject", properties).items():
        if isinstance(inner, Mapping):
            if KEY in inner:
                yield (*path, name), inner
            if "properties" in inner:
                yield from _marked(inner, (*path, name))


def mirrored(mirrors: Sequence[Mirror], arguments: JsonObject) -> tuple[tuple[str, str], ...]:
    """The headers of a call, and what they say; an argument that is absent has none."""
    texts = ((each.header, _text(_at(arguments, each.path))) for each in mirrors)
    return tuple((header, text) for header, text in texts if text is not None and len(text) <= MAX_VALUE)


def _at(arguments: JsonObject, path: _Path) -> Json:
    value: Json = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _text(value: Json) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
