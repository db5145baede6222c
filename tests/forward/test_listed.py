"""Pages, entries and abilities are read whatever is in them."""

from typing import Any

import pytest

from interlock.core.health import Introduction, LeftOut
from interlock.core.offers import Abilities, Kind
from interlock.forward.link import BadMessage
from interlock.forward.listed import (
    ENDLESS,
    LONGEST_INSTRUCTIONS,
    LONGEST_NAME,
    MAX_DEPTH,
    Listed,
    Page,
    read_abilities,
    read_entries,
    read_introduction,
    read_page,
    read_tools,
)


def test_what_is_no_tool_is_left_out_and_told_by_reason_with_a_count_and_the_first_name() -> None:
    deep, too_deep = (b'{"name":"deep","x":' + b"[" * n + b"]" * n + b"}" for n in (MAX_DEPTH - 1, MAX_DEPTH))
    texts = [b'{"name":"a"}', b"7", b'"b"', b"{}", b'{"name":7}', b"null", b'{"name":"\\ud800"}', deep, too_deep]
    texts.append(b'{"name":"deeper","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    texts += [b'{"name":""}', b'{"name":"\xe2\x80\xae' + b"x" * 200 + b'","x":' + b"[" * 200 + b"]" * 200 + b"}"]
    read = read_tools(Listed(tuple(texts)))

    assert [each["name"] for each in read.tools] == ["a", "deep"]
    assert read.left_out == (
        LeftOut("without a name", 6),
        LeftOut("not readable as JSON", 1),
        LeftOut("nested too deeply", 3, "deep"),
    )


def test_the_name_of_what_is_left_out_is_visible_and_short() -> None:
    text = '{"name":"\u202e' + "x" * 200 + '","x":' + "[" * 200 + "]" * 200 + "}"
    (left_out,) = read_tools(Listed((text.encode(),))).left_out

    assert left_out.first == "<U+202E>" + "x" * (LONGEST_NAME - 1)


def test_a_list_that_goes_on_is_told() -> None:
    assert read_tools(Listed((b'{"name":"a"}',), more=True)).left_out == (LeftOut(ENDLESS),)
    assert read_tools(Listed((b'{"name":"a"}',))).left_out == ()


def test_an_entry_stays_the_text_that_it_was_and_the_first_of_two_counts() -> None:
    first, again = b'{ "uri" : "a:1", "x": 1.50 }', b'{"uri":"a:1","x":2}'

    assert read_entries(Kind.RESOURCES, [first, again, b'{"name":"no uri"}', b"7"]) == {"a:1": first}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.RESOURCES, b'{"uri":"x"}'),
        (Kind.TEMPLATES, b'{"uriTemplate":"x"}'),
        (Kind.PROMPTS, b'{"name":"x"}'),
    ],
)
def test_an_entry_is_named_by_the_member_of_its_kind(kind: Kind, text: bytes) -> None:
    assert read_entries(kind, [text]) == {"x": text}


def test_a_page_is_its_entries_and_the_way_to_the_next() -> None:
    assert read_page("m", "tools", b'{"tools":[ {"a": 1} ,7],"nextCursor":"n"}') == Page((b'{"a": 1}', b"7"), "n")
    assert read_page("m", "tools", b'{"prompts":5}') == Page()


@pytest.mark.parametrize("result", [b"7", b'{"tools":7}', b'{"tools":null}', b'{"nextCursor":7}'])
def test_an_answer_that_is_no_page_is_refused(result: bytes) -> None:
    with pytest.raises(BadMessage, match="its answer to tools/list"):
        read_page("tools/list", "tools", result)


ALL = {"resources": {"subscribe": True}, "prompts": {}, "completions": {}}


@pytest.mark.parametrize(
    ("declared", "can"),
    [
        (ALL, Abilities(resources=True, subscribe=True, prompts=True, completions=True)),
        ({"resources": {"subscribe": "yes"}}, Abilities(resources=True)),
        ({"resources": True, "prompts": None, "completions": []}, Abilities()),
        (None, Abilities()),
        ([], Abilities()),
    ],
)
def test_an_ability_counts_when_it_was_declared_in_the_form_of_one(declared: Any, can: Abilities) -> None:
    assert read_abilities(declared) == can


@pytest.mark.parametrize(
    ("server_info", "instructions", "read"),
    [
        ({"name": "it", "version": "2", "title": "It"}, "Ask.", Introduction("it", "2", "Ask.")),
        ({"name": 7, "version": None}, ["Ask."], Introduction()),
        ("it", None, Introduction()),
        ({"name": "n" * 999, "version": "v" * 999}, "i" * 99_999, Introduction("n" * 200, "v" * 200, "i" * 20_000)),
    ],
)
def test_what_it_says_of_itself_is_text_that_has_an_end(
    server_info: object, instructions: object, read: Introduction
) -> None:
    assert (LONGEST_NAME, LONGEST_INSTRUCTIONS) == (200, 20_000)
    assert read_introduction(server_info, instructions) == read
