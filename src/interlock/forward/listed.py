"""What an upstream lists and declares, read: pages, entries and abilities, whatever is in them.

Pure. What is malformed is left out or taken for absent, because one bad entry is no reason to lose the others; only an
answer that is no list at all is refused. A tool is never left out in silence: how many were, and why, is part of what
was read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

import msgspec

from interlock.core.health import Introduction, LeftOut
from interlock.core.hidden import visible
from interlock.core.model import Json, JsonObject
from interlock.core.offers import Abilities, Kind
from interlock.forward.link import BadMessage

MAX_DEPTH = 100
"""A definition that is nested deeper is no tool: whoever walks through it later must not fall."""


LONGEST_NAME = 200
LONGEST_INSTRUCTIONS = 20_000
"""How many characters are kept of what an upstream says of itself."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list: the JSON texts of its entries, and where the next page begins."""

    entries: tuple[bytes, ...] = ()
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """All pages of a list. `more` says that it goes on, and that the rest was not asked for."""

    entries: tuple[bytes, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class ReadTools:
    """The tools of a list, and those in it that are none."""

    tools: Sequence[JsonObject] = ()
    left_out: tuple[LeftOut, ...] = ()


class Flaw(StrEnum):
    """Why an entry of a list is not taken."""

    NO_JSON = "not readable as JSON"
    TOO_DEEP = "nested too deeply"
    NAMELESS = "without a name"


ENDLESS = "its list of tools is too long, and the rest of it was not asked for"


class _Page(msgspec.Struct):
    nextCursor: str | None = None  # noqa: N815 (its name on the wire)


class _Named(msgspec.Struct):
    name: str = ""


_NAMED = msgspec.json.Decoder(_Named)
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


def read_introduction(server_info: object, instructions: object) -> Introduction:
    """What an upstream says of itself, whatever is in it."""
    named = _object(server_info)
    name, version = (_text(named.get(each), LONGEST_NAME) for each in ("name", "version"))
    return Introduction(name, version, _text(instructions, LONGEST_INSTRUCTIONS))


def _text(value: object, longest: int) -> str:
    return value[:longest] if isinstance(value, str) else ""


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def read_tools(listed: Listed) -> ReadTools:
    """The tools in a list, and what was left out of it."""
    tools: list[JsonObject] = []
    flawed: dict[Flaw, list[bytes]] = {}
    for text in listed.entries:
        entry = _entry(text, "name")
        if isinstance(entry, Flaw):
            flawed.setdefault(entry, []).append(text)
        elif not entry["name"]:
            flawed.setdefault(Flaw.NAMELESS, []).append(text)
        else:
            tools.append(entry)
    left_out = tuple(LeftOut(flaw, len(texts), _name_in(texts[0])) for flaw, texts in flawed.items())
    return ReadTools(tools, (*left_out, LeftOut(ENDLESS)) if listed.more else left_out)


def _name_in(text: bytes) -> str:
    """The name in an entry that was not taken, as far as it has one."""
    try:
        return visible(_NAMED.decode(text).name[:LONGEST_NAME])
    except (msgspec.MsgspecError, RecursionError):
        return ""


def read_entries(kind: Kind, texts: Sequence[bytes]) -> dict[str, bytes]:
    """The entries in a list by name; of two with one name the first counts, and one without a name is left out."""
    read: dict[str, bytes] = {}
    for text in texts:
        entry = _entry(text, kind.name_member)
        if not isinstance(entry, Flaw):
            read.setdefault(str(entry[kind.name_member]), text)
    return read


def _entry(text: bytes, name_member: str) -> JsonObject | Flaw:
    try:
        value = msgspec.json.decode(text)
    except RecursionError:
        return Flaw.TOO_DEEP
    except msgspec.MsgspecError:
        return Flaw.NO_JSON
    if not isinstance(value, dict) or not isinstance(cast("dict[str, Any]", value).get(name_member), str):
        return Flaw.NAMELESS
    return cast("JsonObject", value) if _is_shallow(cast("JsonObject", value), MAX_DEPTH) else Flaw.TOO_DEEP


def _is_shallow(value: Json, depth: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_shallow(each, depth - 1) for each in inside)
