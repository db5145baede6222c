"""A server as it is shown."""

from interlock.core.health import Health, UpstreamState
from interlock.web.shown import shown_server


def test_a_secret_in_the_words_of_a_server_is_not_shown() -> None:
    state = UpstreamState("up", "up", "stdio", Health.DOWN, "password=swordfish1", 0, "", trusted=False)

    assert shown_server(state).problem == "[redacted assignment]"
