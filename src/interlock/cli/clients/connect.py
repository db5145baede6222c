"""What has to change in the files of a client so that it talks to Interlock, and to Interlock only.

One entry is put in, by which the client starts `interlock stdio` or reaches the gateway over HTTP, and the servers that
Interlock has taken over are taken out: left in, they would be a way around it. Which file is changed is decided here;
nothing is written.

The entry names the configuration by its whole path. Without that, whatever lies in the folder in which a client happens
to start would be taken for it.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock import errors
from interlock.cli.clients.adopt import adopt
from interlock.cli.clients.file import ClientFile, Named, read
from interlock.cli.clients.gather import ENTRY, is_our_entry, taken_over
from interlock.cli.clients.masked import difference
from interlock.cli.clients.table import Client, Surroundings
from interlock.config.tree import Listen, Server
from interlock.core.model import Json
from interlock.errors import InterlockError

TOOL_SECONDS = 600
"""How long a client is told to wait for an answer: as long as an approval may take, and the call after it."""
_HOW = frozenset({"command", "args", "url", "httpUrl", "serverUrl", "type", "transport"})


@dataclass(frozen=True, slots=True)
class Ours:
    """How this gateway is reached, and which servers it has."""

    command: tuple[str, ...]
    url: str
    servers: Mapping[str, Server]


@dataclass(frozen=True, slots=True)
class Wish:
    """How a client is to be connected."""

    http: bool = False
    keep: bool = False
    """Whether the servers that were taken over stay in its file."""
    project: bool = False
    """Whether the file of the project in the working directory is changed too."""
    anew: bool = True
    """Whether an entry of ours that is there already is written anew."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A file as it was seen, and the text that it would have."""

    client: Client
    path: Path
    seen: bytes | None
    after: str
    removed: tuple[str, ...]

    @property
    def difference(self) -> str:
        before = (self.seen or b"").decode("utf-8")
        return difference(str(self.path), before, self.after, "toml" if self.client.toml else "json")


def our_command(config: Path | None, data: Path | None) -> tuple[str, ...]:
    """The command line by which a client starts Interlock, whatever its folder and its variables are."""
    given = [*_option("--config", config), *_option("--data-dir", data)]
    return (*_program(), "stdio", *given)


def _option(name: str, path: Path | None) -> list[str]:
    return [] if path is None else [name, str(path.absolute())]


def _program() -> list[str]:
    """This program by its whole path."""
    beside = [Path(sys.argv[0]).absolute(), *(Path(sys.executable).with_name(each) for each in ("interlock", "il"))]
    for each in beside:
        if each.stem in ("interlock", "il") and each.suffix in ("", ".exe") and os.access(each, os.X_OK):
            return [str(each)] if each.is_file() else []
    return [sys.executable, "-m", "interlock"]


def our_url(listen: Listen) -> str:
    """Where agents reach the gateway over HTTP."""
    host = f"[{listen.host}]" if ":" in listen.host else listen.host
    return f"http://{host}:{listen.port}/mcp"


def edits(client: Client, around: Surroundings, ours: Ours, wish: Wish) -> list[Edit]:
    """What has to be changed, a file each; nothing when the client is connected as wished."""
    found = [_with_entry(read(client, client.user_file(around)), around, ours, wish)]
    project = client.project_file(around) if wish.project else None
    if project is not None and project != client.user_file(around):
        file = read(client, project)
        found.append(_edit(file, *_without_taken(file, around, ours, wish)))
    return [each for each in found if each.after != (each.seen or b"").decode("utf-8")]


def _with_entry(file: ClientFile, around: Surroundings, ours: Ours, wish: Wish) -> Edit:
    text, removed = _without_taken(file, around, ours, wish)
    first = [each for each in file.servers() if each.keys == file.client.keys[0]]
    own = next((each for each in first if is_our_entry(each)), None)
    if own is None and any(each.name == ENTRY for each in first):
        raise InterlockError(errors.CLIENT_ENTRY_TAKEN(file=file.path))
    wanted = entry(file.client, ours, http=wish.http)
    if own is None:
        return _edit(file, file.with_server(text, ENTRY, wanted), removed)
    # What somebody added to our entry, such as a token, stays.
    wanted |= {name: value for name, value in own.entry.items() if name not in _HOW and name not in wanted}
    if not wish.anew or wanted == own.entry:
        return _edit(file, text, removed)
    return _edit(file, file.with_server(text, own.name, wanted), removed)


def _edit(file: ClientFile, after: str, removed: tuple[str, ...]) -> Edit:
    return Edit(file.client, file.path, file.content, after, removed)


def _without_taken(file: ClientFile, around: Surroundings, ours: Ours, wish: Wish) -> tuple[str, tuple[str, ...]]:
    gone: list[Named] = []
    if not wish.keep:
        gone = [
            each
            for each in file.servers()
            if not is_our_entry(each)
            and taken_over(adopt(each.name, each.entry), ours.servers, around.environ) is not None
        ]
    return file.without_servers(file.text, gone), tuple(dict.fromkeys(each.name for each in gone))


def entry(client: Client, ours: Ours, *, http: bool) -> dict[str, Any]:
    """What the client's file says of Interlock."""
    if http and client.url is None:
        raise InterlockError(errors.CLIENT_STDIO_ONLY(title=client.title, client=client.name))
    program, *arguments = ours.command
    said: dict[str, Json] = {**client.stdio, "command": program, "args": list[Json](arguments)}
    if http and client.url is not None:
        said = {**client.http, client.url: ours.url}
    if client.timeout is not None:
        said[client.timeout.key] = TOOL_SECONDS * client.timeout.per_second
    return said
