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
class UpstreamState:
    """One upstream as it is now.

    `problem` says why it is down and stays until it is ready again; then it is empty. `since` is when it came to be as
    it is, in microseconds since the epoch, and `restarts` how often it had to be started anew.
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


class Upstreams(Protocol):
    """All upstreams, to look at."""

    def states(self) -> Sequence[UpstreamState]:
        """Each upstream in the order of the configuration."""
        ...

    def logs(self, server: str) -> Sequence[str] | None:
        """The last lines that an upstream wrote to its stderr; None when there is no such upstream."""
        ...
