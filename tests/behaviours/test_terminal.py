"""Whatever agents and servers say, a terminal shows it and does nothing: every verb of the command line is tried.

What an export writes into a pipe or a file is left as it is on record; at a terminal it is made harmless too.
"""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interlock.cli.main import NOUNS
from interlock.core.hidden import is_hidden
from tests.browser.hostile_store import fill
from tests.cli.running import COMMAND, environment, gateway_beside, run_here
from tests.cli.seated import seated
from tests.running import Running, server_yaml
from tests.stores import store_variable
from tests.surroundings import isolate
from tests.upstream.injecting import ALL, TRICKS

SERVER = [sys.executable, str(Path(__file__).parents[1] / "upstream" / "injecting.py")]
LATER = [*SERVER, "later"]
TOOLS = ("evil:get_it", f"evil:get_{TRICKS['clear']}")
TYPED = ALL.replace("\0", "")
"""What can be given to a process as a word."""
LAST = len(TRICKS)
"""The number of what is on record with all tricks at once."""

WORDS: dict[str, list[Sequence[str]]] = {
    "db migrate": [[]],
    "db backup": [["backup.db"]],
    "db check": [[]],
    "db copy": [["sqlite", "copy.db"]],
    "init init": [["--dry-run", "--no-input"]],
    "open open": [["--print"]],
    "status status": [[]],
    "doctor doctor": [[]],
    "approval list": [["--all"], ["--workspace", TYPED]],
    "approval show": [[f"ap_g{LAST:03}0"], [TYPED]],
    "approval approve": [[TYPED, "--reason", TYPED], [f"ap_g{LAST:03}0"]],
    "approval deny": [[TYPED], [f"ap_g{LAST:03}0", "--reason", TYPED]],
    "approval metrics": [[]],
    "grant list": [[]],
    "grant revoke": [[TYPED], [f"g{LAST}"]],
    "freeze freeze": [["--caller", TYPED, "--reason", TYPED], ["--server", TYPED]],
    "thaw thaw": [["--caller", TYPED], ["--server", TYPED]],
    "call tool-read": [["--tool-name", f"later:{name}"] for name in ("get_it", "get_error", "get_rpc_error", TYPED)],
    "call tool-write": [["--tool-name", TOOLS[1], "--reason", TYPED]],
    "call tool-destructive": [["--tool-name", "evil:delete_it", "--reason", TYPED]],
    "run-tool run-tool": [["later:get_it"], ["later:get_rpc_error"], ["--dry-run", TOOLS[1]]],
    "tool list": [[], [TYPED]],
    "tool show": [[TOOLS[0]], [TOOLS[1]], [TYPED]],
    "tool diff": [[TOOLS[0]], [TOOLS[1]]],
    "tool trust": [[TOOLS[0]]],
    "tool override": [[TOOLS[0], "dangerous"], [TYPED, "dangerous"]],
    "tool classify": [[TYPED]],
    "server list": [[]],
    "server logs": [["evil"], [TYPED]],
    "server add": [["other", "--command", TYPED], [TYPED, "--command", "x"]],
    "server import": [["servers.json", "--dry-run"]],
    "server remove": [[TYPED]],
    "server enable": [[TYPED]],
    "server disable": [[TYPED]],
    "server restart": [["later"], [TYPED]],
    "client list": [[]],
    "client connect": [[TYPED], ["cursor", "--dry-run"]],
    "client diff": [["cursor"]],
    "client undo": [[TYPED]],
    "activity list": [["--limit", "500"], ["--caller", TYPED]],
    "activity show": [[f"call-{LAST:03}"], *([f"chg-h{number:03}"] for number in range(LAST + 1)), [TYPED]],
    "activity stats": [[]],
    "audit verify": [[], ["--anchor", TYPED]],
    "audit checkpoint": [[]],
    "audit prune": [["--dry-run", "--older-than", "30d"]],
    "rule test": [["--tool", TOOLS[0]], ["--tool", TYPED]],
    "rule explain": [[TOOLS[0]], [TYPED]],
    "rule lint": [[]],
    "rule replay": [[]],
    "rule suggest": [[]],
    "probe probe": [["later"], ["--plan", "--", *SERVER], ["--", *LATER]],
    "token create": [["--name", TYPED, "--role", "agent"]],
    "token list": [[]],
    "token revoke": [[TYPED]],
    "scan scan": [[], ["evil"], ["--sarif", "-", "evil"]],
    "test test": [["suite.yaml"], [TYPED]],
    "scaffold scaffold": [["--plan", "--", *SERVER], ["-o", "made", "--", *LATER]],
    "propose propose": [["--", *LATER]],
    "config show": [[]],
    "config validate": [[], ["--config", TYPED]],
}
"""What is tried of each verb, and once more with --json where there is one."""

ELSEWHERE = {
    "demo demo": "says nothing that did not come with it",
    "serve serve": "tests/cli/test_logs.py, and the log below",
    "stdio stdio": "its stdout is for a program; its log is that of serve",
    "approval watch": "tests/cli/watching: a screen at a terminal, ASCII elsewhere",
    "activity tail": "below",
    "activity export": "below",
    "audit export": "below",
    "mock mock": "its stdout is for a program",
    "record record": "its stdout is for a program",
    "replay replay": "its stdout is for a program",
    "config schema": "says nothing that did not come with it",
}
"""The verbs that are not in the table, and why."""


def verbs() -> Generator[str]:
    for noun in NOUNS:
        module = noun.load()
        for verb in getattr(module, "VERBS", None) or [module.VERB]:
            yield f"{noun.name} {verb.name}"


def typed(verb: str) -> list[str]:
    """A verb as it is typed: one that is called like its noun is not said twice."""
    noun, name = verb.split()
    return [noun] if noun == name else [noun, name]


def tricks_in(text: str) -> set[str]:
    return {char for char in text if char != "\n" and is_hidden(char)}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("tricks")
    (folder / "data").mkdir()
    ThreadPoolExecutor(1).submit(asyncio.run, fill(folder / "data", [*TRICKS.values(), ALL])).result()
    text = (
        "route_rules: [{id: all, tool_pattern: '*', effect: allow}]\nservers:\n"
        + server_yaml("evil", SERVER)
        + server_yaml("later", LATER)
        + server_yaml("down", [sys.executable, "-c", f"import sys; sys.exit({json.dumps(ALL)!a})".replace("'", "''")])
    )
    with gateway_beside(folder, text) as found:
        yield found


@pytest.fixture
def place(running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a client whose servers have such names, and a suite that such a server fails."""
    isolate(tmp_path, monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
    monkeypatch.setenv("INTERLOCK_CONFIG", str(running.folder.path.parent / "interlock.yaml"))
    servers = json.dumps({"mcpServers": {ALL: {"command": ALL, "args": [ALL], "env": {ALL: ALL}}}})
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(servers)
    work = tmp_path / "work"
    (work / "servers.json").write_text(servers)
    expect = [{"target": "text", "matcher": "exact", "value": "something else"}]
    tests = [{"name": ALL, "tool": name, "expect": expect} for name in ("get_it", "get_rpc_error", ALL)]
    suite = {"servers": {"it": {"command": LATER[0], "args": LATER[1:]}}, "tests": tests}
    (work / "suite.yaml").write_text(json.dumps(suite))
    return work


def test_every_verb_is_tried_or_named_with_the_reason_why_not() -> None:
    assert sorted([*WORDS, *ELSEWHERE]) == sorted(verbs())


@pytest.mark.parametrize("verb", WORDS)
def test_what_a_verb_prints_is_only_text(place: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    for more in WORDS[verb]:
        plain = run_here(capsys, (*typed(verb), *more))
        coded = run_here(capsys, (*typed(verb), "--json", *more))

        assert tricks_in(plain.out + plain.err + coded.out + coded.err) == set()
        assert plain.out + plain.err != ""
        if coded.out and "--sarif" not in more:
            json.loads(coded.out)


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["plain", "coded"])
def test_so_are_calls_that_are_shown_as_they_end(place: Path, more: list[str]) -> None:
    argv = [*COMMAND, "activity", "tail", "-n", "50", *more]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment()) as following:
        assert following.stdout is not None
        said = following.stdout.readline().decode()
        following.terminate()
        said += following.stdout.read().decode()

    assert said.count("\n") >= 1
    assert tricks_in(said) == set()


COLOUR = re.compile(r"\x1b\[[0-9;]*m")
AT_A_TERMINAL = {
    "activity export": ["activity", "export", "--format", "csv"],
    "activity export as lines": ["activity", "export"],
    "audit export": ["audit", "export"],
    "activity list": ["activity", "list", "--limit", "500"],
    "tool list": ["tool", "list"],
    "tool show": ["tool", "show", TOOLS[0]],
    "call": ["call", "tool-read", "--tool-name", "later:get_error"],
}


@pytest.mark.parametrize("name", AT_A_TERMINAL)
def test_at_a_terminal_there_are_colours_of_ours_and_nothing_else(place: Path, name: str) -> None:
    argv = [*COMMAND, *AT_A_TERMINAL[name]]
    with seated(argv, environment(TERM="xterm-256color", COLUMNS="100"), place) as seat:
        seat.ended()

    # The terminal itself writes a line break as two characters; a bar of progress is drawn over by ours.
    said = COLOUR.sub("", seat.screen.replace("\r\n", "\n"))
    drawn = re.sub(r"\r?\x1b\[(?:\?25[hl]|2K|1A)", "", said)
    assert tricks_in(drawn) == set()
    assert "U+001B" in said or "u001b" in said


def test_the_log_of_serve_has_a_line_for_each_thing_and_none_that_somebody_else_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(tmp_path, monkeypatch)
    config = tmp_path / "interlock.yaml"
    servers = {"no": {"command": f"/nowhere/{TYPED}"}}
    config.write_text(json.dumps({"servers": servers}))
    argv = [*COMMAND, "serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--config", str(config)]
    env = environment(**store_variable(tmp_path / "data"))
    with subprocess.Popen(argv, stderr=subprocess.PIPE, encoding="utf-8", env=env) as process:
        assert process.stderr is not None
        said = ""
        try:
            while "Agents connect" not in said:
                assert process.poll() is None, said
                said += process.stderr.readline()
            config.write_text(json.dumps({"servers": servers, ALL: ALL}))
            while "was not taken up" not in said:
                assert process.poll() is None, said
                said += process.stderr.readline()
        finally:
            process.kill()

    assert tricks_in(said) == set()
    assert [line for line in said.splitlines() if line.startswith(("ready", "owned"))] == []
    assert {line.split(":")[0] for line in said.splitlines() if "U+001B" in line} == {"  no", "WARNING"}
