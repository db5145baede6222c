"""What the words of one tool weigh."""

from typing import Any

import pytest

from interlock.core.toolbook import ListedTool, Listing, ToolBook
from interlock.receive.wording import MAX_NODES, MAX_PARAMETERS, MAX_WORDS, wording_of


def listed(descriptor: dict[str, Any], server: str = "shop", namespace: str | None = None) -> ListedTool:
    [each] = ToolBook().with_listing(Listing(server, namespace or server, [descriptor]))
    return each


def weights(descriptor: dict[str, Any], server: str = "shop", namespace: str | None = None) -> dict[str, float]:
    wording = wording_of(listed(descriptor, server, namespace))
    return dict(zip(wording.words, wording.weights, strict=True))


def with_parameters(schema: Any) -> dict[str, Any]:
    return {"name": "x", "inputSchema": schema}


def test_a_word_of_the_name_outweighs_the_server_the_description_and_the_parameters() -> None:
    found = weights(
        {
            "name": "refund",
            "description": "Pays money back.",
            "inputSchema": {"properties": {"invoice": {"type": "string"}}},
        }
    )

    assert found["refund"] > found["money"] > found["invoic"]
    assert found["refund"] > found["shop"]


def test_a_short_name_says_more_with_each_word_than_a_long_one() -> None:
    assert weights({"name": "create_event"})["creat"] > weights({"name": "create_big_calendar_event"})["creat"]


def test_repeating_a_word_in_the_description_does_not_reach_the_name() -> None:
    stuffed = weights({"name": "x", "description": "refund " * 10_000})

    assert stuffed["refund"] < weights({"name": "refund"})["refund"] < 1


def test_the_server_in_the_name_tells_nothing_more() -> None:
    plain, prefixed = weights({"name": "send_message"}, "slack"), weights({"name": "slack_send_message"}, "slack")

    assert prefixed == plain


def test_a_name_that_is_the_server_stays_a_name() -> None:
    assert weights({"name": "fetch"}, "fetch")["fetch"] > weights({"name": "get"}, "fetch")["fetch"]


def test_server_and_namespace_both_count() -> None:
    assert {"github", "mcp", "hub", "x"} == set(weights({"name": "x"}, "github-mcp", "hub"))


NESTED: list[dict[str, Any]] = [
    {"properties": {"dueDate": {}}},
    {"properties": {"a": {"properties": {"due_date": {}}}}},
    {"properties": {"a": {"items": {"properties": {"due-date": {}}}}}},
    {"anyOf": [{"type": "null"}, {"properties": {"dueDates": {}}}]},
    {"$defs": {"A": {"properties": {"due_date": {}}}}},
    {"properties": {"properties": {"properties": {"due_date": {}}}}},
]


@pytest.mark.parametrize("schema", NESTED)
def test_parameters_count_however_deep_they_lie(schema: dict[str, Any]) -> None:
    assert {"due", "date"} <= set(weights(with_parameters(schema)))


def test_keywords_of_a_schema_are_no_parameters() -> None:
    schema = {"type": "object", "properties": {"properties": {"type": "string", "enum": ["red"]}}, "required": ["a"]}

    assert set(weights(with_parameters(schema))) == {"x", "shop", "property"}


@pytest.mark.parametrize("odd", [None, True, 5, 1.5, "text", [], ["a"], {}, {"properties": 5}, {"properties": ["a"]}])
def test_what_is_not_of_the_expected_kind_counts_as_absent(odd: Any) -> None:
    description = odd if not isinstance(odd, str) else None

    assert set(weights({"name": "x", "description": description, "inputSchema": odd})) == {"x", "shop"}


def test_a_schema_of_any_depth_and_width_is_read_in_bounds() -> None:
    deep: dict[str, Any] = {"properties": {"bottom": {}}}
    for _ in range(100_000):
        deep = {"items": deep}
    wide = {"properties": {f"p{number}": {"enum": list(range(50))} for number in range(5_000)}}
    shallow = listed({"name": "x"})

    read = [wording_of(ListedTool(shallow.known, with_parameters(schema))) for schema in (deep, wide)]

    assert "bottom" not in read[0].words
    assert len(read[1].words) == MAX_PARAMETERS + 2
    assert MAX_NODES < 100_000


def test_a_huge_description_is_cut() -> None:
    huge = " ".join(f"word{number}" for number in range(200_000))

    assert len(weights({"name": "x", "description": huge})) <= MAX_WORDS + 2


@pytest.mark.parametrize(
    ("name", "one"), [("search", True), ("SEARCH", True), ("search_it", False), ("searchIt", False), ("!!", False)]
)
def test_a_name_of_one_word_is_known_as_such(name: str, one: bool) -> None:
    assert wording_of(listed({"name": name})).one_word is one
