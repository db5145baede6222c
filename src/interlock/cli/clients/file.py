"""A file of a client: read with care, and rewritten by spans so that everything but the servers stays as it was.

A broken file is told by its place, never by its words: it may hold secrets. This module refuses to write; what it gives
is the text that a file would have.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from interlock import errors
from interlock.cli.clients import jsonc, toml_text
from interlock.cli.clients.table import ANY, Client, Keys, Surroundings, System
from interlock.cli.inputs import bad
from interlock.errors import InterlockError

_ANY_KEYS: tuple[Keys, ...] = (
    ("mcpServers",), ("servers",), ("mcp_servers",), ("context_servers",),
)  # fmt: skip
"""Where a file of any client may have its servers; the first that is there counts."""
MAX_FILE = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Named:
    """A server as a client names it: where it stands, and what stands there."""

    client: Client
    file: Path
    keys: Keys
    name: str
    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClientFile:
    """The content of a file; None when there is no file."""

    client: Client
    path: Path
    content: bytes | None
    value: Mapping[str, Any]

    @property
    def text(self) -> str:
        return (self.content or b"").decode("utf-8")

    def servers(self) -> list[Named]:
        return [
            Named(self.client, self.path, keys, name, object_of(entry))
            for pattern in self.client.keys
            for keys, members in _found(self.value, pattern, ())
            for name, entry in members.items()
        ]

    def with_server(self, text: str, name: str, entry: Mapping[str, Any]) -> str:
        """A text of this file with a server at the place where the client looks first."""
        put = toml_text.put if self.client.toml else jsonc.put
        return self._edited(partial(put, text, (*self.client.keys[0], name), entry))

    def without_servers(self, text: str, gone: Sequence[Named]) -> str:
        """A text of this file without some servers."""
        drop = toml_text.drop if self.client.toml else jsonc.drop
        for keys in dict.fromkeys(each.keys for each in gone):
            names = [each.name for each in gone if each.keys == keys]
            text = self._edited(partial(drop, text, keys, names))
        return text

    def _edited(self, edit: Callable[[], str]) -> str:
        try:
            after = edit()
            _parsed(after, toml=self.client.toml)
        except jsonc.Broken as broken:
            raise broken_at(self.path, broken) from None
        return after


def surroundings() -> Surroundings:
    """Where this process runs."""
    system: System = "darwin" if sys.platform == "darwin" else "win32" if sys.platform == "win32" else "linux"
    return Surroundings(Path.home(), Path.cwd(), os.environ, system)


def read(client: Client, path: Path) -> ClientFile:
    """The file of a client, or what is there instead of one: nothing. Raises InterlockError for a broken one."""
    content = read_bytes(path)
    if content is None:
        return ClientFile(client, path, None, {})
    return ClientFile(client, path, content, _value(path, content, toml=client.toml))


def read_bytes(path: Path) -> bytes | None:
    """What is in a file; None when there is none."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InterlockError(errors.CLIENT_FILE_UNUSABLE(file=path, problem="it is no plain file"))
        if found.st_size > MAX_FILE:
            raise InterlockError(errors.CLIENT_FILE_UNUSABLE(file=path, problem="it is too large for settings"))
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as failed:
        problem = f"it cannot be read: {failed.strerror}"
        raise InterlockError(errors.CLIENT_FILE_UNUSABLE(file=path, problem=problem)) from None


def broken_at(path: Path, broken: jsonc.Broken) -> InterlockError:
    place = f"{path}:{broken.line}:{broken.column}"
    return InterlockError(errors.CLIENT_FILE_BROKEN(place=place, problem=broken.problem))


def _value(path: Path, content: bytes, *, toml: bool) -> Mapping[str, Any]:
    try:
        value = _parsed(content.decode("utf-8"), toml=toml)
    except UnicodeDecodeError as strange:
        before = content[: strange.start].decode("utf-8")
        raise broken_at(path, jsonc.Broken(before, len(before), "this is no UTF-8 text")) from None
    except jsonc.Broken as broken:
        raise broken_at(path, broken) from None
    if not isinstance(value, dict):
        raise broken_at(path, jsonc.Broken("", 0, "it holds no settings"))
    return cast("dict[str, Any]", value)


def _parsed(text: str, *, toml: bool) -> Any:
    return toml_text.parse(text) if toml else jsonc.parse(text).value


def _found(value: Mapping[str, Any], pattern: Keys, above: Keys) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """The objects at a pattern of keys, and where each stands."""
    if not pattern:
        yield above, value
        return
    names = list(value) if pattern[0] == ANY else [pattern[0]]
    for name in names:
        inside = value.get(name)
        if isinstance(inside, dict):
            yield from _found(cast("dict[str, Any]", inside), pattern[1:], (*above, name))


def object_of(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def servers_in(path: Path, here: Path) -> dict[str, dict[str, Any]]:
    """The servers that a file of whatever client names, as they stand there; of projects, only those of this folder."""
    content = read_bytes(path)
    if content is None:
        raise bad(f"{path}: cannot be read: No such file or directory", "Check the path.")
    value = _value(path, content, toml=path.suffix == ".toml")
    project = object_of(object_of(value.get("projects")).get(str(here)))
    found: dict[str, dict[str, Any]] = {}
    for each in (value, project, object_of(value.get("mcp"))):
        found |= _members(each)
    if not found:
        raise bad(f"{path}: names no server", f"Servers are looked for under {', '.join(key for (key,) in _ANY_KEYS)}.")
    return found


def _members(value: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    named = next((object_of(value[key]) for (key,) in _ANY_KEYS if key in value), object_of(None))
    return {name: object_of(entry) for name, entry in named.items()}
