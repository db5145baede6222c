"""Globs against a second implementation, and against texts meant to hurt."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.globs import MAX_PATTERN, MAX_REGEX, BadPattern, compile_glob, compile_regex

TEXTS = st.text("ab_[]*?", max_size=10)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("github__create_*", "github__create_issue github__create_", "github__create xgithub__create_a"),
        ("*", "anything", ""),
        ("*__delete_*", "a__delete_b a__b__delete_c", "a_delete_b"),
        ("a*b*c", "abc aXbYc abbc", "ac abcd cba ab"),
        ("a*a", "aa aXa", "a ab"),
        ("*a*b", "ab aXb XaXb", "ba a b"),
        ("exact", "exact", "exactly inexact Exact"),
        ("?at", "cat bat", "at chat"),
        ("[cb]at", "cat bat", "rat at"),
        ("[!cb]at", "rat", "cat bat"),
        ("[!c]at", "bat !at", "cat at"),
        ("[a-c]x", "ax cx", "dx -x"),
        ("[*]", "*", "a"),
        ("a[]]b", "a]b", "ab"),
        ("[!]", "!", "a"),
        ("[^a]", "^ a", "b"),
        (r"[\d]", "d \\", "1"),
        ("a.b", "a.b", "axb"),
        ("acme/*", "acme/x acme/x/y", "evil/acme/x"),
    ],
)
def test_globs_match_what_they_say(pattern: str, matching: str, other: str) -> None:
    glob = compile_glob(pattern)

    assert [text for text in matching.split() if not glob.matches(text)] == []
    assert [text for text in other.split() if glob.matches(text)] == []


def test_a_star_matches_nothing_and_new_lines() -> None:
    assert compile_glob("*").matches("")
    assert compile_glob("a*b?").matches("a\n\nb\n")


@pytest.mark.parametrize(
    ("pattern", "prefix", "literal"),
    [
        ("github__get", "github__get", "github__get"),
        ("github__*", "github__", None),
        ("*x", "", None),
        ("a?b*", "a", None),
        ("ab[cd]", "ab", None),
    ],
)
def test_the_literal_beginning_is_known_for_the_index(pattern: str, prefix: str, literal: str | None) -> None:
    glob = compile_glob(pattern)

    assert (glob.literal_prefix, glob.literal) == (prefix, literal)


@pytest.mark.parametrize("pattern", ["[", "a[bc", "[]", "[!", "[z-a]", "x" * (MAX_PATTERN + 1)])
def test_a_bad_glob_is_refused_with_a_reason(pattern: str) -> None:
    with pytest.raises(BadPattern, match=r"never closed|RE2|longer"):
        compile_glob(pattern)


@given(st.text("ab*", max_size=6), TEXTS)
def test_star_globs_equal_the_obvious_regex(pattern: str, text: str) -> None:
    obvious = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)

    assert compile_glob(pattern).matches(text) == (obvious.fullmatch(text) is not None)


@given(st.text("ab*?", max_size=6), TEXTS)
def test_question_mark_globs_equal_the_obvious_regex(pattern: str, text: str) -> None:
    obvious = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern)

    assert compile_glob(pattern).matches(text) == (re.fullmatch(obvious, text, re.DOTALL) is not None)


@given(TEXTS, TEXTS)
def test_every_match_begins_with_the_literal_prefix(pattern: str, text: str) -> None:
    try:
        glob = compile_glob(pattern)
    except BadPattern:
        return

    assert not glob.matches(text) or text.startswith(glob.literal_prefix)


@pytest.mark.parametrize("pattern", ["*a" * 50 + "*b", "?*" * 50 + "b"])
def test_a_pattern_that_would_make_a_backtracking_engine_hang_is_answered(pattern: str) -> None:
    assert not compile_glob(pattern).matches("a" * 20_000)


def test_a_regex_is_searched_for_anywhere() -> None:
    assert compile_regex(r"(?i)\bdrop\b")("please DROP it")
    assert not compile_regex(r"(?i)\bdrop\b")("raindrops")


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "x" * (MAX_REGEX + 1)])
def test_a_regex_that_re2_does_not_know_is_refused_with_a_reason(pattern: str) -> None:
    with pytest.raises(BadPattern, match=r"RE2 cannot compile it: \S|longer"):
        compile_regex(pattern)


def test_a_catastrophic_regex_is_answered() -> None:
    assert not compile_regex(r"^(a+)+$")("a" * 50_000 + "!")


def test_a_lone_surrogate_in_a_text_raises_nothing() -> None:
    assert compile_glob("a?").matches("a\ud800")
