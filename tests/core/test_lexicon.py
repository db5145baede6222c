"""The word lists: what users were promised is in them, and no word says two things."""

from itertools import combinations

import pytest

from interlock.core.classify import name_class
from interlock.core.lexicon import DEFAULT, EXEC_DESTRUCTIVE, EXEC_MUTATING, PREFIXES
from interlock.core.safety import SafetyClass

PROMISED = {
    "dangerous_anywhere": "delete remove drop destroy purge erase wipe kill revoke reset truncate uninstall",
    "dangerous_first": "clear archive cancel disable close force terminate",
    "subprocess_first": "run execute exec invoke launch open eval shell spawn validate",
    "write_anywhere": "create update set send write post put insert patch upload edit rename move merge publish import"
    " restore append push commit checkout rebase",
    "write_first": "add new copy enable assign tag save start stop",
    "read_first_or_last": "read list get search find scan fetch query show describe view check count lookup convert"
    " resolve retrieve summarize explain status diff",
    "git_dangerous": "reset clean",
}


@pytest.mark.parametrize("name", PROMISED)
def test_the_promised_words_are_in_the_list(name: str) -> None:
    assert set(PROMISED[name].split()) <= getattr(DEFAULT, name)


def test_no_word_stands_in_the_lists_of_two_classes() -> None:
    lists = [
        DEFAULT.dangerous_anywhere | DEFAULT.dangerous_first,
        DEFAULT.subprocess_anywhere | DEFAULT.subprocess_first,
        DEFAULT.write_anywhere | DEFAULT.write_first,
        DEFAULT.read_first_or_last | DEFAULT.read_first,
        DEFAULT.answers,
    ]

    assert [one & other for one, other in combinations(lists, 2) if one & other] == []


def test_no_verb_that_does_something_is_taken_for_a_noun() -> None:
    assert DEFAULT.nouns & DEFAULT.verbs == frozenset()


def test_the_lab_lists_are_literal() -> None:
    assert " ".join(sorted(EXEC_DESTRUCTIVE)) == "delete destroy drop erase kill purge remove revoke wipe"
    assert " ".join(sorted(EXEC_MUTATING)) == "add create insert patch post put send set update upload write"


def test_there_are_21_prefixes() -> None:
    assert len(PREFIXES) == 21


@pytest.mark.parametrize(
    ("safety_class", "word", "name"),
    [
        (SafetyClass.DANGEROUS, "frob", "get_frob"),
        (SafetyClass.SUBPROCESS, "frob", "frob_it"),
        (SafetyClass.WRITE_CAPABLE, "frob", "get_frob"),
        (SafetyClass.READ_ONLY, "frob", "it_frob"),
    ],
)
def test_an_operator_can_add_words_of_each_class(safety_class: SafetyClass, word: str, name: str) -> None:
    lexicon = DEFAULT.extended({safety_class: [word.upper()]})

    assert name_class(name, lexicon)[0] is safety_class
