"""How fast a log is checked: everything that `interlock audit verify` looks at, and each part by itself.

One log is filled once, with a checkpoint on every thousandth record, and checked in interleaved rounds, of which the
best of each counts. Reading the same rows and doing nothing with them is the yardstick: what lies above it is hashing
and comparing, what lies in it is SQLite. Everything together takes less time than its parts one after the other: the
database looks at the list while the entries are hashed. The seconds of processor show what it costs on one core.
At last the two commands are run as they are typed, with their start. Goal: at least 100,000 records a second.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from filling import activity, fill
from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.check import check_folder
from interlock.store.audit.sqlite_log import open_log
from interlock.store.audit.verify import Span, Verification
from interlock.store.folder import DATABASE

RECORDS, ROUNDS = 200_000, 3
EXPORTED = 100_000
GOAL = 100_000
Way = Callable[[Path], object]


def read(folder: Path) -> None:
    with open_log(folder / DATABASE) as log:
        deque(log.entries(0, None), maxlen=0)


def chain(folder: Path) -> Verification:
    """With an end named, nothing but the entries and the seals on them is looked at."""
    return check_folder(folder, span=Span(1, RECORDS))


def beside(folder: Path) -> None:
    """The list, the guards and the file, without the entries."""
    with open_log(folder / DATABASE) as log:
        if wrong := log.beside(0, 1)():
            raise AssertionError(f"the list that was just written does not hold: {wrong}")


def whole(folder: Path) -> Verification:
    return check_folder(folder, folder / ANCHOR)


WAYS: dict[str, Way] = {
    "rows read": read,
    "chain and seals": chain,
    "list and file": beside,
    "everything": whole,
}
ASKED = ("chain and seals", "everything")
"""What the goal is about."""


class Taken(NamedTuple):
    """Seconds by the clock, and seconds of processor."""

    clock: float
    processor: float


def taken(way: Way, folder: Path) -> Taken:
    began = time.perf_counter(), time.process_time()
    found = way(folder)
    ended = time.perf_counter(), time.process_time()
    if isinstance(found, Verification) and not (found.intact and found.records == RECORDS):
        raise AssertionError(f"the log that was just written does not hold: {found}")
    return Taken(ended[0] - began[0], ended[1] - began[1])


def command(folder: Path, *words: str) -> float:
    """The seconds of a command from its start to its end."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "interlock", "audit", *words, "--data-dir", str(folder)],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - began


def tell(best: dict[str, Taken]) -> None:
    for name, took in best.items():
        speed = RECORDS / took.clock
        goal = f"   goal {'reached' if speed >= GOAL else 'MISSED'}" if name in ASKED else ""
        print(f"  {name:16} {speed:9,.0f} records/s   {took.clock:5.2f} s, {took.processor:5.2f} s of processor{goal}")
    print(f"  goal: at least {GOAL:,} records/s")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "data"
        fill(folder, map(activity, range(RECORDS)))
        rounds: dict[str, list[Taken]] = {name: [] for name in WAYS}
        for _ in range(ROUNDS):
            for name, way in WAYS.items():
                rounds[name].append(taken(way, folder))
        size = (folder / DATABASE).stat().st_size
        checked = command(folder, "verify")
        exported = command(folder, "export", "--to", str(EXPORTED), "-o", str(Path(temporary) / "log.jsonl"))
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"verify: {RECORDS:,} records, {size / 2**20:,.0f} MiB, best of {ROUNDS} interleaved rounds, load {load}")
    tell({name: min(each) for name, each in rounds.items()})
    print(f"  interlock audit verify, {RECORDS:,} records: {checked:.2f} s, {RECORDS / checked:,.0f} records/s")
    print(f"  interlock audit export, {EXPORTED:,} records: {exported:.2f} s, {EXPORTED / exported:,.0f} records/s")


if __name__ == "__main__":
    main()
