"""All tools of all upstreams at one moment, classified and findable.

A book is a value: whenever an upstream lists its tools anew, a new book replaces the old one, so that a call is decided
against one state of the world and never against two halves of different ones.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from msgspec import structs

from interlock.core.classify import Classification, classify_listing
from interlock.core.decide import KnownTool, in_scope
from interlock.core.drift import defined, fingerprint
from interlock.core.globs import compile_glob
from interlock.core.lexicon import DEFAULT, Lexicon
from interlock.core.mirrors import Mirror, mirrors_of
from interlock.core.model import OPERATION_OF_CLASS, Call, Caller, Finding, JsonObject, Standing, Tool
from interlock.core.poison.signs import SENTENCES, Sign
from interlock.core.rules import Query, RuleBook
from interlock.core.safety import SafetyClass
from interlock.core.words import words_of

_MAX_COMPARED = 300
"""How many names a misspelt one is compared with."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its upstream lists it, with what we made of it."""

    known: KnownTool
    descriptor: JsonObject
    mirrors: tuple[Mirror, ...] = ()
    others: tuple[JsonObject, ...] = ()
    """What else its server lists under this name."""
    signs: tuple[Sign, ...] = ()

    @property
    def tool(self) -> Tool:
        return self.known.tool

    @property
    def classification(self) -> Classification:
        return self.known.classification


@dataclass(frozen=True, slots=True)
class Listing:
    """What one upstream offers, and how far it is trusted."""

    server: str
    namespace: str
    tools: Sequence[JsonObject]
    trusted: bool = False
    overrides: Mapping[str, SafetyClass] = field(default_factory=dict[str, SafetyClass])
    standings: Mapping[str, Standing] | None = None
    """How each tool stands against what was reviewed; None where nobody keeps reviews, and then all are known."""
    signs: Mapping[str, tuple[Sign, ...]] = field(default_factory=dict[str, tuple[Sign, ...]])
    """The signs of poison of each tool that has any, the hard ones first."""

    def standing(self, tool: str) -> Standing:
        """A tool that was left out of the judgement is new: nobody spoke for it."""
        return Standing.KNOWN if self.standings is None else self.standings.get(tool, Standing.NEW)


@dataclass(frozen=True, slots=True)
class ToolBook:
    """Tools by server and name, and the servers by namespace."""

    by_server: Mapping[str, Mapping[str, ListedTool]] = field(default_factory=dict[str, Mapping[str, ListedTool]])
    servers_by_namespace: Mapping[str, str] = field(default_factory=dict[str, str])

    def find(self, server: str, tool: str) -> ListedTool | None:
        return self.by_server.get(server, {}).get(tool)

    def __iter__(self) -> Iterator[ListedTool]:
        for tools in self.by_server.values():
            yield from tools.values()

    def split(self, name: str) -> tuple[str, str]:
        """`server:tool`, `namespace:tool` or `namespace__tool` → server id and tool name.

        What does not name a server we know comes back as it is, so that it is refused under the name that was used.
        """
        for separator in (":", "__"):
            before, found, tool = name.partition(separator)
            if found and before and tool:
                return self.servers_by_namespace.get(before, before), tool
        return "", name

    def with_listing(self, listing: Listing, lexicon: Lexicon = DEFAULT) -> "ToolBook":
        """This book with one upstream's tools replaced."""
        return ToolBook(
            {**self.by_server, listing.server: _read(listing, lexicon)},
            {**self.servers_by_namespace, listing.namespace: listing.server, listing.server: listing.server},
        )


def _read(listing: Listing, lexicon: Lexicon) -> Mapping[str, ListedTool]:
    classified = classify_listing(listing.tools, trusted=listing.trusted, overrides=listing.overrides, lexicon=lexicon)
    read: dict[str, ListedTool] = {}
    again: dict[str, list[JsonObject]] = {}
    for descriptor, (described, classification) in zip(listing.tools, classified, strict=True):
        name = described.name
        if name in read:
            again.setdefault(name, []).append(descriptor)
            continue
        standing = listing.standing(name)
        signs = listing.signs.get(name, ())
        poison = SENTENCES[signs[0].code] if signs and standing is Standing.POISONED else ""
        tool = Tool(listing.server, listing.namespace, name, fingerprint(descriptor), described.hints, standing, poison)
        read[name] = ListedTool(KnownTool(tool, classification), descriptor, mirrors_of(descriptor), signs=signs)
    return read | {name: _repeated(read[name], tuple(others)) for name, others in again.items()}


NAME_TWICE = "name-listed-twice"


def _repeated(first: ListedTool, others: tuple[JsonObject, ...]) -> ListedTool:
    """A tool that is listed more than once. The same thing twice is one thing; what differs is nobody's to choose, so
    an upstream can neither replace a tool nor hide one by listing it again."""
    definition = defined((first.descriptor, *others))
    said = "with the same definition" if definition.is_one else "with definitions that differ, so it is quarantined"
    finding = Finding(NAME_TWICE, f"the server lists this name {len(others) + 1} times, {said}")
    standing = first.tool.standing if definition.is_one else Standing.TWICE
    tool = structs.replace(first.tool, standing=standing, fingerprint=definition.fingerprint)
    classification = replace(first.classification, findings=(*first.classification.findings, finding))
    return replace(first, known=KnownTool(tool, classification), others=others)


def may_know(caller: Caller, listed: ListedTool) -> bool:
    """Whether a caller may know that a tool exists: it is in reach of its token and not quarantined."""
    tool = listed.tool
    return not tool.standing.is_quarantined and in_scope(caller, tool.server, tool.name)


def reaches(caller: Caller, server: str) -> bool:
    """Whether a caller's token reaches a server at all; for it the others do not exist."""
    return caller.scope.servers is None or any(compile_glob(each).matches(server) for each in caller.scope.servers)


def may_ever_call(caller: Caller, listed: ListedTool, rules: RuleBook) -> bool:
    """Whether a call of this tool by this caller could ever be let pass, with any arguments and anybody's word."""
    tool, safety_class = listed.tool, listed.classification.gateway
    operation, ceiling = OPERATION_OF_CLASS[safety_class], caller.scope.ceiling
    if not may_know(caller, listed) or (ceiling is not None and operation.rank > ceiling.rank):
        return False
    return not rules.forbids(
        Query(tool.server, tool.qualified, safety_class, operation, caller.workspace, caller.name, {})
    )


def similar(call: Call, book: ToolBook) -> str:
    """` Did you mean 'x'?` for the tool that was probably meant, of those that the caller may know.

    Comparing letter by letter is slow, and a name costs an agent nothing: in a large book only tools that share a word
    with the name are compared, and never more than a few hundred.
    """
    listed: Iterable[ListedTool] = book
    if sum(map(len, book.by_server.values())) > _MAX_COMPARED:
        words = [word for word in words_of(call.tool[:200]) if len(word) > 2]
        listed = (each for each in book if any(word in each.tool.name.lower() for word in words))
    known = (each.tool.shown for each in listed if may_know(call.caller, each))
    return nearest(call.shown[:200], list(islice(known, _MAX_COMPARED)))


def nearest(wanted: str, names: Sequence[str]) -> str:
    """` Did you mean 'x'?` for the nearest of some names, or nothing."""
    near = difflib.get_close_matches(wanted, names, n=1, cutoff=0.7)
    return f" Did you mean '{near[0]}'?" if near else ""
