"""Bad upstreams beside good ones: the good ones notice nothing, and the bad one comes back as often as it goes."""

import asyncio
import contextlib
import itertools
import os
import signal
import statistics
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from interlock.core.health import Health
from interlock.forward.link import BadMessage, LinkDown, LinkTimeout
from interlock.forward.pace import Pace
from tests.forward.children import LOOPS, PeakMemory
from tests.forward.fleets import QUICK, SECONDS, Watched, children, open_files, small, watched

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "torture"
"""The full counts in `make torture`, a sample in `make test`."""
FLOOD_MIB = 1024 if FULL else 64
FLAPS = int(os.environ.get("INTERLOCK_TEST_FLAPS", "600" if FULL else "5"))
ROUNDS = 200 if FULL else 8
CALLS = 2_000 if FULL else 200
MAX_GROWTH = 32
"""How many MiB a bad upstream may cost us."""
BACK_SECONDS = 2.0
"""How soon an upstream that died is usable again, as a rule: it is not started more often than once in a second."""
MAX_SLOWER = 10
"""How many times as long a usual call may take beside a bad upstream; a loop that stands still makes it hundreds."""

BAD = {
    "dying": "serve(call=lambda m: os._exit(3))",
    "hanging": "serve(call=lambda m: time.sleep(1000))",
    "silent": "serve(call=lambda m: None, ping=lambda m: None)",
    "endless": f"def call(m):\n for _ in range({FLOOD_MIB} * 16): write(b'x' * 65_536)\nserve(call)",
    "wrong ids": "def call(m):\n for n in range(1_000): say(id=str(n), result={})\n say(id=-1, result={})\nserve(call)",
    "no JSON": "serve(call=lambda m: write(b'{\\xff}\\n'))",
    "chatter": "serve(call=lambda m: write(b'hello\\n' * 1_000))",
    "slow": "serve(call=lambda m: time.sleep(0.2) or echo(m))",
    "babbling": """
import threading
line = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"' + b'x' * 500 + b'"}}\\n'
def babble():
    while True: write(line * 100)
threading.Thread(target=babble, daemon=True).start()
serve()
""",
    "shouting": """
import threading
def shout():
    while True: sys.stderr.write('x' * 65_536)
threading.Thread(target=shout, daemon=True).start()
serve()
""",
    "fickle": """
def listed(m):
    n = HEARD["tools/list"]
    result(m, tools=[{"name": f"t{n}_{i}", "description": "x" * 200} for i in range(3_000 if n > 1 else 1)])

def call(m):
    for _ in range(1_000): say(method="notifications/tools/list_changed")
    echo(m)

serve(call, listed)
""",
}


@pytest.fixture(params=LOOPS[1:], ids=["uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param


async def call_on(seen: Watched, server: str, number: int) -> float:
    """Call a good upstream; how long that took. Any failure is the end of the test."""
    began = time.perf_counter()
    answer = await seen.call(server, arguments=b'{"n":%d}' % number)
    assert answer["arguments"] == {"n": number}
    return time.perf_counter() - began


async def call_on_until(seen: Watched, server: str, over: asyncio.Event) -> Sequence[float]:
    """How long the last calls took: not all of them, because what this process keeps is measured too."""
    took: deque[float] = deque(maxlen=CALLS)
    for number in itertools.count():
        if over.is_set() and number >= CALLS:
            break
        took.append(await call_on(seen, server, number))
    return took


async def misbehave(seen: Watched, over: asyncio.Event) -> None:
    """Call the bad upstream, some calls at a time, until it has done its worst often enough."""
    rounds = 0
    while rounds < ROUNDS:
        calls = [seen.call("bad") for _ in range(QUICK.failures)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        rounds += any(not isinstance(each, LinkDown) or each.sent for each in outcomes)
        assert all(isinstance(each, dict | LinkDown | LinkTimeout | BadMessage) for each in outcomes)
        await asyncio.sleep(0.001)
    over.set()


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_upstream_costs_the_good_ones_nothing(kind: str) -> None:
    goods = [f"good{n}" for n in range(3)]
    specs = [small("bad", BAD[kind], call_seconds=0.3), *(small(name, call_seconds=10.0) for name in goods)]
    async with (
        watched(specs, pace=replace(QUICK, patience=0.5)) as seen,
        asyncio.timeout(SECONDS * (60 if FULL else 1)),
    ):
        alone = [await call_on(seen, "good0", number) for number in range(CALLS)]
        memory, over = PeakMemory(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(misbehave(seen, over))
            beside = [group.create_task(call_on_until(seen, name, over)) for name in goods]

        # Three callers share what one had before.
        slower = statistics.median(beside[0].result()) / statistics.median(alone) / 3
        assert memory.growth() < MAX_GROWTH
        assert [seen.healths(name) for name in goods] == [[Health.STARTING, Health.READY]] * 3
        assert slower < MAX_SLOWER


async def test_a_hundred_upstreams_do_not_notice_one_that_dies_again_and_again() -> None:
    goods = [f"good{n}" for n in range(99)]
    # The real pace, but for the patience: a machine that is busy with a hundred processes may need it.
    async with watched([small("bad"), *map(small, goods)], pace=replace(Pace(), patience=SECONDS)) as seen:
        files, processes, memory = open_files(), children(), PeakMemory()
        good = asyncio.ensure_future(call_all(seen, goods))
        back = [await seconds_until_back(seen) for _ in range(FLAPS)]
        good.cancel()
        with pytest.raises(asyncio.CancelledError):
            await good

        assert memory.growth() < MAX_GROWTH
        assert open_files() == files
        assert len(children()) == len(processes)
        assert [name for name in goods if seen.healths(name) != [Health.STARTING, Health.READY]] == []
        assert seen.state("bad").restarts == FLAPS
        assert statistics.median(back) < BACK_SECONDS
        sys.stdout.write(
            f"{FLAPS} deaths; usable after {statistics.median(back):.2f} s, at most {max(back):.2f} s; growth "
            f"{memory.growth():.1f} MiB; files {files} before, {open_files()} after\n"
        )
    assert children() & processes == set()


async def seconds_until_back(seen: Watched) -> float:
    """Kill the bad upstream; how long it takes until a call to it is answered again."""
    await seen.kill("bad")
    began = time.monotonic()
    assert await seen.pid("bad")
    return time.monotonic() - began


async def call_all(seen: Watched, servers: list[str]) -> None:
    """Call all good upstreams at the same time, again and again; fails as soon as one call does."""
    while True:
        async with asyncio.TaskGroup() as group:
            for server in servers:
                group.create_task(call_on(seen, server, 0))


async def test_an_upstream_that_is_killed_again_and_again_answers_each_call_once_or_says_that_it_is_gone() -> None:
    answers: list[int] = []
    lost: list[int] = []

    async def caller(seen: Watched, first: int) -> None:
        for number in range(first, first + CALLS):
            try:
                answer = await seen.call("bad", arguments=b'{"n":%d}' % number)
            except LinkDown:
                lost.append(number)
                continue
            answers.append(answer["arguments"]["n"])
            if number % (CALLS // 2) == 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(answer["pid"], signal.SIGKILL)

    code = "serve(call=lambda m: time.sleep(0.001) or echo(m))"
    async with watched([small("bad", code)]) as seen, asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(caller(seen, number * CALLS))

    assert sorted(answers + lost) == list(range(8 * CALLS))
    assert seen.state("bad").restarts >= 1
