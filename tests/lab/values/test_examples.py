"""Arguments from schemas: what is called valid is valid, what is called invalid is not, and no schema does harm."""

import time
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.lab.values.examples import MAX_EXAMPLES, MAX_SIZE, Examples, examples
from tests.lab.schemas import WRITTEN, nonsense, satisfiable

OBJECT = {"type": "object"}


def with_a(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"], **more}


def first_a(schema: Any, seed: int = 0) -> Any:
    return examples(with_a(schema), seed=seed).valid[0].arguments["a"]


def assert_judged_rightly(schema: Any, found: Examples) -> None:
    """Every value is on the side where the validator of calls sees it, and either there is one or a reason."""
    assert (found.problem is None) == bool(found.valid)
    if found.problem is not None:
        assert found == Examples(problem=found.problem)
        return
    validator = jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions())
    assert all(validator.is_valid(each.arguments) for each in (*found.valid, *found.boundary))
    assert not any(validator.is_valid(each.arguments) for each in found.invalid)
    assert len(found.boundary) <= MAX_EXAMPLES
    assert len(found.invalid) <= MAX_EXAMPLES
    everything = (*found.valid, *found.boundary, *found.invalid)
    assert all(len(msgspec.json.encode(each.arguments)) <= MAX_SIZE for each in everything)


def test_of_five_hundred_schemas_at_least_495_have_a_valid_first_value() -> None:
    problems: list[str | None] = []

    @settings(max_examples=500, deadline=None, derandomize=True, database=None)
    @given(satisfiable)
    def look(schema: dict[str, Any]) -> None:
        found = examples(schema)
        assert_judged_rightly(schema, found)
        problems.append(found.problem)

    look()

    assert len(problems) >= 500
    assert sum(each is None for each in problems) / len(problems) >= 0.99


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(nonsense)
def test_no_json_value_in_the_place_of_a_schema_raises_or_is_judged_wrongly(schema: Any) -> None:
    assert_judged_rightly(schema, examples(schema))


@pytest.mark.parametrize("name", WRITTEN)
def test_schemas_as_servers_write_them_have_all_three_kinds_judged_rightly(name: str) -> None:
    found = examples(WRITTEN[name])

    assert found.problem is None
    assert_judged_rightly(WRITTEN[name], found)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(satisfiable, st.integers())
def test_the_same_seed_gives_the_same_values(schema: dict[str, Any], seed: int) -> None:
    assert examples(schema, seed=seed) == examples(schema, seed=seed)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "string", "maxLength": 3},
        {"type": "string", "pattern": "^[a-z]{20}$"},
        {"type": "string", "format": "date"},
        {"type": "string", "format": "uuid"},
        {"type": "integer"},
        {"type": "integer", "minimum": 1, "maximum": 5},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "array", "items": {"type": "string"}},
    ],
)
def test_another_seed_gives_another_value_where_there_is_choice(schema: dict[str, Any]) -> None:
    assert len({str(first_a(schema, seed)) for seed in range(4)}) == 4


def test_the_first_valid_one_has_the_required_properties_and_the_next_one_all_of_them() -> None:
    found = examples({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"]})

    assert [sorted(each.arguments) for each in found.valid] == [["b"], ["a", "b", "c"]]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "const": "c", "default": "c", "enum": ["b", "c"]}, "c"),
        ({"type": "string", "default": "d", "examples": ["e"], "enum": ["b", "d", "e"]}, "d"),
        ({"type": "string", "examples": ["e"], "enum": ["b", "e"]}, "e"),
        ({"type": "string", "enum": ["b", "e"]}, "b"),
        ({"type": "integer", "default": "wrong"}, 1),
        ({"type": "boolean"}, False),
        ({"type": ["null", "string"]}, "interlock probe"),
    ],
)
def test_what_the_schema_names_comes_before_what_is_invented(schema: dict[str, Any], value: Any) -> None:
    assert first_a(schema) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("path", "interlock-probe.txt"),
        ("outputDir", "interlock-probe.txt"),
        ("url", "https://example.invalid/"),
        ("user_email", "probe@example.invalid"),
        ("query", "interlock probe"),
    ],
)
def test_the_name_of_a_property_says_what_harmless_text_fits(name: str, value: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}

    assert examples(schema).valid[0].arguments == {name: value}


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "string"},
        {"not": {}},
        with_a({"enum": []}),
        with_a({"allOf": [{"type": "string"}, {"type": "integer"}]}),
        with_a({"type": "integer", "minimum": 5, "maximum": 4}),
        {"type": "object", "required": ["z"], "additionalProperties": False},
        with_a({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}}),
        {"$defs": {"n": with_a({"$ref": "#/$defs/n"})}, "$ref": "#/$defs/n"},
        {"$ref": "#"},
        with_a({"$ref": "https://example.invalid/schema"}),
        with_a({"type": "string", "pattern": "^(?!x)y$"}),
        None,
        [OBJECT],
        "object",
        3,
    ],
)
def test_a_schema_that_nothing_fits_has_a_problem_and_no_values(schema: Any) -> None:
    found = examples(schema)

    assert found.problem is not None
    assert found.problem.endswith(".")
    assert_judged_rightly(schema, found)


def nested(levels: int, **more: Any) -> dict[str, Any]:
    inside: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        inside = {"type": "array", "items": inside, **more}
    return with_a(inside)


def forked(word: str, last: Any) -> dict[str, Any]:
    """Thirty definitions, each of which names the next one twice."""
    steps = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(30)}
    return {**with_a({"$ref": "#/$defs/d0"}), "$defs": {**steps, "d30": last}}


def multiplied(levels: int) -> dict[str, Any]:
    """Each level of a value is looked at eight times as often as the one above it."""
    steps = {f"d{n}": with_a({"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8}) for n in range(levels)}
    return {**with_a({"$ref": "#/$defs/d0"}), "$defs": {**steps, f"d{levels}": {"type": "integer"}}}


HOSTILE: dict[str, Any] = {
    "long text": with_a({"type": "string", "minLength": 10**9}),
    "long list": with_a({"type": "array", "minItems": 10**9}),
    "long list of long texts": with_a(
        {"type": "array", "minItems": 1000, "items": {"type": "string", "minLength": 60_000}}
    ),
    "wide object": with_a({"type": "object", "minProperties": 10**9}),
    "deep": nested(90, minItems=1),
    "too deep": nested(5_000),
    "lists of lists of lists": with_a(
        {"type": "array", "minItems": 900, "items": {"type": "array", "minItems": 900, "items": {"minLength": 1}}}
    ),
    "no branch leads anywhere": forked("anyOf", False),
    "all the same": forked("allOf", False),
    "deep values cost more than a lifetime": multiplied(10),
    "a pattern that repeats nothing": with_a({"type": "string", "pattern": "^(((){999}){999}){999}b$"}),
    "large": {**OBJECT, "properties": {f"p{n}": {"type": "string"} for n in range(30_000)}},
    "text that is no Unicode": with_a({"type": "string", "default": "\ud800", "minLength": 10**9}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_schema_that_asks_for_too_much_has_a_problem_soon(name: str) -> None:
    began = time.process_time()

    found = examples(HOSTILE[name])

    assert found.problem is not None
    # Without the bounds these take minutes or the whole memory; the seconds leave room for a slow machine.
    assert time.process_time() - began < 20


NONE: set[str] = set()


def about(found: Examples, kind: str) -> set[str]:
    return {each.about for each in (found.boundary if kind == "boundary" else found.invalid)}


@pytest.mark.parametrize(
    ("schema", "boundary", "invalid"),
    [
        (
            {"type": "integer", "minimum": -2, "maximum": 9},
            {"minimum at /a", "maximum at /a"},
            {"minimum at /a", "maximum at /a", "type at /a"},
        ),
        (
            {"type": "string", "minLength": 2, "maxLength": 40},
            {"minLength at /a", "maxLength at /a", "unicode text at /a"},
            {"minLength at /a", "maxLength at /a", "type at /a"},
        ),
        ({"type": "string"}, {"empty text at /a", "long text at /a", "unicode text at /a"}, {"type at /a"}),
        ({"enum": ["x", "y", "z"]}, {"enum at /a"}, {"enum at /a", "type at /a"}),
        ({"type": ["string", "null"], "maxLength": 0}, {"null at /a"}, {"maxLength at /a", "type at /a"}),
        (
            {"type": "array", "items": {"const": 1}, "minItems": 1, "maxItems": 3},
            {"maxItems at /a"},
            {"minItems at /a", "maxItems at /a", "type at /a", "const at /a/0", "type at /a/0"},
        ),
        ({"type": "boolean"}, {"boolean at /a"}, {"type at /a"}),
        ({"type": "string", "pattern": "^[0-9]+$"}, NONE, {"pattern at /a", "type at /a"}),
        ({"type": "integer", "multipleOf": 5}, NONE, {"multipleOf at /a", "type at /a"}),
    ],
)
def test_each_bound_is_met_from_both_sides(schema: dict[str, Any], boundary: set[str], invalid: set[str]) -> None:
    found = examples(with_a(schema))

    assert about(found, "boundary") == boundary
    assert about(found, "invalid") == invalid | {"required at /a"}


def test_an_optional_property_may_be_absent_and_an_unknown_one_is_refused_where_the_schema_is_closed() -> None:
    found = examples({"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": False})

    assert [each.arguments for each in found.valid] == [{}, {"a": 1}]
    assert "additionalProperties at /" in about(found, "invalid")


def test_a_wrong_format_is_only_called_invalid_where_formats_are_checked() -> None:
    schema = with_a({"type": "string", "format": "date"})

    assert "format at /a" not in about(examples(schema), "invalid")
    assert "format at /a" in about(
        examples({**schema, "$schema": "http://json-schema.org/draft-07/schema#"}), "invalid"
    )


def test_long_texts_end_at_four_kibibytes() -> None:
    found = examples(with_a({"type": "string"}))

    assert max(len(each.arguments["a"]) for each in found.boundary) == 4096
