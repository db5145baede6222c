"""Rules hold when all that they need is there and nothing that speaks against them."""

from interlock.core.poison.atoms import atoms
from interlock.core.poison.english import ENGLISH
from interlock.core.poison.languages import LANGUAGES
from interlock.core.poison.rules import ORDERS, PAIR, SENTENCE, holding
from interlock.core.poison.topics import TOPICS

_MADE = {"parameter", "other-tool", *(f"{own}{each.kind}" for own in ("", "own-") for each in TOPICS)}
"""What is no pattern and is known from where a text stands."""


def test_one_of_each_alternative_is_enough() -> None:
    assert [each.code for each in holding(SENTENCE, frozenset({"move", "secret", "dest"})) if each.hard] == [
        "exfiltration"
    ]


def test_what_speaks_against_a_rule_ends_it() -> None:
    assert not [each for each in holding(SENTENCE, frozenset({"move", "secret", "dest", "refused"})) if each.hard]


def test_every_rule_names_atoms_that_there_are() -> None:
    known = {name for name, _ in (*ENGLISH, *LANGUAGES)} | _MADE
    named = {atom for rule in (*SENTENCE, *PAIR) for each in (*rule.needs, rule.unless) for atom in each}

    assert named | ORDERS <= known


def test_all_atoms_are_looked_for_in_one_pass() -> None:
    assert {"move", "topic:passwords"} <= atoms().found("send the password")
    assert atoms().found("zzz") == frozenset()
