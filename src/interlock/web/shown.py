"""How a server is doing, as it is shown: in lists, in answers and in events alike."""

from dataclasses import dataclass

from interlock.core.health import LeftOut, UpstreamState
from interlock.core.redact import redact_text
from interlock.web import times


@dataclass(frozen=True, slots=True)
class ShownLeftOut:
    """Tools that a server lists and that were not taken, all for one reason; `text` is the whole sentence."""

    why: str
    count: int
    first: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownState:
    """A server. `problem` says why it is down, else it is empty; `since` is when it came to be as it is.

    `says_name` and `says_version` are what it calls itself. `left_out` are tools that it lists and nobody can call,
    `stray_lines` how many lines it wrote to its stdout that are no messages, `poisoned` how many of its tools are
    quarantined for what is in their definitions.
    """

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
    says_name: str
    says_version: str
    left_out: list[ShownLeftOut]
    stray_lines: int
    poisoned: int


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
        says_name=redact_text(state.introduction.name),
        says_version=redact_text(state.introduction.version),
        left_out=[_left_out(each) for each in state.left_out],
        stray_lines=state.stray_lines,
        poisoned=state.poisoned,
    )


def _left_out(each: LeftOut) -> ShownLeftOut:
    return ShownLeftOut(each.why, each.count, redact_text(each.first), redact_text(each.text))
