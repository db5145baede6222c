"""What a server holds, seen through its own eyes: a few of its tools that list or get, called without arguments.

A tool that says that it only reads must leave these answers as they were. Those that change by themselves are not
looked at, and a change counts only if it stays, so that a server which others use at the same time is not accused.

This module refuses to look at more than a few tools: looking costs calls.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from interlock.core.redact import redact_text
from interlock.core.safety import ExecClass, SafetyClass
from interlock.core.words import word_set, words_of
from interlock.lab.model import LabTool, Observed
from interlock.lab.plan import Decision, Planned
from interlock.lab.probing.stability import masked
from interlock.lab.run import outcome_of
from interlock.lab.values.examples import Examples

MOST = 3
"""How many tools are looked through."""
SHOWN = 400
_LISTING = word_set("list all search graph tree status")
_READING = (ExecClass.READ_ONLY, ExecClass.READ_ONLY_PRESUMED)

Look = Callable[[str, dict[str, Any]], Awaitable[Observed]]


class Changed(Struct, frozen=True):
    """What one of the looked-through tools answered before and after."""

    tool: str
    before: str
    after: str


class Watch:
    """The tools that are looked through, and what they last answered."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._arguments: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, str] = {}

    async def begin(self, planned: Iterable[Planned], made: Mapping[str, Examples]) -> None:
        """Choose tools to look through, and look for the first time. Nothing is looked at where nobody claims to only
        read."""
        for tool in _eyes(list(planned), made):
            arguments = made[tool.name].valid[0].arguments
            first = await self._answer(tool.name, arguments)
            if first is not None and first == await self._answer(tool.name, arguments):
                self._arguments[tool.name] = arguments
        await self.changed()

    def doubt(self) -> None:
        """Compare nothing to what was seen so far: the server may have been started anew."""
        self._seen.clear()

    async def changed(self) -> list[Changed]:
        """What has changed since the last look, and stays so."""
        found: list[Changed] = []
        for name in list(self._arguments):
            before, after = self._seen.get(name), await self._renew(name)
            if before is None or after is None or before == after:
                continue
            if await self._renew(name) == after:
                found.append(Changed(name, _cut(before, after), _cut(after, before)))
            else:
                self._forget(name)
        return found

    async def _renew(self, name: str) -> str | None:
        if name not in self._arguments:
            return None
        answer = await self._answer(name, self._arguments[name])
        if answer is None:
            self._forget(name)
        else:
            self._seen[name] = answer
        return answer

    async def _answer(self, name: str, arguments: dict[str, Any]) -> str | None:
        observed = await self._look(name, arguments)
        return masked(observed.result) if outcome_of(observed) == "ok" else None

    def _forget(self, name: str) -> None:
        self._arguments.pop(name, None)
        self._seen.pop(name, None)


def most_looks(planned: Sequence[Planned], made: Mapping[str, Examples]) -> int:
    """How many calls a watch makes at most while all tools are tried: three for each tool that is looked through at
    the beginning, and two after each tool that is called."""
    return len(_eyes(planned, made)) * (3 + 2 * sum(each.decision.calls for each in planned))


def _eyes(planned: Sequence[Planned], made: Mapping[str, Examples]) -> list[LabTool]:
    """The tools to look through; none where no tool that is called claims to only read."""
    if not any(each.tool.exec_class is ExecClass.READ_ONLY and each.decision.calls for each in planned):
        return []
    eyes = [each.tool for each in planned if each.decision is Decision.EXECUTE and _is_eye(each.tool, made)]
    return sorted(eyes, key=_shows_little)[:MOST]


def _is_eye(tool: LabTool, made: Mapping[str, Examples]) -> bool:
    """Whether a tool reads, by its own word or by its name, and needs to be told nothing."""
    reads = tool.exec_class in _READING and tool.gateway_class is SafetyClass.READ_ONLY
    return reads and not tool.input_schema.get("required") and bool(made[tool.name].valid)


def _shows_little(tool: LabTool) -> bool:
    """Lists show most of what a server holds, so they come first."""
    return _LISTING.isdisjoint(words_of(tool.name))


def _cut(text: str, other: str) -> str:
    """A text from a little before where it differs from another."""
    at = next((at for at, pair in enumerate(zip(text, other, strict=False)) if pair[0] != pair[1]), 0)
    start = max(at - 40, 0)
    part = redact_text(text)[start : start + SHOWN].encode("utf-8", "replace").decode()
    return f"{'…' if start else ''}{part}{'…' if len(text) > start + SHOWN else ''}"
