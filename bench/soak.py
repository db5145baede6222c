"""Whether a gateway that works for a while stays as it is: its open files, its threads, its memory.

A real gateway, a real upstream, and callers in a process of their own. First they call as fast as they can, to see how
much the gateway can do; then for five minutes at half of that, or with --full without a pause, reads and writes, and
beside them calls that wait until somebody approves them. One wrong answer ends it. Every ten seconds is printed what
the gateway has open and what it weighs. At the end stands how much heavier it becomes in a minute, by least squares
over what came after the warm-up, and whether the log it wrote is whole and sealed to its end. Threads stand for tasks,
which cannot be counted from outside.

Goals: as many open files and threads at the end as after the warm-up, hardly more memory, and a log that is intact.
Needs Linux, for /proc.
"""

import argparse
import asyncio
import contextlib
import math
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from holds import Caller, Reviewers, connected, request
from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.check import check_folder
from ours import Gateway, gateway, tokens
from processes import OTHERS, pin, target
from upstream import READ_TOOL, WRITE_TOOL

CALLERS = 16
READS_OF = 3
"""One of so many calls writes, the others read."""
CAPACITY_SECONDS = 5.0
LOOK_SECONDS = 10.0
HOLDS_A_SECOND = 4.0
SPREAD = 2
"""By how many the open files and the threads of the second half may exceed those of the first."""
HEAVIER = 1.03
"""How many times the memory of the first half that of the second may be."""
CONFIG = """
posture: open
expose: direct
hold: {{answer_after: never}}
servers: {{up: {{url: 'http://127.0.0.1:{port}/mcp', max_concurrent: 64}}}}
route_rules: [{{id: held, tool_pattern: up__update_echo, args: {{text: 'held-*'}}, effect: hold}}]
"""


@dataclass(frozen=True)
class Look:
    """What the gateway has open, and what it weighs in MiB, after so many minutes."""

    minutes: float
    files: int
    threads: int
    rss: float
    calls: int


@dataclass
class Soak:
    """The gateway, its callers, and what was seen of it."""

    ours: Gateway
    token: str
    calls: int = 0
    held: int = 0
    looks: list[Look] = field(default_factory=list[Look])

    @property
    def port(self) -> int:
        return self.ours.process.port

    def look(self, minutes: float) -> Look:
        process = Path(f"/proc/{self.ours.process.pid}")
        lines = (process / "status").read_text(encoding="utf-8").splitlines()
        threads = next(int(line.split()[1]) for line in lines if line.startswith("Threads:"))
        return Look(minutes, len(list((process / "fd").iterdir())), threads, self.ours.process.rss(), self.calls)

    async def call(self, caller: Caller) -> None:
        self.calls += 1
        number = self.calls
        tool = READ_TOOL if number % READS_OF else WRITE_TOOL
        said = await caller.ask(request(self.port, self.token, f"up__{tool}", {"text": f"text-{number}"}))
        if b"text-%d" % number not in said or b'"isError":true' in said:
            raise SystemExit(f"a wrong answer: {said[:600]!r}")

    async def hold(self, caller: Caller, reviewers: Reviewers) -> None:
        """One call that waits, and the yes to it."""
        self.held += 1
        arguments = {"text": f"held-{self.held}", "_justification": "to see what stays"}
        answer = caller.ask(request(self.port, self.token, f"up__{WRITE_TOOL}", arguments))
        while not (pending := self.ours.pending()):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        await reviewers.approve(pending[0])
        if b"held-%d" % self.held not in (said := await answer) or b'"isError":true' in said:
            raise SystemExit(f"a wrong answer: {said[:600]!r}")


# Load -----------------------------------------------------------------------------------------------------------


async def capacity(soak: Soak, callers: list[Caller]) -> float:
    """How many calls a second the gateway does when it is not spared."""
    began, before = time.perf_counter(), soak.calls

    async def hurry(caller: Caller) -> None:
        while time.perf_counter() - began < CAPACITY_SECONDS:
            await soak.call(caller)

    await asyncio.gather(*map(hurry, callers))
    return (soak.calls - before) / (time.perf_counter() - began)


async def paced(soak: Soak, callers: list[Caller], rate: float, until: float) -> None:
    """So many calls a second by all callers together, or as many as there can be. Who comes late does not hurry to
    catch up."""
    every = len(callers) / rate

    async def at_its_pace(place: int, caller: Caller) -> None:
        turn = time.perf_counter() + every * place / len(callers)
        while turn < until:
            await asyncio.sleep(max(0.0, turn - time.perf_counter()))
            await soak.call(caller)
            turn = max(turn + every, time.perf_counter())

    await asyncio.gather(*(at_its_pace(place, each) for place, each in enumerate(callers)))


async def held(soak: Soak, caller: Caller, reviewers: Reviewers, until: float) -> None:
    while time.perf_counter() < until:
        await soak.hold(caller, reviewers)
        await asyncio.sleep(1 / HOLDS_A_SECOND)


async def looking(soak: Soak, began: float, until: float) -> None:
    print(f"  {'minutes':>8}{'files':>8}{'threads':>9}{'MiB':>9}{'calls':>11}")
    while (now := time.perf_counter()) < until:
        await asyncio.sleep(min(LOOK_SECONDS, max(0.0, until - now)))
        seen = soak.look((time.perf_counter() - began) / 60)
        soak.looks.append(seen)
        print(f"  {seen.minutes:8.2f}{seen.files:8}{seen.threads:9}{seen.rss:9.1f}{seen.calls:11,}", flush=True)


async def run(soak: Soak, seconds: float, *, full: bool) -> None:
    callers = [await connected(soak.port) for _ in range(CALLERS)]
    waiting, answering = await connected(soak.port), await connected(soak.port)
    most = await capacity(soak, callers)
    load = "all" if full else "half"
    print(f"soak: {seconds:g} s at {load} of {most:,.0f} calls a second, one in {READS_OF} of them a write", flush=True)
    began = time.perf_counter()
    until = began + seconds
    async with asyncio.TaskGroup() as group:
        group.create_task(paced(soak, callers, math.inf if full else most / 2, until))
        group.create_task(held(soak, waiting, Reviewers(soak.ours, [answering]), until))
        group.create_task(looking(soak, began, until))


# Report ---------------------------------------------------------------------------------------------------------


def goals(soak: Soak, *, intact: bool) -> dict[str, bool]:
    """What must be so, seen after a third of the time, in which the gateway warms up."""
    warm = soak.looks[len(soak.looks) // 3 :]
    if len(warm) > 1:
        fit = statistics.linear_regression([each.minutes for each in warm], [each.rss for each in warm])
        print(f"  memory grows by {fit.slope:.3f} MiB a minute, from {warm[0].rss:.1f} to {warm[-1].rss:.1f} MiB")
    print(f"  {soak.calls:,} calls, {soak.held:,} of others that waited")
    half = len(warm) // 2
    return {
        "no more open files": _stays([each.files for each in warm], half),
        "no more threads": _stays([each.threads for each in warm], half),
        "hardly more memory": half == 0 or _middle(warm[half:]) <= HEAVIER * _middle(warm[:half]),
        "the log is intact, and sealed to its end": intact,
    }


def _stays(seen: list[int], half: int) -> bool:
    """Whether there are no more of them in the second half than in the first; from look to look they may differ,
    because connections come and go."""
    return half == 0 or statistics.median(seen[half:]) - statistics.median(seen[:half]) <= SPREAD


def _middle(looks: list[Look]) -> float:
    return statistics.median(each.rss for each in looks)


def main() -> int:
    parser = argparse.ArgumentParser(description="Whether a gateway that works for a while stays as it is.")
    parser.add_argument("--full", action="store_true", help="as many calls as it can do, instead of half of them")
    parser.add_argument("seconds", type=float, nargs="?", default=300.0, metavar="SECONDS")
    wanted = parser.parse_args()
    pin(os.getpid(), OTHERS)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        upstream = stack.enter_context(target("upstream", folder, OTHERS))
        with gateway(folder, CONFIG.format(port=upstream.port)) as ours:
            (token,) = tokens(ours, 1)
            soak = Soak(ours, token)
            uvloop.run(run(soak, wanted.seconds, full=wanted.full))
        found = check_folder(folder / "data", folder / "data" / ANCHOR)
    print(f"  {found.records:,} records in the log, {found.checkpoints} checkpoints, {found.unsealed} not sealed")
    judged = goals(soak, intact=found.intact and not found.unsealed)
    for goal, reached in judged.items():
        print(f"  goal {'reached' if reached else 'MISSED'}: {goal}")
    return 0 if all(judged.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
