"""A session of an official client with several upstreams, through a real gateway, and what came of it on all sides.

In turn with each upstream the client lists, calls, hears progress, meets errors, gives a call up, and goes on.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.clock import SystemClock
from interlock.store.protocol import Activity, ActivityFilter, ActivityType
from tests.clients.script import LIST, Address, Message, Outcome, Play, Step, Transcript, call
from tests.running import server_yaml, serving
from tests.stores import store_line, store_of
from tests.upstream.everything import everything_argv, messages
from tests.upstream.running import events, http_upstream, received, stdio_argv

# What is said ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """What the clients do with one upstream, and what it says to that."""

    steps: dict[str, Step]
    tools: set[str]
    says: str
    reports: int
    fails: str


def _fixture_part(up: str) -> Part:
    return Part(
        {
            "list": LIST,
            "call": call(f"{up}__echo", {"message": "hello"}),
            "progress": call(f"{up}__slow", {"seconds": 0.04}, progress=True),
            "tool error": call(f"{up}__fail"),
            "protocol error": call(f"{up}__fail", {"code": -32011}),
            "unknown": call(f"{up}__nothing"),
            "cancel": call(f"{up}__slow", {"seconds": 60}, abort=True),
            "afterwards": call(f"{up}__echo", {"message": "hello"}),
        },
        tools={"echo", "slow", "fail", "delete_note"},
        says='{"message": "hello"}',
        reports=5,
        fails="It failed.",
    )


def _everything_part(up: str) -> Part:
    slow = f"{up}__trigger-long-running-operation"
    return Part(
        {
            "list": LIST,
            "call": call(f"{up}__echo", {"message": "hello"}),
            "progress": call(slow, {"duration": 0.04, "steps": 4}, progress=True),
            "tool error": call(f"{up}__get-resource-reference", {"resourceId": 0}),
            "unknown": call(f"{up}__nothing"),
            # It does not stop when it is told to: it goes on to report progress that nobody wants any more.
            "cancel": call(slow, {"duration": 60, "steps": 6000}, abort=True),
            "afterwards": call(f"{up}__echo", {"message": "hello"}),
        },
        tools={"echo", "trigger-long-running-operation", "get-sum", "get-tiny-image"},
        says="Echo: hello",
        reports=4,
        fails="Invalid resourceId: 0. Must be a finite positive integer.",
    )


# To whom --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Upstream:
    """An upstream as it is configured, what it received, and whether it was told to stop the long call."""

    part: Part
    yaml: str
    seen: Callable[[], list[Message]]
    told_to_stop: Callable[[], bool]


def _notified(seen: Callable[[], list[Message]], long: Step) -> Callable[[], bool]:
    """Whether an upstream received exactly one cancellation of a call, and it is that of the long one."""

    def notified() -> bool:
        ids = [each["id"] for each in seen() if each.get("params", {}).get("arguments") == long.arguments]
        calls = [each["id"] for each in seen() if each["method"] == "tools/call"]
        stopped = [each["params"]["requestId"] for each in seen() if each["method"] == "notifications/cancelled"]
        return ids == [each for each in stopped if each in calls] != []

    return notified


def _fixture_over_stdio(name: str, log: Path) -> Upstream:
    def seen() -> list[Message]:
        return [each.message for each in received(log)]

    part = _fixture_part(name)
    return Upstream(part, server_yaml(name, stdio_argv(log)), seen, _notified(seen, part.steps["cancel"]))


def _fixture_over_http(name: str, log: Path, url: str) -> Upstream:
    def seen() -> list[Message]:
        return [each.message for each in received(log) if each.raw]

    def hung_up() -> bool:  # in the modern protocol that is how a call over HTTP is cancelled
        return len(events(log, "cancelled")) == 1

    return Upstream(_fixture_part(name), f"  {name}: {{url: '{url}'}}\n", seen, hung_up)


def _everything(name: str, log: Path, yaml: str) -> Upstream:
    part, before = _everything_part(name), len(messages(log))

    def seen() -> list[Message]:
        return messages(log)[before:]

    return Upstream(part, yaml, seen, _notified(seen, part.steps["cancel"]))


Upstreams = dict[str, Upstream]


@contextlib.contextmanager
def _near(folder: Path) -> Generator[Upstreams]:
    """The upstreams that the gateway starts itself."""
    log = folder / "example.log"
    yield {
        "fixture-stdio": _fixture_over_stdio("fixture-stdio", folder / "near.log"),
        "everything-stdio": _everything("everything-stdio", log, server_yaml("everything-stdio", everything_argv(log))),
    }


@contextlib.contextmanager
def _far(folder: Path, everything: "Everything") -> Generator[Upstreams]:
    """The upstreams that run anyway."""
    log = folder / "far.log"
    with http_upstream(log) as running:
        yield {
            "fixture-http": _fixture_over_http("fixture-http", log, running.url),
            "everything-http": _everything(
                "everything-http", everything.log, f"  everything-http: {{url: '{everything.url}'}}\n"
            ),
        }


@dataclass(frozen=True, slots=True)
class Everything:
    """The official server while it runs over HTTP."""

    url: str
    log: Path


# Over what ------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _over_http(folder: Path, text: str) -> AsyncGenerator[Address]:
    async with serving(folder, text) as gateway:
        yield gateway.url


@contextlib.asynccontextmanager
async def _over_stdio(folder: Path, text: str) -> AsyncGenerator[Address]:
    config = folder / "interlock.yaml"
    config.write_text(text + store_line(folder / "data", text), encoding="utf-8")
    yield (sys.executable, "-m", "interlock", "stdio", "--config", str(config), "--data-dir", str(folder / "data"))


_DOORS = {"http": _over_http, "stdio": _over_stdio}


# What came of it ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conversation:
    """What came of talking with one upstream, on all sides."""

    upstream: str
    part: Part
    outcomes: dict[str, Outcome]
    transcript: Transcript
    seen: list[Message]
    told_to_stop: bool
    record: list[Activity]

    def result(self, step: str) -> Message:
        result = self.outcomes[step].result
        assert result is not None, self.outcomes[step]
        return result

    def forwarded(self) -> list[tuple[str, Any]]:
        """The calls that the upstream received."""
        params = [each["params"] for each in self.seen if each.get("method") == "tools/call"]
        return [(each["name"], each["arguments"]) for each in params]


@dataclass(frozen=True, slots=True)
class Session:
    """All that one client did: every message, and its conversation with each upstream."""

    transcript: Transcript
    conversations: dict[str, Conversation]


def hold_session(play: Play, door: str, folder: Path, everything: Everything) -> Session:
    """Let a client talk with the upstreams that fit the transport, and come back when everything is over."""
    with contextlib.ExitStack() as stack:
        upstreams = stack.enter_context(_near(folder))
        if door == "http":
            upstreams |= stack.enter_context(_far(folder, everything))
        return asyncio.run(_talk(play, door, upstreams, folder))


async def _talk(play: Play, door: str, upstreams: Upstreams, folder: Path) -> Session:
    text = "posture: open\nexpose: both\nservers:\n" + "".join(each.yaml for each in upstreams.values())
    all_there = Step("list", until=tuple(f"{name}__echo" for name in upstreams))
    steps = [all_there, *(step for each in upstreams.values() for step in each.part.steps.values())]
    async with asyncio.timeout(30), _DOORS[door](folder, text) as address:
        transcript = await play(address, steps)
        # Before the gateway goes: when it does, all calls end.
        stopped = await _all_told_to_stop(upstreams)
    record, outcomes = await _record(folder), iter(transcript.outcomes[1:])
    conversations = {
        name: Conversation(
            name,
            each.part,
            {step: next(outcomes) for step in each.part.steps},
            transcript,
            each.seen(),
            stopped[name],
            [activity for activity in record if activity.server == name],
        )
        for name, each in upstreams.items()
    }
    return Session(transcript, conversations)


async def _all_told_to_stop(upstreams: Upstreams) -> dict[str, bool]:
    """Who was told to stop, after a while in which everybody should have been."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5):
            while not all(each.told_to_stop() for each in upstreams.values()):  # noqa: ASYNC110 - other processes
                await asyncio.sleep(0.01)
    return {name: each.told_to_stop() for name, each in upstreams.items()}


async def _record(folder: Path) -> list[Activity]:
    """Every call on record, oldest first, once the gateway has gone."""
    store = store_of(folder / "data", SystemClock())
    await store.start()
    try:
        calls = (ActivityType.TOOL_CALL, ActivityType.POLICY_DECISION)
        page = await store.list_activities(ActivityFilter(types=calls, limit=500))
        return list(reversed(page.items))
    finally:
        await store.close()
