"""Argument matchers: every operator, every odd shape."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.core.matchers import OPERATOR_NAMES, BadMatcher, compile_matcher, either_of, parse_path, same
from interlock.core.model import Json
from tests.core.strategies import json_values

HUGE = 10**5000


def matches(path: str, wanted: Json, arguments: dict[str, Json], *, allowing: bool = False) -> bool:
    return compile_matcher(path, wanted).match(arguments, allowing=allowing)


OPERATORS: list[tuple[Json, list[Json], list[Json]]] = [
    ("acme/*", ["acme/x"], ["evil/x", None]),
    ("15*", [150, 15.5, "15"], [51, True]),
    ("true", [True, "true"], [False, 1]),
    (["a", "b*"], ["a", "bc"], ["c", 1]),
    (5, [5, 5.0], [6, "5", True]),
    (True, [True], [1, "true", False]),
    (None, [None], [0, ""]),
    ({"equals": {"a": [1]}}, [{"a": [1]}, {"a": [1.0]}], [{"a": [1, 2]}, {"a": [2]}, {"b": [1]}, []]),
    ({"equals": [1, "x"]}, [[1, "x"]], [["x", 1], [1], "1x"]),
    ({"not": "acme/*"}, ["evil/x", None], ["acme/x"]),
    ({"not": {"gt": 5}}, [5, 1], [6]),
    ({"in": ["x", 3]}, ["x", 3, 3.0], ["y", "3", [3]]),
    ({"glob": "a?c"}, ["abc"], ["ac"]),
    ({"matches": r"(?i)\bdrop\b"}, ["DROP table", "drop"], ["raindrop"]),
    ({"contains": "x"}, ["axb", ["x"]], ["ab", ["ax"], None]),
    ({"contains": 3}, [[1, 3]], [[1], "3"]),
    ({"gt": 100}, [101, 100.5, "150", HUGE], [100, 99, "99", None]),
    ({"gte": 100}, [100, "100"], [99]),
    ({"lt": 100}, [99, -1, "5"], [100]),
    ({"lte": 100}, [100], [101]),
    ({"gt": 1, "lt": 5}, [2], [1, 5]),
    ({"absent": False}, ["x", None, [], {}], []),
]


@pytest.mark.parametrize(("wanted", "yes", "no"), OPERATORS)
def test_operators_say_yes_and_no(wanted: Json, yes: list[Json], no: list[Json]) -> None:
    for allowing in (False, True):
        assert [value for value in yes if not matches("a", wanted, {"a": value}, allowing=allowing)] == []
        assert [value for value in no if matches("a", wanted, {"a": value}, allowing=allowing)] == []


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("acme/*", ["acme/x"]),
        ("acme/*", {"x": 1}),
        ({"matches": "drop"}, ["drop"]),
        ({"not": "acme/*"}, ["acme/x"]),
        ({"gt": 100}, "a lot"),
        ({"gt": 100}, "nan"),
        ({"gt": 100}, "1e999"),
        ({"gt": 100}, [150]),
        ({"gt": 100}, True),
        ({"gt": 100}, "1" * 5000),
        ({"contains": "x"}, {"x": 1}),
        ({"contains": "x"}, 5),
        (["a", {"gt": 5}], [1]),
        ({"glob": "*", "gt": 5}, [1]),
    ],
)
def test_an_odd_shape_matches_a_rule_that_restricts_and_no_rule_that_allows(wanted: Json, value: Json) -> None:
    assert matches("a", wanted, {"a": value}, allowing=False)
    assert not matches("a", wanted, {"a": value}, allowing=True)


def test_a_number_too_long_to_be_written_out_is_an_odd_shape_for_a_glob() -> None:
    assert matches("a", "1*", {"a": HUGE}, allowing=False)
    assert not matches("a", "1*", {"a": HUGE}, allowing=True)


@pytest.mark.parametrize("wanted", ["*", {"not": "x"}, {"gt": 0}, {"absent": False}, None])
@pytest.mark.parametrize("arguments", [{}, {"b": 1}])
def test_a_missing_argument_does_not_match(wanted: Json, arguments: dict[str, Json]) -> None:
    assert not matches("a", wanted, arguments)


@pytest.mark.parametrize(("arguments", "absent"), [({}, True), ({"a": None}, False), ({"b": 1}, True)])
def test_absent_matches_exactly_what_is_missing(arguments: dict[str, Json], absent: bool) -> None:
    assert matches("a", {"absent": True}, arguments) is absent


@pytest.mark.parametrize(
    ("path", "arguments", "matching"),
    [
        ("repo", {"repo": "x"}, True),
        ("a.b", {"a": {"b": "x"}}, True),
        ("a.b", {"a": "x"}, False),
        ("items[0].sql", {"items": [{"sql": "x"}]}, True),
        ("items[1]", {"items": ["x"]}, False),
        ("items[*].sql", {"items": [{"sql": "y"}, {"sql": "x"}]}, True),
        ("items[*]", {"items": []}, False),
        ("items[*]", {"items": "x"}, False),
        ("items[0]", {"items": {"0": "x"}}, False),
        ("m[*][0]", {"m": [["y"], ["x"]]}, True),
        ('["odd.key"].b', {"odd.key": {"b": "x"}}, True),
        ('a["b c"][0]', {"a": {"b c": ["x"]}}, True),
    ],
)
def test_paths_lead_into_the_arguments(path: str, arguments: dict[str, Json], matching: bool) -> None:
    assert matches(path, "x", arguments) is matching


def test_a_star_means_any_element_when_restricting_and_every_element_when_allowing() -> None:
    mixed: dict[str, Json] = {"repos": ["acme/x", "evil/x"]}

    assert matches("repos[*]", "acme/*", mixed, allowing=False)
    assert not matches("repos[*]", "acme/*", mixed, allowing=True)
    assert matches("repos[*]", "acme/*", {"repos": ["acme/x", "acme/y"]}, allowing=True)


@pytest.mark.parametrize("path", ["", "a..b", ".a", "a.", "a[", "a[]", "a[-1]", "a[x]", '["a]', '[""]'])
def test_a_bad_path_is_refused(path: str) -> None:
    with pytest.raises(BadMatcher, match="path"):
        parse_path(path)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({}, "empty"),
        ({"gtt": 5}, "unknown operator 'gtt'; known are equals"),
        ({"gt": "5"}, "'gt' wants a number"),
        ({"lte": True}, "'lte' wants a number"),
        ({"in": "x"}, "'in' wants a list"),
        ({"glob": 5}, "a glob must be a text"),
        ({"matches": ["x"]}, "a regex must be a text"),
        ({"matches": "("}, "RE2 cannot compile it"),
        ("a[", "never closed"),
        ({"absent": "yes"}, "stands alone"),
        ({"absent": True, "equals": 1}, "stands alone"),
        ({"not": {"absent": True}}, "unknown operator 'absent'"),
    ],
)
def test_a_bad_matcher_is_refused_with_what_is_wrong(wanted: Json, said: str) -> None:
    with pytest.raises(BadMatcher) as refused:
        compile_matcher("a", wanted)

    assert said in str(refused.value)


def test_all_operators_of_the_contract_are_known() -> None:
    assert set(OPERATOR_NAMES) == set("equals not in glob matches contains gt gte lt lte absent".split())


@given(json_values, json_values)
def test_json_equality_is_an_equivalence(left: Json, right: Json) -> None:
    assert same(left, left)
    assert same(left, right) == same(right, left)


@given(
    st.sampled_from(["a", "a.b", "a[*]", "a[0].b", "a[*][*]"]),
    st.sampled_from(["x*", ["x", "?"], {"not": "x"}, {"gt": 1}, {"matches": "x"}, {"contains": "x"}, {"in": [1]}]),
    st.dictionaries(st.sampled_from("ab"), json_values),
)
def test_any_json_gets_an_answer_and_an_allowing_rule_never_matches_more(
    path: str, wanted: Json, arguments: dict[str, Json]
) -> None:
    matcher = compile_matcher(path, wanted)

    assert matcher.match(arguments, allowing=False) or not matcher.match(arguments, allowing=True)


REGEXES = [r"(?i)\bdrop\b", "a|b", "^x", "x$", r"\Qa)|(?:b", r"\Qc\E", "(?P<name>1)", "(?P<name>2)", "", "(?s).", "0+"]


@given(
    st.lists(st.sampled_from(REGEXES), min_size=1, max_size=4),
    st.sampled_from(["a", "a[*]", "a.b"]),
    st.one_of(json_values, st.sampled_from(["drop", "b", "DROP it", "xc", "2", "a)|(?:b)|(?:c"])),
)
@example([r"\Qa", r"\Qb\E"], "a", "a")
def test_several_regexes_in_one_say_what_one_of_them_would_say(regexes: list[str], path: str, value: Json) -> None:
    matchers = [compile_matcher(path, {"matches": regex}) for regex in regexes]
    together = either_of(matchers)
    arguments: dict[str, Json] = {"a": value}
    one_of_them = any(each.match(arguments, allowing=False) for each in matchers)

    assert together is None or together.match(arguments, allowing=False) == one_of_them


@pytest.mark.parametrize(
    "wanted",
    [
        [{"matches": "a"}],
        [{"matches": "a"}, "glob"],
        [{"matches": "a"}, {"matches": "b", "not": "c"}],
        [{"matches": r"\Qa"}, {"matches": "b"}],
        [{"matches": "a" * 5000}, {"matches": "b" * 5000}],
    ],
    ids=["alone", "no regex", "more than a regex", "quoted to its end", "too long together"],
)
def test_what_cannot_be_asked_as_one_is_not(wanted: list[Json]) -> None:
    assert either_of([compile_matcher("a", each) for each in wanted]) is None


def test_an_empty_list_of_wanted_values_fits_none() -> None:
    assert not matches("a", {"in": []}, {"a": "x"})
    assert not matches("a", [], {"a": "x"})
