"""What it costs to hold ten thousand calls at once, and how fast they are let go.

A real gateway, a real upstream, and callers in a process of their own: each call has a connection of its own and waits
for its approval. Twenty calls wait for each caller, as many as may, so there are as many tokens as that takes. Then, by
turns: what the gateway weighs and uses while everybody waits; how long it takes until all are approved and answered,
with reviewers over the MCP tool; how long one answer takes to reach its caller; and how late calls are told that their
time is over. Every answer must be the one to its call, and the upstream must have got each approved call once.

Goals: at most 250 MiB in all, less than 2 % of a core while nothing happens, all released within 5 s, an answer within
50 ms (p95), a timeout within 1 s of its deadline. Needs Linux, for /proc.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import uvloop

from ours import Gateway, gateway, tokens
from processes import OTHERS, PATIENCE, Process, count, pin, target
from upstream import MODERN, WRITE_TOOL

MIB = 1024 * 1024
PER_CALLER = 20
REVIEWERS = 64
"""How many answers are under way at once."""
SINGLES = 200
IDLE_SECONDS = 10.0
TIMEOUT_SECONDS = 30
"""The deadline of the calls that nobody answers: long enough for all of them to have come."""
RSS_GOAL, CPU_GOAL, RELEASE_GOAL, SINGLE_GOAL, LATE_GOAL = 250.0, 2.0, 5.0, 50.0, 1.0
CONFIG = """
posture: open
expose: direct
hold: {{answer_after: never, approval_timeout: 3600}}
servers: {{up: {{url: 'http://127.0.0.1:{port}/mcp', max_concurrent: 64}}}}
route_rules:
  - {{id: held, tool_pattern: up__update_echo, effect: hold, approval_timeout: 3600}}
  - {{id: short, tool_pattern: up__update_echo, args: {{text: 'short-*'}}, effect: hold, approval_timeout: {timeout},
     priority: 1}}
"""


# Requests -------------------------------------------------------------------------------------------------------


def request(port: int, token: str, name: str, arguments: dict[str, str]) -> bytes:
    prefix = "io.modelcontextprotocol/"
    meta = {
        f"{prefix}protocolVersion": MODERN,
        f"{prefix}clientCapabilities": {},
        f"{prefix}clientInfo": {"name": "bench", "version": "1"},
    }
    params = {"name": name, "arguments": arguments, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "Host": f"127.0.0.1:{port}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
        "Authorization": f"Bearer {token}",
        "Content-Length": str(len(body)),
    }
    head = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


class Caller(asyncio.Protocol):
    """A connection with one request under way at a time."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self.answered_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def ask(self, text: bytes) -> "asyncio.Future[bytes]":
        self._received.clear()
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(text)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = bytes(self._received).partition(b"\r\n\r\n")
        if not blank or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            return
        self.answered_at = time.time()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(body)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(SystemExit(f"a connection was lost: {exc}"))


async def connected(port: int) -> Caller:
    _, caller = await asyncio.get_running_loop().create_connection(Caller, "127.0.0.1", port)
    return caller


@dataclass(frozen=True)
class Waiting:
    """Calls that wait."""

    texts: list[str]
    callers: list[Caller]
    answers: "list[asyncio.Future[bytes]]"

    def close(self) -> None:
        for each in self.callers:
            each.transport.close()


async def held(ours: Gateway, made: list[str], texts: list[str]) -> Waiting:
    """Let calls come, each on a connection of its own, and wait until all of them are on record."""
    port, name, before = ours.process.port, f"up__{WRITE_TOOL}", ours.asked()
    waiting = Waiting(texts, [], [])
    for number, text in enumerate(texts):
        caller = await connected(port)
        arguments = {"text": text, "_justification": "to see what holding costs"}
        waiting.callers.append(caller)
        waiting.answers.append(caller.ask(request(port, made[number // PER_CALLER], name, arguments)))
    until = time.monotonic() + PATIENCE
    while ours.asked() - before < len(texts):
        if time.monotonic() > until:
            raise SystemExit(f"only {ours.asked() - before} of {len(texts)} calls wait")
        await asyncio.sleep(0.002 if len(texts) == 1 else 0.1)
    return waiting


class Reviewers:
    """Connections over which an operator answers."""

    def __init__(self, ours: Gateway, callers: list[Caller]) -> None:
        self._ours = ours
        self._credential = ours.credential
        self._callers = callers

    async def approve(self, approval: str, by: int = 0) -> None:
        arguments = {"approval_id": approval, "reason": "bench"}
        text = request(self._ours.process.port, self._credential, "interlock__approve_tool_call", arguments)
        said = await self._callers[by].ask(text)
        if b'"isError":true' in said or b"approved" not in said:
            raise SystemExit(f"not approved: {said[:600]!r}")

    async def approve_all(self, approvals: list[str]) -> None:
        left = iter(approvals)

        async def one(by: int) -> None:
            for approval in left:
                await self.approve(approval, by)

        await asyncio.gather(*map(one, range(len(self._callers))))


# Measurements ---------------------------------------------------------------------------------------------------


@dataclass
class Figures:
    """What was measured."""

    calls: int
    base: float = 0.0
    came: float = 0.0
    rss: float = 0.0
    after: float = 0.0
    cpu: float = 0.0
    idle: float = 0.0
    released: float = 0.0
    singles: list[float] = field(default_factory=list[float])
    late: list[float] = field(default_factory=list[float])


async def measure(ours: Gateway, upstream: Process, made: list[str], figures: Figures) -> None:
    reviewers = Reviewers(ours, [await connected(ours.process.port) for _ in range(REVIEWERS)])
    figures.base = ours.process.rss()
    sent = count(upstream)
    await _held_and_released(ours, made, figures, reviewers)
    await _one_at_a_time(ours, made, figures, reviewers)
    if count(upstream) - sent != figures.calls + SINGLES:
        raise SystemExit(f"{figures.calls + SINGLES} calls were approved, the upstream got {count(upstream) - sent}")
    await _timed_out(ours, made, figures)
    if count(upstream) - sent != figures.calls + SINGLES:
        raise SystemExit("a call was sent that nobody had approved")


async def _held_and_released(ours: Gateway, made: list[str], figures: Figures, reviewers: Reviewers) -> None:
    began = time.perf_counter()
    waiting = await held(ours, made, [f"held-{number}" for number in range(figures.calls)])
    figures.came = time.perf_counter() - began
    ours.process.settle()
    figures.rss = ours.process.rss()
    used, began = ours.process.cpu_seconds(), time.perf_counter()
    await asyncio.sleep(IDLE_SECONDS)
    figures.idle = (ours.process.cpu_seconds() - used) / (time.perf_counter() - began) * 100
    pending = ours.pending()
    used, began = ours.process.cpu_seconds(), time.perf_counter()
    await reviewers.approve_all(pending)
    answers = await asyncio.gather(*waiting.answers)
    figures.released = time.perf_counter() - began
    figures.cpu = ours.process.cpu_seconds() - used
    figures.after = ours.process.rss()
    for text, answer in zip(waiting.texts, answers, strict=True):
        if b'"%s"' % text.encode() not in answer or b'"isError":true' in answer:
            raise SystemExit(f"a wrong answer to {text}: {answer[:600]!r}")
    waiting.close()


async def _one_at_a_time(ours: Gateway, made: list[str], figures: Figures, reviewers: Reviewers) -> None:
    """From the answer of a reviewer to that of the caller."""
    for number in range(SINGLES):
        waiting = await held(ours, made, [f"single-{number}"])
        (approval,) = ours.pending()
        began = time.time()
        await asyncio.gather(reviewers.approve(approval), *waiting.answers)
        figures.singles.append((waiting.callers[0].answered_at - began) * 1e3)
        waiting.close()


async def _timed_out(ours: Gateway, made: list[str], figures: Figures) -> None:
    waiting = await held(ours, made, [f"short-{number}" for number in range(figures.calls)])
    answers = await asyncio.gather(*waiting.answers)
    deadlines = dict(ours.rows("SELECT body ->> '$.asked.arguments.text', expires_at FROM approval"))
    for text, answer, caller in zip(waiting.texts, answers, waiting.callers, strict=True):
        if b"timed out" not in answer:
            raise SystemExit(f"a wrong answer to {text}: {answer[:600]!r}")
        figures.late.append(caller.answered_at - deadlines[text] / 1e6)
    waiting.close()


# Report ---------------------------------------------------------------------------------------------------------


def show(figures: Figures) -> None:
    p95 = statistics.quantiles(figures.singles, n=20)[18]
    print(f"holds: {figures.calls:,} calls of {-(-figures.calls // PER_CALLER)} callers, {REVIEWERS} reviewers at once")
    each = (figures.rss - figures.base) * 1024 / figures.calls
    print(f"  all came within            {figures.came:8.1f} s")
    print(f"  memory while all wait      {figures.rss:8.1f} MiB  ({figures.base:.1f} before; {each:.1f} KiB a call)")
    print(f"  memory when all have gone  {figures.after:8.1f} MiB")
    print(f"  CPU while all wait         {figures.idle:8.2f} %")
    print(f"  all approved and answered  {figures.released:8.2f} s    ({figures.cpu:.2f} s of CPU)")
    print(f"  one answer, p50 / p95      {statistics.median(figures.singles):8.1f} / {p95:.1f} ms")
    print(f"  timeouts, late p50 / most  {statistics.median(figures.late):8.2f} / {max(figures.late):.2f} s")


def goals(figures: Figures) -> dict[str, bool]:
    in_time = 0 <= min(figures.late) <= max(figures.late) <= LATE_GOAL
    return {
        f"at most {RSS_GOAL:g} MiB while all wait": figures.rss <= RSS_GOAL,
        f"less than {CPU_GOAL:g} % of a core while all wait": figures.idle < CPU_GOAL,
        f"all released within {RELEASE_GOAL:g} s": figures.released <= RELEASE_GOAL,
        f"an answer within {SINGLE_GOAL:g} ms, p95": statistics.quantiles(figures.singles, n=20)[18] <= SINGLE_GOAL,
        f"every timeout within {LATE_GOAL:g} s of its deadline": in_time,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="What it costs to hold many calls at once.")
    parser.add_argument("--calls", type=int, default=10_000, metavar="N")
    wanted = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    pin(os.getpid(), OTHERS)
    figures = Figures(wanted.calls)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        upstream = stack.enter_context(target("upstream", folder, OTHERS))
        text = CONFIG.format(port=upstream.port, timeout=TIMEOUT_SECONDS)
        ours = stack.enter_context(gateway(folder, text))
        made = tokens(ours, -(-wanted.calls // PER_CALLER))
        uvloop.run(measure(ours, upstream, made, figures))
    show(figures)
    judged = goals(figures)
    for goal, reached in judged.items():
        print(f"  goal {'reached' if reached else 'MISSED'}: {goal}")
    return 0 if all(judged.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
