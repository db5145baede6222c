"""Arguments in the answers of a mock."""

import pytest

from interlock.core.model import Json
from interlock.lab.played.filling import filled

ARGUMENTS: dict[str, Json] = {"n": 5, "s": "x", "deep": {"list": [1, 2]}, "evil": "${args.s}", "none": None}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("${args.n}", 5),
        ("${args.deep}", {"list": [1, 2]}),
        ("${args.deep.list}", [1, 2]),
        ("${args.none}", None),
        ("n is ${args.n}, s is ${args.s}", "n is 5, s is x"),
        ("all of ${args.deep}", 'all of {"list": [1, 2]}'),
        ("${args.missing}", ""),
        ("[${args.n.deeper}]", "[]"),
        ("${args}", "${args}"),
        ("${env:HOME}", "${env:HOME}"),
        (["${args.n}", {"a": "${args.s}"}], [5, {"a": "x"}]),
        (7, 7),
    ],
)
def test_references_become_arguments(template: Json, expected: Json) -> None:
    assert filled(template, ARGUMENTS) == expected


def test_what_an_argument_holds_is_not_looked_through() -> None:
    assert filled("${args.evil}", ARGUMENTS) == "${args.s}"


def test_the_text_of_a_text_block_stays_a_text() -> None:
    block: Json = {"type": "text", "text": "${args.n}"}

    assert filled(block, ARGUMENTS) == {"type": "text", "text": "5"}
