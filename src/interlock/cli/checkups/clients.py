"""What `interlock doctor` finds in the files of MCP clients: whether what they start to reach Interlock is there.

A client that starts something which was moved or removed is without its servers, and seldom says why. Files of clients
are only read here; they are changed by `interlock client connect`, which asks first.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from interlock.cli.checkups.checkup import OK, WARN, Check
from interlock.cli.clients.file import read
from interlock.cli.clients.gather import is_our_entry
from interlock.cli.clients.table import CLIENTS, Client, Surroundings, files_of
from interlock.cli.render import counted
from interlock.errors import InterlockError

_SHOWN = 5


def clients_check(around: Surroundings) -> Check:
    connected = 0
    told: list[str] = []
    lost: list[str] = []
    for client in CLIENTS.values():
        for entry in _our_entries(client, around):
            connected += 1
            if gone := next(_gone(entry, around), None):
                told.append(f"{client.title} starts Interlock with {gone}, which is not there")
                lost.append(client.name)
    if told:
        fix = f"`interlock client connect {' '.join(dict.fromkeys(lost))}` writes it anew, after showing what changes."
        return Check("clients", WARN, f"{'; '.join(told[:_SHOWN])}.", fix)
    if not connected:
        return Check("clients", OK, "No MCP client here is connected; `interlock client connect` does that.")
    return Check("clients", OK, f"{counted(connected, 'way')} of MCP clients to Interlock, none of them broken.")


def _our_entries(client: Client, around: Surroundings) -> Iterator[Mapping[str, Any]]:
    for path in files_of(client, around):
        try:
            servers = read(client, path).servers()
        except InterlockError:  # `interlock client list` tells of a broken file; nobody can start anything by it
            continue
        yield from (each.entry for each in servers if is_our_entry(each))


def _gone(entry: Mapping[str, Any], around: Surroundings) -> Iterator[str]:
    """What an entry names and is not there: the program, the configuration."""
    command = entry.get("command")
    if isinstance(command, str) and shutil.which(command, path=around.environ.get("PATH")) is None:
        yield command
    given = entry.get("args")
    words: Sequence[Any] = cast("list[Any]", given) if isinstance(given, list) else []
    for option, value in pairwise(words):
        if option == "--config" and isinstance(value, str) and not Path(value).exists():
            yield value
