"""What stands in front of the upstream and is of our own making: nothing, a bare pass-through, the SDK, Interlock.

Interlock is `interlock serve` as it is. `plain` has one small server and no rules; the others have all that an operator
may have: 1,000 rules, a server with 1,000 tools, callers with the token of an agent, and of course the record.
"""

import contextlib
import sys
from collections.abc import Generator
from typing import Any

from calling import Door
from measuring import MANY_TOOLS, Around, Target
from ours import gateway, settings, tokens
from processes import CORES, OTHERS, PROXY, UPSTREAM, Process, target

RULES = 1_000


def over_stdio(tools: int = 2) -> list[str]:
    """The command of an upstream over stdio, which takes the core of the upstreams by itself."""
    return [sys.executable, str(UPSTREAM), "stdio", str(CORES[OTHERS if len(CORES) > 1 else PROXY]), str(tools)]


def at(upstream: Process, path: str = "/mcp") -> str:
    return f"http://127.0.0.1:{upstream.port}{path}"


@contextlib.contextmanager
def direct(around: Around) -> Generator[Door]:
    yield Door(around.few, around.few)


@contextlib.contextmanager
def direct_sse(around: Around) -> Generator[Door]:
    yield Door(around.few, around.few, path="/sse")


def script(kind: str) -> Target:
    """One of `lane_targets.py`."""

    @contextlib.contextmanager
    def start(around: Around) -> Generator[Door]:
        with target("lane_targets", around.folder, PROXY, kind, str(around.few.port)) as process:
            yield Door(process, around.few)

    return start


@contextlib.contextmanager
def plain(around: Around) -> Generator[Door]:
    """With one small server, and the posture of newcomers; callers need no token on loopback."""
    with gateway(around.folder, settings({"url": at(around.few)}, 0, expose="both")) as ours:
        yield Door(ours.process, around.few)


def full(server: dict[str, Any] | None = None, **more: Any) -> Target:
    """With all that an operator may have; `server` instead of the one over HTTP, `more` settings."""

    @contextlib.contextmanager
    def start(around: Around) -> Generator[Door]:
        behind = server or {"url": at(around.many)}
        with gateway(around.folder, settings(behind, RULES, **more)) as ours:
            (token,) = tokens(ours, 1)
            headers = {"Authorization": f"Bearer {token}"}
            yield Door(ours.process, around.many if server is None else None, headers=headers)

    return start


def full_sse(around: Around) -> contextlib.AbstractContextManager[Door]:
    """The same, with an upstream that answers by streams of events."""
    return full({"url": at(around.many, "/sse")})(around)


def full_stdio() -> Target:
    command, *arguments = over_stdio(MANY_TOOLS)
    return full({"command": command, "args": arguments})
