"""Which trace a request belongs to."""

import pytest

from interlock.core.model import Json
from interlock.receive.traced import Traced
from tests.fakes import FakeClock

ONE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
OTHER = "00-" + "c" * 32 + "-" + "d" * 16 + "-00"


@pytest.mark.parametrize(
    ("meta", "headers", "expected"),
    [
        ({"traceparent": ONE}, {}, ("a" * 32, "b" * 16, True)),
        ({}, {"traceparent": OTHER}, ("c" * 32, "d" * 16, False)),
        ({"traceparent": ONE}, {"traceparent": OTHER}, ("a" * 32, "b" * 16, True)),
        ({"traceparent": "none"}, {"traceparent": OTHER}, ("c" * 32, "d" * 16, False)),
        ("no object", {"traceparent": OTHER}, ("c" * 32, "d" * 16, False)),
    ],
)
def test_the_word_of_the_client_comes_before_that_of_the_connection(
    meta: Json, headers: dict[str, str], expected: tuple[str, str, bool]
) -> None:
    found = Traced(FakeClock(), goes_on=False)(meta, headers)

    assert (found.trace_id, found.parent, found.sampled) == expected
    assert found.span_id not in expected


def test_a_request_that_names_none_begins_one_of_its_own() -> None:
    traced = Traced(FakeClock(7), goes_on=True)
    one, other = traced(None, {}), traced(None, {})

    assert (one.parent, one.sampled, one.received, one.goes_on) == (None, True, 7, True)
    assert one.trace_id != other.trace_id
    assert one.span_id != other.span_id
