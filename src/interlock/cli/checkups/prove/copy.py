"""What of the user's gateway goes into the sandbox: rules, postures, limits, identity, and the names of its tools.

Credentials, addresses, commands and notices stay out, so that nothing of the user's can be reached from in there. What
a server lists is taken from what was reviewed of it; the database is only read. Beside the user's servers there are
some of ours with a tool of each class, one for each trust and posture that servers of the user have: so every class
meets the user's rules even where no server is known yet, and nothing is shown by a server that is safer than theirs.

This module refuses to change a setting that decides anything about a call.
"""

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import ValidationError

from interlock.config.tree import AuthScope, Jwt, Notices, Server
from interlock.core.model import JsonObject
from interlock.core.safety import Posture
from interlock.errors import ConfigError
from interlock.store.folder import DataFolder
from interlock.store.inspect import Remembered, remembered
from interlock.store.protocol import StoreUnavailable

if TYPE_CHECKING:
    from interlock.config.load import Config

_SHORT = timedelta(milliseconds=50)
"""After what time a caller hears that its call waits. Only when it hears of it, not what happens to it."""
_TEXT: JsonObject = {"type": "string"}
_NAMED: JsonObject = {"type": "object", "properties": {"name": _TEXT, "text": _TEXT}, "required": ["name"]}
KEYS = "KEYS"
"""Where the keys of the issuer are; no server can have this name."""
OWN = "proof"
"""The servers of ours begin so."""
NEW = "list_added_proofs"
"""A tool that they add later. Every posture would let one that reads pass."""
UNKNOWN = "frobnicate_proof"


def described(name: str, text: str) -> JsonObject:
    """A tool of ours."""
    return {"name": name, "description": text, "inputSchema": _NAMED}


GENERIC: tuple[JsonObject, ...] = (
    described("list_proofs", "List them."),
    described("update_proof", "Change one."),
    described("delete_proof", "Delete one."),
    described("run_proof", "Run one."),
    described(UNKNOWN, "Says nothing about itself."),
)


@dataclass(frozen=True, slots=True)
class Copy:
    """The configuration for the sandbox, and what its servers list. `notes` is what could not be taken over."""

    config: "Config"
    tools: Mapping[str, Sequence[JsonObject]]
    own: Mapping[str, tuple[str, ...]]
    """The servers of ours, and those of the user's that each has its trust and posture from."""
    notes: tuple[str, ...] = ()


def copy_of(config: "Config", folder: DataFolder, address: Callable[[str], str]) -> Copy:
    """A copy in which every server is one of ours, at the address that is given for its name."""
    known, notes = _remembered(config, folder)
    servers, unfit = _servers(config, known)
    own = _own(servers)
    tools = {name: known.tools.get(name) or GENERIC for name in servers}
    tools |= dict.fromkeys(own, GENERIC)
    settings = config.settings
    changed = {
        "servers": {
            **{name: _replaced(each, address(name)) for name, each in servers.items()},
            **{name: _like(servers, alike, address(name)) for name, alike in own.items()},
        },
        "auth_scopes": {name: AuthScope() for name in settings.auth_scopes},
        "overrides": {**_shown(known), **settings.overrides},
        "hold": settings.hold.model_copy(update={"answer_after": _SHORT, "clients": {}}),
        "store": "sqlite",
        "record": settings.record.model_copy(update={"anchor": None}),
        "identity": settings.identity.model_copy(update={"jwt": _issuer(settings.identity.jwt, address(KEYS))}),
        "notices": Notices(),
        "expose": "both",
        "namespacing": True,
    }
    copied = replace(config, settings=settings.model_copy(update=changed), file=None)
    return Copy(copied, tools, own, (*notes, *unfit))


def _remembered(config: "Config", folder: DataFolder) -> tuple[Remembered, tuple[str, ...]]:
    from interlock.app.compiled import store_address

    try:
        return remembered(folder.database, store_address(config, os.environ)), ()
    except (StoreUnavailable, ConfigError) as failed:
        return Remembered(), (
            f"What is known of the servers could not be read ({failed}); stand-ins list a few tools.",
        )


def _servers(config: "Config", known: Remembered) -> tuple[dict[str, Server], list[str]]:
    """The servers that are switched on: those of the file, and those that were added while a gateway ran."""
    found, unfit = dict(config.settings.servers), list[str]()
    for name, kept in known.servers.items():
        if kept.definition is not None and name not in found:
            try:
                found[name] = Server.model_validate(kept.definition)
            except ValidationError:
                unfit.append(f"The server '{name}' that was added does not fit any more and is left out.")
        if name in found:
            found[name] = found[name].model_copy(update={"enabled": kept.enabled})
    return {name: each for name, each in found.items() if each.enabled}, unfit


def _issuer(jwt: Jwt | None, keys: str) -> Jwt | None:
    """The same issuer and audience, with keys that are published in the sandbox."""
    return None if jwt is None else jwt.model_copy(update={"jwks_url": keys})


def _replaced(server: Server, url: str) -> Server:
    """The same server for rules and postures, and a stand-in for everybody else."""
    nothing: dict[str, object] = {"command": None, "args": [], "env": {}, "cwd": None, "headers": {}, "expose": None}
    return server.model_copy(update={**nothing, "url": url})


def _shown(known: Remembered) -> dict[str, object]:
    return {f"{server}:{tool}": each for server, tools in known.overrides.items() for tool, each in tools.items()}


def _own(servers: Mapping[str, Server]) -> dict[str, tuple[str, ...]]:
    """A server of ours for each trust and posture; one as the bundled sample is where the user has none."""
    alike: dict[tuple[bool, Posture | None], list[str]] = {}
    for name, each in servers.items():
        alike.setdefault((each.trusted, each.posture), []).append(name)
    kinds = [tuple(each) for each in alike.values()] or [()]
    return dict(zip(_free_names(servers), kinds, strict=False))


def _like(servers: Mapping[str, Server], alike: Sequence[str], url: str) -> Server:
    """A server of ours, as much believed and as much let pass as the user's."""
    first = servers[alike[0]] if alike else Server()
    return Server(url=url, trusted=first.trusted, posture=first.posture)


def _free_names(taken: Mapping[str, object]) -> Iterator[str]:
    names = itertools.chain((OWN,), (f"{OWN}-{at}" for at in itertools.count(2)))
    return (name for name in names if name not in taken)
