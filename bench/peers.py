"""Interlock side by side with other gateways: calls per second, waits, CPU and memory, all of one run.

Every target is visited in every round, with 32 callers and with one, in each era of the protocol that it speaks. Ours
does its whole work: 1,000 rules, a server with 1,000 tools, tokens, and a record of every call; every tenth call of the
mix writes. The peers have two tools behind them and do what they do. Further rows show large calls, streams and
progress. A peer that fails is a row that says so; a wrong answer of ours, or of the upstream itself, fails the run.

Goals are in `results.py`. A full run writes `RESULTS.md`; `--quick` shows that everything works, and nothing more.
Needs Linux, for /proc, and what `make bench` installs.
"""

import argparse
import sys
from collections.abc import Iterator

import peer_targets
from calling import LEGACY, Calls
from measuring import Pace, Row, Target, in_rounds
from processes import HERE
from results import conditions, judged, report, tables
from targets import direct, direct_sse, full, full_sse, full_stdio, script
from upstream import MODERN

MIX = 10
"""Every so-manieth call of the mix writes."""
ERAS = {MODERN: "", LEGACY: ", legacy"}
MANY, BOTH = (32,), (32, 1)
SIZES = {
    "10 kB of words": (10_000, True),
    "10 kB in one word": (10_000, False),
    "1 MB of words": (1_000_000, True),
    "1 MB in one word": (1_000_000, False),
}
PACE, QUICK = Pace(2.0, 3, warm_up=1.0), Pace(0.3, 1, warm_up=0.2, slow=2.0)
TARGETS: dict[str, Target] = {
    "direct": direct,
    "direct, SSE": direct_sse,
    "bare": script("bare"),
    "ours": full(),
    "ours, record.wait all": full(record={"wait": "all"}),
    "ours, stdio upstream": full_stdio(),
    "ours, SSE upstream": full_sse,
    "sdk": script("sdk"),
    **peer_targets.TARGETS,
}
OWN = ("direct", "bare", "ours")
"""How the names of those begin of which no answer may be wrong."""
ONE_ERA = ("mcp-proxy (PyPI)", "contextforge")
"""Peers that do not speak 2026-07-28."""
SLOW = ("fastmcp", "contextforge")
NAMES = {"contextforge": "up-get-echo"}
"""How a peer calls the tool, where it does not keep its name."""


def rows() -> tuple[Row, ...]:
    return (*_base(), *_peers(), *_further())


def _base() -> Iterator[Row]:
    """The upstream itself, what a bare proxy costs, and ours."""
    for version, era in ERAS.items():
        for name in ("direct", "bare"):
            yield Row(name + era, name, Calls(version), BOTH)
        for name in ("ours", "ours, record.wait all", "ours, stdio upstream"):
            yield Row(name + era, name, Calls(version, writes_every=MIX, declared=True), BOTH)
        yield Row("ours, read-only" + era, "ours", Calls(version, declared=True), BOTH)


def _peers() -> Iterator[Row]:
    for name in ("sdk", *peer_targets.TARGETS):
        for version, era in ERAS.items():
            if version == LEGACY or name not in ONE_ERA:
                # In the newer era supergateway starts a process for each call.
                slow = name in SLOW or (name == "supergateway" and version == MODERN)
                calls = Calls(version, NAMES[name]) if name in NAMES else Calls(version)
                yield Row(name + era, name, calls, BOTH, slow=slow)


def _further() -> Iterator[Row]:
    yield Row("direct, SSE", "direct, SSE", Calls(), MANY)
    yield Row("ours, SSE upstream", "ours, SSE upstream", Calls(writes_every=MIX, declared=True), MANY)
    yield Row("ours, progress tokens", "ours", Calls(writes_every=MIX, declared=True, progress=True), MANY)
    # Last, because what they make a target hold shows in the memory of the rows after them.
    for said, (size, words) in SIZES.items():
        for name in OWN:
            yield Row(f"{name}, {said}", name, Calls(size=size, words=words, declared=name == "ours"), MANY)


def main() -> int:
    parser = argparse.ArgumentParser(description="Interlock side by side with other gateways.")
    parser.add_argument("--quick", action="store_true", help="only whether everything works; writes no RESULTS.md")
    parser.add_argument("--seconds", type=float, default=PACE.seconds, metavar="N", help="of each row in each round")
    parser.add_argument("--rounds", type=int, default=PACE.rounds, metavar="N")
    parser.add_argument("--only", default="", metavar="A;B", help="these targets, beside direct")
    wanted = parser.parse_args()
    pace = QUICK if wanted.quick else Pace(wanted.seconds, wanted.rounds, PACE.warm_up)
    chosen = {name: each for name, each in TARGETS.items() if _is_wanted(name, wanted.only)}
    measured = tuple(row for row in rows() if row.target in chosen)
    table = in_rounds(measured, chosen, pace)
    verdicts = judged(measured, table, OWN, peer_targets.TARGETS)
    text = report(conditions(pace, table), tables(measured, table), verdicts)
    print(text)
    if not wanted.quick and not wanted.only:
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
    return 0 if all(each.reached for each in verdicts) else 1


def _is_wanted(name: str, only: str) -> bool:
    return not only or name in ("direct", *only.split(";"))


if __name__ == "__main__":
    sys.exit(main())
