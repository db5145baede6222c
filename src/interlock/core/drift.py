"""Fingerprints of tool definitions, and what changed between two of them.

A server that was reviewed may change what its tools say or accept afterwards. The fingerprint covers the whole
descriptor, annotations and `_meta` included: leaving anything out leaves a way to change it unseen. Key order and white
space do not count; everything else does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeGuard

from interlock.core.canonical import content_hash
from interlock.core.model import Json, JsonObject


def fingerprint(descriptor: JsonObject) -> str:
    """SHA-256 over the canonical form of the whole descriptor."""
    return content_hash(descriptor)


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
    elif content_hash(before) != content_hash(after):
        yield Change(path, ChangeKind.CHANGED, before, after)


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
