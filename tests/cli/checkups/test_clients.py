"""Whether what MCP clients start to reach Interlock is there."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.checkups.checkup import OK, WARN
from interlock.cli.checkups.clients import clients_check
from interlock.cli.clients.table import Surroundings


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    for each in ("home", "here"):
        (tmp_path / each).mkdir()
    return Surroundings(tmp_path / "home", tmp_path / "here", {"PATH": "/usr/bin:/bin"}, "linux")


def cursor(around: Surroundings, **entry: Any) -> None:
    file = around.home / ".cursor" / "mcp.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": {"interlock": entry, "other": {"command": "/nowhere/other"}}}))


def test_nobody_connected_is_no_finding(around: Surroundings) -> None:
    assert clients_check(around).state == OK


def test_a_program_that_is_not_there_any_more_is_a_finding_with_the_command_for_it(around: Surroundings) -> None:
    cursor(around, command="/nowhere/bin/interlock", args=["stdio"])
    told = clients_check(around)

    assert told.state == WARN
    assert told.text == "Cursor starts Interlock with /nowhere/bin/interlock, which is not there."
    assert told.fix.startswith("`interlock client connect cursor`")


def test_a_configuration_that_is_not_there_any_more_is_a_finding(around: Surroundings) -> None:
    args = ["-m", "interlock", "stdio", "--config", str(around.home / "gone.yaml")]
    cursor(around, command=sys.executable, args=args)

    assert f"{around.home / 'gone.yaml'}, which is not there" in clients_check(around).text
    (around.home / "gone.yaml").touch()
    assert clients_check(around).state == OK


@pytest.mark.parametrize("entry", [{"url": "http://127.0.0.1:7373/mcp"}, {"command": sys.executable, "args": "stdio"}])
def test_what_names_no_path_is_no_finding(around: Surroundings, entry: dict[str, Any]) -> None:
    cursor(around, **entry)

    assert clients_check(around).state == OK


def test_a_file_that_is_broken_is_not_read_further(around: Surroundings) -> None:
    cursor(around, command="/nowhere/bin/interlock", args=["stdio"])
    (around.home / ".cursor" / "mcp.json").write_text("{")

    assert clients_check(around).state == OK
