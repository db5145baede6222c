"""Texts for regular expressions, checked with an engine that had no part in making them."""

from random import Random

import jsonschema_rs
import pytest

from interlock.lab.values.pattern import MAX_PATTERN, NotUnderstood, matching


def made(pattern: str, seed: int = 0, length: int = 0, limit: int = 4096) -> list[str]:
    return list(matching(pattern, Random(seed), length=length, limit=limit))


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-zA-Z0-9_-]+$",
        r"^\d{4}-\d{2}-\d{2}to\d{4}-\d{2}-\d{2}$",
        r"^[a-z.]+\.(png|svg|gif)$",
        r"^I?\d+[:|-]\d+(?:;\d+[:|-]\d+)*$",
        r"^(?P<year>\d{4})(?:-Q[1-4])?$",
        r"^[^\s@]+@[^\s@]+\.[a-z]{2,}$",
        r"^\+?[1-9]\d{6,14}$",
        r"^[-a\]\\]{3}\x41\x{42}$",
        r"^\W\S\D.$",
        r"^\p{L}\p{Lu}\p{N}+?$",
        "^[а-я]{2}$",
        "^a|b$",
        r"\bword\b",
        r"^\t[\n\t]\/$",
        "",
    ],
)
def test_texts_match_the_pattern_they_were_made_for(pattern: str) -> None:
    check = jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())

    assert all(check.is_valid(text) for seed in range(20) for text in made(pattern, seed))


def test_a_length_is_reached_by_repeating() -> None:
    assert 300 in {len(text) for text in made("^[a-z]+$", length=300)}


OUTSIDE = (
    r"( a) [ [] [z-a] (?=a) (?!a) (?<=a)b (?i)a \1 \k * a{x} a{2 [[:alpha:]] \p{Greek} \xzz \x{110000} \x{D800} (?<name"
)


@pytest.mark.parametrize("pattern", [*OUTSIDE.split(), "\\", "a{1000000000}", "(" * 30 + ")" * 30])
def test_what_is_outside_the_grammar_is_refused(pattern: str) -> None:
    with pytest.raises(NotUnderstood):
        made(pattern)


@pytest.mark.parametrize("pattern", ["a" * (MAX_PATTERN + 1), "((a{900}){900}){900}", "(((){999}){999}){999}"])
def test_a_pattern_that_asks_for_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(NotUnderstood):
        made(pattern)
