"""`interlock activity stats`."""

import re

from tests.cli.running import Beside, Interlock


def test_calls_are_counted_in_a_table(il: Interlock, beside: Beside) -> None:
    il("call", "tool-read", "--tool-name", "up:echo", "--json_args", "{}")
    il("call", "tool-read", "--tool-name", "up:none")
    done = il("activity", "stats", "--server", "up")
    rows = [tuple(re.split(r"  +", line)) for line in done.lines]

    assert done.exit == 0
    assert rows[0] == ("BY", "WHAT", "COUNT")
    assert {("status", "success", "1"), ("status", "blocked", "1"), ("server", "up", "2")} <= set(rows)
    assert "2 records from " in done.err


def test_scripts_get_the_series_too(il: Interlock, beside: Beside) -> None:
    done = il("activity", "stats", "--since", "2h", "--json")

    assert len(done.json["series"]) >= 2


def test_where_there_is_nothing_to_count_it_says_so(il: Interlock, beside: Beside) -> None:
    done = il("activity", "stats", "--caller", "nobody")

    assert (done.exit, done.out) == (0, "")
    assert done.err.startswith("0 records from ")


def test_a_question_that_makes_no_sense_is_a_usage_error(il: Interlock, beside: Beside) -> None:
    assert il("activity", "stats", "--since", "soon").exit == 2
