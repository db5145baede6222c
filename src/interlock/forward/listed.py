"""What an upstream lists and declares, read: pages, entries and abilities, whatever is in them.

Pure. What is malformed is left out or taken for absent, because one bad entry is no reason to lose the others; only an
answer that is no list at all is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from interlock.core.model import Json, JsonObject
from interlock.core.offers import Abilities, Kind
from interlock.forward.link import BadMessage

MAX_DEPTH = 100
"""A definition that is nested deeper is no tool: whoever walks through it later must not fall."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list: the JSON texts of its entries, and where the next page begins."""

    entries: tuple[bytes, ...] = ()
    cursor: str | None = None


class _Page(msgspec.Struct):
    nextCursor: str | None = None  # noqa: N815 (its name on the wire)


_PAGE = msgspec.json.Decoder(_Page)
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENTRIES = msgspec.json.Decoder(list[msgspec.Raw])


def read_page(method: str, member: str, result: bytes) -> Page:
    """One page of an answer, whose entries are in this member; raises BadMessage."""
    try:
        entries = _ENTRIES.decode(_MEMBERS.decode(result).get(member, b"[]"))
        return Page(tuple(map(bytes, entries)), _PAGE.decode(result).nextCursor)
    except (msgspec.MsgspecError, RecursionError):
        raise BadMessage(f"its answer to {method} is not in the form of a list") from None


def read_abilities(capabilities: object) -> Abilities:
    """What the capabilities that an upstream declares come to, whatever is in them."""
    declared = _object(capabilities)
    return Abilities(
        resources=isinstance(declared.get("resources"), dict),
        subscribe=_object(declared.get("resources")).get("subscribe") is True,
        prompts=isinstance(declared.get("prompts"), dict),
        completions=isinstance(declared.get("completions"), dict),
        tells=tuple(each for each in _LISTS if _object(declared.get(each)).get("listChanged") is True),
    )


_LISTS = ("tools", "prompts", "resources")


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def read_tools(texts: Sequence[bytes]) -> list[JsonObject]:
    """The tools in a list; an entry that is none is left out."""
    read = (_entry(text, "name") for text in texts)
    return [tool for tool in read if tool is not None]


def read_entries(kind: Kind, texts: Sequence[bytes]) -> dict[str, bytes]:
    """The entries in a list by name; of two with one name the first counts, and one without a name is left out."""
    read: dict[str, bytes] = {}
    for text in texts:
        entry = _entry(text, kind.name_member)
        if entry is not None:
            read.setdefault(str(entry[kind.name_member]), text)
    return read


def _entry(text: bytes, name_member: str) -> JsonObject | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(cast("dict[str, Any]", value).get(name_member), str):
        return None
    return cast("JsonObject", value) if _is_shallow(cast("JsonObject", value), MAX_DEPTH) else None


def _is_shallow(value: Json, depth: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_shallow(each, depth - 1) for each in inside)
