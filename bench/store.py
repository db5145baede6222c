"""What a durable record costs: the store's group commit against one commit per record, for 1 and for 32 writers.

Both ways write the same activities through the same code into fresh databases and wait for each record; the only
difference is that the second commits every record by itself. Rounds are interleaved and the best of each is compared,
because the disk decides, and whoever else uses it. Goal: with 32 writers at least three times as many records.
"""

import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from filling import activity
from interlock.clock import SystemClock
from interlock.store.protocol import Activity
from interlock.store.rows import record_of
from interlock.store.sqlite import PATIENCE, SqliteLedger, SqliteStore, prepare
from interlock.store.writer import Job

RECORDS, ROUNDS = 4_000, 3
WRITERS = (1, 32)
GOAL = 3.0
Write = Callable[[Activity], Awaitable[object]]
Way = Callable[[Path, int], Coroutine[None, None, "Figures"]]


@dataclass(frozen=True)
class Figures:
    rate: float
    middle: float


async def measure(write: Write, writers: int) -> Figures:
    numbers = itertools.count()
    waits: list[float] = []

    async def writer() -> None:
        for number in itertools.takewhile(lambda number: number < RECORDS, numbers):
            began = time.perf_counter()
            await write(activity(number))
            waits.append(time.perf_counter() - began)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(writers):
            group.create_task(writer())
    return Figures(RECORDS / (time.perf_counter() - began), statistics.median(waits))


async def grouped(path: Path, writers: int) -> Figures:
    store = SqliteStore(path, SystemClock())
    await store.start()
    figures = await measure(lambda each: store.write([each]), writers)
    await store.close()
    return figures


async def one_by_one(path: Path, writers: int) -> Figures:
    clock, loop = SystemClock(), asyncio.get_running_loop()
    ledger = SqliteLedger(path, clock, prepare(path, clock, PATIENCE), PATIENCE)
    with ThreadPoolExecutor(1) as thread:
        figures = await measure(
            lambda each: loop.run_in_executor(thread, ledger.commit, [Job((record_of(each),))]), writers
        )
        await loop.run_in_executor(thread, ledger.close)
    return figures


def best_of(rounds: list[Figures]) -> Figures:
    return max(rounds, key=lambda each: each.rate)


def main() -> None:
    ways: dict[str, Way] = {"grouped": grouped, "one by one": one_by_one}
    taken: dict[tuple[str, int], list[Figures]] = {case: [] for case in itertools.product(ways, WRITERS)}
    for _, (name, writers) in itertools.product(range(ROUNDS), taken):
        with tempfile.TemporaryDirectory() as folder:
            run = ways[name](Path(folder) / "store.db", writers)
            taken[name, writers].append(asyncio.run(run))
    print(f"store: {RECORDS} durable records, best of {ROUNDS} interleaved rounds")
    best = {case: best_of(rounds) for case, rounds in taken.items()}
    for (name, writers), figures in best.items():
        print(f"  {name:10} {writers:3} writers {figures.rate:8,.0f} records/s   p50 {figures.middle * 1e3:6.2f} ms")
    ratios = {writers: best["grouped", writers].rate / best["one by one", writers].rate for writers in WRITERS}
    print("  ratio grouped : one by one " + ", ".join(f"{ratio:.2f} ({n} writers)" for n, ratio in ratios.items()))
    print(f"  goal {'reached' if ratios[32] >= GOAL else 'MISSED'} (at least {GOAL:g} with 32 writers)")


if __name__ == "__main__":
    main()
