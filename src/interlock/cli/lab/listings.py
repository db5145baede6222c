"""Where the definitions come from that a scan reads: servers behind the gateway, targets, saved lists, clients.

Nothing is called. A saved list is only read; everything else is listed through a gateway, because the tools of a server
are known only once it runs. The servers of clients are started for the occasion, and only after somebody agreed.
"""

import os
import shlex
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock import errors
from interlock.cli.ask import agreed, can_ask
from interlock.cli.command import Values
from interlock.cli.gateway import Api, credential_of, folder_of, reaching
from interlock.cli.inputs import load_config, read_tools
from interlock.cli.lab.bench import RestBench
from interlock.cli.lab.target import at_target, server_of, wanted
from interlock.cli.render import note
from interlock.cli.situation import SAMPLE
from interlock.core.redact import redact_text
from interlock.core.safety import LabPolicy
from interlock.errors import InterlockError
from interlock.lab.scan.scan import Listing

if TYPE_CHECKING:
    from interlock.config.tree import Server

_SAVED = ".json"
_STDIN = "-"
_READY = "ready"
_NO_KNOBS: Mapping[str, object] = {
    "execute_destructive": False,
    "strict": False,
    "max_calls": None,
    "concurrency": None,
    "call_delay": None,
    "timeout": None,
    "seed": 0,
}
"""What a target is put on the bench with when nothing of it is called."""


@dataclass(slots=True)
class Found:
    """What was listed, and what the servers say of themselves. `missing` says what could not be listed, and why."""

    listings: list[Listing] = field(default_factory=list[Listing])
    servers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    missing: list[str] = field(default_factory=list[str])


async def from_targets(values: Values) -> Found:
    """The tools of each TARGET."""
    found = Found()
    for words in await _targets(values):
        if len(words) == 1 and _is_saved(words[0]):
            found.listings.append(Listing(_named(words[0]), read_tools(words[0])))
            continue
        async with at_target(Namespace(**{**vars(values), **_NO_KNOBS, "target": list(words)})) as site:
            found.listings.append(await _listed(site.bench))
            found.servers.append(site.server)
    return found


async def _listed(bench: RestBench) -> Listing:
    descriptors = [one for each in await bench.tools() for one in each.descriptors]
    return Listing(bench.server, descriptors, await bench.left_out())


def only_saved(words: Sequence[str]) -> bool:
    """Whether nothing has to be started."""
    return bool(words) and all(_is_saved(each) for each in words)


def _is_saved(word: str) -> bool:
    return word == _STDIN or (word.endswith(_SAVED) and not word.startswith(("http://", "https://")))


def _named(word: str) -> str:
    return "stdin" if word == _STDIN else Path(word).stem


async def _targets(values: Values) -> list[tuple[str, ...]]:
    """The words as targets: each by itself if the first is one that needs no more words, else all as a command line."""
    words: list[str] = values.target
    first = words[0]
    if len(words) == 1 or _is_saved(first) or " " in first or wanted([first]).url or await _is_server(values, first):
        return [(each,) for each in words]
    return [tuple(words)]


async def _is_server(values: Values, word: str) -> bool:
    async with reaching(values, servers=False) as reach:
        listed = await Api(reach, credential_of(folder_of(values))).get("servers")
    return any(each["id"] == word for each in listed["items"])


async def from_gateway(values: Values) -> Found:
    """The tools of all servers of the gateway."""
    found = Found()
    async with reaching(values, servers=True) as reach:
        api = Api(reach, credential_of(folder_of(values)))
        states = (await api.get("servers"))["items"]
        if [each["id"] for each in states] == [SAMPLE] and SAMPLE not in load_config(values).settings.servers:
            note("No server is configured: this is a scan of the sample that Interlock brings along.")
        for state in states:
            name = state["id"]
            if state["health"] != _READY:
                found.missing.append(f"{name}: {state['problem'] or state['health']}")
                continue
            bench = RestBench(api, name, LabPolicy(), is_http=state["transport"] == "http", ours=False)
            found.listings.append(await _listed(bench))
            found.servers.append(server_of(state))
    return found


# The servers of clients -----------------------------------------------------------------------------------------


def from_clients(values: Values) -> Found:
    """The tools of the servers that the clients on this machine have, which are started for that."""
    from interlock.cli.clients.client import read_settings, settings_place
    from interlock.cli.clients.file import surroundings
    from interlock.cli.clients.foresee import foresee
    from interlock.cli.clients.gather import gather
    from interlock.cli.clients.init import client_files
    from interlock.cli.clients.safekeeping import Safekeeping
    from interlock.config.roster import checked

    settings = read_settings(settings_place(values)).settings
    files, problems = client_files(surroundings(), project=False)
    # None of them is known: what is behind Interlock already is looked at all the same.
    gathered = gather([each for file in files for each in file.servers()], settings, {}, os.environ)
    kept = Safekeeping(Path(), "env")
    servers = {
        each.adopted.id: checked(settings, each.adopted.id, kept.referring(each.adopted)) for each in gathered.new
    }
    refused = [f"{each.source.name} of {each.source.client.title}: {each.why}" for each in gathered.refused]
    found = Found(missing=[*problems, *refused])
    if not servers:
        return found
    _agree(values, servers)
    for name, seen in foresee(settings, servers, {**os.environ, **kept.variables}).items():
        if seen.problem:
            found.missing.append(f"{name}: {seen.problem}")
        else:
            found.listings.append(Listing(name, seen.definitions, seen.left_out))
    return found


def _agree(values: Values, servers: "Mapping[str, Server]") -> None:
    """Have it agreed to that these are started."""
    for name, each in servers.items():
        note(f"{name}: {redact_text(each.url or shlex.join([each.command or '', *each.args]))}")
    if not values.yes and not (can_ask(values) and agreed("Start these to list their tools?")):
        raise InterlockError(errors.NOTHING_STARTED())
