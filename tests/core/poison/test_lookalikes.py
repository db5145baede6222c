"""Names that look alike."""

import pytest

from interlock.core.poison.lookalikes import imitates, in_latin, looks_of


@pytest.mark.parametrize(
    "name", ["r\u0435ad_file", "\uff52ead_file", "read\u2010file", "\U0001d42dead", "\u03bfpen", "\u0578ame"]
)
def test_a_name_with_letters_that_look_plain_imitates_one(name: str) -> None:
    assert imitates(name)


@pytest.mark.parametrize("name", ["read_file", "", "größe", "r\u00e9sum\u00e9", "漢字", "\u0434\u0430\u0442\u0430"])
def test_an_honest_name_imitates_none(name: str) -> None:
    assert not imitates(name)


def test_a_name_is_written_in_the_letters_that_it_seems_to_have() -> None:
    assert in_latin("\u0441\u0430ll_\uff54ool") == "call_tool"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("get_1tem", "get_ltem"),
        ("g0_on", "gO_on"),
        ("r\u0435ad", "read"),
        ("re\u0301ad", "read"),
        ("re\u200bad", "read"),
    ],
)
def test_names_that_are_drawn_alike_have_the_same_looks(one: str, other: str) -> None:
    assert looks_of(one) == looks_of(other)


@pytest.mark.parametrize(("one", "other"), [("read", "Read"), ("read_file", "read-file"), ("tail", "tall")])
def test_names_that_a_reader_tells_apart_have_looks_of_their_own(one: str, other: str) -> None:
    assert looks_of(one) != looks_of(other)
