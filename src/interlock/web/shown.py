"""How a server is doing, as it is shown: in lists, in answers and in events alike."""

from dataclasses import dataclass

from interlock.core.health import UpstreamState
from interlock.core.redact import redact_text
from interlock.web import times


@dataclass(frozen=True, slots=True)
class ShownState:
    """A server. `problem` says why it is down, else it is empty; `since` is when it came to be as it is."""

    id: str
    namespace: str
    transport: str
    health: str
    problem: str
    tools: int
    protocol_version: str
    trusted: bool
    since: str
    restarts: int


def shown_server(state: UpstreamState) -> ShownState:
    return ShownState(
        id=state.id,
        namespace=state.namespace,
        transport=state.transport,
        health=state.health,
        # A server chooses these words, and some repeat what they were started with.
        problem=redact_text(state.problem),
        tools=state.tools,
        protocol_version=state.protocol_version,
        trusted=state.trusted,
        since=times.iso(state.since),
        restarts=state.restarts,
    )
