"""Names of tools: plain letters, none of the gateway's own, and none that looks like another one.

A person approves a tool by the looks of its name, and a rule matches its letters. A name in letters of another alphabet
is made for the difference between the two. Of two names that look alike the one that was there first stays.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from interlock.core.model import Variant
from interlock.core.poison import signs
from interlock.core.poison.lookalikes import imitates, looks_of
from interlock.core.poison.signs import Sign, sign

OWN_NAMES = frozenset({"retrieve_tools", "call_tool", *(each.value for each in Variant if each is not Variant.DIRECT)})
OWN_PREFIX = "interlock__"
"""The names of the gateway's own tools."""
_PLAIN = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
_WHERE = "/name"
_OWN_LOOKS = frozenset(map(looks_of, OWN_NAMES))
_PREFIX_LOOKS = looks_of(OWN_PREFIX)


def is_reserved(name: str) -> bool:
    """Whether a name is, or looks like, that of one of the gateway's own tools."""
    looks = looks_of(name)
    return looks in _OWN_LOOKS or looks.startswith(_PREFIX_LOOKS)


def name_signs(name: str) -> Iterator[Sign]:
    """What is wrong with a name by itself."""
    if is_reserved(name):
        yield sign(signs.RESERVED_NAME, _WHERE, spelled(name))
    if imitates(name):
        yield sign(signs.IMITATED_NAME, _WHERE, spelled(name))
    elif not _PLAIN.fullmatch(name):
        yield sign(signs.NAME_CHARACTERS, _WHERE, spelled(name), hard=False)


def spelled(name: str) -> str:
    """A name with every character told that is not plain: one that looks like a plain one has to stand out."""
    return "".join(char if char.isascii() and char.isprintable() else f"<U+{ord(char):04X}>" for char in name[:80])


def clones(names: Iterable[str], before: Mapping[str, str]) -> dict[str, Sign]:
    """The names that look like one that was there before and are not the same.

    `before` has the names that are there already, by their looks; a name that is listed twice is no clone of itself.
    """
    seen, found = dict(before), dict[str, Sign]()
    for name in names:
        first = seen.setdefault(looks_of(name), name)
        if first != name:
            found[name] = sign(signs.LOOKALIKE_NAMES, _WHERE, f"{spelled(name)} looks like {spelled(first)}")
    return found
