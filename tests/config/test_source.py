"""Reading YAML with the position of everything in it."""

from pathlib import Path as FilePath

import pytest

from interlock.config.document import Position, Problem
from interlock.config.paths import Path, dotted
from interlock.config.source import MAX_DEPTH, MAX_NODES, parse
from interlock.core.model import Json

WHERE = "interlock.yaml"
UNREADABLE = "this cannot be read as the kind of value it claims to be; quote it if it is a text"
TOO_MUCH = "not usable: it is nested too deeply, or refers to itself"


def problems_in(text: str) -> list[str]:
    """Everything wrong with a text, as it is told."""
    return [str(each) for each in parse(text, WHERE).problems]


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
        ("+5", 5),
        ("1_000", 1000),
        ("070", 70),
        ("-070", -70),
        ("0x1F", 31),
        ("0X1f", "0X1f"),
        ("0o17", 15),
        ("!!int 0b101", 5),
        ("!!int -0x10", -16),
        ("!!int '7'", 7),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("1_000.5", 1000.5),
        ("!!float 5", 5.0),
        ("12:30", "12:30"),
        ("2026-01-31", "2026-01-31"),
        ("50s", "50s"),
        ("'7373'", "7373"),
        ('"true"', "true"),
        ("''", ""),
        ('"tab\\there"', "tab\there"),
        ("!!str 7373", "7373"),
        ("!!str true", "true"),
        ("!!bool yes", True),
        ("!!bool 'off'", False),
        ("|\n  two\n  lines", "two\nlines"),
    ],
)
def test_a_scalar_is_what_a_reader_of_the_file_takes_it_for(text: str, value: Json) -> None:
    read = parse(f"key: {text}", WHERE).value
    assert read == {"key": value}
    assert isinstance(read, dict)
    assert type(read["key"]) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        ".nan",
        ".NaN",
        ".inf",
        "-.INF",
        "9" * 40,
        "0x" + "f" * 40,
        '!!int "0x0x5"',
        '!!int "٣"',
        "!!null strict",
        "!foo x",
        r'"\ud800"',
    ],
)
def test_what_no_setting_can_be_is_a_problem_at_its_place(text: str) -> None:
    document = parse(f"key: {text}", WHERE)
    assert document.value == {"key": None}
    assert [each.at for each in document.problems] == [f"{WHERE}:1:6"]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *((word, True) for word in ("yes", "Yes", "YES", "on", "On", "ON", "true")),
        *((word, False) for word in ("no", "No", "NO", "off", "Off", "OFF", "false")),
    ],
)
def test_a_file_of_yaml_1_1_may_say_yes_and_no(word: str, value: bool) -> None:
    assert parse(f"%YAML 1.1\n---\nkey: {word}\n", WHERE).value == {"key": value}


@pytest.mark.parametrize(
    "text",
    [
        "!!bool maybe",
        "!!bool 1",
        "!!bool ja",
        "!!bool ''",
        "!!int x",
        "!!int ''",
        "!!int 1.5",
        "!!int 0x",
        "!!int 0b102",
        "!!int 0o8",
        "!!int '--5'",
        "!!float x",
        "!!float ''",
        "!!float 1.2.3",
        "1" * 5_000,
        "-" + "1" * 5_000,
    ],
    ids=lambda text: text[:20],
)
def test_what_is_not_what_it_claims_to_be_is_a_problem_at_its_place(text: str) -> None:
    assert problems_in(f"ok: 1\nkey: {text}\n") == [f"interlock.yaml:2:6: {UNREADABLE}"]


def test_a_word_of_yaml_1_1_that_is_no_boolean_of_ours_is_a_problem_at_its_place() -> None:
    assert problems_in("%YAML 1.1\n---\nkey: y\n") == [f"interlock.yaml:3:6: {UNREADABLE}"]


def test_every_value_that_cannot_be_read_is_a_problem_of_its_own() -> None:
    assert problems_in("a: !!int x\nb: [1, !!bool y]\nc: !!float z\n") == [
        f"interlock.yaml:1:4: {UNREADABLE}",
        f"interlock.yaml:2:8: {UNREADABLE}",
        f"interlock.yaml:3:4: {UNREADABLE}",
    ]


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
    ("text", "path", "position"),
    [
        ("posture:\n", ("posture",), "interlock.yaml:1:1"),
        ("a: 1\nposture:    # nothing yet\n", ("posture",), "interlock.yaml:2:1"),
        ("listen:\n  host:\n  port: 1\n", ("listen", "host"), "interlock.yaml:2:3"),
        ("listen: {port: 1, host: }\n", ("listen", "host"), "interlock.yaml:1:19"),
    ],
)
def test_a_value_that_was_left_empty_stands_where_its_key_stands(text: str, path: Path, position: str) -> None:
    assert str(parse(text, WHERE).values[path]) == position


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
    assert [each.text for each in problems] == ["not valid YAML: it holds a character that YAML does not allow"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: *hunter2\n", "interlock.yaml:1:4: not valid YAML: found undefined alias"),
        ("a: 1\n*hunter2 : b\n", "interlock.yaml:2:1: not valid YAML: found undefined alias"),
        ("a: [*hunter2]\n", "interlock.yaml:1:5: not valid YAML: found undefined alias"),
        ("a: !hunter2!x 5\n", "interlock.yaml:1:4: not valid YAML: found undefined tag handle"),
        (
            "%TAG !hunter2! a\n%TAG !hunter2! b\n--- {}\n",
            "interlock.yaml:2:1: not valid YAML: duplicate tag handle",
        ),
    ],
    ids=["alias", "alias as key", "alias in a list", "tag", "tag twice"],
)
def test_a_stray_alias_or_tag_is_told_without_its_name_because_it_may_be_a_secret(text: str, problem: str) -> None:
    assert problems_in(text) == [f"{problem}; quote values that begin with * & or !"]


def test_a_second_document_in_the_file_is_a_problem_where_it_begins() -> None:
    assert problems_in("a: 1\n---\nb: 2\n") == ["interlock.yaml:2:1: not valid YAML: it holds more than one document"]


def test_a_key_that_is_a_list_or_a_mapping_is_a_problem_and_the_rest_is_read() -> None:
    document = parse("? [a]\n: 1\nb: 2\n? {c: d}\n: 3\n", WHERE)
    assert [str(each) for each in document.problems] == [
        "interlock.yaml:1:3: a key must be a text",
        "interlock.yaml:4:3: a key must be a text",
    ]
    assert document.value == {"b": 2}


def test_a_tag_builds_no_object_and_runs_no_code() -> None:
    parse("a: !!python/object/apply:os.mkdir [made-by-a-tag]\n", WHERE)
    assert not FilePath("made-by-a-tag").exists()


# Files that are meant to hurt -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &x [*x]\n", f"interlock.yaml:1:4: {TOO_MUCH}"),
        ("a: &x {b: *x}\n", f"interlock.yaml:1:4: {TOO_MUCH}"),
        ("&x\na: {b: [*x, *x]}\n", f"interlock.yaml:2:8: {TOO_MUCH}"),
    ],
    ids=["a list", "a mapping", "the whole file"],
)
def test_what_refers_to_itself_is_one_problem(text: str, problem: str) -> None:
    assert problems_in(text) == [problem]


def test_thousands_of_nested_lists_are_one_problem() -> None:
    assert problems_in(f"a: {'[' * 2_000}{']' * 2_000}\n") == ["interlock.yaml: not usable: it is nested too deeply"]


def test_a_value_may_be_nested_as_deep_as_the_limit() -> None:
    assert problems_in(f"a: {'[' * MAX_DEPTH}{']' * MAX_DEPTH}\n") == []


def test_a_value_that_is_nested_deeper_than_the_limit_is_a_problem_where_it_goes_too_deep() -> None:
    deeper = MAX_DEPTH + 1
    assert problems_in(f"a: {'[' * deeper}{']' * deeper}\n") == [f"interlock.yaml:1:{3 + deeper}: {TOO_MUCH}"]


def test_aliases_that_multiply_are_one_problem() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 9)]
    (problem,) = problems_in("\n".join(lines))
    assert problem.endswith(": not usable: it is too large")


def of_size(nodes: int) -> str:
    """A small file that stands for this many values, most of them by aliases."""
    thousand = f"&a [{', '.join(['x'] * 999)}]"
    aliases, rest = divmod(nodes - 1_002, 1_000)
    return f"a: {thousand}\nb: [{', '.join(['*a'] * aliases + ['x'] * rest)}]\n"


def test_a_file_may_hold_as_many_values_as_the_limit() -> None:
    assert problems_in(of_size(MAX_NODES)) == []


def test_one_value_more_than_the_limit_is_one_problem() -> None:
    assert [each.text for each in parse(of_size(MAX_NODES + 1), WHERE).problems] == ["not usable: it is too large"]
