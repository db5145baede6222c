"""The statements: each is valid, and the list never reads more than it gives."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from interlock.core.lifecycle import CallState
from interlock.store import approval_queries, queries
from interlock.store.protocol import ActivityFilter, ActivityType
from interlock.store.queries import counting, listing
from interlock.store.rows import cursor_of
from interlock.store.sqlite import connect, prepare
from tests.store.examples import NOW, TickingClock, activity

STATEMENTS = {
    name: value for name, value in vars(queries).items() if name.isupper() and name[0] != "_" and isinstance(value, str)
}
CURSOR = cursor_of(activity(1))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("queries") / "interlock.db"
    prepare(path, TickingClock(), patience=1)
    with closing(connect(path, patience=1)) as opened:
        yield opened


def plan(connection: sqlite3.Connection, wanted: ActivityFilter) -> list[str]:
    sql, values = listing(wanted, 51)
    return [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_statement_is_valid(connection: sqlite3.Connection, name: str) -> None:
    sql = STATEMENTS[name]

    connection.execute(f"EXPLAIN {sql}", (None,) * sql.count("?"))


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (ActivityFilter(), "activity_at"),
        (ActivityFilter(types=(ActivityType.SYSTEM,)), "activity_type"),
        (ActivityFilter(types=(ActivityType.SYSTEM, ActivityType.APPROVAL)), "activity_type"),
        (ActivityFilter(statuses=(CallState.ERROR,)), "activity_status"),
        (ActivityFilter(statuses=tuple(CallState)), "activity_status"),
        (ActivityFilter(server="a"), "activity_server"),
        (ActivityFilter(tool="a"), "activity_tool"),
        (ActivityFilter(caller="a"), "activity_caller"),
        (ActivityFilter(session_id="a"), "activity_session"),
        (ActivityFilter(intent_type="a"), "activity_intent"),
        (ActivityFilter(safety_class="a"), "activity_class"),
        (ActivityFilter(verdict="a"), "activity_verdict"),
        (ActivityFilter(server="a", session_id="b", verdict="c", types=tuple(ActivityType)), "activity_session"),
        (ActivityFilter(types=tuple(ActivityType), statuses=tuple(CallState)), "activity_status"),
        (ActivityFilter(types=(ActivityType.TOOL_CHANGE,), server="a", tool="b"), "activity_type"),
        (ActivityFilter(types=(ActivityType.TOOL_CHANGE,), session_id="a"), "activity_session"),
    ],
)
@pytest.mark.parametrize("bounds", [{}, {"since": NOW}, {"until": NOW}, {"since": NOW, "until": NOW, "cursor": CURSOR}])
def test_a_list_comes_out_of_one_index_in_its_final_order(
    connection: sqlite3.Connection, wanted: ActivityFilter, index: str, bounds: dict[str, Any]
) -> None:
    steps = plan(connection, replace(wanted, **bounds))
    readings = [step for step in steps if "activity" in step]

    assert readings
    assert all(f"USING INDEX {index}" in step for step in readings)
    assert "USE TEMP B-TREE FOR ORDER BY" not in steps
    assert all(("at>?" in step) == ("since" in bounds) for step in readings)
    assert all(("at<?" in step) == ("until" in bounds) for step in readings)


def test_no_word_of_a_filter_becomes_sql() -> None:
    word = "'; DROP TABLE entry; --"
    sql, values = listing(ActivityFilter(server=word, tool=word, caller=word, session_id=word, verdict=word), 1)

    assert "DROP" not in sql
    assert sum(word in str(value) for value in values) == 5


# Counting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "index"), [("CALLS_BY_RULE", "activity_rule"), ("DONE_BY_CALLER", "activity_caller")])
def test_calls_are_counted_in_an_index_and_no_row_is_read(
    connection: sqlite3.Connection, name: str, index: str
) -> None:
    steps = [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {STATEMENTS[name]}", (1, NOW))]
    readings = [step for step in steps if "activity" in step]

    assert len(readings) > 3
    assert all(f"SEARCH activity USING COVERING INDEX {index}" in step for step in readings)


def test_the_figures_of_calls_come_out_of_the_index_of_the_type(connection: sqlite3.Connection) -> None:
    calls = ActivityFilter(types=(ActivityType.TOOL_CALL, ActivityType.POLICY_DECISION), since=NOW, until=NOW + 1)
    sql, values = counting(calls, 60, 100)
    steps = [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    readings = [step for step in steps if "SEARCH activity" in step]

    assert len(readings) == 2
    assert all("USING COVERING INDEX activity_type (type=? AND at>? AND at<?)" in step for step in readings)


def test_the_last_approved_call_of_a_tool_is_found_by_one_step(connection: sqlite3.Connection) -> None:
    statement = f"EXPLAIN QUERY PLAN {approval_queries.LAST_APPROVED}"
    steps = [step for *_, step in connection.execute(statement, ("a", "b", NOW, "c"))]

    assert len(steps) == 1
    assert "USING INDEX approval_tool" in steps[0]
    assert "decided_at<?" in steps[0]
