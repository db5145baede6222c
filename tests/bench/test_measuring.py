"""Rounds over real targets: one that fails is told of, and the others are measured."""

import contextlib
import os
from collections.abc import Generator

from calling import LEGACY, Calls, Door
from measuring import Around, Pace, Row, in_rounds
from processes import Failed
from targets import direct, direct_sse, script

QUICK = Pace(0.05, 2, warm_up=0.01)


@contextlib.contextmanager
def broken(around: Around) -> Generator[Door]:
    raise Failed("there is no such command")
    yield Door(around.few)


def test_a_target_that_does_not_start_says_so_in_its_row_and_the_others_are_measured() -> None:
    rows = (Row("direct", "direct"), Row("broken", "broken"), Row("events", "direct, SSE", callers=(2,)))
    before = os.sched_getaffinity(0)

    table = in_rounds(rows, {"broken": broken, "direct": direct, "direct, SSE": direct_sse}, QUICK)

    assert table["broken", 1].problems == ["there is no such command"] * QUICK.rounds
    assert table["broken", 1].best is None
    for key in (("direct", 1), ("direct", 32), ("events", 2)):
        assert table[key].problems == []
        assert len(table[key].rounds) == QUICK.rounds
    assert os.sched_getaffinity(0) == before


def test_a_proxy_is_measured_in_both_eras_and_the_upstream_counts_its_calls() -> None:
    rows = (Row("bare", "bare", callers=(2,)), Row("bare, legacy", "bare", Calls(LEGACY), (2,)))

    table = in_rounds(rows, {"bare": script("bare")}, QUICK)

    assert [taken.problems for taken in table.values()] == [[], []]
    assert all(best.rate > 0 and best.rss > 1 for taken in table.values() if (best := taken.best))
