"""The command line comes before the configuration, and the configuration before the defaults."""

from datetime import timedelta

import pytest

from interlock.cli.lab.options import knobs_of
from interlock.config.tree import Lab
from interlock.lab.run import Knobs
from tests.cli.lab.places import values_of

CONFIGURED = Lab(execute_destructive=True, max_calls=7, concurrency=3, call_delay=timedelta(milliseconds=250))


def test_without_anything_the_knobs_are_the_promised_defaults() -> None:
    assert knobs_of(values_of("it"), Lab()) == Knobs(
        execute_destructive=False, strict=False, max_calls=None, concurrency=2, call_delay=0.1, timeout=10.0, seed=0
    )


def test_the_configuration_counts_where_the_command_line_says_nothing() -> None:
    knobs = knobs_of(values_of("it"), CONFIGURED)
    assert (knobs.execute_destructive, knobs.max_calls, knobs.concurrency, knobs.call_delay) == (True, 7, 3, 0.25)


def test_the_command_line_comes_first() -> None:
    words = "it --max-calls 9 --concurrency 5 --call-delay 0 --timeout 2.5 --seed 4 --strict --execute-destructive"
    assert knobs_of(values_of(*words.split()), CONFIGURED) == Knobs(True, True, 9, 5, 0.0, 2.5, 4)


@pytest.mark.parametrize(
    "word",
    "--max-calls=0 --max-calls=x --concurrency=0 --call-delay=-1 --timeout=0 --timeout=nan --timeout=1e9".split(),
)
def test_a_knob_that_makes_no_sense_is_refused(word: str) -> None:
    with pytest.raises(SystemExit):
        values_of("it", word)
