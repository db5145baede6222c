"""A configuration with one server in it, which its clients see under its own names.

A recording is of one server. Whatever else the operator has decided stays as it is: rules, classes, holds and secrets.
This module starts nothing, and refuses the id of a server that the configuration does not have.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from interlock.cli.inputs import known
from interlock.cli.lab.target import Wanted
from interlock.cli.situation import SAMPLE
from interlock.core.model import Json

if TYPE_CHECKING:
    from interlock.config.load import Config
    from interlock.config.tree import Server


def alone(config: "Config", target: Wanted) -> "Config":
    """The configuration for one target."""
    servers = _made(config, target) if target.server is None else _configured(config, target.server)
    changed = {"servers": servers, "expose": "direct", "namespacing": False}
    # Without its file, because what is written there later is about other servers too.
    return replace(config, settings=config.settings.model_copy(update=changed), file=None)


def _configured(config: "Config", name: str) -> "dict[str, Server]":
    servers = config.settings.servers
    known("server", name, [*servers] or [SAMPLE])
    # Whoever names a server that is switched off wants it all the same. Without any there is the sample.
    return {name: servers[name].model_copy(update={"enabled": True})} if servers else {}


def _made(config: "Config", target: Wanted) -> "dict[str, Server]":
    from interlock.config.roster import checked

    command: dict[str, Json] = {"command": next(iter(target.argv), None), "args": [*target.argv[1:]]}
    # Among the others, because there may be rules that name them.
    among = config.settings.model_copy(update={"namespacing": True})
    return {target.id: checked(among, target.id, {"url": target.url} if target.url else command)}
