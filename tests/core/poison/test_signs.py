"""A sign is short, safe to show, and told once for each place."""

from interlock.core.poison import signs
from interlock.core.poison.signs import MOST_SIGNS, sign, strongest


def test_evidence_is_short_and_shows_what_is_hidden() -> None:
    found = sign(signs.OVERRIDE, "/d", "\u202e" + "x" * 500)

    assert found.evidence.startswith("<U+202E>x")
    assert len(found.evidence) < 200


def test_a_sign_is_a_sentence() -> None:
    assert sign(signs.SHELL, "", "").text.endswith("(the definition)")
    assert sign(signs.SHELL, "/d", "rm").text.endswith("(/d): rm")


def test_hard_signs_come_first_and_each_place_once() -> None:
    soft, hard = sign(signs.OVERRIDE, "/d", hard=False), sign(signs.OVERRIDE, "/d")

    assert strongest([soft, hard]) == (hard,)
    assert len(strongest(sign(signs.OVERRIDE, f"/{at}") for at in range(100))) == MOST_SIGNS
