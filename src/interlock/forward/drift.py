"""Drift: what each server listed when it was reviewed, what it lists now, and the operator's word about the difference.

A server's first listing is its baseline. What appears later is held on a server that is not trusted, and what changes
is quarantined on any server, until somebody trusts it. What has a hard sign of poison is quarantined on any server from
its first listing on, and is in no baseline. Every listing passes through here before it reaches the book.

INVARIANT: a tool is known only by what is on disk. The first listing counts once it was written, and so does what
appears on a trusted server; when the store cannot write, what is not in the baseline stays new.

This module refuses to reach an upstream and to forget a reviewed tool that vanished: the same definition may come back,
and another one under its name must be noticed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from interlock import errors
from interlock.clock import Clock
from interlock.core.drift import (
    Definition,
    Difference,
    Reviewed,
    ToolChange,
    Turn,
    definitions,
    difference,
    judge,
)
from interlock.core.model import Standing
from interlock.core.poison.listing import Scans, Signs, with_clones
from interlock.core.safety import SafetyClass
from interlock.core.toolbook import Listing, nearest
from interlock.errors import InterlockError
from interlock.forward import changes
from interlock.store.protocol import Store, StoreUnavailable

MOST_TOOLS, MOST_TEXT = 20_000, 64 * 1024 * 1024
"""How many tools, and characters of them, a trusted server adds to its baseline by itself. A listing is bounded, but a
server can list others each time; beyond this, they wait for the operator like those of any server."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """What a server listed last, with its signs of poison, and the classes that the configuration file sets for it."""

    tools: Mapping[str, Definition]
    in_file: Mapping[str, SafetyClass]
    signs: Signs

    def is_poisoned(self, tool: str) -> bool:
        return any(each.hard for each in self.signs.get(tool, ()))


async def _nobody(server: str) -> None:
    pass


class Drift:
    """The reviews of all tools. `on_change` is told of a server whose last listing has to be judged anew, and waited
    for: when `trust` and `override` return, they count."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.on_change: Callable[[str], Awaitable[None]] = _nobody
        self._store = store
        self._clock = clock
        self._changing = asyncio.Lock()
        """Held from looking at the reviews until what follows from them is on disk and in memory."""
        self._reviewed: dict[str, dict[str, Reviewed]] = {}
        self._overrides: dict[str, dict[str, SafetyClass]] = {}
        self._listed: dict[str, _Listed] = {}
        self._scans = Scans()

    async def load(self) -> None:
        """Read what was reviewed and which classes were set."""
        baselines, overrides = await self._store.baselines(), await self._store.overrides()
        self._reviewed = {server: dict(tools) for server, tools in baselines.items()}
        self._overrides = {server: dict(tools) for server, tools in overrides.items()}

    async def follow(self) -> None:
        """Read it anew, because another gateway has changed it, and have judged again what that is about."""
        async with self._changing:
            before = {server: self._word(server) for server in {*self._reviewed, *self._overrides, *self._listed}}
            await self.load()
            differing = [server for server, word in before.items() if self._word(server) != word]
        for server in differing:
            await self.on_change(server)

    def _word(self, server: str) -> tuple[Mapping[str, Definition | None], Mapping[str, SafetyClass]]:
        """What people have said of a server. What was told of its changes is no part of it: two gateways that see
        different listings would answer each other without end."""
        reviewed = {tool: each.definition for tool, each in self._reviewed.get(server, {}).items()}
        return reviewed, dict(self._overrides.get(server, {}))

    # Listings ---------------------------------------------------------------------------------------------------

    async def listed(self, listing: Listing) -> Listing:
        """Judge a listing: the same, with how each tool stands and with the classes that were set."""
        tools = await asyncio.to_thread(definitions, listing.tools)
        server = listing.server
        own = await asyncio.to_thread(self._scans.signs, server, tools)
        async with self._changing:
            signs = with_clones(own, tools, self._names_of_others(server))
            listed = _Listed(tools, listing.overrides, signs)
            standings = await self._judged(listing, listed)
            self._listed[server] = listed
            # The file wins: it is what an operator reads to know what holds.
            overrides = {**self._overrides.get(server, {}), **listing.overrides}
        return replace(listing, standings=standings, overrides=overrides, signs=signs)

    def _names_of_others(self, server: str) -> Iterable[str]:
        """The names that other servers have: what was reviewed came first, whatever is listed first."""
        for other, tools in self._reviewed.items():
            if other != server:
                yield from (tool for tool, each in tools.items() if each.definition is not None)
        for other, listed in self._listed.items():
            if other != server:
                yield from listed.tools

    async def _judged(self, listing: Listing, listed: _Listed) -> Mapping[str, Standing]:
        server, tools = listing.server, listed.tools
        poisoned = {tool for tool in listed.signs if listed.is_poisoned(tool)}
        try:
            if server not in self._reviewed:
                baseline = {
                    tool: Reviewed(each) for tool, each in tools.items() if each.is_one and tool not in poisoned
                }
                await self._begin(server, baseline)
            reviewed = self._reviewed[server]
            trusted = listing.trusted and _has_room(tools, reviewed)
            judgement = await asyncio.to_thread(judge, tools, reviewed, trusted=trusted, poisoned=poisoned)
            if judgement.reviewed:
                told = await asyncio.to_thread(
                    changes.found, server, judgement.changes, self._clock.now(), listed.signs
                )
                await self._store.keep_reviewed(server, judgement.reviewed, told)
                self._remember(server, judgement.reviewed)
        except StoreUnavailable:
            # Nothing was kept, so nothing is known that was not known before.
            judgement = await asyncio.to_thread(
                judge, tools, self._reviewed.get(server, {}), trusted=False, poisoned=poisoned
            )
        return judgement.standings

    async def _begin(self, server: str, tools: Mapping[str, Reviewed]) -> None:
        if await self._store.begin_baseline(server, tools, changes.begun(server, len(tools), self._clock.now())):
            self._reviewed[server] = dict(tools)
        else:
            # Another gateway on this store was first, and its baseline is the one that counts.
            await self.load()

    def _remember(self, server: str, tools: Mapping[str, Reviewed | None]) -> None:
        kept = {**self._reviewed[server], **tools}
        self._reviewed[server] = {tool: each for tool, each in kept.items() if each is not None}

    # The operator's word ----------------------------------------------------------------------------------------

    async def trust(self, server: str, tool: str | None, by: str, fingerprint: str | None = None) -> tuple[str, ...]:
        """Take one tool, or all of a server, as it is listed now for reviewed; the names of those that were not.

        With a fingerprint only if the tool still has it: what was looked at is what is trusted.
        """
        async with self._changing:
            listed = self._named(server, tool)
            if tool is not None and not listed[tool].is_one:
                raise InterlockError(errors.LISTED_TWICE(tool=f"{server}:{tool}"))
            if fingerprint is not None and any(each.fingerprint != fingerprint for each in listed.values()):
                raise InterlockError(errors.CHANGED_AGAIN(tool=f"{server}:{tool}"))
            accepted = [each for each in self._differing(server, listed) if each.before != each.after]
            if tool is None:
                # Poison is trusted by its name and never in passing.
                accepted = [each for each in accepted if not self._listed[server].is_poisoned(each.tool)]
            if accepted:
                await self._accept(server, accepted, by)
        if accepted:
            await self.on_change(server)
        return tuple(each.tool for each in accepted)

    async def _accept(self, server: str, accepted: list[ToolChange], by: str) -> None:
        if server not in self._reviewed:
            await self._begin(server, {})
        told = await asyncio.to_thread(changes.trusted, server, accepted, by, self._clock.now())
        kept = {each.tool: Reviewed(each.after) for each in accepted}
        await self._store.keep_reviewed(server, kept, told)
        self._remember(server, kept)

    def _differing(self, server: str, listed: Mapping[str, Definition]) -> Iterable[ToolChange]:
        for tool, definition in listed.items():
            if not definition.is_one:
                continue  # there is no one thing to trust
            yield ToolChange(Turn.TRUSTED, tool, Standing.KNOWN, self._definition(server, tool), definition)

    def _definition(self, server: str, tool: str) -> Definition | None:
        reviewed = self._reviewed.get(server, {}).get(tool)
        return None if reviewed is None else reviewed.definition

    async def difference(self, server: str, tool: str) -> Difference | None:
        """How a tool differs from what was reviewed; None when it is not listed."""
        listed = self._listed.get(server)
        definition = None if listed is None else listed.tools.get(tool)
        if definition is None:
            return None
        poisoned = listed is not None and listed.is_poisoned(tool)
        return await asyncio.to_thread(difference, self._definition(server, tool), definition, poisoned=poisoned)

    async def override(self, server: str, tool: str, safety_class: SafetyClass | None, by: str) -> None:
        """Set the class of a tool for good, or let the evidence speak again (None)."""
        async with self._changing:
            before = self._overrides.get(server, {}).get(tool)
            if safety_class is not None or before is None:
                self._named(server, tool)
            listed = self._listed.get(server)
            if listed is not None and tool in listed.in_file:
                raise InterlockError(errors.OVERRIDE_IN_FILE(tool=f"{server}:{tool}"))
            if before is safety_class:
                return
            told = changes.overridden(server, tool, before, safety_class, by, self._clock.now())
            await self._store.put_override(server, tool, safety_class, told)
            kept = {**self._overrides.get(server, {}), tool: safety_class}
            self._overrides[server] = {name: each for name, each in kept.items() if each is not None}
        await self.on_change(server)

    def _named(self, server: str, tool: str | None) -> Mapping[str, Definition]:
        """The tools that are meant: one, or all that a server lists."""
        listed = self._listed.get(server)
        if tool is None:
            if listed is None:
                raise InterlockError(errors.UPSTREAM_DOWN(server=server, problem="it has not listed its tools"))
            return listed.tools
        if listed is None or tool not in listed.tools:
            names = [f"{each}:{name}" for each, one in self._listed.items() for name in one.tools]
            suggestion = nearest(f"{server}:{tool}"[:200], names)
            raise InterlockError(errors.NOT_FOUND(what=f"Tool '{server}:{tool}'"[:200], suggestion=suggestion))
        return {tool: listed.tools[tool]}


def _has_room(tools: Mapping[str, Definition], reviewed: Mapping[str, Reviewed]) -> bool:
    kept = [each.definition for tool, each in reviewed.items() if tool not in tools and each.definition is not None]
    texts = [each.text for each in (*tools.values(), *kept)]
    return len(texts) <= MOST_TOOLS and sum(map(len, texts)) <= MOST_TEXT
