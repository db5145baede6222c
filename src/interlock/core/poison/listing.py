"""The signs of all tools of a server, looked for once for each definition.

A scan takes milliseconds and a server lists its tools often, so what was found is kept by fingerprint for as long as
the server lists that definition. Names that look like those of other servers are found anew each time, because the
others change too.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from interlock.core.drift import Definition
from interlock.core.poison.lookalikes import looks_of
from interlock.core.poison.names import clones
from interlock.core.poison.scan import scan
from interlock.core.poison.signs import Sign, strongest

Signs: TypeAlias = Mapping[str, tuple[Sign, ...]]
"""The signs of tools by their names; a tool without any is not in it."""
NO_SIGNS: Signs = {}


class Scans:
    """What was found in the definitions that each server listed last."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, tuple[Sign, ...]]] = {}

    def signs(self, server: str, tools: Mapping[str, Definition]) -> Signs:
        """The signs of a listing. It may take a while."""
        before = self._known.get(server, {})
        now = {
            each.fingerprint: before[each.fingerprint] if each.fingerprint in before else scan(json.loads(each.text))
            for each in tools.values()
        }
        self._known[server] = now
        return {tool: found for tool, each in tools.items() if (found := now[each.fingerprint])}


def with_clones(own: Signs, tools: Iterable[str], others: Iterable[str]) -> Signs:
    """The signs of a listing with those of names that look like one of another server and are not the same."""
    before: dict[str, str] = {}
    for name in others:
        before.setdefault(looks_of(name), name)
    found = {name: each for name, each in clones(tools, before).items() if before.get(looks_of(name)) is not None}
    return {**own, **{name: strongest([*own.get(name, ()), each]) for name, each in found.items()}}
