"""Values as rows and back, and the cursor of the list."""

import contextlib
import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from interlock.core.drift import Reviewed, definition_of, definitions
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, OperationType
from interlock.core.redact import KnownSecrets
from interlock.store.protocol import Activity, ActivityType
from interlock.store.rows import (
    LOOKED_AT,
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
from tests.issued import one_of_each
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


# Secrets ----------------------------------------------------------------------------------------------------------
SECRET = one_of_each(1)[-1]
LATER = [each for each in ActivityType if each not in LOOKED_AT]


@pytest.mark.parametrize("kind", LATER)
def test_whatever_is_told_beside_calls_becomes_a_row_without_a_secret(kind: ActivityType) -> None:
    body: dict[str, Json] = {"reason": SECRET.text, "problems": [SECRET.text], "scope": {"deep": {"api_key": "x-y-z"}}}
    told = Activity("a", NOW, kind, CallState.SUCCESS, body, server=SECRET.text, tool=f"x {SECRET.text}")

    record = record_of(told)

    assert SECRET.body not in repr(record)
    assert "x-y-z" not in repr(record)


def test_what_the_gateway_holds_itself_becomes_no_row_either() -> None:
    told = Activity("a", NOW, ActivityType.SYSTEM, CallState.SUCCESS, {"detail": "said swordfish-swordfish"})

    assert "swordfish" not in repr(record_of(told, KnownSecrets(["swordfish-swordfish"])))


def test_our_own_names_hide_nothing_though_they_sound_secret() -> None:
    told = Activity("a", NOW, ActivityType.TOKEN_CHANGE, CallState.SUCCESS, {"token": "t1", "request_session_id": "s"})

    assert activity_of(record_of(told).row) == told


def test_a_definition_is_kept_without_its_secrets_and_is_still_the_same() -> None:
    plain = {"name": "a", "inputSchema": {"properties": {"password": {"type": "string"}}}}
    for descriptor in (plain, {**plain, "description": f"use {SECRET.text}"}):
        (each,) = definitions([descriptor]).values()
        *_, kept, told = reviewed_row("s", "a", Reviewed(each, "told"))

        assert SECRET.body not in str(kept)
        assert '"password":{"type":"string"}' in str(kept)
        assert reviewed_of(str(kept), str(told)) == Reviewed(each, "told")


def test_a_definition_with_another_secret_is_another_one() -> None:
    one, other = (definitions([{"name": "a", "description": each.text}])["a"] for each in one_of_each(2)[:2])

    assert reviewed_of(str(reviewed_row("s", "a", Reviewed(one))[2]), None) != Reviewed(other)
