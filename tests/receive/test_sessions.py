"""Sessions belong to the principal that opened them."""

import pytest

from interlock.receive.sessions import Sessions
from tests.fakes import FakeClock


def test_a_session_is_found_by_its_own_principal_only() -> None:
    sessions = Sessions(FakeClock())
    sessions.opened("s1", "alice", "cursor")

    found = sessions.find("s1", "alice")

    assert found is not None
    assert (found.id, found.client) == ("s1", "cursor")
    assert sessions.find("s1", "bob") is None
    assert sessions.find("s2", "alice") is None


def test_a_principal_has_so_many_sessions_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.receive.sessions.MAX_SESSIONS", 2)
    sessions = Sessions(FakeClock())
    for name in ("s1", "s2"):
        assert not sessions.are_enough("alice")
        sessions.opened(name, "alice", None)

    assert sessions.are_enough("alice")
    assert not sessions.are_enough("bob")
    sessions.closed("s1")
    assert not sessions.are_enough("alice")


def test_a_closed_session_is_gone() -> None:
    sessions = Sessions(FakeClock())
    sessions.opened("s1", "alice", None)

    closed = sessions.closed("s1")

    assert closed is not None
    assert sessions.find("s1", "alice") is None
    assert sessions.closed("s1") is None


def test_a_session_is_idle_when_nobody_used_it_and_nothing_runs_in_it() -> None:
    clock = FakeClock(now=100)
    sessions = Sessions(clock)
    for name in ("old", "used", "busy", "heard"):
        sessions.opened(name, "alice", None)
    busy = sessions.find("busy", "alice")
    assert busy is not None
    busy.running[1] = lambda: None
    heard = sessions.find("heard", "alice")
    assert heard is not None
    heard.streams = 1
    clock.forward(60_000_000)
    sessions.find("used", "alice")
    clock.forward(1)

    assert [each.id for each in sessions.idle_for(60)] == ["old"]
    assert len(sessions) == 4
