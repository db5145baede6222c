"""What a run of `peers.py` showed, as a page: under which conditions, the figures, and which goals were reached.

A goal that could not be judged, because a row it needs is missing, is missed. Ratios are taken within one era of the
protocol where both sides speak it, and of the eras the one counts that is worse for us; against the fastest peer our
slower era counts. No path of this machine gets onto the page.
"""

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from measuring import QUIET, Figures, Pace, Row, Table, Taken
from peer_targets import NPM, PEERS
from processes import CORES

MANY, ONE = 32, 1
ERAS = ("", ", legacy")
FASTEST, SDK, FORGE, FASTEST_WAITING = 5.0, 20.0, 300.0, 2.0
CPU, ADDED, BARE, STDIO = 150.0, 0.6, 0.5, 1.5
SHOWN = 160
"""So much of what went wrong is shown in a row."""


@dataclass(frozen=True)
class Verdict:
    goal: str
    wanted: str
    seen: str
    reached: bool

    def line(self) -> str:
        return f"| {self.goal} | {self.wanted} | {self.seen} | {'reached' if self.reached else 'MISSED'} |"


# Goals ----------------------------------------------------------------------------------------------------------


def judged(rows: Iterable[Row], table: Table, own: tuple[str, ...], peers: Iterable[str]) -> list[Verdict]:
    """A verdict for each goal, and for what must hold so that the figures mean anything."""
    best = {key: each for key, taken in table.items() if (each := taken.best) is not None}
    names = [row.name for row in rows if row.target == "sdk" or row.target in set(peers)]
    measured = {name: best[name, MANY].rate for name in names if (name, MANY) in best}
    fastest = max(measured, key=lambda name: measured[name], default="no peer")
    against = _Against(best)
    return [
        against.rival("90 % read-only mix, default settings", "ours", fastest, FASTEST),
        against.eras("90 % read-only mix, default settings", "sdk", SDK),
        against.rival("90 % read-only mix, default settings", "ours", "contextforge, legacy", FORGE),
        against.rival("every call on disk before it is sent (`record.wait: all`)", "ours, record.wait all", fastest,
                      FASTEST_WAITING),
        against.cpu(),
        against.added(),
        against.eras("ours : bare pass-through", "bare", BARE),
        against.stdio(),
        _errors(table, own),
        _quiet(best),
    ]  # fmt: skip


class _Against:
    """Verdicts about the best figures."""

    def __init__(self, best: dict[tuple[str, int], Figures]) -> None:
        self._best = best

    def _worst(self, of: Callable[[str], float], highest: bool = False) -> float | None:
        """The worst of both eras, if both were measured."""
        try:
            return (max if highest else min)(of(era) for era in ERAS)
        except KeyError:
            return None

    def rival(self, goal: str, ours: str, rival: str, times: float) -> Verdict:
        rate = self._worst(lambda era: self._best[ours + era, MANY].rate)
        other = self._best.get((rival, MANY))
        wanted = f"at least {times:g} times {rival}"
        if rate is None or other is None:
            return Verdict(goal, wanted, "not measured", reached=False)
        seen = f"{rate / other.rate:.1f} times: {rate:,.0f} and {other.rate:,.0f} calls/s"
        return Verdict(goal, wanted, seen, rate >= times * other.rate)

    def eras(self, goal: str, rival: str, times: float) -> Verdict:
        """Within each era."""
        ratio = self._worst(lambda era: self._best["ours" + era, MANY].rate / self._best[rival + era, MANY].rate)
        wanted = f"at least {times:g} times {rival}"
        if ratio is None:
            return Verdict(goal, wanted, "not measured", reached=False)
        rates = ", ".join(
            f"{self._best['ours' + era, MANY].rate:,.0f} and {self._best[rival + era, MANY].rate:,.0f}" for era in ERAS
        )
        return Verdict(goal, wanted, f"{ratio:.2g} times: {rates} calls/s", ratio >= times)

    def cpu(self) -> Verdict:
        used = self._worst(lambda era: self._best["ours" + era, MANY].cpu, highest=True)
        return _at_most("CPU for a call of the mix", CPU, used, "µs", ".0f")

    def added(self) -> Verdict:
        def more(era: str) -> float:
            return self._best["ours, read-only" + era, ONE].p50 - self._best["direct" + era, ONE].p50

        return _at_most("1 caller, read-only: p50 over direct", ADDED, self._worst(more, highest=True), "ms", ".2f")

    def stdio(self) -> Verdict:
        def slower(era: str) -> float:
            return self._best["ours" + era, MANY].rate / self._best["ours, stdio upstream" + era, MANY].rate

        worst = self._worst(slower, highest=True)
        return _at_most("upstream over stdio: how much slower than over HTTP", STDIO, worst, "times", ".2f")


def _at_most(goal: str, most: float, seen: float | None, unit: str, form: str) -> Verdict:
    wanted = f"at most {most:g} {unit}"
    if seen is None:
        return Verdict(goal, wanted, "not measured", reached=False)
    return Verdict(goal, wanted, f"{seen:{form}} {unit}", seen <= most)


def _errors(table: Table, own: tuple[str, ...]) -> Verdict:
    rows = [(name, taken.problems) for (name, _), taken in table.items() if name.startswith(own)]
    wrong = [f"{name}: {problem}" for name, problems in rows for problem in problems]
    seen = _plain(wrong[0]) if wrong else "all right"
    return Verdict("every answer of ours, of bare and of the upstream is right", "no error", seen, not wrong)


def _quiet(best: dict[tuple[str, int], Figures]) -> Verdict:
    most = max((each.others for each in best.values()), default=1.0)
    wanted, seen = f"others use at most {QUIET:.0%} of the cores", f"{most:.0%} in the best round of the busiest row"
    return Verdict("the machine was left to the measurement", wanted, seen, most <= QUIET)


# Conditions -----------------------------------------------------------------------------------------------------


def conditions(pace: Pace, table: Table) -> list[str]:
    others = [each.others for taken in table.values() for each in taken.rounds] or [0.0]
    return [
        f"Day: {time.strftime('%Y-%m-%d')}. Rounds: {pace.rounds}, interleaved, of {pace.seconds:g} s for each row, "
        f"for slow peers {pace.seconds * pace.slow:g} s, after {pace.warm_up:g} s to warm up; the best of each figure.",
        f"Machine: {len(CORES)} cores, {_processor()}, kernel {platform.release()}. What is measured has the first "
        "core; the upstream and the callers share the second.",
        f"Python {platform.python_version()}, node {_said_by('node', '--version')}. {', '.join(_versions())}.",
        f"Others used {statistics.median(others):.0%} of the two cores in the middle, {max(others):.0%} at most; load "
        f"at the end {os.getloadavg()[0]:.1f}.",
        "Ours: 1,000 rules, a server with 1,000 tools, tokens and the record on. Peers: two tools, no rules.",
    ]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _said_by(*argv: str) -> str:
    found = shutil.which(argv[0])
    if found is None:
        return "absent"
    return subprocess.run([found, *argv[1:]], capture_output=True, text=True, check=False).stdout.strip()


def _versions() -> Iterable[str]:
    """Of the SDK, and of the peers as they lie in their folders."""
    yield f"mcp {metadata.version('mcp')}"
    for package in ("fastmcp", "mcp_proxy", "mcp_contextforge_gateway"):
        for each in PEERS.glob(f"*/lib/*/site-packages/{package}-*.dist-info"):
            yield each.name.removesuffix(".dist-info").replace("-", " ").replace("_", "-")
    for package in ("mcp-proxy", "supergateway", "mcp-remote"):
        described = json.loads((NPM / package / "package.json").read_text(encoding="utf-8"))
        yield f"{package} (npm) {described['version']}"


# The page -------------------------------------------------------------------------------------------------------


def tables(rows: Iterable[Row], table: Table) -> list[str]:
    """One table for each number of callers."""
    return [_table([row for row in rows if callers in row.callers], table, callers) for callers in (MANY, ONE)]


def _table(rows: list[Row], table: Table, callers: int) -> str:
    direct = table["direct", callers].best
    head = (
        f"## {callers} caller{'s' if callers > 1 else ''}\n\n"
        "| target | era | calls/s | : direct | p50 ms | p99 ms | CPU µs/call | MiB | errors |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|---:|\n"
    )
    return head + "".join(_line(row, table[row.name, callers], direct) for row in rows)


def _line(row: Row, taken: Taken, direct: Figures | None) -> str:
    name, best = f"| {row.name.removesuffix(ERAS[1])} | {row.calls.version} |", taken.best
    if best is None:
        return f"{name} failed: {_plain(taken.problems[0])} |\n"
    ratio = f"{best.rate / direct.rate:.3f}" if direct else "-"
    figures = f" {best.rate:,.0f} | {ratio} | {best.p50:.2f} | {best.p99:.2f} | {best.cpu:,.0f} | {best.rss:.0f} |"
    errors = f"{best.errors}: {_plain(taken.problems[0])}" if taken.problems else f"{best.errors}"
    return f"{name}{figures} {errors} |\n"


def _plain(problem: str) -> str:
    """What went wrong, fit for a cell: how it begins, how it ends, and without the paths of this machine."""
    said = re.sub(r"(/[\w.@+-]+)+/", "…/", problem.replace("|", "/"))
    return said if len(said) <= SHOWN else f"{said[: SHOWN // 3]} … {said[-SHOWN // 3 * 2 :]}"


def report(circumstances: list[str], shown: list[str], verdicts: list[Verdict]) -> str:
    goals = ["## Goals\n", "| goal | wanted | seen | |", "|---|---|---|---|", *(each.line() for each in verdicts)]
    said = "\n".join(f"- {each}" for each in circumstances)
    return "\n".join((_TITLE, said, "", *goals, "", *shown))


_TITLE = """# Side by side with other gateways

Written by `bench/peers.py`, which `make bench` runs. Compare only figures of one run: ratios and CPU for a call travel
from machine to machine, calls per second do not. Nothing compiled (Rust, Go) was measured.
"""
