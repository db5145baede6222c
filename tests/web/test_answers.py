"""How values become bytes."""

import json
from dataclasses import dataclass

from interlock.web.answers import encoded, json_answer


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    more: list[object]


def test_dataclasses_and_plain_values_are_written_alike() -> None:
    assert encoded(Shape("a", [{"b": None}, True])) == b'{"name":"a","more":[{"b":null},true]}'


def test_a_number_keeps_its_form() -> None:
    assert encoded({"big": 2**70, "float": 1.0}) == b'{"big":1180591620717411303424,"float":1.0}'


def test_half_a_character_is_written_as_an_escape() -> None:
    written = encoded(Shape("half \ud800", ["é"]))

    assert json.loads(written) == {"name": "half \ud800", "more": ["é"]}


def test_an_answer_is_json_with_its_status() -> None:
    answer = json_answer({"a": 1}, 201)

    assert (answer.status_code, answer.body, answer.media_type) == (201, b'{"a":1}', "application/json")
