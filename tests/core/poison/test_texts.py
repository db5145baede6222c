"""The texts of a definition, with their places, up to a bound."""

from interlock.core.model import Json
from interlock.core.poison.texts import MOST_CHARACTERS, Text, Walk


def test_texts_have_their_place_and_their_parameter() -> None:
    schema: dict[str, Json] = {"properties": {"a/b": {"description": "What"}}}

    assert [each for each in Walk().texts({"name": "t", "inputSchema": schema}) if not each.is_key] == [
        Text("/name", "t", "name"),
        Text("/inputSchema/properties/a~1b/description", "What", "description", "a/b"),
    ]


def test_keys_are_texts_and_numbers_are_not() -> None:
    assert [(each.text, each.is_key, each.is_prose) for each in Walk().texts({"title": "T", "n": 1, "l": ["x"]})] == [
        ("title", True, False),
        ("n", True, False),
        ("l", True, False),
        ("T", False, True),
        ("x", False, False),
    ]


def test_what_is_too_deep_or_too_much_is_left_out() -> None:
    deep: Json = "end"
    for _ in range(80):
        deep = [deep]
    walk = Walk()

    assert [each.text for each in walk.texts({"a": deep})] == ["a"]
    assert walk.left_out


def test_a_text_is_cut_where_the_room_ends() -> None:
    walk = Walk()
    long = "x" * MOST_CHARACTERS

    assert [len(each.text) for each in walk.texts({"a": long, "b": "more"})] == [1, 1, MOST_CHARACTERS - 2]
    assert walk.left_out
