"""Whether a gateway that has much stays as fast as one that has little: many tools, many rules, a long record.

Four gateways, by turns: one with 10 tools, no rules and an empty record, and three that have a thousand times more of
one of these, or so. 32 callers with the token of an agent call each as fast as it answers, and every tenth call writes.
Then the one with the long record is asked for it over REST: pages by all kinds of filters, from those that fit nearly
everything to those that fit nothing, and an export of a tenth of it.

Goals: at most a tenth fewer calls than with little; 95 of 100 pages within 100 ms; an export of 100,000 activities
within 5 s. Needs Linux, for /proc.
"""

import argparse
import contextlib
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from calling import Calls, Door
from filling import BODY, fill
from interlock.clock import SystemClock
from interlock.core.lifecycle import CallState
from interlock.store.protocol import Activity, ActivityType
from measuring import QUIET, Around, Figures, Pace, Row, Table, Target, in_rounds
from ours import Gateway, gateway, settings, tokens
from processes import OTHERS, Failed, asked, target
from targets import at

CALLERS, MIX = 32, 10
LITTLE = "little"
FALL_GOAL, PAGE_GOAL, EXPORT_GOAL = 0.10, 100.0, 5.0
BETWEEN = 50_000
"""Microseconds from one activity to the next: a million of them are half a day, which no one would remove yet."""
CALLER_TENTHS = 10
"""One caller of so many made the calls that are exported."""
ASKED = 5
"""How often each page is asked for."""
ENDS = (*[CallState.SUCCESS] * 17, CallState.ERROR, CallState.BLOCKED, CallState.DENIED)
CLASSES = ("read-only", "read-only", "write-capable", "read-only", "dangerous")
FILTERS = (
    "", "status=success", "status=error", "status=blocked,denied", "server=server-3", "tool=tool-17",
    "caller=caller-5", "session_id=session-77", "intent_type=write", "safety_class=dangerous", "verdict=deny",
    "since=1h", "until=1h", "since=2h&until=1h", "server=server-3&status=error", "tool=tool-17&verdict=deny",
    "caller=caller-5&tool=tool-17&since=1h", "caller=caller-5&safety_class=dangerous&status=denied",
    "type=approval", "caller=nobody", "tool=no_such_tool&status=success", "session_id=none&verdict=deny",
    "status=timeout", "server=server-3&tool=tool-17&caller=caller-5&intent_type=read",
)  # fmt: skip


def lived(records: int) -> Iterator[Activity]:
    """As many activities as a busy gateway has seen by now."""
    began = SystemClock().now() - records * BETWEEN
    for number in range(records):
        status, safety = ENDS[number % len(ENDS)], CLASSES[number // 7 % len(CLASSES)]
        yield Activity(
            id=f"{number:030x}",
            at=began + number * BETWEEN,
            type=ActivityType.TOOL_CALL,
            status=status,
            body=BODY,
            server=f"server-{number % 7}",
            tool=f"tool-{number % 90}",
            caller=f"caller-{number % CALLER_TENTHS}",
            session_id=f"session-{number % 400}",
            intent_type="read" if safety == "read-only" else "write",
            safety_class=safety,
            verdict="deny" if status in (CallState.BLOCKED, CallState.DENIED) else "allow",
            rule_id="issues",
        )


# Gateways -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """What a gateway has. The record is in `folder`, if there is one."""

    tools: int = 10
    rules: int = 0
    folder: Path | None = None


def sized(size: Size) -> Target:
    @contextlib.contextmanager
    def start(around: Around) -> Generator[Door]:
        folder = size.folder or around.folder
        with (
            target("upstream", around.folder, OTHERS, str(size.tools)) as upstream,
            gateway(folder, settings({"url": at(upstream)}, size.rules)) as ours,
        ):
            (token,) = tokens(ours, 1)
            yield Door(ours.process, upstream, headers={"Authorization": f"Bearer {token}"})

    return start


# Pages and exports ----------------------------------------------------------------------------------------------


def paged(ours: Gateway) -> dict[str, list[float]]:
    """The milliseconds of each page, by its filter, asked for by turns."""
    waits: dict[str, list[float]] = {wanted: [] for wanted in FILTERS}
    for wanted in itertools.chain.from_iterable(itertools.repeat(FILTERS, ASKED)):
        began = time.perf_counter()
        _read(ours, f"/api/v1/activity?{wanted}")
        waits[wanted].append((time.perf_counter() - began) * 1e3)
    return waits


def exported(ours: Gateway, records: int) -> float:
    """The seconds of an export of a tenth."""
    began = time.perf_counter()
    lines = _read(ours, "/api/v1/activity/export?caller=caller-3").count(b"\n")
    if lines != records // CALLER_TENTHS:
        raise Failed(f"{lines} activities were exported instead of {records // CALLER_TENTHS}")
    return time.perf_counter() - began


def _read(ours: Gateway, path: str) -> bytes:
    with asked(ours.process.port, "GET", path, headers=ours.authorised) as answer:
        said = answer.read()
        if answer.status != 200:
            raise Failed(f"{path} was refused: {said[:300]!r}")
        return said


# Report ---------------------------------------------------------------------------------------------------------


def rates(table: Table) -> dict[str, Figures]:
    found: dict[str, Figures] = {}
    for (name, _), taken in table.items():
        if taken.problems or taken.best is None:
            raise Failed(f"{name}: {taken.problems[0]}")
        found[name] = taken.best
    return found


def show(best: dict[str, Figures], waits: dict[str, list[float]]) -> None:
    print("                            calls/s   p50 ms   p99 ms   CPU µs      MiB   : little   others")
    for name, one in best.items():
        said = f"{one.rate:9,.0f} {one.p50:8.2f} {one.p99:8.2f} {one.cpu:8.0f} {one.rss:8.0f}"
        print(f"  {name:22} {said} {one.rate / best[LITTLE].rate:10.2f} {one.others:8.0%}")
    middle = {wanted or "no filter": statistics.median(each) for wanted, each in waits.items()}
    slowest = sorted(middle, key=lambda wanted: -middle[wanted])[:3]
    print(f"  slowest pages: {', '.join(f'{wanted} {middle[wanted]:.1f} ms' for wanted in slowest)}")


def goals(best: dict[str, Figures], waits: dict[str, list[float]], seconds: float) -> dict[str, bool]:
    p95 = statistics.quantiles(itertools.chain.from_iterable(waits.values()), n=20)[18]
    kept = {
        f"{name}: at most {FALL_GOAL:.0%} fewer calls; {1 - one.rate / best[LITTLE].rate:.1%}": one.rate
        >= (1 - FALL_GOAL) * best[LITTLE].rate
        for name, one in best.items()
        if name != LITTLE
    }
    return {
        **kept,
        f"a page within {PAGE_GOAL:g} ms, p95; {p95:.1f} ms": p95 <= PAGE_GOAL,
        f"an export of a tenth within {EXPORT_GOAL:g} s; {seconds:.2f} s": seconds <= EXPORT_GOAL,
        "the machine was left to the measurement": all(each.others <= QUIET for each in best.values()),
    }


def measured(folder: Path, records: int, pace: Pace) -> tuple[Table, dict[str, list[float]], float]:
    print(f"  filling the record with {records:,} activities", file=sys.stderr, flush=True)
    fill(folder / "data", lived(records))
    sizes = {
        LITTLE: Size(),
        "10,000 tools": Size(tools=10_000),
        "1,000 rules": Size(rules=1_000),
        f"{records:,} activities": Size(folder=folder),
    }
    calls = Calls(writes_every=MIX, declared=True)
    rows = tuple(Row(name, name, calls, (CALLERS,)) for name in sizes)
    # Before anybody calls, so that as many are there as were written.
    with gateway(folder, settings({"url": "http://127.0.0.1:9/mcp", "enabled": False}, 0)) as ours:
        waits, seconds = paged(ours), exported(ours, records)
    return in_rounds(rows, {name: sized(size) for name, size in sizes.items()}, pace), waits, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description="Whether a gateway that has much is as fast as one that has little.")
    parser.add_argument("--quick", action="store_true", help="only whether everything works")
    parser.add_argument("--records", type=int, metavar="N", help="1,000,000, or 20,000 for a quick run")
    wanted = parser.parse_args()
    pace = Pace(0.3, 1) if wanted.quick else Pace(2.0, 5, warm_up=1.0)
    records = wanted.records or (20_000 if wanted.quick else 1_000_000)
    with tempfile.TemporaryDirectory() as temporary:
        table, waits, seconds = measured(Path(temporary), records, pace)
    best = rates(table)
    print(f"scale: {CALLERS} callers, best of {pace.rounds} interleaved rounds of {pace.seconds:g} s")
    show(best, waits)
    judged = goals(best, waits, seconds)
    for goal, reached in judged.items():
        print(f"  goal {'reached' if reached else 'MISSED'}: {goal}")
    return 0 if all(judged.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
