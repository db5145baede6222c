"""Rounds: every target is started, called in each of its ways and ended, one after the other, and then all again.

Only the target whose turn it is runs, so none pays for what another does while nobody asks it. The best of each figure
is what counts, because other work shares the machine. CPU and memory are those of the target's processes, CPU with what
they put off until after the answer; for a target that is the upstream itself, they are the upstream's. A target that
cannot be measured is told of and passed over: whether that fails the run is up to the bench.
"""

import contextlib
import gc
import http.client
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, field
from pathlib import Path

import uvloop

from calling import Calls, Door, Requests, loaded
from processes import CORES, OTHERS, Failed, Process, busy_seconds, count, pin, target

QUIET = 0.15
"""How much of the cores others may use in the quietest round of a row. With more, calls per second are theirs too."""
MANY_TOOLS = 1_000


@dataclass(frozen=True)
class Figures:
    """One round of one row: calls per second, milliseconds that a caller waits, microseconds of CPU for a call, MiB,
    which share of the cores others used meanwhile, and wrong answers."""

    rate: float
    p50: float
    p99: float
    cpu: float
    rss: float
    others: float
    errors: int


def best_of(rounds: Iterable[Figures]) -> Figures:
    rates, *rest, errors = zip(*map(astuple, rounds), strict=True)
    return Figures(max(rates), *map(min, rest), errors=sum(errors))


@dataclass(frozen=True)
class Around:
    """What a target finds: a folder of its own for all rounds, an upstream with few tools and one with many."""

    folder: Path
    few: Process
    many: Process


Target = Callable[[Around], AbstractContextManager[Door]]


@dataclass(frozen=True)
class Row:
    """A row of the table: what is called, and how, by how many."""

    name: str
    target: str
    calls: Calls = field(default_factory=Calls)
    callers: tuple[int, ...] = (32, 1)
    slow: bool = False
    """Whether a call takes so long that a round has to be longer for a figure."""


@dataclass
class Taken:
    """What was measured of a row with so many callers, round by round, and what went wrong."""

    rounds: list[Figures] = field(default_factory=list[Figures])
    problems: list[str] = field(default_factory=list[str])

    @property
    def best(self) -> Figures | None:
        return best_of(self.rounds) if self.rounds else None


Table = dict[tuple[str, int], Taken]
"""By the name of the row and the number of callers."""


@dataclass(frozen=True)
class Pace:
    """How long and how often is measured."""

    seconds: float
    rounds: int
    warm_up: float = 0.3
    slow: float = 4.0
    """How much longer slow rows are measured."""


# One round of one row -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """The meters at one moment."""

    at: float
    calls: int
    cpu: float
    others: float

    @classmethod
    def of(cls, door: Door) -> "Reading":
        counted = door.counted
        own = time.process_time() + door.process.cpu_seconds(whole=True)
        if counted is not None and counted.pid != door.process.pid:
            own += counted.cpu_seconds()
        calls = count(counted) if counted is not None else 0
        return cls(time.perf_counter(), calls, door.process.cpu_seconds(), busy_seconds() - own)


def measure(door: Door, requests: Requests, seconds: float, callers: int, warm_up: float) -> tuple[Figures, str]:
    """The figures, and the first thing that was wrong."""
    uvloop.run(loaded(door, requests, warm_up, callers))
    door.process.settle()
    gc.collect()
    gc.disable()
    before = Reading.of(door)
    load = uvloop.run(loaded(door, requests, seconds, callers))
    door.process.settle()
    after = Reading.of(door)
    gc.enable()
    calls, reached = len(load.waits), after.calls - before.calls
    if door.counted is not None and not load.errors and reached != calls:
        load.wrong(f"{calls} calls were answered, but the upstream counted {reached}")
    if calls < 2:
        raise Failed(load.problem or "hardly a call was answered")
    hundredths = statistics.quantiles(load.waits, n=100)
    figures = Figures(
        rate=calls / load.took,
        p50=hundredths[49] * 1e3,
        p99=hundredths[98] * 1e3,
        cpu=(after.cpu - before.cpu) / calls * 1e6,
        rss=door.process.rss(),
        others=(after.others - before.others) / (after.at - before.at) / len(CORES[:2]),
        errors=load.errors,
    )
    return figures, load.problem


# All rounds of all rows -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def surroundings() -> Generator[Around]:
    """A folder and the upstreams, for as long as it takes. Whoever asks for them is a caller, and gets their core."""
    with contextlib.ExitStack() as stack:
        stack.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        pin(0, OTHERS)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        few, many = (
            stack.enter_context(target("upstream", folder, OTHERS, *tools)) for tools in ((), (str(MANY_TOOLS),))
        )
        yield Around(folder, few, many)


def in_rounds(rows: Iterable[Row], targets: Mapping[str, Target], pace: Pace) -> Table:
    table: Table = {(row.name, callers): Taken() for row in rows for callers in row.callers}
    with surroundings() as around:
        for number in range(pace.rounds):
            for name, start in targets.items():
                own = [row for row in rows if row.target == name]
                print(f"  round {number + 1} of {pace.rounds}: {name}", file=sys.stderr, flush=True)
                _visit(start, own, Around(_folder(around, name), around.few, around.many), pace, table)
    return table


def _folder(around: Around, name: str) -> Path:
    folder = around.folder / name.replace(" ", "-").replace(",", "")
    folder.mkdir(exist_ok=True)
    return folder


_TROUBLE = (Failed, OSError, ValueError, KeyError, http.client.HTTPException)


def _visit(start: Target, rows: list[Row], around: Around, pace: Pace, table: Table) -> None:
    """Measure one target in all its rows; what goes wrong is noted where it did."""
    measured: set[tuple[str, int]] = set()
    try:
        with start(around) as door:
            for row in rows:
                for callers in row.callers:
                    measured.add((row.name, callers))
                    _note(door, row, callers, pace, table[row.name, callers])
    except _TROUBLE as trouble:
        for row in rows:
            for callers in row.callers:
                if (row.name, callers) not in measured:
                    table[row.name, callers].problems.append(_said(trouble))


def _note(door: Door, row: Row, callers: int, pace: Pace, taken: Taken) -> None:
    seconds = pace.seconds * (pace.slow if row.slow else 1)
    try:
        figures, problem = measure(door, Requests(row.calls, door), seconds, callers, pace.warm_up)
    except _TROUBLE as trouble:
        taken.problems.append(_said(trouble))
        return
    taken.rounds.append(figures)
    if problem:
        taken.problems.append(problem)


def _said(trouble: BaseException) -> str:
    return str(trouble) or type(trouble).__name__
