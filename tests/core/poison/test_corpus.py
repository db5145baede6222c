"""How much of the corpus the scan sees, by technique, and how often it is wrong about honest tools.

The first files were written by the same hand as the patterns, so their figures are no promise about attacks that nobody
has thought of here. `paraphrased.jsonl` says why: at first sight of its two halves the patterns found 10 of 44 and 9 of
30, before they were widened. Of writers that neither the patterns nor the reader know, the scan finds a good half; the
one that is held back says so each time, and docs/decisions has the others.
"""

from collections import Counter

import pytest

from interlock.core.model import Json
from interlock.core.poison.scan import scan
from tests.core.poison.corpus_reading import HELD_BACK, WRITERS, Row, rows, tools

RECALL, FALSE_ALARMS = 0.95, 0.01
UNSEEN_RECALL, UNSEEN_FALSE_ALARMS = 0.55, 0.02
"""What was measured, rounded: far from the goal above, and told so in docs/decisions."""
LEARNED = 0.92
"""What is found of what was learned; more writers would lower it, and raise what is found of others."""
EVERY = 12
"""One definition of so many is enough to see whether the weights are those that were learned."""


def is_stopped(row: Row) -> bool:
    return any(each.hard for each in scan(row.tool))


def table(found: Counter[str], of: Counter[str]) -> str:
    return "\n".join(f"{technique:14} {found[technique]:4} of {of[technique]:4}" for technique in of)


@pytest.mark.parametrize(("file", "least"), [("poisoned", RECALL), ("held_back", RECALL), ("paraphrased", 0.85)])
def test_poisoned_tools_are_stopped(file: str, least: float) -> None:
    corpus = rows(file)
    found = Counter(each.technique for each in corpus if is_stopped(each))

    assert found.total() / len(corpus) >= least, table(found, Counter(each.technique for each in corpus))


def test_the_corpus_is_large_enough_to_say_something() -> None:
    poisoned, held_back = rows("poisoned"), rows("held_back")

    assert len(poisoned) + len(held_back) >= 150
    assert len(held_back) / len(poisoned + held_back) >= 0.28
    assert len(rows("benign")) >= 400


def test_honest_tools_pass() -> None:
    corpus = rows("benign")
    stopped = [f"{each.name}: {each.text}" for each in corpus if is_stopped(each)]

    assert len(stopped) / len(corpus) <= FALSE_ALARMS, "\n".join(stopped)


# Writers who had not seen the scan ----------------------------------------------------------------------------


def share_stopped(given: list[dict[str, Json]]) -> float:
    return sum(any(sign.hard for sign in scan(each)) for each in given) / len(given)


@pytest.mark.parametrize("writer", HELD_BACK)
def test_of_a_writer_that_was_held_back_a_good_half_is_found(writer: str) -> None:
    assert share_stopped(tools(writer, "poisoned")) >= UNSEEN_RECALL
    assert share_stopped(tools(writer, "benign")) <= UNSEEN_FALSE_ALARMS


def test_what_was_learned_is_known() -> None:
    learned = [each for each in WRITERS if each not in HELD_BACK]
    poisoned, honest = ([tool for each in learned for tool in tools(each, side)] for side in ("poisoned", "benign"))

    assert share_stopped(poisoned[::EVERY]) >= LEARNED
    assert share_stopped(honest[::EVERY]) <= FALSE_ALARMS
