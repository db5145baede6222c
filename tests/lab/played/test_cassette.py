"""Cassettes: what is written, what is hidden, what is read again."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from interlock.core.health import Introduction
from interlock.core.redact import KnownSecrets
from interlock.lab.played import cassette
from interlock.lab.played.cassette import (
    CassetteFile,
    CassetteFull,
    CassetteUnfit,
    Interaction,
    key_of,
    params_of,
    plain_result,
    read_cassette,
)

NOTHING = KnownSecrets()
SAID = Introduction()
HEAD = b'{"cassette": 1, "server": "s", "protocol": "2025-11-25"}\n'
ANSWER = Interaction("tools/call", {"name": "t", "arguments": {"a": 1}}, result={"content": []})
REFUSAL = Interaction("resources/read", {"uri": "a:b"}, error={"code": -1, "message": "no"})


def written(path: Path, *interactions: Interaction, known: KnownSecrets = NOTHING) -> bytes:
    file = CassetteFile(path)
    file.begin("s", "2025-11-25", SAID, NOTHING)
    for each in interactions:
        file.keep(each, known)
    file.close()
    return path.read_bytes()


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    file = CassetteFile(tmp_path / "c")
    file.begin("s", "2025-11-25", SAID, NOTHING)
    file.keep_list("tools", [{"name": "old"}], NOTHING)
    file.keep(ANSWER, NOTHING)
    file.keep(REFUSAL, NOTHING)
    file.keep_list("tools", [{"name": "new"}], NOTHING)
    file.close()
    read = read_cassette((tmp_path / "c").read_bytes())

    assert (read.server, read.protocol) == ("s", "2025-11-25")
    assert read.lists == {"tools": [{"name": "new"}]}
    assert read.interactions == [ANSWER, REFUSAL]


def test_what_a_server_says_of_itself_is_kept_without_its_secrets(tmp_path: Path) -> None:
    file = CassetteFile(tmp_path / "c")
    said = Introduction("records", "3", f"Ask with {TOKEN}, or configured-value.")
    file.begin("s", "2025-11-25", said, KnownSecrets(["configured-value"]))
    file.close()
    content = (tmp_path / "c").read_bytes()
    read = read_cassette(content).introduction

    assert (read.name, read.version) == ("records", "3")
    assert read.instructions.startswith("Ask with ")
    assert [each for each in (TOKEN, "configured-value") if each.encode() in content] == []


def test_a_cassette_of_before_says_nothing_of_its_server() -> None:
    assert read_cassette(HEAD).introduction == Introduction()


def test_each_thing_is_one_line_of_json(tmp_path: Path) -> None:
    many_lines = Interaction("tools/call", {"name": "t", "arguments": {}}, result={"text": "a\nb\u2028c"})
    lines = written(tmp_path / "c", many_lines).splitlines()

    assert len(lines) == 2
    assert json.loads(lines[1])["result"] == {"text": "a\nb\u2028c"}


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    written(tmp_path / "c")

    assert stat.S_IMODE(os.stat(tmp_path / "c").st_mode) == 0o600


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("mine")

    with pytest.raises(FileExistsError):
        CassetteFile(tmp_path / "c")
    assert (tmp_path / "c").read_text() == "mine"


def test_a_recording_that_was_killed_is_good_up_to_its_last_whole_line(tmp_path: Path) -> None:
    whole = written(tmp_path / "c", ANSWER, REFUSAL)

    for end in range(len(HEAD), len(whole)):
        assert len(read_cassette(whole[:end]).interactions) == whole[:end].count(b"\n") - 1


def test_a_cassette_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette, "MAX_CASSETTE", 500)
    file = CassetteFile(tmp_path / "c")
    file.begin("s", "2025-11-25", SAID, NOTHING)
    file.keep(ANSWER, NOTHING)
    long = Interaction("tools/call", {"name": "t", "arguments": {}}, result={"text": "x" * 500})

    with pytest.raises(CassetteFull):
        file.keep(long, NOTHING)
    file.close()

    assert read_cassette((tmp_path / "c").read_bytes()).interactions == [ANSWER]


# Secrets ----------------------------------------------------------------------------------------------------------

TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    "interaction",
    [
        Interaction("tools/call", {"name": "t", "arguments": {"password": "hunter2hunter2"}}, result={}),
        Interaction("tools/call", {"name": "t", "arguments": {}}, result={"content": [{"text": f"it is {TOKEN}"}]}),
        Interaction("tools/call", {"name": "t", "arguments": {}}, error={"message": f"Bearer {TOKEN}", "code": 1}),
        Interaction("prompts/get", {"name": "p", "arguments": {"q": "configured-value"}}, result={}),
    ],
)
def test_secrets_are_hidden_before_they_are_written(tmp_path: Path, interaction: Interaction) -> None:
    content = written(tmp_path / "c", interaction, known=KnownSecrets(["configured-value"]))

    for secret in ("hunter2hunter2", TOKEN, "configured-value"):
        assert secret.encode() not in content
    assert b"redacted" in content


def test_a_list_keeps_its_schemas_and_loses_its_secrets(tmp_path: Path) -> None:
    schema: Any = {"type": "object", "properties": {"password": {"type": "string"}}}
    file = CassetteFile(tmp_path / "c")
    file.begin("s", "2025-11-25", SAID, NOTHING)
    file.keep_list("tools", [{"name": "t", "description": f"use {TOKEN}", "inputSchema": schema}], NOTHING)
    file.close()
    content = (tmp_path / "c").read_bytes()

    assert TOKEN.encode() not in content
    assert read_cassette(content).lists["tools"][0]["inputSchema"] == schema


# Requests and results ---------------------------------------------------------------------------------------------


def test_requests_are_the_same_whatever_their_order_and_envelope() -> None:
    one = {"name": "t", "arguments": {"a": 1, "b": 2}, "_meta": {"progressToken": 1}}
    other = {"arguments": {"b": 2, "a": 1}, "name": "t"}

    assert key_of("tools/call", one) == key_of("tools/call", other)
    assert key_of("tools/call", {"name": "t"}) == key_of("tools/call", {"name": "t", "arguments": {}})
    assert key_of("tools/call", {"name": "t"}) != key_of("tools/call", {"name": "u"})
    assert key_of("prompts/get", {"name": "t"}) != key_of("tools/call", {"name": "t"})


def test_a_request_with_a_secret_is_the_one_that_was_written(tmp_path: Path) -> None:
    params = {"name": "t", "arguments": {"password": "hunter2hunter2", "q": TOKEN}}
    read = read_cassette(written(tmp_path / "c", Interaction("tools/call", params, result={})))

    assert key_of("tools/call", read.interactions[0].params) == key_of("tools/call", params)


def test_what_only_one_era_has_is_left_out() -> None:
    modern: Any = {
        "content": [],
        "resultType": "complete",
        "ttlMs": 1,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {}, "own": 1},
    }

    assert plain_result(modern) == {"content": [], "_meta": {"own": 1}}
    assert plain_result({"_meta": {"io.modelcontextprotocol/serverInfo": {}}}) == {}
    assert params_of("resources/read", {"uri": "a:b", "_meta": {}}) == {"uri": "a:b"}


# Files that are none ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", 1),
        (b"\n", 1),
        (b"{}\n", 1),
        (b'{"cassette": 2, "server": "s", "protocol": "p"}\n', 1),
        (b'{"cassette": 1}\n', 1),
        (HEAD + b"{\n", 2),
        (HEAD + b"[]\n", 2),
        (HEAD + b'{"list": "users", "entries": []}\n', 2),
        (HEAD + b'{"list": "tools", "entries": {}}\n', 2),
        (HEAD + b'{"method": "tools/call", "params": []}\n', 2),
        (HEAD + b'{"method": "sampling/createMessage", "params": {}, "result": {}}\n', 2),
        (HEAD + b'{"method": "tools/call", "params": {}}\n', 2),
        (HEAD + b'{"method": "tools/call", "params": {}, "result": {}, "error": {}}\n', 2),
        (HEAD + b'{"method": "tools/call", "params": {}, "result": 5}\n', 2),
    ],
)
def test_what_is_no_cassette_is_refused_with_the_line(content: bytes, line: int) -> None:
    with pytest.raises(CassetteUnfit) as unfit:
        read_cassette(content)

    assert unfit.value.line == line
