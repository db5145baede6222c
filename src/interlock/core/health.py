"""How upstreams are doing, for whoever shows or watches it.

The links and processes behind these values stay in `forward`; what is told here are plain values, so that a page, a
command or a probe can show an upstream without being able to reach it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Health(StrEnum):
    """How an upstream is doing."""

    STARTING = "starting"
    READY = "ready"
    DOWN = "down"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Tools that an upstream lists and that were not taken, all for one reason: nobody can call or review them.

    `first` is the name of the first of them, visible and cut short; empty if it has none. Where nobody knows how many
    there are, `count` is 0 and `why` says it all.
    """

    why: str
    count: int = 0
    first: str = ""

    @property
    def text(self) -> str:
        """The sentence that people are told."""
        if not self.count:
            return self.why
        named = f"; the first is '{self.first}'" if self.first else ""
        return f"{self.count} listed {'tool was' if self.count == 1 else 'tools were'} left out ({self.why}){named}"


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a server says of itself when it is met; empty where it says nothing. It is the word of a stranger."""

    name: str = ""
    version: str = ""
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class UpstreamState:
    """One upstream as it is now.

    `problem` says why it is down and stays until it is ready again; then it is empty. `since` is when it came to be as
    it is, in microseconds since the epoch, and `restarts` how often it had to be started anew. `stray_lines` is how
    many lines it wrote to its stdout that are no messages, and `poisoned` how many of its tools are kept from everybody
    because of what is in their definitions.
    """

    id: str
    namespace: str
    transport: str
    health: Health
    problem: str
    tools: int
    protocol_version: str
    trusted: bool
    since: int = 0
    restarts: int = 0
    left_out: tuple[LeftOut, ...] = ()
    stray_lines: int = 0
    introduction: Introduction = Introduction()
    poisoned: int = 0


class Upstreams(Protocol):
    """All upstreams, to look at."""

    def states(self) -> Sequence[UpstreamState]:
        """Each upstream in the order of the configuration."""
        ...

    def logs(self, server: str) -> Sequence[str] | None:
        """The last lines that an upstream wrote to its stderr; None when there is no such upstream."""
        ...
