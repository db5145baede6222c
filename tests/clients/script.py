"""What a client is made to do, and what came of it, in words that fit every client."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Message: TypeAlias = dict[str, Any]

Address: TypeAlias = str | tuple[str, ...]
"""Where a client connects to: a URL, or the command line of a program that it starts."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do. With `progress` the client asks for it; with `abort` it gives up at the first of it.

    A list with `until` is asked for again and again, until it names all of these tools. `name` is the tool to call, the
    URI of the resource to read or the prompt to get.
    """

    do: Literal["list", "call", "resources", "read", "prompts", "prompt"]
    name: str = ""
    arguments: Message = field(default_factory=dict[str, Any])
    progress: bool = False
    abort: bool = False
    until: tuple[str, ...] = ()


LIST = Step("list")
PAUSE = 0.05
"""How long a client waits before it asks again for a list."""


def call(name: str, arguments: Message | None = None, *, progress: bool = False, abort: bool = False) -> Step:
    """A step that calls a tool."""
    return Step("call", name, arguments or {}, progress or abort, abort)


@dataclass(slots=True)
class Outcome:
    """What came of a step, as the client gave it to its user: a result, an error, or nothing but progress."""

    result: Message | None = None
    error: Message | None = None
    aborted: bool = False
    progress: list[Message] = field(default_factory=list[Message])


@dataclass(slots=True)
class Transcript:
    """A whole conversation: the outcome of each step, every message in order, and what the client complained of."""

    outcomes: list[Outcome]
    wire: list[tuple[str, Message]] = field(default_factory=list[tuple[str, Message]])
    """Each message with `in` or `out`, as the client saw it."""
    complaints: list[str] = field(default_factory=list[str])

    def incoming(self, **wanted: Any) -> list[tuple[int, Message]]:
        """The messages that came in with these members, each with its place on the wire."""
        return [
            (place, message)
            for place, (way, message) in enumerate(self.wire)
            if way == "in" and wanted.items() <= message.items()
        ]

    def request_of(self, step: Step) -> Message:
        """The first call of this tool with these arguments, as it went out."""
        return next(
            message
            for way, message in self.wire
            if way == "out" and message.get("method") == "tools/call"
            if (message["params"]["name"], message["params"]["arguments"]) == (step.name, step.arguments)
        )


Play: TypeAlias = Callable[[Address, Sequence[Step]], Awaitable[Transcript]]
"""A client: it connects, takes the steps one after the other, and leaves."""
