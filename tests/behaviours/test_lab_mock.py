"""Mocks, recordings and replays as their users meet them: processes, pipes, sockets, and clients that others wrote."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from interlock.lab.played.cassette import read_cassette
from tests.clients import typescript
from tests.clients.python import client_in
from tests.clients.script import LIST, Address, Play, Step, Transcript, call
from tests.talking import META, clean
from tests.upstream.everything import everything_argv, messages

SECONDS = 60
INTERLOCK = (sys.executable, "-m", "interlock")
MANIFEST = """
mock_server:
  name: records
  version: "3"
  tools:
    - name: search_records
      description: Find records.
      annotations: {readOnlyHint: true}
      input_schema: {type: object, properties: {query: {type: string}, limit: {type: integer}}}
      output_schema: {type: object, properties: {query: {type: string}, limit: {type: integer}}}
      response:
        content: [{type: text, text: "0 records for ${args.query}"}]
        structuredContent: {query: "${args.query}", limit: "${args.limit}"}
    - {name: read_turns, response: [{content: [{type: text, text: one}]}, {content: [{type: text, text: two}]}]}
    - {name: read_error, fault: error}
    - {name: read_hang, fault: hang}
    - {name: read_garbage, fault: garbage}
    - {name: read_crash, fault: crash}
    - {name: read_slow, fault: "slow:100"}
  resources: [{uri: "note:a", name: a, mime_type: text/plain, text: hello}]
  prompts:
    - {name: ask, arguments: [{name: who}], messages: [{role: user, content: {type: text, text: "${args.who}?"}}]}
"""
CLIENTS: dict[str, Play] = {
    "python-legacy": client_in("legacy"),
    "python-2026-07-28": client_in("2026-07-28"),
    "python-auto": client_in("auto"),
    "typescript": typescript.play,
    "typescript-2-legacy": typescript.second_in("legacy"),
    "typescript-2-2026-07-28": typescript.second_in("2026-07-28"),
    "typescript-2-auto": typescript.second_in("auto"),
}
MEMBERS = ("tools", "content", "resources", "contents", "prompts", "messages")
STEPS = (
    LIST,
    call("search_records", {"query": "it", "limit": 5}),
    call("read_turns"),
    call("read_turns"),
    call("read_error"),
    call("read_unknown"),
    Step("resources"),
    Step("read", "note:a"),
    Step("prompts"),
    Step("prompt", "ask", {"who": "me"}),
)


pytestmark = pytest.mark.usefixtures("interrupts_reach_children")


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    file = tmp_path / "records.yaml"
    file.write_text(MANIFEST, encoding="utf-8")
    return file


@contextmanager
def over_http(*words: str) -> Generator[str]:
    """Run a verb with `--http 0` and give its address; the process ends with the block."""
    argv = [*INTERLOCK, *words, "--http", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean(), text=True) as process:
        try:
            assert process.stderr is not None
            said = next(line for line in process.stderr if "Listening on" in line)
            yield next(word for word in said.split() if word.startswith("http://"))
        finally:
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=SECONDS)
            assert (process.returncode, out) == (0, "")


def texts(transcript: Transcript) -> list[Any]:
    """What came of each step, without the members in which clients and eras differ."""
    found: list[Any] = []
    for each in transcript.outcomes:
        if each.error is not None:
            found.append(each.error["code"])
            continue
        result = each.result or {}
        found.append(next(result[key] for key in MEMBERS if key in result))
    return found


async def play(client: str, address: Address, *steps: Step) -> Transcript:
    async with asyncio.timeout(SECONDS):
        return await CLIENTS[client](address, steps)


# The mock ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["stdio", "http"])
@pytest.mark.parametrize("client", CLIENTS)
async def test_every_client_gets_what_the_manifest_says(manifest: Path, client: str, door: str) -> None:
    words = ("mock", "--tools-from", str(manifest))
    if door == "stdio":
        transcript = await play(client, (*INTERLOCK, *words), *STEPS)
    else:
        with over_http(*words) as url:
            transcript = await play(client, url, *STEPS)
    tools, found, first, second, *rest = texts(transcript)

    assert [each["name"] for each in tools][:2] == ["search_records", "read_turns"]
    assert found == [{"type": "text", "text": "0 records for it"}]
    assert (transcript.outcomes[1].result or {})["structuredContent"] == {"query": "it", "limit": 5}
    assert [each[0]["text"] for each in (first, second)] == ["one", "two"]
    assert rest[:2] == [-32000, -32602]
    assert rest[2][0]["uri"] == "note:a"
    assert rest[3] == [{"uri": "note:a", "mimeType": "text/plain", "text": "hello"}]
    assert rest[4][0]["name"] == "ask"
    assert rest[5][0]["content"] == {"type": "text", "text": "me?"}
    assert transcript.complaints == []


class Talk:
    """A process of ours, spoken with by hand."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, tool: str, number: int) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def hear(self) -> bytes:
        assert self.process.stdout is not None
        async with asyncio.timeout(SECONDS):
            return await self.process.stdout.readline()

    async def leave(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(SECONDS):
            return await self.process.wait()


@pytest.fixture
async def talk(manifest: Path) -> AsyncGenerator[Talk]:
    pipe = asyncio.subprocess.PIPE
    argv = [*INTERLOCK, "mock", "--tools-from", str(manifest)]
    process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe, env=clean())
    yield Talk(process)
    if process.returncode is None:
        process.kill()
        await process.wait()


async def test_a_tool_that_hangs_or_is_slow_stops_no_other(talk: Talk) -> None:
    talk.send("read_hang", 1)
    talk.send("read_slow", 2)
    talk.send("read_turns", 3)
    heard = [json.loads(await talk.hear())["id"] for _ in range(2)]

    assert heard == [3, 2]
    assert await talk.leave() == 0


async def test_garbage_is_a_line_that_is_no_json_and_no_answer_follows(talk: Talk) -> None:
    talk.send("read_garbage", 1)
    line = await talk.hear()
    talk.send("read_turns", 2)

    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(line)
    assert json.loads(await talk.hear())["id"] == 2


async def test_a_crash_ends_the_process_with_its_code(talk: Talk) -> None:
    talk.send("read_crash", 1)

    assert await talk.hear() == b""
    assert await talk.process.wait() == 3


async def test_stdout_is_the_protocol_and_nothing_else(talk: Talk) -> None:
    talk.send("read_turns", 1)
    first = await talk.hear()
    assert await talk.leave() == 0
    assert talk.process.stdout is not None
    assert talk.process.stderr is not None

    assert json.loads(first)["id"] == 1
    assert await talk.process.stdout.read() == b""
    assert b"The mock 'records' has 7 tools." in await talk.process.stderr.read()


# Recording and replaying ------------------------------------------------------------------------------------------


def record(folder: Path, *target: str, config: str = "", env: tuple[str, ...] = ()) -> Address:
    """The command line that records a target into `cassette.jsonl`."""
    (folder / "interlock.yaml").write_text(config, encoding="utf-8")
    given = ("--config", str(folder / "interlock.yaml"), "--data-dir", str(folder / "data"))
    prefix = ("/usr/bin/env", *env) if env else ()
    # Behind the dashes a word would be a program, and not the id of a server.
    dashes = ("--",) if len(target) > 1 else ()
    return (*prefix, *INTERLOCK, "record", "-o", str(folder / "cassette.jsonl"), *given, *dashes, *target)


def replay(folder: Path) -> Address:
    return (*INTERLOCK, "replay", str(folder / "cassette.jsonl"))


EVERYTHING = (
    call("echo", {"message": "hello"}),
    call("get-sum", {"a": 2, "b": 3}),
    call("get-structured-content", {"location": "New York"}),
    call("get-tiny-image"),
    call("get-sum", {"a": "no", "b": 3}),
    Step("resources"),
    Step("read", "demo://resource/static/document/features.md"),
    Step("prompts"),
    Step("prompt", "simple-prompt"),
)


@pytest.mark.parametrize("client", ["python-legacy", "python-2026-07-28"])
async def test_a_replay_answers_as_the_recorded_server_did_in_both_eras(tmp_path: Path, client: str) -> None:
    log = tmp_path / "everything.log"
    target = shlex.join(everything_argv(log))
    recorded = await play(client, record(tmp_path, target), *EVERYTHING)
    before = messages(log)

    for other in ("python-legacy", "python-2026-07-28", "typescript", "typescript-2-auto"):
        replayed = await play(other, replay(tmp_path), LIST, *EVERYTHING)
        steps = list(zip(EVERYTHING, texts(recorded), texts(replayed)[1:], strict=True))
        # What the gateway refused for its arguments is no answer of the server, so a replay does not have it.
        assert [(was, now) for step, was, now in steps if step != EVERYTHING[4] and was != now] == []
        assert "echo" in [each["name"] for each in texts(replayed)[0]]

    assert before
    assert messages(log) == before


async def test_a_recording_lists_the_tools_under_their_own_names_and_as_they_were_written(tmp_path: Path) -> None:
    transcript = await play("python-legacy", record(tmp_path, "sample"), LIST, call("read_note", {"name": "todo"}))
    cassette = read_cassette((tmp_path / "cassette.jsonl").read_bytes())
    listed = {each["name"]: each for each in texts(transcript)[0]}

    assert cassette.server == "sample"
    assert cassette.protocol == "2025-11-25"
    assert {each["name"] for each in cassette.lists["tools"]} <= set(listed)
    assert "_justification" in json.dumps(listed["delete_note"])
    assert "_justification" not in json.dumps(cassette.lists["tools"])


def introduced(transcript: Transcript) -> tuple[str, str, str]:
    """Name, version and instructions, as the client heard them when it came."""
    result = next(
        message["result"]
        for way, message in transcript.wire
        if way == "in" and {"capabilities"} <= message.get("result", {}).keys()
    )
    told = result.get("serverInfo") or result["_meta"]["io.modelcontextprotocol/serverInfo"]
    return told["name"], told["version"], result.get("instructions", "")


@pytest.mark.parametrize("client", ["python-legacy", "python-auto"])
async def test_a_recording_looks_like_its_server_and_so_does_its_replay(tmp_path: Path, client: str) -> None:
    target = shlex.join(everything_argv(tmp_path / "everything.log"))
    recorded = await play(client, record(tmp_path, target), LIST)
    replayed = await play(client, replay(tmp_path), LIST)
    cassette = read_cassette((tmp_path / "cassette.jsonl").read_bytes())
    listed = [{each["name"] for each in texts(transcript)[0]} for transcript in (recorded, replayed)]

    name, _, instructions = introduced(recorded)
    assert introduced(recorded) == introduced(replayed)
    assert "everything" in name
    assert instructions
    assert "retrieve_tools" not in instructions
    assert listed[0] == listed[1] == {each["name"] for each in cassette.lists["tools"]}
    assert [each for each in listed[0] if each.startswith("interlock")] == []


async def test_what_a_rule_refuses_never_reaches_the_server_nor_the_cassette(tmp_path: Path) -> None:
    rule = "route_rules: [{id: no-reading, tool_pattern: sample__read_note, effect: deny}]"
    steps = (call("read_note", {"name": "todo"}), call("list_notes"))
    transcript = await play("python-legacy", record(tmp_path, "sample", config=rule), *steps)
    cassette = read_cassette((tmp_path / "cassette.jsonl").read_bytes())

    assert (transcript.outcomes[0].result or {})["isError"] is True
    assert [each.params["name"] for each in cassette.interactions] == ["list_notes"]


async def test_no_secret_is_in_a_cassette(tmp_path: Path, manifest: Path) -> None:
    token, configured, password = "ghp_" + "a1B2" * 9, "a-very-own-value", "hunter2hunter2"
    config = f"""
servers:
  records:
    command: {sys.executable}
    args: [-m, interlock, mock, --tools-from, {manifest}]
    env: {{KEY: "${{env:OWN_VALUE}}"}}
"""
    address = record(tmp_path, "records", config=config, env=(f"OWN_VALUE={configured}",))
    asked = [
        call("search_records", {"query": each, "limit": 1}) for each in (token, configured, f"password={password}")
    ]
    transcript = await play("python-legacy", address, *asked)
    content = (tmp_path / "cassette.jsonl").read_text(encoding="utf-8")
    replayed = await play("python-legacy", replay(tmp_path), asked[0])

    assert token in json.dumps(texts(transcript))
    assert [each for each in (token, configured, password) if each in content] == []
    assert len(read_cassette(content.encode()).interactions) == 3
    assert "redacted" in json.dumps(texts(replayed))


async def test_a_recording_over_http_ends_with_a_signal_and_is_replayed_over_http(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "cassette.jsonl"
    with over_http("record", "sample", "-o", str(file), "--data-dir", str(data)) as url:
        recorded = await play("typescript-2-auto", url, call("read_note", {"name": "todo"}))
    with over_http("replay", str(file)) as url:
        replayed = await play("typescript", url, call("read_note", {"name": "todo"}))

    assert texts(recorded) == texts(replayed) == [[{"type": "text", "text": "Approve a call."}]]


async def test_a_recording_that_is_killed_leaves_what_it_has(tmp_path: Path) -> None:
    address = record(tmp_path, "sample")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*address, stdin=pipe, stdout=pipe, stderr=pipe, env=clean())
    params: dict[str, Any] = {"name": "read_note", "arguments": {"name": "todo"}, "_meta": META}
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    async with asyncio.timeout(SECONDS):
        await process.stdout.readline()
        process.kill()
        await process.wait()
    replayed = await play("python-legacy", replay(tmp_path), call("read_note", {"name": "todo"}))

    assert texts(replayed) == [[{"type": "text", "text": "Approve a call."}]]


WATCHED = """
import sys

def watch(event, arguments):
    if event in ("socket.connect", "subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec", "os.system"):
        sys.stderr.write(f"REACHED {event}\\n")

sys.addaudithook(watch)
from interlock.cli.main import main
code = main(sys.argv[1:])
print("LOADED", sorted(name for name in sys.modules if name.startswith("interlock.")), file=sys.stderr)
sys.exit(code)
"""


def test_a_replay_reaches_nothing_and_loads_nothing_that_could(tmp_path: Path) -> None:
    head = '{"cassette": 1, "server": "s", "protocol": "2025-11-25"}\n'
    (tmp_path / "c.jsonl").write_text(head, encoding="utf-8")
    asked = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}\n'
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "replay", str(tmp_path / "c.jsonl")],
        input=asked,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        env={**clean(), "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    loaded = done.stderr.partition("LOADED")[2]

    assert json.loads(done.stdout)["error"]["code"] == -32004
    assert "REACHED" not in done.stderr
    assert "interlock.lab.played.replay" in loaded
    assert [each for each in ("forward", "pipeline", "receive.reach", "app.") if f"interlock.{each}" in loaded] == []
