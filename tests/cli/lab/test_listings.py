"""Where the definitions come from that a scan reads."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.lab.places import SAMPLE
from tests.cli.running import Interlock, configure

SERVERS = f"""
servers:
  notes: {{command: {json.dumps(SAMPLE[0])}, args: {json.dumps(SAMPLE[1:])}}}
  more: {{command: {json.dumps(SAMPLE[0])}, args: {json.dumps(SAMPLE[1:])}}}
  gone: {{command: /no/such/program}}
"""


def test_servers_are_named_one_by_one(il: Interlock) -> None:
    configure(SERVERS)
    out = il("scan", "notes", "more", "--json").json

    assert out["target"] == "notes, more"
    assert [each["code"] for each in out["findings"]].count("shadowed-name") == 6


def test_a_server_that_could_not_be_listed_is_told_and_has_its_exit_code(il: Interlock) -> None:
    configure(SERVERS)
    done = il("scan", "--json")

    assert (done.exit, done.json["target"], done.json["ended"]) == (4, "notes, more", "interrupted")
    assert any(each.startswith("Not scanned: gone: ") for each in done.json["notes"])


def test_findings_come_before_what_could_not_be_listed(il: Interlock) -> None:
    configure(SERVERS)

    assert il("scan", "--fail-on", "low").exit == 20


def test_a_command_in_quotes_may_stand_beside_a_saved_list(il: Interlock) -> None:
    Path("tools.json").write_text(json.dumps({"tools": [{"name": "read_note"}]}))
    out = il("scan", " ".join(SAMPLE), "tools.json", "--json").json

    assert out["target"].endswith(", tools")
    assert "shadowed-name" in [each["code"] for each in out["findings"]]


def test_a_list_may_come_from_stdin(il: Interlock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(json.dumps([{"name": "delete_it"}]))
    with open(tmp_path / "in", encoding="utf-8") as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        out = il("scan", "-", "--json").json

    assert (out["target"], out["findings"][0]["evidence"]["server"]) == ("stdin", "stdin")


# Clients --------------------------------------------------------------------------------------------------------


@pytest.fixture
def cursor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A client with one server, which leaves a trace when it is started, and one that cannot be taken over."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    trace = tmp_path / "started"
    script = f"touch {trace}; exec {' '.join(SAMPLE)}"
    entry = {"command": "/bin/sh", "args": ["-c", script], "env": {"API_TOKEN": "hunter2-correct-horse"}}
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(
        json.dumps({"mcpServers": {"theirs": entry, "old": {"type": "sse", "url": "https://x.example/sse"}}})
    )
    return trace


def test_the_servers_of_clients_are_shown_and_not_started_when_nobody_agreed(il: Interlock, cursor: Path) -> None:
    done = il("scan", "--all-clients")

    assert (done.exit, done.out) == (2, "")
    assert "theirs: /bin/sh" in done.err
    assert "Add --yes" in done.err
    assert not cursor.exists()


def test_the_servers_of_clients_are_started_after_a_yes(il: Interlock, cursor: Path) -> None:
    done = il("scan", "--all-clients", "--yes", "--json")

    assert cursor.exists()
    assert done.json["target"] == "theirs"
    assert "unannotated" in [each["code"] for each in done.json["findings"]]
    assert "hunter2" not in done.out + done.err


def test_an_entry_of_a_client_that_cannot_be_started_is_told(il: Interlock, cursor: Path) -> None:
    done = il("scan", "--all-clients", "--yes", "--json")

    assert done.exit == 4
    assert any(each.startswith("Not scanned: old of Cursor: ") for each in done.json["notes"])


def test_without_any_client_there_is_nothing_to_scan(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    done = il("scan", "--all-clients", "--json")

    assert (done.exit, done.json["notes"]) == (0, ["0 tools of 0 servers read. Nothing was called."])
