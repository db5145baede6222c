"""What PostgreSQL costs one gateway, what a second gateway on it brings, and how fast an answer crosses over.

In one run: the same calls, reads and writes of an echo tool, through one gateway on SQLite and through one on
PostgreSQL; then a server that takes 50 ms for each call and lets each gateway have so many at once, behind one gateway
and behind two on one database, with calls that run at once, and with calls that are held and approved as they come; and
calls that wait at one gateway and are approved at the other.

Goals: PostgreSQL at least 0.6 of SQLite; two gateways carry at least 1.8 as much as one, of either kind; an answer at
one gateway reaches the caller at the other within 250 ms (p95). Both stores wait for the disk. Needs Linux, for /proc.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import uvloop

from calling import Calls, Door, Requests, loaded
from holds import REVIEWERS, Reviewers, connected, request
from ours import Gateway, gateway, tokens
from processes import OTHERS, asked, count, pin, target
from slow_upstream import SLOW_SECONDS
from tests.postgres_server import PostgresServer, running_server
from upstream import READ_TOOL, WRITE_TOOL

STORE_GOAL, SECOND_GOAL, ANSWER_GOAL = 0.6, 1.8, 250.0
AT_ONCE = 16
"""How many calls a gateway may have under way at the slow server. Few, so that a gateway is at its limit before a core
is: what is counted is what gateways carry, and not how fast this machine is."""
HELD_AT_ONCE = 4
"""The same where each call is held first, which costs more of this machine."""
CALLERS = 32
EVERY = 4
"""Every so-manieth call writes."""
CONFIG = """
store: {store}
posture: open
expose: direct
limits: {{in_flight_per_caller: 1000}}
hold: {{answer_after: never, approval_timeout: 600, max_pending_per_caller: 100}}
servers: {{up: {{url: 'http://127.0.0.1:{port}/mcp', max_concurrent: {at_once}}}}}
route_rules:
  - {{id: held, tool_pattern: up__{write}, args: {{text: 'held-*'}}, effect: hold}}
"""
DISK = {"fsync": "on", "full_page_writes": "on", "shared_buffers": "128MB", "autovacuum": "on"}


@contextlib.contextmanager
def one(folder: Path, name: str, store: str, port: int, at_once: int) -> Generator[Gateway]:
    place = folder / name
    place.mkdir()
    with gateway(place, CONFIG.format(store=store, port=port, at_once=at_once, write=WRITE_TOOL)) as made:
        yield made


def calls_of(ours: Gateway) -> Requests:
    calls = Calls(read=f"up__{READ_TOOL}", write=f"up__{WRITE_TOOL}", writes_every=EVERY)
    (token,) = tokens(ours, 1)
    return Requests(calls, Door(ours.process, headers={"Authorization": f"Bearer {token}"}))


async def rate(gateways: list[Gateway], seconds: float, callers: int) -> float:
    """Calls per second through all of these at once; every answer must be right."""
    made = [(Door(each.process), calls_of(each)) for each in gateways]
    await asyncio.gather(*(loaded(door, requests, 1.0, callers) for door, requests in made))
    began = time.perf_counter()
    done = await asyncio.gather(*(loaded(door, requests, seconds, callers) for door, requests in made))
    took = time.perf_counter() - began
    if problems := [each.problem for each in done if each.errors]:
        raise SystemExit(f"a wrong answer: {problems[0]}")
    return sum(len(each.waits) for each in done) / took


# Calls that are held --------------------------------------------------------------------------------------------


async def held_rate(gateways: list[Gateway], seconds: float, callers: int) -> float:
    """Calls per second that are held, approved at the last of these and run, through all of them at once."""
    made = [(each, *tokens(each, 1)) for each in gateways]
    done: list[float] = []
    until = time.perf_counter() + 1.0 + seconds
    async with asyncio.TaskGroup() as group:
        reviewing = group.create_task(approve_as_they_come(gateways[-1]))
        async with asyncio.TaskGroup() as calling:
            for each, token in made:
                for number in range(callers):
                    calling.create_task(hold_again_and_again(each, token, number, until, done))
        reviewing.cancel()
    return sum(until - seconds <= at <= until for at in done) / seconds


async def hold_again_and_again(ours: Gateway, token: str, number: int, until: float, done: list[float]) -> None:
    """One caller: its next call comes when the one before was approved and has run."""
    caller, port = await connected(ours.process.port), ours.process.port
    for turn in itertools.count():
        text = f"held-{port}-{number}-{turn}"
        arguments = {"text": text, "_justification": "to see how many can be carried"}
        answer = await caller.ask(request(port, token, f"up__{WRITE_TOOL}", arguments))
        if text.encode() not in answer or b'"isError":true' in answer:
            raise SystemExit(f"a wrong answer: {answer[:600]!r}")
        done.append(time.perf_counter())
        if done[-1] >= until:
            caller.transport.close()
            return


async def approve_as_they_come(ours: Gateway) -> None:
    reviewers = Reviewers(ours, [await connected(ours.process.port) for _ in range(REVIEWERS)])
    answered: set[str] = set()
    while True:
        fresh = [each for each in pending_at(ours) if each not in answered]
        answered.update(fresh)
        await reviewers.approve_all(fresh)
        await asyncio.sleep(0.01)


# Answers that cross over ----------------------------------------------------------------------------------------


async def crossing(here: Gateway, there: Gateway, rounds: int) -> list[float]:
    """Milliseconds from an answer there to the reply here."""
    (token,) = tokens(here, 1)
    waits: list[float] = []
    for number in range(rounds):
        caller, reviewer = await connected(here.process.port), await connected(there.process.port)
        arguments = {"text": f"held-{number}", "_justification": "to see how fast an answer is"}
        answer = caller.ask(request(here.process.port, token, f"up__{WRITE_TOOL}", arguments))
        approval = await waiting_at(there)
        said = {"approval_id": approval, "reason": "bench"}
        began = time.time()
        yes = reviewer.ask(request(there.process.port, there.credential, "interlock__approve_tool_call", said))
        replies = await asyncio.gather(answer, yes)
        if b"held-%d" % number not in replies[0] or b'"isError":true' in replies[0]:
            raise SystemExit(f"a wrong answer: {replies[0][:600]!r}")
        waits.append((caller.answered_at - began) * 1e3)
        caller.transport.close()
        reviewer.transport.close()
    return waits


async def waiting_at(ours: Gateway) -> str:
    """The one approval that waits, as this gateway lists it."""
    while not (waiting := pending_at(ours)):  # noqa: ASYNC110 - another process tells nobody
        await asyncio.sleep(0.002)
    return waiting[0]


def pending_at(ours: Gateway) -> list[str]:
    """What waits, as this gateway lists it."""
    path = "/api/v1/approvals?status=pending&limit=500"
    with asked(ours.process.port, "GET", path, None, ours.authorised) as answer:
        return [each["id"] for each in json.loads(answer.read())["items"]]


# Report ---------------------------------------------------------------------------------------------------------


def address(server: PostgresServer) -> str:
    return server.address(asyncio.run(server.new_database()))


def stores(folder: Path, server: PostgresServer, seconds: float, rounds: int) -> bool:
    best = {"sqlite": 0.0, "postgresql": 0.0}
    with target("upstream", folder, OTHERS) as upstream:
        for turn in range(rounds):
            for name in ("sqlite", "postgresql"):
                store = "sqlite" if name == "sqlite" else address(server)
                with one(folder, f"{name}-{turn}", store, upstream.port, 64) as ours:
                    best[name] = max(best[name], uvloop.run(rate([ours], seconds, CALLERS)))
    ratio = best["postgresql"] / best["sqlite"]
    print(f"  one gateway, every {EVERY}th call writes: SQLite {best['sqlite']:,.0f}/s, ", end="")
    print(f"PostgreSQL {best['postgresql']:,.0f}/s: {ratio:.2f} x (goal {STORE_GOAL:g})")
    return ratio >= STORE_GOAL


def seconds_of_two(folder: Path, server: PostgresServer, seconds: float, answers: int) -> tuple[bool, bool]:
    store, most = address(server), AT_ONCE / SLOW_SECONDS
    with (
        target("slow_upstream", folder, OTHERS) as slow,
        one(folder, "first", store, slow.port, AT_ONCE) as first,
        one(folder, "second", store, slow.port, AT_ONCE) as second,
    ):
        alone = uvloop.run(rate([first], seconds, 4 * AT_ONCE))
        both = uvloop.run(rate([first, second], seconds, 4 * AT_ONCE))
        sent = count(slow)
        waits = uvloop.run(crossing(first, second, answers))
        if count(slow) - sent != answers:
            raise SystemExit(f"{answers} calls were approved, the server got {count(slow) - sent}")
    p95 = statistics.quantiles(waits, n=20)[18]
    print(f"  a server that takes 50 ms, {AT_ONCE} at once for each gateway: one {alone:,.0f}/s, ", end="")
    print(f"two {both:,.0f}/s of {2 * most:,.0f}: {both / alone:.2f} x (goal {SECOND_GOAL:g})")
    print(f"  an answer at the other gateway, p50 / p95: {statistics.median(waits):.0f} / {p95:.0f} ms, ", end="")
    print(f"of which the server takes 50 (goal {ANSWER_GOAL:g})")
    return both / alone >= SECOND_GOAL, p95 <= ANSWER_GOAL


def held_by_two(folder: Path, server: PostgresServer, seconds: float) -> bool:
    store, most = address(server), HELD_AT_ONCE / SLOW_SECONDS
    with (
        target("slow_upstream", folder, OTHERS) as slow,
        one(folder, "third", store, slow.port, HELD_AT_ONCE) as third,
        one(folder, "fourth", store, slow.port, HELD_AT_ONCE) as fourth,
    ):
        alone = uvloop.run(held_rate([third], seconds, 4 * HELD_AT_ONCE))
        both = uvloop.run(held_rate([third, fourth], seconds, 4 * HELD_AT_ONCE))
    print(f"  the same server, {HELD_AT_ONCE} at once, every call held and approved: one {alone:,.0f}/s, ", end="")
    print(f"two {both:,.0f}/s of {2 * most:,.0f}: {both / alone:.2f} x (goal {SECOND_GOAL:g})")
    return both / alone >= SECOND_GOAL


def main() -> int:
    parser = argparse.ArgumentParser(description="What PostgreSQL costs, and what a second gateway brings.")
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    seconds, rounds, answers = (1.0, 1, 20) if quick else (5.0, 3, 200)
    pin(os.getpid(), OTHERS)
    print("replicas: several gateways on one PostgreSQL")
    with tempfile.TemporaryDirectory() as name, running_server(DISK) as server:
        folder = Path(name)
        met = [
            stores(folder, server, seconds, rounds),
            *seconds_of_two(folder, server, seconds, answers),
            held_by_two(folder, server, seconds),
        ]
    if not all(met):
        print("  MISSED: see the goals above")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
