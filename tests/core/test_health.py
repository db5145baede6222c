"""How an upstream is doing, in words for people."""

import json

from interlock.core.health import Health, UpstreamState


def test_health_has_words_for_people() -> None:
    assert [each.value for each in Health] == ["starting", "ready", "down", "stopped"]
    assert json.dumps(Health.READY) == '"ready"'


def test_an_upstream_that_was_never_started_anew_says_so() -> None:
    state = UpstreamState("up", "up", "stdio", Health.READY, "", 3, "2025-11-25", False)

    assert (state.since, state.restarts) == (0, 0)
