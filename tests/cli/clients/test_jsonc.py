"""Editing JSON with comments where it stands."""

import json
import re
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.cli.clients.jsonc import MAX_DEPTH, Broken, drop, parse, put

# Reading --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "// no, /* no */", }', {"a": "// no, /* no */"}),
        ("[1, 2, /* x */ ]", [1, 2]),
        ('{"a": "\\",}"}', {"a": '",}'}),
        ('\ufeff// first\n{"a": [true, null, -1.5e3]} // last', {"a": [True, None, -1500.0]}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("", {}),
        (" \r\n", {}),
    ],
)
def test_comments_and_trailing_commas_mean_nothing(text: str, value: object) -> None:
    assert parse(text).value == value


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{\n  "a": word}', (2, 8)),
        ('{"a" 1}', (1, 6)),
        ("{'a': 1}", (1, 2)),
        ('{"a": 1 "b": 2}', (1, 9)),
        ("[1 2]", (1, 4)),
        ("{,}", (1, 2)),
        ('{"a": "x\ny"}', (1, 7)),
        ('{"a": "\\q"}', (1, 7)),
        ('{"a": 01}', (1, 7)),
        ("{} {}", (1, 4)),
        ('{"a": /* open', (1, 7)),
        ("{", (1, 2)),
        ('{"a": ' + "9" * 5000 + "}", (1, 7)),
    ],
)
def test_what_is_no_json_is_told_by_its_place(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(Broken) as broken:
        parse(text)

    assert (broken.value.line, broken.value.column) == place


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_what_is_nested_too_deeply_is_told_and_does_not_break_us(opening: str) -> None:
    with pytest.raises(Broken, match="too deeply"):
        parse(opening * (MAX_DEPTH + 1))


# Putting in -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", '{\n  "s": {\n    "i": 1\n  }\n}'),
        ("", '{\n  "s": {\n    "i": 1\n  }\n}\n'),
        ('{"a": 1}', '{"s": {"i": 1}, "a": 1}'),
        ('{ "s": {} }', '{ "s": {\n  "i": 1\n} }'),
        ('{\n\t"s": {\n\t}\n}', '{\n\t"s": {\n\t\t"i": 1\n\t}\n}'),
        ('{\n    "s": {"i": 0} // x\n}', '{\n    "s": {"i": 1} // x\n}'),
        ('{\r\n "s": { // c\r\n  "b": 2,\r\n },\r\n}', '{\r\n "s": { // c\r\n  "i": 1,\r\n  "b": 2,\r\n },\r\n}'),
        ('{"s": { /* a\n b */ "b": 2}}', '{"s": {\n "i": 1, /* a\n b */ "b": 2}}'),
        ('{"s": {\n  /* only */\n}}', '{"s": {\n  "i": 1\n  /* only */\n}}'),
    ],
)
def test_a_member_is_put_in_as_the_text_around_it_is_written(text: str, wanted: str) -> None:
    assert put(text, ["s", "i"], 1) == wanted


def test_where_no_object_is_nothing_is_put_in() -> None:
    with pytest.raises(Broken, match="an object is expected"):
        put('{"s": 5}', ["s", "i"], 1)


# Taking out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 1, "b": 2}', '{"b": 2}'),
        ('{"b": 2, "a": 1}', '{"b": 2}'),
        ('{"a": 1}', "{}"),
        ('{"a": 1, "a": 2, "b": 2}', '{"b": 2}'),
        ('{\n  "a": {\n    "x": 1\n  },\n  "b": 2\n}', '{\n  "b": 2\n}'),
        ('{\r\n  "b": 2, // of b\r\n  "a": 1\r\n}', '{\r\n  "b": 2 // of b\r\n}'),
        ('{\n  "a": 1, // of a\n  "b": 2,\n}', '{\n  // of a\n  "b": 2,\n}'),
        ('{"a": 1 /* c */ , "b": 2}', '{ /* c */  "b": 2}'),
        ('{"b": 2}', '{"b": 2}'),
    ],
)
def test_a_member_is_taken_out_with_its_line_and_its_comma(text: str, wanted: str) -> None:
    assert drop(text, [], ["a"]) == wanted
    assert parse(wanted).value in ({"b": 2}, {})


def test_where_the_path_leads_nowhere_nothing_is_taken_out() -> None:
    assert drop('{"a": {"b": 1}}', ["x", "y"], ["b"]) == '{"a": {"b": 1}}'
    assert drop('{"a": 1}', ["a"], ["b"]) == '{"a": 1}'


UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""What is tested is the text, not how fast a busy machine makes one up."""

# Whatever the text is -------------------------------------------------------------------------------------------

NAMES = ("alpha", "beta", "interlock", "ümlaut", 'qu"ote')
TRIVIA = st.sampled_from(["", "", " ", "\n", "\r\n\t", "  // line\n", "/* block */", "\n  /* two\n lines */ "])
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.integers(-9, 9), st.booleans(), st.none(), st.text('a\\"/*,{}', max_size=5)
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)


@st.composite
def texts(draw: st.DrawFn, value: Any) -> str:
    """A way to write a value down, with comments and blanks anywhere, and trailing commas."""

    def gap() -> str:
        return draw(TRIVIA)

    def written(value: Any) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        if isinstance(value, list):
            parts = [written(each) for each in cast("list[Any]", value)]
        else:
            members = cast("dict[str, Any]", value)
            parts = [f"{json.dumps(name)}{gap()}:{gap()}{written(each)}" for name, each in members.items()]
        inside = ",".join(f"{gap()}{part}{gap()}" for part in parts)
        trailing = "," + gap() if parts and draw(st.booleans()) else ""
        opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
        return f"{opening}{gap()}{inside}{trailing}{closing}"

    return gap() + written(value) + gap()


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    servers = draw(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4))
    value = {**draw(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3)), "servers": servers}
    if draw(st.booleans()):
        value.pop("servers")
    return draw(texts(value)), value


def kept_in_common(one: str, other: str) -> int:
    """How many characters two texts share at their beginning and at their end."""
    shorter = min(len(one), len(other))
    first = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    last = next((at for at in range(shorter - first) if one[-1 - at] != other[-1 - at]), shorter - first)
    return first + last


@UNHURRIED
@given(documents())
def test_putting_in_changes_one_span_and_nothing_else(document: tuple[str, dict[str, Any]]) -> None:
    text, value = document
    new = {"command": "/x", "args": ["stdio"]}
    servers = value.get("servers", {})
    replaced = parse(text).member("servers")
    old = replaced.member("interlock") if replaced else None

    result = put(text, ["servers", "interlock"], new)

    assert parse(result).value == {**value, "servers": {**servers, "interlock": new}}
    assert kept_in_common(text, result) >= len(text) - (old.end - old.start if old else 0)


@UNHURRIED
@given(documents(), st.sets(st.sampled_from(NAMES)))
def test_taking_out_leaves_every_other_member_and_every_comment(
    document: tuple[str, dict[str, Any]], gone: set[str]
) -> None:
    text, value = document
    node = parse(text).member("servers")
    members = (node.members if node else None) or ()

    result = drop(text, ["servers"], gone)

    wanted = dict(value)
    if "servers" in value:
        wanted["servers"] = {name: each for name, each in value["servers"].items() if name not in gone}
    assert parse(result).value == wanted
    left = text
    for each in reversed([each for each in members if each.name in gone]):
        left = left[: each.start] + left[each.node.end :]
    # Commas and blanks may go; everything that says something stays in its order.
    assert re.sub(r"[\s,]", "", result) == re.sub(r"[\s,]", "", left)
