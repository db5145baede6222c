"""Reading YAML with the position of everything in it."""

import math
from pathlib import Path

import pytest

from interlock.config.document import Position, Problem
from interlock.config.paths import dotted
from interlock.config.source import parse
from interlock.core.model import Json

WHERE = "interlock.yaml"


def test_a_position_is_written_as_editors_and_compilers_do() -> None:
    assert str(Position("team.yaml", 3, 7)) == "team.yaml:3:7"


def test_a_problem_begins_with_its_place() -> None:
    assert str(Problem("team.yaml:3:7", "it is wrong")) == "team.yaml:3:7: it is wrong"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
def test_a_text_that_says_nothing_is_no_problem_and_no_value(text: str) -> None:
    document = parse(text, WHERE)
    assert (document.value, document.problems) == (None, [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("~", None),
        ("null", None),
        ("true", True),
        ("True", True),
        ("false", False),
        ("yes", "yes"),
        ("off", "off"),
        ("7373", 7373),
        ("-5", -5),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0o17", 15),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("12:30", "12:30"),
        ("2026-01-31", "2026-01-31"),
        ("50s", "50s"),
        ("'7373'", "7373"),
        ('"true"', "true"),
        ("''", ""),
        ('"tab\\there"', "tab\there"),
        ("!!str 7373", "7373"),
        ("|\n  two\n  lines", "two\nlines"),
    ],
)
def test_a_scalar_is_what_a_reader_of_the_file_takes_it_for(text: str, value: Json) -> None:
    read = parse(f"key: {text}", WHERE).value
    assert read == {"key": value}
    assert isinstance(read, dict)
    assert type(read["key"]) is type(value)


def test_not_a_number_is_read_as_such() -> None:
    value = parse(".nan", WHERE).value
    assert isinstance(value, float)
    assert math.isnan(value)


def test_a_key_is_always_a_text() -> None:
    assert parse("{1: a, true: b, null: c}", WHERE).value == {"1": "a", "true": "b", "null": "c"}


def test_mappings_and_lists_nest() -> None:
    assert parse("a:\n  - b: [1, {c: 2}]\n  - []\nd: {}\n", WHERE).value == {"a": [{"b": [1, {"c": 2}]}, []], "d": {}}


def test_an_alias_stands_for_its_anchor() -> None:
    assert parse("a: &x {b: 1}\nc: *x\n", WHERE).value == {"a": {"b": 1}, "c": {"b": 1}}


def test_every_key_and_value_has_its_position_counted_from_one() -> None:
    document = parse("posture: strict\nroute_rules:\n  - id: a\n    args: {repo: [x, y]}\n", WHERE)
    assert {dotted(path): str(at) for path, at in document.keys.items()} == {
        "posture": "interlock.yaml:1:1",
        "route_rules": "interlock.yaml:2:1",
        "route_rules[0].id": "interlock.yaml:3:5",
        "route_rules[0].args": "interlock.yaml:4:5",
        "route_rules[0].args.repo": "interlock.yaml:4:12",
    }
    assert {dotted(path): str(at) for path, at in document.values.items()} == {
        "": "interlock.yaml:1:1",
        "posture": "interlock.yaml:1:10",
        "route_rules": "interlock.yaml:3:3",
        "route_rules[0]": "interlock.yaml:3:5",
        "route_rules[0].id": "interlock.yaml:3:9",
        "route_rules[0].args": "interlock.yaml:4:11",
        "route_rules[0].args.repo": "interlock.yaml:4:18",
        "route_rules[0].args.repo[0]": "interlock.yaml:4:19",
        "route_rules[0].args.repo[1]": "interlock.yaml:4:22",
    }


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("\ufeffposture: x", "interlock.yaml:1:10"),
        ("a: 1\r\nposture: x\r\n", "interlock.yaml:2:10"),
        ("größe: 1\nposture: x", "interlock.yaml:2:10"),
        ('"größe": 1\n"posture":    x', "interlock.yaml:2:15"),
    ],
    ids=["byte order mark", "windows line ends", "umlauts", "quotes"],
)
def test_positions_count_characters_and_lines_whatever_the_encoding_looks_like(text: str, position: str) -> None:
    assert str(parse(text, WHERE).values[("posture",)]) == position


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("a: 1\na: 2\n", ["interlock.yaml:2:1: key 'a' stands here twice; keep one of them"]),
        ("a: {b: 1, b: 1}\n", ["interlock.yaml:1:11: key 'b' stands here twice; keep one of them"]),
        ("- {x: 1}\n- {x: 1, 'x': 2}\n", ["interlock.yaml:2:10: key 'x' stands here twice; keep one of them"]),
        (
            "a: 1\na: 2\na: 3\n",
            [
                "interlock.yaml:2:1: key 'a' stands here twice; keep one of them",
                "interlock.yaml:3:1: key 'a' stands here twice; keep one of them",
            ],
        ),
    ],
)
def test_a_key_that_stands_twice_is_a_problem_at_its_second_place(text: str, problems: list[str]) -> None:
    assert [str(each) for each in parse(text, WHERE).problems] == problems


def test_the_same_key_in_two_mappings_is_no_problem() -> None:
    assert parse("a: {x: 1}\nb: {x: 1}\n", WHERE).problems == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [1, 2\n", "interlock.yaml:2:1: not valid YAML: expected ',' or ']', but got '<stream end>'"),
        ("{a: 1\n", "interlock.yaml:2:1: not valid YAML: expected ',' or '}', but got '<stream end>'"),
        ("a: b: c\n", "interlock.yaml:1:5: not valid YAML: mapping values are not allowed here"),
        ("a: 1\n\tb: 2\n", "interlock.yaml:2:1: not valid YAML: found character '\\t' that cannot start any token"),
        ("a: *nope\n", "interlock.yaml:1:4: not valid YAML: found undefined alias 'nope'"),
        ('a: "open\n', "interlock.yaml:2:1: not valid YAML: found unexpected end of stream"),
        ("a: @b\n", "interlock.yaml:1:4: not valid YAML: found character '@' that cannot start any token"),
    ],
)
def test_what_is_not_yaml_is_one_problem_with_its_position(text: str, problem: str) -> None:
    document = parse(text, WHERE)
    assert [str(each) for each in document.problems] == [problem]
    assert document.value is None


def test_a_control_character_in_the_file_is_a_problem() -> None:
    problems = parse("a: \x07\n", WHERE).problems
    assert [each.text for each in problems] == [
        "not valid YAML: unacceptable character #x0007: special characters are not allowed"
    ]


def test_a_second_document_in_the_file_is_a_problem_where_it_begins() -> None:
    assert [each.at for each in parse("a: 1\n---\nb: 2\n", WHERE).problems] == ["interlock.yaml:2:1"]


def test_a_tag_builds_no_object_and_runs_no_code() -> None:
    parse("a: !!python/object/apply:os.mkdir [made-by-a-tag]\n", WHERE)
    assert not Path("made-by-a-tag").exists()
