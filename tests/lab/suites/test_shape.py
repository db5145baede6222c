"""The shape of what was seen: everything seen fits it, and what changes from call to call is not pinned."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.lab.suites.shape import MAX_DEPTH, MAX_KEYS, Seen, observe, shape_of

_DRAFT_7 = "http://json-schema.org/draft-07/schema#"
EMPTY: list[Any] = []
_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**14), 10**14),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["2026-11-16T10:00:00Z", "2026-13-45", "2026-11-16 10:00", "12 ms", "PT1S", "a@b.cd", "https://"]),
)
_values = st.recursive(
    _leaves,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from("a b took id".split()), inside),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.lists(_values, max_size=4), st.booleans())
def test_everything_that_was_seen_fits_the_shape(values: list[Any], strict: bool) -> None:
    # The older draft checks formats too.
    check = jsonschema_rs.validator_for({"$schema": _DRAFT_7, **shape_of(values, strict=strict)})

    assert all(check.is_valid(each) for each in values)


@pytest.mark.parametrize(
    ("values", "loose", "strict"),
    [
        ([], {}, {}),
        (["ok", "ok"], {"type": "string"}, {"const": "ok"}),
        (["ok", "no"], {"type": "string"}, {"type": "string"}),
        ([7, 3], {"type": "integer"}, {"type": "integer", "minimum": 3, "maximum": 7}),
        ([3, 1.5], {"type": "number"}, {"type": "number", "minimum": 1.5, "maximum": 3}),
        ([None, None], {"type": "null"}, {"const": None}),
        ([True, 1], {"type": ["boolean", "integer"]}, {"type": ["boolean", "integer"], "minimum": 1, "maximum": 1}),
        (
            [["a"], ["b", "c"]],
            {"type": "array", "items": {"type": "string"}},
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        ),
        ([EMPTY], {"type": "array"}, {"type": "array", "minItems": 0, "maxItems": 0}),
        (["https://example.invalid/a"] * 2, {"type": "string"}, {"const": "https://example.invalid/a"}),
        (["a@example.com", "b@example.com"], {"type": "string"}, {"type": "string", "format": "email"}),
    ],
)
def test_a_shape_is_loose_or_strict(values: list[Any], loose: dict[str, Any], strict: dict[str, Any]) -> None:
    assert shape_of(values) == loose
    assert shape_of(values, strict=True) == strict


def test_a_key_is_required_when_every_object_had_it() -> None:
    assert shape_of([{"a": 1, "b": "x"}, {"a": 2}]) == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a"],
    }


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2026-11-16T10:00:00Z", "date-time"),
        ("2026-11-16T10:00:00.123+01:00", "date-time"),
        ("2026-11-16 10:00:00", "timestamp"),
        ("2026-11-16", "date"),
        ("10:00:00Z", "time"),
        ("10:00", "clock"),
        ("123e4567-e89b-12d3-a456-426614174000", "uuid"),
        ("sha256:" + "0a" * 32, "hash"),
        ("d41d8cd98f00b204e9800998ecf8427e", "hash"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "ulid"),
        ("PT5M3S", "duration"),
        ("12.5 ms", "elapsed"),
    ],
)
def test_texts_that_change_from_call_to_call_are_volatile_and_never_pinned(text: str, form: str) -> None:
    seen = observe([text, text])

    assert (seen.format, seen.volatile) == (form, True)
    assert "const" not in seen.schema(strict=True)


@pytest.mark.parametrize("text", ["2026-13-45", "version 2", "deadbeef", "P", "12 monkeys", "x" * 5_000])
def test_texts_that_only_resemble_them_are_not(text: str) -> None:
    assert not observe([text]).volatile


@pytest.mark.parametrize(
    ("values", "volatile"),
    [
        ([1, 2, 3], True),
        ([1, 1, 2], False),
        ([5], False),
        ([1_790_000_000, 1_790_000_000], True),
        ([1_790_000_000_123], True),
        ([{"duration_ms": 5}, {"duration_ms": 5}], True),
        ([{"size": 5}, {"size": 5}], False),
        ([{"list": [1, 2, 3]}], False),
        ([{"list": [{"n": 1}, {"n": 2}]}], False),
    ],
)
def test_numbers_that_grow_or_are_times_are_volatile(values: list[Any], volatile: bool) -> None:
    def any_volatile(seen: Seen) -> bool:
        inside = [*seen.keys.values(), *([seen.items] if seen.items else [])]
        return seen.volatile or any(any_volatile(each) for each in inside)

    assert any_volatile(observe(values)) is volatile


def test_depth_and_width_are_bounded() -> None:
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    wide = {str(n): n for n in range(MAX_KEYS * 3)}

    seen, levels = observe([deep]), 0
    while seen.items is not None:
        seen, levels = seen.items, levels + 1

    assert levels == MAX_DEPTH + 1
    assert len(observe([wide]).keys) == MAX_KEYS


def test_a_long_text_is_no_constant() -> None:
    assert not observe(["x" * 5_000]).is_constant
    assert observe([None]).is_constant
