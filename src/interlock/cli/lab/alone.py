"""A configuration with one server in it, which its clients see under its own names.

A recording is of one server. Whatever else the operator has decided stays as it is: rules, classes, holds and secrets.
This module starts nothing; it refuses a target that it cannot tell to be a server, a command or an address.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from interlock.cli.inputs import known
from interlock.cli.situation import SAMPLE

if TYPE_CHECKING:
    from interlock.config.load import Config
    from interlock.config.tree import Server, Settings

_RUNNERS = frozenset({"npx", "uvx", "uv", "run", "node", "python", "python3", "env", "docker", "stdio", "interlock"})
"""Words of a command line that do not tell which server it is."""
_NOT_IN_ID = re.compile(r"[^a-z0-9]+")


def alone(config: "Config", words: Sequence[str]) -> tuple["Config", str]:
    """The configuration for one target, and the id of its server."""
    name, servers = _target(config, words)
    changed = {"servers": servers, "expose": "direct", "namespacing": False}
    # Without its file, because what is written there later is about other servers too.
    return replace(config, settings=config.settings.model_copy(update=changed), file=None), name


def _target(config: "Config", words: Sequence[str]) -> tuple[str, "dict[str, Server]"]:
    from interlock.config.roster import checked

    configured = config.settings.servers
    (first, *rest) = words
    if not rest and first in configured:
        return first, {first: configured[first].model_copy(update={"enabled": True})}
    if not rest and not configured and first == SAMPLE:
        return SAMPLE, {}
    if not rest and urlsplit(first).scheme in ("http", "https"):
        name = _id([urlsplit(first).hostname or ""])
        return name, {name: checked(_empty(config), name, {"url": first})}
    argv = words if rest else shlex.split(first)
    if len(argv) == 1 and PurePath(first).name == first:
        known("server", first, [*configured] or [SAMPLE])
    name = _id(argv)
    definition = {"command": argv[0], "args": list(argv[1:])}
    return name, {name: checked(_empty(config), name, definition)}


def _empty(config: "Config") -> "Settings":
    return config.settings.model_copy(update={"servers": {}, "namespacing": True})


def _id(words: Sequence[str]) -> str:
    """The id of a server that has none: the first word of its command line that says anything."""
    bare = (PurePath(word).stem.lower() for word in words if not word.startswith("-"))
    named = (_NOT_IN_ID.sub("-", word).strip("-") for word in bare if word not in _RUNNERS)
    return next((name for name in named if name), "server")
