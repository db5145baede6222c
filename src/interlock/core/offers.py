"""What the servers offer beside tools, at one moment: resources, templates and prompts, and the methods to use them.

Entries stay the JSON text that they were listed as, because fields that we do not know belong to the client. To the
rest of the house a method such as `resources/read` is a tool of the server: read-only, known, and always the same, so
that scopes, rules and records need no second set of words. It is no tool to agents: nobody can call it by `tools/call`.

This module refuses to look into an entry beyond the one member that names it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from interlock.core.classify import Classification, Evidence, Source
from interlock.core.decide import KnownTool
from interlock.core.model import Caller, Hints, Tool, Variant
from interlock.core.rules import RuleBook
from interlock.core.safety import ExecClass, SafetyClass
from interlock.core.toolbook import ListedTool, may_ever_call, may_know

READ, GET_PROMPT, COMPLETE = "resources/read", "prompts/get", "completion/complete"
SUBSCRIBE = "resources/subscribe"


class Kind(StrEnum):
    """A kind of entries; the value is the member of a list's answer that holds them."""

    RESOURCES = "resources"
    TEMPLATES = "resourceTemplates"
    PROMPTS = "prompts"

    @property
    def name_member(self) -> str:
        """The member that names an entry."""
        return _NAME_MEMBERS[self]

    @property
    def used_by(self) -> str:
        """The method that uses an entry: whoever may not use that is not shown the entry."""
        return GET_PROMPT if self is Kind.PROMPTS else READ


_NAME_MEMBERS = {Kind.RESOURCES: "uri", Kind.TEMPLATES: "uriTemplate", Kind.PROMPTS: "name"}


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a server said, when we met it, that it can do beside tools."""

    resources: bool = False
    subscribe: bool = False
    prompts: bool = False
    completions: bool = False
    tells: tuple[str, ...] = ()
    """Of which lists it says when they have changed: tools, prompts, resources."""

    def of_method(self, method: str) -> bool:
        """Whether the server may be asked this."""
        return {
            READ: self.resources,
            SUBSCRIBE: self.subscribe,
            GET_PROMPT: self.prompts,
            COMPLETE: self.completions,
        }.get(method, False)


Entries = Mapping[str, bytes]
"""The JSON text of each entry, by its name, in the order of the server."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What one server offers."""

    server: str
    namespace: str
    can: Abilities = field(default_factory=Abilities)
    listed: Mapping[Kind, Entries] = field(default_factory=dict[Kind, Entries])

    def of(self, kind: Kind) -> Entries:
        return self.listed.get(kind, {})

    def method(self, method: str) -> ListedTool | None:
        """A method of the protocol as a tool of this server; None when the server does not have it."""
        return _as_tool(self.server, self.namespace, method) if self.can.of_method(method) else None


@dataclass(frozen=True, slots=True)
class Offers:
    """What all servers offer, in the order of the configuration."""

    by_server: Mapping[str, Offer] = field(default_factory=dict[str, Offer])

    def find(self, server: str, method: str) -> ListedTool | None:
        offer = self.by_server.get(server)
        return None if offer is None else offer.method(method)

    def __iter__(self) -> Iterator[Offer]:
        return iter(self.by_server.values())

    def known_to(self, caller: Caller, method: str) -> list[Offer]:
        """The servers that have a method and that this caller may know; the others do not exist for it."""
        return [each for each in self if (found := each.method(method)) is not None and may_know(caller, found)]

    def open_to(self, caller: Caller, method: str, rules: RuleBook) -> list[Offer]:
        """Those of them on which this caller could ever use it."""
        found = ((each, each.method(method)) for each in self)
        return [each for each, tool in found if tool is not None and may_ever_call(caller, tool, rules)]


@dataclass(frozen=True, slots=True)
class OfferChange:
    """Of which kinds a server lists something else now."""

    server: str
    kinds: frozenset[Kind]


def changes_between(before: Offers, after: Offers) -> list[OfferChange]:
    """What changed from one moment to the next; a server that comes or goes changes what it lists."""
    changes: list[OfferChange] = []
    for server in before.by_server.keys() | after.by_server.keys():
        old, new = (each.by_server.get(server, Offer(server, "")) for each in (before, after))
        renamed = old.namespace != new.namespace
        kinds = (kind for kind in Kind if old.of(kind) != new.of(kind) or (renamed and new.of(kind)))
        if changed := frozenset(kinds):
            changes.append(OfferChange(server, changed))
    return changes


@lru_cache(maxsize=4096)
def _as_tool(server: str, namespace: str, method: str) -> ListedTool:
    tool = Tool(server, namespace, method, f"method:{method}", Hints(read_only=True))
    return ListedTool(KnownTool(tool, _READS), {"name": method})


_READS = Classification(
    prefix=SafetyClass.READ_ONLY,
    prefix_source=Source.METHOD,
    exec=ExecClass.READ_ONLY,
    intent=Variant.READ,
    gateway=SafetyClass.READ_ONLY,
    source=Source.METHOD,
    evidence=(Evidence(Source.METHOD, SafetyClass.READ_ONLY, "the protocol's own method", decided=True),),
    findings=(),
)
