"""How an upstream is doing, in words for people."""

import json

import pytest

from interlock.core.health import Health, LeftOut, UpstreamState


def test_health_has_words_for_people() -> None:
    assert [each.value for each in Health] == ["starting", "ready", "down", "stopped"]
    assert json.dumps(Health.READY) == '"ready"'


def test_an_upstream_that_was_never_started_anew_says_so() -> None:
    state = UpstreamState("up", "up", "stdio", Health.READY, "", 3, "2025-11-25", False)

    assert (state.since, state.restarts) == (0, 0)


@pytest.mark.parametrize(
    ("left_out", "text"),
    [
        (LeftOut("nested too deeply", 1, "x"), "1 listed tool was left out (nested too deeply); the first is 'x'"),
        (LeftOut("without a name", 2), "2 listed tools were left out (without a name)"),
        (LeftOut("its list is too long"), "its list is too long"),
    ],
)
def test_what_was_left_out_is_a_sentence(left_out: LeftOut, text: str) -> None:
    assert left_out.text == text
