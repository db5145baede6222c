"""Fingerprints of tool definitions, what changed between two of them, and how a tool stands against what was reviewed.

A server that was reviewed may change what its tools say or accept afterwards. The fingerprint covers the whole
descriptor, annotations and `_meta` included: leaving anything out leaves a way to change it unseen. Key order and white
space do not count; everything else does.

This module refuses to remember anything and to trust anybody: it compares what it is given, and whoever keeps the
reviews acts on that.
"""

import hashlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import Protocol, TypeGuard

from interlock.core.canonical import canonical_text, content_hash
from interlock.core.meaning import Meaning, meanings
from interlock.core.model import Json, JsonObject, Standing
from interlock.core.safety import SafetyClass

MOST_FIELDS = 500
"""How many fields of one difference are named."""


def fingerprint(descriptor: JsonObject) -> str:
    """SHA-256 over the canonical form of the whole descriptor."""
    return content_hash(descriptor)


# Field by field -------------------------------------------------------------------------------------------------


class ChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs. `path` is a JSON pointer; the side that does not exist is None."""

    path: str
    kind: ChangeKind
    before: Json = None
    after: Json = None


def differences(before: JsonObject, after: JsonObject) -> tuple[Change, ...]:
    """Every field that differs, in the order of their paths; empty exactly when the fingerprints are equal."""
    return tuple(_compare("", before, after))


def _compare(path: str, before: Json, after: Json) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _member(f"{path}/{_escaped(key)}", before, after, key)
    elif _is_list(before) and _is_list(after):
        yield from _compare_lists(path, before, after)
    elif not _same(before, after):
        yield Change(path, ChangeKind.CHANGED, before, after)


def _same(before: Json, after: Json) -> bool:
    """Whether two values that are not both objects or both lists have the same canonical text."""
    if isinstance(before, float) and isinstance(after, float):
        # 0.0 equals -0.0, and is written in another way.
        return canonical_text(before) == canonical_text(after)
    return type(before) is type(after) and before == after


def _member(path: str, before: JsonObject, after: JsonObject, key: str) -> Iterator[Change]:
    if key not in after:
        yield Change(path, ChangeKind.REMOVED, before=before[key])
    elif key not in before:
        yield Change(path, ChangeKind.ADDED, after=after[key])
    else:
        yield from _compare(path, before[key], after[key])


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _compare_lists(path: str, before: Sequence[Json], after: Sequence[Json]) -> Iterator[Change]:
    for at, (old, new) in enumerate(zip(before, after, strict=False)):
        yield from _compare(f"{path}/{at}", old, new)
    for at in range(len(after), len(before)):
        yield Change(f"{path}/{at}", ChangeKind.REMOVED, before=before[at])
    for at in range(len(before), len(after)):
        yield Change(f"{path}/{at}", ChangeKind.ADDED, after=after[at])


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


# Against what was reviewed --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Definition:
    """A descriptor as canonical text, and its fingerprint, by which two are the same.

    Of one that comes from disk, secrets in its texts are hidden, so the text alone does not tell what it was."""

    text: str = field(compare=False)
    fingerprint: str
    is_one: bool = True
    """False for what is listed under one name with several definitions; the text holds them all."""


NOTHING = Definition("{}", fingerprint({}))
"""What a tool that nobody reviewed is compared with."""


def definition_of(text: str) -> Definition:
    """The definition that a canonical text is."""
    return Definition(text, hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest())


def definitions(tools: Sequence[JsonObject]) -> dict[str, Definition]:
    """The tools of one listing by name. The same definition twice is one."""
    found: dict[str, list[JsonObject]] = {}
    for descriptor in tools:
        name = descriptor.get("name")
        if isinstance(name, str):
            found.setdefault(name, []).append(descriptor)
    return {name: defined(descriptors) for name, descriptors in found.items()}


def defined(descriptors: Sequence[JsonObject]) -> Definition:
    """What is listed under one name, in whatever order."""
    texts = sorted({canonical_text(each) for each in descriptors})
    if len(texts) == 1:
        return definition_of(texts[0])
    return replace(definition_of(f'{{"definitions":[{",".join(texts)}]}}'), is_one=False)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What is remembered of one tool.

    `definition` is what was reviewed, None while nobody has. `told` is the fingerprint of the other definition that was
    last put on record, None while the tool is as it was reviewed: by it each change is told once, and not whenever the
    tools are listed.
    """

    definition: Definition | None
    told: str | None = None


class Turn(StrEnum):
    """What became of a tool, the gravest first."""

    CHANGED = "changed"
    RESTORED = "restored"
    APPEARED = "appeared"
    TRUSTED = "trusted"


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A tool that is no longer what it was. `before` is what was reviewed, None if nobody has."""

    turn: Turn
    tool: str
    standing: Standing
    before: Definition | None
    after: Definition


@dataclass(frozen=True, slots=True)
class Judgement:
    """How the tools of a listing stand, what is to be told, and what is to be remembered (None: to be forgotten)."""

    standings: Mapping[str, Standing]
    changes: tuple[ToolChange, ...]
    reviewed: Mapping[str, Reviewed | None]


def judge(
    listed: Mapping[str, Definition],
    reviewed: Mapping[str, Reviewed],
    *,
    trusted: bool,
    poisoned: Container[str] = (),
) -> Judgement:
    """Hold a listing against what was reviewed. A tool that vanished stays reviewed.

    A poisoned tool is known only if exactly its definition was reviewed; that its server is trusted does not count.
    """
    standings: dict[str, Standing] = {}
    changes: list[ToolChange] = []
    kept: dict[str, Reviewed | None] = {
        tool: None for tool, each in reviewed.items() if each.definition is None and tool not in listed
    }
    for tool, definition in listed.items():
        before = reviewed.get(tool, Reviewed(None))
        standing = standings[tool] = _standing(
            definition, before.definition, trusted=trusted, poisoned=tool in poisoned
        )
        known = standing is Standing.KNOWN
        after = Reviewed(definition if known else before.definition, None if known else definition.fingerprint)
        if after != before:
            kept[tool] = after
            changes.append(ToolChange(_turn(standing, before), tool, standing, before.definition, definition))
    return Judgement(standings, tuple(changes), kept)


def _standing(definition: Definition, reviewed: Definition | None, *, trusted: bool, poisoned: bool) -> Standing:
    if not definition.is_one:
        return Standing.TWICE
    if poisoned and reviewed != definition:
        return Standing.POISONED
    if reviewed is None:
        return Standing.KNOWN if trusted else Standing.NEW
    return Standing.KNOWN if reviewed == definition else Standing.CHANGED


def _turn(standing: Standing, before: Reviewed) -> Turn:
    if before.definition is None:
        return Turn.APPEARED
    return Turn.RESTORED if standing is Standing.KNOWN else Turn.CHANGED


@dataclass(frozen=True, slots=True)
class Difference:
    """How a tool as it is listed now differs from what was reviewed, or from nothing if nobody has reviewed it.

    `listed` and `reviewed` are fingerprints. `complete` is False when more fields differ than are named.
    """

    standing: Standing
    listed: str
    reviewed: str | None
    changes: tuple[Change, ...]
    complete: bool
    meanings: tuple[Meaning, ...] = ()
    """What that means, the gravest first; nothing for a tool that nobody has reviewed."""


def difference(reviewed: Definition | None, listed: Definition, *, poisoned: bool = False) -> Difference:
    """Compare what was reviewed with what is listed."""
    standing = _standing(listed, reviewed, trusted=False, poisoned=poisoned)
    named = tuple(islice(fields_between(reviewed, listed), MOST_FIELDS + 1))
    before = None if reviewed is None else reviewed.fingerprint
    meant: tuple[Meaning, ...] = ()
    if reviewed is not None and listed.is_one:
        meant = meanings(json.loads(reviewed.text), json.loads(listed.text))
    return Difference(standing, listed.fingerprint, before, named[:MOST_FIELDS], len(named) <= MOST_FIELDS, meant)


def fields_between(reviewed: Definition | None, listed: Definition) -> Iterator[Change]:
    """Every field that differs between two definitions, found one by one: there may be millions."""
    return _compare("", json.loads((reviewed or NOTHING).text), json.loads(listed.text))


class Review(Protocol):
    """The operator's word about tools. What cannot be done is raised as InterlockError and changes nothing."""

    async def trust(self, server: str, tool: str | None, by: str, fingerprint: str | None = None) -> tuple[str, ...]:
        """Take one tool, or all of a server, as it is listed now for reviewed; the names of those that were not.

        With a fingerprint only if the tool still has it: what was looked at is what is trusted.
        """
        ...

    async def difference(self, server: str, tool: str) -> Difference | None:
        """How a tool differs from what was reviewed; None when it is not listed."""
        ...

    async def override(self, server: str, tool: str, safety_class: SafetyClass | None, by: str) -> None:
        """Set the class of a tool for good, or let the evidence speak again (None)."""
        ...
