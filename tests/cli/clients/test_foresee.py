"""What would become of the tools of servers that are not ours yet."""

import sys
from pathlib import Path

import pytest

from interlock.cli.clients.foresee import foresee
from interlock.config.tree import Server, Settings
from tests.upstream.running import stdio_argv


def test_servers_are_started_once_and_their_tools_counted(tmp_path: Path) -> None:
    command, *arguments = stdio_argv(tmp_path / "up.log")
    servers = {
        "up": Server(command=command, args=arguments, env={"A": "${env:ONLY_HERE}"}),
        "poor": Server(command=command, args=arguments, env={"A": "${env:NOWHERE}"}),
        "broken": Server(command=str(tmp_path / "nothing")),
        "off": Server(command=sys.executable, enabled=False),
    }

    found = foresee(Settings(), servers, {"ONLY_HERE": "x"})

    assert set(found) == {"up", "poor", "broken"}
    assert found["up"].tools > found["up"].held > 0
    assert (found["up"].problem, len(found["up"].definitions)) == ("", found["up"].tools)
    assert "NOWHERE" in found["poor"].problem
    assert found["broken"].problem
    assert not (tmp_path / "interlock.db").exists()


def test_a_server_that_never_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.cli.clients.foresee.SECONDS", 0.1)
    servers = {"mute": Server(command="sleep", args=["1000"])}

    found = foresee(Settings(), servers, {})

    assert found["mute"].tools == 0
    assert found["mute"].problem


def test_without_servers_nothing_is_started() -> None:
    assert foresee(Settings(), {}, {}) == {}
