"""A run as JSON."""

import msgspec

from interlock.lab.report.json import json_of
from interlock.lab.run import Run
from tests.lab.runs import a_run, a_run_that_says


def test_a_run_comes_back_from_its_json_as_it_was() -> None:
    assert msgspec.json.decode(json_of(a_run()), type=Run) == a_run()


def test_nothing_in_the_json_can_be_acted_on_by_a_terminal() -> None:
    told = json_of(a_run_that_says("\x1b[31m\u202e\u2028"))

    assert told.isascii()
    assert all(char == "\n" or char.isprintable() for char in told)
