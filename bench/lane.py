"""What a call costs on its way through Interlock, against no proxy, a bare one, and that of the official SDK.

32 callers over kept connections send as fast as they are answered, to one target after the other, in rounds; the best
of each figure is compared, because other work shares the machine. Every request has an id and a text of its own, every
answer must be the one to it, and the upstream must have counted as many calls as were answered. Ratios are of calls per
second, and those of the SDK are taken within one era of the protocol.

Goals: at least 10 times as many calls as the SDK's proxy, at most 200 µs of CPU for a call. Needs Linux, for /proc.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from calling import LEGACY, Calls
from measuring import QUIET, Figures, Pace, Row, Table, Taken, in_rounds
from processes import Failed
from targets import direct, plain, script
from upstream import MODERN

CALLERS = 32
RATIO_GOAL, CPU_GOAL = 10.0, 200.0
CLEARLY_FASTER = 1.25
"""How much faster than ours `direct` must be: else the callers were measured, and not the proxy."""
TARGETS = {"direct": direct, "bare": script("bare"), "ours": plain, "sdk": script("sdk")}
ROWS = (
    Row("direct", "direct", callers=(CALLERS,)),
    Row("bare", "bare", callers=(CALLERS,)),
    Row("ours", "ours", Calls(declared=True), (CALLERS,)),
    Row("ours, write", "ours", Calls(declared=True, writes_every=1), (CALLERS,)),
    Row("sdk", "sdk", callers=(CALLERS,)),
    Row("ours, legacy", "ours", Calls(LEGACY, declared=True), (CALLERS,)),
    Row("sdk, legacy", "sdk", Calls(LEGACY), (CALLERS,)),
)


def figures(table: Table) -> dict[str, Figures]:
    """The best of each row. One wrong answer is one too many."""
    return {row.name: _sound(row, table[row.name, CALLERS]) for row in ROWS}


def _sound(row: Row, taken: Taken) -> Figures:
    if taken.problems or taken.best is None:
        raise Failed(f"{row.name}: {taken.problems[0]}")
    return taken.best


def show(best: dict[str, Figures]) -> None:
    print("                   calls/s   p50 ms   p99 ms   CPU µs   : direct    : sdk   others")
    for row in ROWS:
        one, rival = best[row.name], best["sdk" if row.calls.version == MODERN else "sdk, legacy"]
        said = f"{one.rate:9,.0f} {one.p50:8.2f} {one.p99:8.2f} {one.cpu:8.0f}"
        ratios = f"{one.rate / best['direct'].rate:10.2f} {one.rate / rival.rate:8.1f}"
        print(f"  {row.name:14} {said} {ratios} {one.others:7.0%}")


def goals(best: dict[str, Figures]) -> dict[str, str]:
    ours, direct, sdk = best["ours"], best["direct"], best["sdk"]
    quiet = all(each.others <= QUIET for each in (ours, direct, sdk))
    reached = {
        f"at most {CPU_GOAL:g} µs of CPU for a call": ours.cpu <= CPU_GOAL,
        f"at least {RATIO_GOAL:g} times the calls of the SDK's proxy": ours.rate >= RATIO_GOAL * sdk.rate,
        "the callers are not what was measured": direct.rate >= CLEARLY_FASTER * ours.rate,
    }
    judged = {goal: "reached" if is_reached else "MISSED" for goal, is_reached in reached.items()}
    return judged if quiet else {**judged, "the machine was left to the measurement": "MISSED"}


def main() -> int:
    parser = argparse.ArgumentParser(description="What a call costs on its way through Interlock.")
    parser.add_argument("--seconds", type=float, default=1.5, metavar="N", help="of each row in each round")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--quick", action="store_true", help="only whether everything works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round there as well")
    wanted = parser.parse_args()
    pace = Pace(0.3, 1) if wanted.quick else Pace(wanted.seconds, wanted.rounds)
    table = in_rounds(ROWS, TARGETS, pace)
    best = figures(table)
    print(f"lane: {CALLERS} callers, best of {pace.rounds} interleaved rounds of {pace.seconds:g} s")
    show(best)
    judged = goals(best)
    for goal, verdict in judged.items():
        print(f"  goal {verdict}: {goal}")
    if wanted.json is not None:
        rows = {name: [asdict(each) for each in taken.rounds] for (name, _), taken in table.items()}
        wanted.json.write_text(json.dumps({"rounds": rows, "goals": judged}, indent=1), encoding="utf-8")
    return 0 if set(judged.values()) == {"reached"} else 1


if __name__ == "__main__":
    sys.exit(main())
