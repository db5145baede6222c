"""Arguments against input schemas that nobody vouches for."""

import pytest

from interlock.core.model import Json
from interlock.core.schemas import MAX_KEPT, Schemas
from interlock.core.toolbook import ListedTool, Listing, ToolBook


def tool(schema: Json, name: str = "x") -> ListedTool:
    found = ToolBook().with_listing(Listing("s", "s", [{"name": name, "inputSchema": schema}])).find("s", name)
    assert found is not None
    return found


FILE: dict[str, Json] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["path"],
}


def test_arguments_that_fit_have_no_problem() -> None:
    assert Schemas().problem(tool(FILE), {"path": "x", "lines": 3}) is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({}, '"path" is a required property'), ({"path": 5}, "/path"), ({"path": "x", "lines": "3"}, "/lines")],
)
def test_what_does_not_fit_is_said_in_one_sentence(arguments: dict[str, Json], said: str) -> None:
    problem = Schemas().problem(tool(FILE), arguments)

    assert problem is not None
    assert said in problem


GIVEN = "hunter2-hunter2"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {"enum": ["a", "b"]},
        {"const": 5},
        {"pattern": "^x"},
        {"maxLength": 2},
        {"format": "email", "minLength": 99},
        {"not": {"type": "string"}},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"oneOf": [{"type": "string"}, {"minLength": 1}]},
        {"type": ["integer", "null"]},
        False,
    ],
)
@pytest.mark.parametrize("around", ["text", "list", "object"])
def test_no_value_of_the_arguments_is_ever_told(schema: Json, around: str) -> None:
    values: dict[str, Json] = {"text": GIVEN, "list": [GIVEN], "object": {"deep": GIVEN}}
    schemas: dict[str, Json] = {
        "text": schema,
        "list": {"items": schema},
        "object": {"additionalProperties": schema},
    }

    problem = Schemas().problem(tool({"properties": {"a": schemas[around]}}), {"a": values[around]})

    assert problem is not None
    assert problem.startswith("/a")
    assert GIVEN not in problem


@pytest.mark.parametrize("schema", [{"uniqueItems": True}, {"contains": {"const": 1}}, {"maxItems": 1}])
def test_no_item_of_a_list_is_told(schema: dict[str, Json]) -> None:
    problem = Schemas().problem(tool({"properties": {"a": schema}}), {"a": [GIVEN, GIVEN]})

    assert problem is not None
    assert GIVEN not in problem


def test_a_name_that_is_checked_like_a_value_is_not_told_either() -> None:
    problem = Schemas().problem(tool({"propertyNames": {"maxLength": 3}}), {GIVEN: 1})

    assert problem == "arguments: the name of a member is not allowed here"


def test_an_unexpected_argument_is_named_and_a_credential_among_the_names_is_not() -> None:
    token = "ghp_" + "a1B2" * 9
    closed = tool({"properties": {"path": {}}, "additionalProperties": False})

    assert "pathh" in (Schemas().problem(closed, {"pathh": 1}) or "")
    assert token not in (Schemas().problem(closed, {token: 1}) or token)


def test_what_is_said_is_short_however_long_the_names_are() -> None:
    nested = tool({"additionalProperties": {"type": "string"}})

    assert len(Schemas().problem(nested, {"n" * 9_999: 1}) or "") < 700


@pytest.mark.parametrize(
    "schema",
    [None, "x", 5, {"type": 5}, {"$ref": "http://127.0.0.1:9/x"}, {"properties": {"a": {"pattern": "("}}}],
)
def test_a_schema_that_cannot_be_used_checks_nothing(schema: Json) -> None:
    assert Schemas().problem(tool(schema), {"a": 1}) is None


def test_a_catastrophic_pattern_is_answered() -> None:
    schema: Json = {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}

    assert Schemas().problem(tool(schema), {"a": "a" * 10_000 + "!"}) is not None


def test_a_changed_tool_never_meets_the_old_schema() -> None:
    schemas = Schemas()

    assert schemas.problem(tool({"required": ["a"]}), {}) is not None
    assert schemas.problem(tool({"required": []}), {}) is None
    assert schemas.problem(tool({"required": ["a"]}), {}) is not None


def test_the_number_of_kept_schemas_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.core.schemas.MAX_KEPT", 2)
    schemas = Schemas()
    for number in range(5):
        schemas.problem(tool({"minProperties": number}), {})

    assert len(schemas) == 2
    assert MAX_KEPT > 2


TWICE: Json = {"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, "b": {"type": "string"}}}


def nested(levels: int) -> dict[str, Json]:
    value: dict[str, Json] = {"b": 5}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_a_schema_that_doubles_with_each_level_checks_what_is_not_deep() -> None:
    assert Schemas().problem(tool(TWICE), nested(2)) is not None
    assert Schemas().problem(tool(TWICE), nested(60)) is None


def test_definitions_that_each_name_the_next_one_twice_check_nothing() -> None:
    definitions: dict[str, Json] = {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(60)}

    assert Schemas().problem(tool({"$ref": "#/$defs/d0", "$defs": {**definitions, "d60": False}}), {}) is None


def test_a_pattern_that_takes_too_long_to_compile_checks_nothing() -> None:
    assert Schemas().problem(tool({"properties": {"a": {"pattern": "((a{100}){100}){100}"}}}), {"a": "b"}) is None


def test_a_dialect_that_lies_elsewhere_is_not_fetched() -> None:
    assert Schemas().problem(tool({"$schema": "http://127.0.0.1:9/x", "type": "string"}), {"a": 1}) is None
