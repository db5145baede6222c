"""A probe of servers that nobody here wrote: what they received is what the plan said, and nothing more changed."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Interlock, Outcome, run_here
from tests.upstream.everything import ROOT
from tests.upstream.others import PACKAGES, World, newer_node, world
from tests.upstream.running import http_upstream

TEE = [sys.executable, str(ROOT / "tests" / "upstream" / "tee.py")]
OFFICIAL = PACKAGES / "@modelcontextprotocol"
RECORDS = """
mock_server:
  name: records
  tools:
    - name: search_records
      description: "Find records matching a query."
      annotations: {readOnlyHint: true}
      response: {content: [{type: text, text: "0 records"}]}
    - name: delete_record
      description: "Delete a record by id."
      response: {content: [{type: text, text: "deleted"}]}
"""


@pytest.fixture
def il(capsys: pytest.CaptureFixture[str]) -> Interlock:
    def run(*words: str) -> Outcome:
        return run_here(capsys, words)

    return run


@pytest.fixture
def real(tmp_path: Path) -> Generator[World]:
    with world(tmp_path) as found:
        yield found


def command_of(name: str, real: World) -> list[str]:
    """The command line of a server."""
    node, env = newer_node(), ["env", f"MEMORY_FILE_PATH={real.memory}"]
    return {
        "everything": [node, f"{OFFICIAL}/server-everything/dist/index.js", "stdio"],
        "files": [node, f"{OFFICIAL}/server-filesystem/dist/index.js", str(real.files)],
        "memory": [*env, node, f"{OFFICIAL}/server-memory/dist/index.js"],
        "git": [sys.executable, "-m", "mcp_server_git", "--repository", str(real.repository)],
        "time": [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"],
    }[name]


def received(log: Path) -> "Counter[str]":
    """The calls that a server got, by tool."""
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    return Counter(each["params"]["name"] for each in messages if each.get("method") == "tools/call")


def held_to_the_plan(run: dict[str, Any], got: "Counter[str]") -> None:
    """See that every tool was called as the plan says, and that the report tells of every call."""
    for each in run["plan"]:
        most = {"Execute": 10_000, "ExecuteOnce": 1, "Refuse": 0}[each["decision"]]
        assert got[each["tool"]] <= most
        assert each["exec_class"] != "Destructive" or got[each["tool"]] == 0
    assert got == Counter(each["tool"] for each in run["calls"] if each["outcome"] != "refused")


@pytest.mark.parametrize("name", ["everything", "files", "memory", "git", "time"])
def test_a_real_server_receives_what_the_plan_says_and_no_honest_one_is_accused(
    tmp_path: Path, il: Interlock, real: World, name: str
) -> None:
    log, config = tmp_path / "log", tmp_path / "interlock.yaml"
    config.write_text("route_rules: [{id: stay-here, tool_pattern: '*gzip-file-as-resource', effect: deny}]\n")
    words = ("--timeout", "5", "--json", "--data-dir", str(tmp_path / "data"), "--config", str(config))
    seen = il("probe", *words, "--", *TEE, str(log), *command_of(name, real))
    run = seen.json
    got = received(log)
    held_to_the_plan(run, got)
    assert got["gzip-file-as-resource"] == 0  # it would fetch something from far away, and a rule says no
    assert run["ended"] == "complete"
    # The one tool that takes ten seconds by itself is given five.
    expected = {("hang", "trigger-long-running-operation")} if name == "everything" else set[tuple[str, str]]()
    assert {(each["code"], each["tool"]) for each in run["findings"] if each["severity"] == "high"} == expected


def digests(folder: Path) -> dict[str, str]:
    """What is in a folder."""
    return {
        str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest() if each.is_file() else "folder"
        for each in folder.rglob("*")
    }


def test_a_folder_changes_only_through_tools_that_are_planned_to_write(
    tmp_path: Path, il: Interlock, real: World
) -> None:
    before = digests(real.files)
    words = ("--json", "--data-dir", str(tmp_path / "data"))
    run = il("probe", *words, "--", *command_of("files", real)).json
    after = digests(real.files)
    writes = [each["tool"] for each in run["plan"] if each["decision"] == "ExecuteOnce"]
    assert writes == ["create_directory"]
    assert {name: after.get(name) for name in before} == before
    assert [after[name] for name in after.keys() - before.keys()] == ["folder"]


def test_with_strict_and_nothing_declared_to_write_a_folder_stays_as_it_is(
    tmp_path: Path, il: Interlock, real: World
) -> None:
    before = digests(real.repository)
    words = ("--plan", "--strict", "--json", "--data-dir", str(tmp_path / "data"))
    il("probe", *words, "--", *command_of("git", real))
    assert digests(real.repository) == before


def test_the_example_of_the_policy_runs_what_it_says_and_holds_back_the_rest(tmp_path: Path, il: Interlock) -> None:
    (tmp_path / "records.yaml").write_text(RECORDS)
    log = tmp_path / "log"
    mock = [sys.executable, "-m", "interlock", "mock", "--tools-from", str(tmp_path / "records.yaml")]
    run = il("probe", "--json", "--data-dir", str(tmp_path / "data"), "--", *TEE, str(log), *mock).json
    assert [(each["tool"], each["exec_class"], each["decision"]) for each in run["plan"]] == [
        ("search_records", "ReadOnly", "Execute"),
        ("delete_record", "Destructive", "Refuse"),
    ]
    got = received(log)
    assert got["search_records"] >= 2
    assert got["delete_record"] == 0
    held_to_the_plan(run, got)


def test_a_server_whose_schema_would_take_for_ever_is_told_of_and_its_other_tools_are_called(
    tmp_path: Path, il: Interlock
) -> None:
    level: dict[str, Any] = {"type": "object", "required": ["a"]}
    steps = {
        f"d{at}": {**level, "properties": {"a": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 8}}} for at in range(10)
    }
    bomb = {**level, "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**steps, "d10": {"type": "integer"}}}
    tools = [{"name": "get_bomb", "input_schema": bomb}, {"name": "get_it"}]
    (tmp_path / "bombs.json").write_text(json.dumps({"mock_server": {"name": "bombs", "tools": tools}}))
    mock = [sys.executable, "-m", "interlock", "mock", "--tools-from", str(tmp_path / "bombs.json")]
    run = il("probe", "--json", "--data-dir", str(tmp_path / "data"), "--", *mock).json
    assert run["ended"] == "complete"
    assert {each["tool"] for each in run["calls"]} == {"get_it"}
    assert [each["tool"] for each in run["findings"] if each["code"] == "no-arguments"] == ["get_bomb"]


def test_a_configured_server_is_probed_through_the_usual_log(tmp_path: Path, il: Interlock, real: World) -> None:
    (tmp_path / "interlock.yaml").write_text(real.yaml())
    words = ("--config", str(tmp_path / "interlock.yaml"), "--data-dir", str(tmp_path / "data"))
    run = il("probe", "time", "--json", *words).json
    logged = il("activity", "list", "--type", "tool_call", "--limit", "500", "--json", *words).json["items"]
    ids = {each["activity"] for each in run["calls"]}
    assert ids == {each["id"] for each in logged if each["entry"] == "lab"}
    assert {each["server"] for each in logged} == {"time"}


def test_a_server_over_http_is_probed_with_a_pause_between_calls(tmp_path: Path, il: Interlock) -> None:
    log = tmp_path / "log"
    with http_upstream(log) as server:
        words = ("--max-calls", "6", "--call-delay", "50", "--json", "--data-dir", str(tmp_path / "data"))
        run = il("probe", server.url, *words).json
    assert (len(run["calls"]), run["ended"], run["server"]["transport"]) == (6, "budget", "http")
    assert run["seconds"] >= 5 * 0.05
