"""Values as rows and back, and the cursor of the list."""

import contextlib
import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from interlock.core.drift import Reviewed, definition_of
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, OperationType
from interlock.store.protocol import Activity, ActivityType
from interlock.store.rows import (
    activity_of,
    cursor_of,
    nearest_integer,
    place_of,
    record_of,
    reviewed_of,
    reviewed_row,
    storable,
    token_of,
    token_row,
)
from tests.core.strategies import json_values
from tests.store.examples import NOW, activity, token

WORDS = st.one_of(st.none(), st.text(max_size=4))
ACTIVITIES = st.builds(
    Activity,
    id=st.text(max_size=4),
    at=st.integers(-(2**63), 2**63 - 1),
    type=st.sampled_from(ActivityType),
    status=st.sampled_from(CallState),
    body=st.dictionaries(st.text(max_size=3), json_values, max_size=3),
    server=WORDS,
    tool=WORDS,
    caller=WORDS,
    session_id=WORDS,
    workspace=WORDS,
    intent_type=WORDS,
    safety_class=WORDS,
    verdict=WORDS,
    rule_id=WORDS,
    approval_id=WORDS,
)


@given(ACTIVITIES)
def test_an_activity_comes_back_as_it_was(given_activity: Activity) -> None:
    assert activity_of(record_of(given_activity).row) == given_activity


@given(ACTIVITIES)
def test_the_text_of_the_entry_tells_all_of_the_activity(given_activity: Activity) -> None:
    text = record_of(given_activity).text

    assert json.loads(text) == structs.asdict(given_activity)


def test_equal_bodies_have_equal_texts() -> None:
    assert (
        record_of(activity(1, a=1, b=[{"d": 2, "c": 3}])).text == record_of(activity(1, b=[{"c": 3, "d": 2}], a=1)).text
    )


def test_words_of_an_enumeration_become_plain_text() -> None:
    written = Activity("a", NOW, ActivityType.SYSTEM, CallState.ERROR, {}, intent_type=OperationType.WRITE)

    assert {type(value) for value in record_of(written).row} == {str, int, type(None)}


@pytest.mark.parametrize("value", ["\ud800", 2**70, -(2**70), [{"\udfff": None}], 1e300])
def test_a_body_may_hold_any_json(value: Json) -> None:
    written = activity(1, value=value)

    assert activity_of(record_of(written).row) == written


def test_a_value_that_no_column_holds_is_refused() -> None:
    for values in (("\ud800",), (2**63,), ("a", -(2**63) - 1)):
        with pytest.raises(ValueError, match=r"surrogates|64 bits"):
            storable(values)
    with pytest.raises(ValueError, match="surrogates"):
        record_of(Activity("a", NOW, ActivityType.SYSTEM, CallState.ERROR, {}, tool="\ud800"))


def test_a_bound_is_moved_to_where_a_column_ends() -> None:
    assert [nearest_integer(each) for each in (-(2**90), -5, 5, 2**90)] == [-(2**63), -5, 5, 2**63 - 1]


def test_a_token_comes_back_as_it_was() -> None:
    assert token_of(token_row(token(1))) == token(1)


@pytest.mark.parametrize(
    "remembered",
    [Reviewed(definition_of('{"name":"x"}')), Reviewed(definition_of("{}"), "f"), Reviewed(None, "f"), Reviewed(None)],
)
def test_what_is_remembered_of_a_tool_comes_back_as_it_was(remembered: Reviewed) -> None:
    server, tool, definition, told = reviewed_row("s", "t", remembered)

    assert (server, tool) == ("s", "t")
    assert isinstance(definition, str | None)
    assert isinstance(told, str | None)
    assert reviewed_of(definition, told) == remembered


def test_a_definition_that_was_tampered_with_is_another_one() -> None:
    assert reviewed_of("\udcff", None) != reviewed_of('{"name":"x"}', None)


@given(st.integers(-(2**63), 2**63 - 1), st.text(max_size=5))
def test_a_cursor_means_the_place_it_was_made_of(at: int, identity: str) -> None:
    made = cursor_of(Activity(identity, at, ActivityType.SYSTEM, CallState.ERROR, {}))

    assert place_of(made) == (at, identity)
    assert made.isascii()


@pytest.mark.parametrize(
    "foreign",
    [
        "",
        "x",
        "!!!!",
        "1:a",
        "MDo=",
        "MDo\n",
        "é",
        "\ud800",
        "KzU6YQ",
        "IDU6YQ",
        "NV8wOmE",
        "/w",
        "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OmE",
    ],
)
def test_a_cursor_that_is_not_ours_is_refused(foreign: str) -> None:
    with pytest.raises(ValueError, match="not a cursor"):
        place_of(foreign)


def test_a_cursor_of_which_one_character_was_changed_is_read_or_refused() -> None:
    made = cursor_of(activity(1))

    for position, letter in product(range(len(made)), "A_-=é"):
        with contextlib.suppress(ValueError):
            place_of(made[:position] + letter + made[position + 1 :])
