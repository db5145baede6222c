"""The servers of all clients as one list: duplicates merged, names that clash told apart, our own entry left out.

Two entries are one server when they start the same command or lead to the same address, with the same settings and the
same secrets: a second account on the same command is another server. What cannot be taken over is named with its
reason and stays with its client.
"""

import ipaddress
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from interlock import errors
from interlock.cli.clients.adopt import SSE, Adopted, adopt, is_ours
from interlock.cli.clients.file import Named
from interlock.config.plain_secrets import plain_secrets
from interlock.config.references import resolve
from interlock.config.roster import checked
from interlock.config.tree import Server, Settings
from interlock.core.model import Json
from interlock.errors import ConfigError, InterlockError

ENTRY = "interlock"
"""Our own name in the file of a client; no server may have it as its id."""
MAX_SERVERS = 200
_HOW = ("command", "args", "cwd", "url")


@dataclass(slots=True)
class Candidate:
    """A server that would be taken over, and the entries that mean it."""

    adopted: Adopted
    sources: list[Named]


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that cannot be taken over, and why."""

    source: Named
    why: str


@dataclass(slots=True)
class Gathered:
    """What the clients have: new servers, entries that mean servers of ours, and what stays where it is."""

    new: list[Candidate] = field(default_factory=list[Candidate])
    known: list[tuple[Named, str]] = field(default_factory=list[tuple[Named, str]])
    refused: list[Refused] = field(default_factory=list[Refused])


def is_our_entry(named: Named) -> bool:
    """Whether an entry is Interlock itself: started by the client, or reached by its name on this machine."""
    if is_ours(named.entry):
        return True
    address = named.entry.get(named.client.url or "")
    return named.name == ENTRY and isinstance(address, str) and _is_loopback(address)


def _is_loopback(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def gather(
    found: Iterable[Named], settings: Settings, known: Mapping[str, Server], environ: Mapping[str, str]
) -> Gathered:
    """Sort what the clients have, against the servers that there are already."""
    gathered = Gathered()
    by_meaning: dict[str, Candidate] = {}
    taken = {ENTRY, *known}
    for named in found:
        if is_our_entry(named):
            continue
        adopted = adopt(named.name, named.entry)
        if (same := taken_over(adopted, known, environ)) is not None:
            gathered.known.append((named, same))
        elif (candidate := by_meaning.get(_meaning(adopted))) is not None:
            _join(candidate, named, adopted)
        elif why := _unfit(settings, named, apart := _named_apart(adopted, taken)):
            gathered.refused.append(Refused(named, why))
        else:
            by_meaning[_meaning(adopted)] = Candidate(apart, [named])
            taken.add(apart.id)
    if len(by_meaning) > MAX_SERVERS:
        raise InterlockError(errors.TOO_MANY_SERVERS(most=MAX_SERVERS))
    gathered.new = list(by_meaning.values())
    return gathered


def _join(candidate: Candidate, named: Named, adopted: Adopted) -> None:
    candidate.sources.append(named)
    if adopted.definition.get("enabled") is not False:
        # One client uses it, and would lose it.
        candidate.adopted.definition.pop("enabled", None)


def _named_apart(adopted: Adopted, taken: Collection[str]) -> Adopted:
    number, wanted = 1, adopted.id
    while wanted in taken:
        number += 1
        wanted = f"{adopted.id}-{number}"
    return replace(adopted, id=wanted)


def _meaning(adopted: Adopted) -> str:
    """What makes two entries one server."""
    said: Sequence[Json] = [adopted.definition.get(each) for each in (*_HOW, "env", "headers")]
    values = sorted([each.place, each.value] for each in adopted.secrets)
    return json.dumps([list(said), values], sort_keys=True)


def _unfit(settings: Settings, named: Named, adopted: Adopted) -> str:
    """Why a server cannot be taken over; empty when it can."""
    speaks_sse = named.client.sse in named.entry and named.client.url not in named.entry
    if hindrances := [*adopted.hindrances, *([SSE] if speaks_sse else [])]:
        return hindrances[0]
    if places := plain_secrets(adopted.definition):
        return f"{', '.join(places)}: looks like a secret, which can only be moved out of env and headers"
    if any("${" in each.value for each in adopted.secrets):
        return "a value mixes a secret with a variable"
    if any(each.value != each.value.rstrip("\r\n") for each in adopted.secrets):
        return "a secret ends in a line break, which a file would lose"
    try:
        checked(settings, adopted.id, adopted.definition)
    except InterlockError as refused:
        return refused.reason.text
    return ""


def taken_over(adopted: Adopted, known: Mapping[str, Server], environ: Mapping[str, str]) -> str | None:
    """The server of ours that an entry of a client means."""
    return next((name for name, server in known.items() if _is_same(server, adopted, environ)), None)


def _is_same(server: Server, adopted: Adopted, environ: Mapping[str, str]) -> bool:
    said = adopted.definition
    if any((getattr(server, each) or None) != (said.get(each) or None) for each in _HOW):
        return False
    values = {each.place: each.scheme + each.value for each in adopted.secrets}
    return all(_same_texts(section, server, said.get(section) or {}, values, environ) for section in ("env", "headers"))


def _same_texts(
    section: str, server: Server, said: Json, secrets: Mapping[str, str], environ: Mapping[str, str]
) -> bool:
    ours: Mapping[str, str] = getattr(server, section)
    if not isinstance(said, Mapping) or set(ours) != set(said):
        return False
    for name, value in ours.items():
        secret = secrets.get(f"{section}.{name}")
        if value != said[name] if secret is None else not _leads_to(value, secret, environ):
            return False
    return True


def _leads_to(reference: str, secret: str, environ: Mapping[str, str]) -> bool:
    """Whether a reference leads to a secret. One that leads nowhere yet may."""
    if "${" not in reference:
        return False
    try:
        return resolve(reference, environ, "") == secret
    except ConfigError:
        return True
