"""All tools of all upstreams at one moment, classified and findable.

A book is a value: whenever an upstream lists its tools anew, a new book replaces the old one, so that a call is decided
against one state of the world and never against two halves of different ones.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from interlock.core.classify import Classification, classify_listing
from interlock.core.decide import KnownTool
from interlock.core.drift import fingerprint
from interlock.core.lexicon import DEFAULT, Lexicon
from interlock.core.model import JsonObject, Tool
from interlock.core.safety import SafetyClass


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its upstream lists it, with what we made of it."""

    known: KnownTool
    descriptor: JsonObject

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
    for descriptor, (described, classification) in zip(listing.tools, classified, strict=True):
        tool = Tool(listing.server, listing.namespace, described.name, fingerprint(descriptor), described.hints)
        # Of two tools with one name the first counts: an upstream must not replace a tool by listing it again.
        read.setdefault(described.name, ListedTool(KnownTool(tool, classification), descriptor))
    return read


def nearest(wanted: str, names: Sequence[str]) -> str:
    """` Did you mean 'x'?` for the nearest of some names, or nothing."""
    near = difflib.get_close_matches(wanted, names, n=1, cutoff=0.7)
    return f" Did you mean '{near[0]}'?" if near else ""
