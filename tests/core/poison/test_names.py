"""Names that look like others, names of the gateway, and names in odd letters."""

import pytest

from interlock.core.poison import signs
from interlock.core.poison.lookalikes import looks_of
from interlock.core.poison.names import clones, name_signs, spelled


def codes(name: str) -> list[tuple[str, bool]]:
    return [(each.code, each.hard) for each in name_signs(name)]


@pytest.mark.parametrize("name", ["read_file", "API-get-self", "a.b", "x" * 128])
def test_plain_names_pass(name: str) -> None:
    assert codes(name) == []


@pytest.mark.parametrize("name", ["call_tool_read", "retrieve_tools", "interlock__approve_tool_call", "ca1l_tool_read"])
def test_the_gateways_own_names_are_reserved(name: str) -> None:
    assert codes(name) == [(signs.RESERVED_NAME, True)]


def test_letters_of_another_alphabet_that_look_plain_are_hard() -> None:
    assert codes("d\u0435lete_file") == [(signs.IMITATED_NAME, True)]


@pytest.mark.parametrize("name", ["lire fichier", "a/b", "x" * 129, "\u5929\u6c14"])
def test_other_odd_names_are_shown(name: str) -> None:
    assert codes(name) == [(signs.NAME_CHARACTERS, False)]


def test_a_name_is_spelled_with_every_odd_letter_told() -> None:
    assert spelled("d\u0435l\n") == "d<U+0435>l<U+000A>"


def test_of_two_names_that_look_alike_the_first_stays() -> None:
    found = clones(["read_fi1e", "read_file", "other"], {looks_of("read_file"): "read_file"})

    assert {name: each.code for name, each in found.items()} == {"read_fi1e": signs.LOOKALIKE_NAMES}
