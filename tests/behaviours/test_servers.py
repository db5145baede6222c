"""Servers that come and go while the gateway runs: nobody else notices."""

import sys
from pathlib import Path
from typing import Any

import httpx2

from tests.running import Running, server_yaml, serving
from tests.stores import store_line
from tests.talking import NO_TLS
from tests.upstream.running import received, stdio_argv

ECHO = "/tools/up/echo/call"


async def ask(running: Running, method: str, path: str, body: Any = None) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {running.folder.credential()}"}
    async with httpx2.AsyncClient(base_url=f"http://{running.host}/api/v1", timeout=60, verify=NO_TLS) as http:
        return await http.request(method, path, json=body, headers=headers)


def wanted(log: Path, **more: Any) -> dict[str, Any]:
    command, *arguments = stdio_argv(log)
    return {"id": "new", "command": command, "args": arguments, **more}


def starts(log: Path) -> int:
    return len([each for each in received(log) if each.method in ("server/discover", "initialize")])


async def test_a_server_is_added_used_switched_restarted_and_removed(tmp_path: Path) -> None:
    text = "servers:\n" + server_yaml("up", stdio_argv(tmp_path / "up.log"), trusted=True)
    log = tmp_path / "new.log"
    async with serving(tmp_path, text) as running:
        added = await ask(running, "POST", "/servers", wanted(log))
        used = await ask(running, "POST", "/tools/new/echo/call", {"arguments": {"a": 1}})
        off = await ask(running, "POST", "/servers/new/disable")
        refused = await ask(running, "POST", "/tools/new/echo/call", {"arguments": {}})
        listed = await ask(running, "GET", "/servers")
        silent = await ask(running, "GET", "/servers/new/logs")
        on = await ask(running, "POST", "/servers/new/enable")
        before = starts(log)
        restarted = await ask(running, "POST", "/servers/new/restart")
        after = starts(log)
        removed = await ask(running, "DELETE", "/servers/new")
        gone = await ask(running, "GET", "/servers/new")
        others = starts(tmp_path / "up.log")

    assert added.status_code == 201, added.text
    told = added.json()
    assert (told["server"]["health"], told["server"]["added"]) == ("ready", True)
    assert (
        told["tools"]["total"] == sum(told["tools"]["by_class"].values()) == sum(told["tools"]["by_verdict"].values())
    )
    assert told["tools"]["by_verdict"]["hold"] > 0
    assert used.status_code == 200
    assert (off.json()["health"], refused.status_code) == ("stopped", 404)
    assert [each["health"] for each in listed.json()["items"]] == ["ready", "stopped"]
    assert silent.json() == {"items": []}
    assert on.json()["health"] == restarted.json()["health"] == "ready"
    assert after > before
    assert (removed.status_code, gone.status_code) == (200, 404)
    assert others == 1  # nobody touched it


async def test_what_was_added_is_there_after_a_restart_and_the_file_was_not_written(tmp_path: Path) -> None:
    text = "servers:\n" + server_yaml("up", stdio_argv(tmp_path / "up.log"))
    async with serving(tmp_path, text) as running:
        await ask(running, "POST", "/servers", wanted(tmp_path / "new.log"))
        await ask(running, "POST", "/servers/up/disable")
        left = (tmp_path / "interlock.yaml").read_text()
    async with serving(tmp_path, text) as running:
        items = (await ask(running, "GET", "/servers")).json()["items"]

    assert {each["id"]: (each["health"], each["enabled"]) for each in items} == {
        "new": ("ready", True),
        "up": ("stopped", False),
    }
    assert left == text + store_line(tmp_path / "data")


async def test_a_server_that_does_not_work_is_kept_and_says_why(tmp_path: Path) -> None:
    text = "servers:\n" + server_yaml("up", stdio_argv(tmp_path / "up.log"))
    bad: dict[str, dict[str, Any]] = {
        "no-command": {"command": "/nowhere/at/all"},
        "no-mcp": {"command": sys.executable, "args": ["-c", "print('hello')"]},
        "no-secret": {"command": "prog", "env": {"TOKEN": "${env:IL_NOT_SET}"}},
        "no-host": {"url": "http://127.0.0.1:9/mcp"},
    }
    async with serving(tmp_path, text) as running:
        answers = {name: await ask(running, "POST", "/servers", {"id": name, **each}) for name, each in bad.items()}
        works = await ask(running, "POST", ECHO, {"arguments": {}})

    assert works.status_code == 200
    for name, answer in answers.items():
        assert answer.status_code == 201, (name, answer.text)
        assert answer.json()["server"]["problem"], name
        assert answer.json()["tools"]["total"] == 0
    assert "IL_NOT_SET is not set" in answers["no-secret"].json()["server"]["problem"]


async def test_what_a_reference_stands_for_is_not_shown_when_the_server_writes_it_to_its_stderr(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("a-plain-looking-word", encoding="utf-8")
    code = "import os, sys; print('connecting with', os.environ['WORD'], file=sys.stderr)"
    body = {"id": "odd", "command": sys.executable, "args": ["-c", code]}
    async with serving(tmp_path) as running:
        await ask(running, "POST", "/servers", {**body, "env": {"WORD": f"${{file:{tmp_path / 'word'}}}"}})
        lines = (await ask(running, "GET", "/servers/odd/logs")).json()["items"]

    assert lines[0] == "connecting with [redacted configured secret]"


async def test_refusals_name_the_reason(tmp_path: Path) -> None:
    text = "servers:\n" + server_yaml("up", stdio_argv(tmp_path / "up.log"))
    async with serving(tmp_path, text) as running:
        exists = await ask(running, "POST", "/servers", {"id": "up", "command": "x"})
        secret = await ask(running, "POST", "/servers", {"id": "n", "command": "x", "env": {"TOKEN": "hunter2hunter2"}})
        in_file = await ask(running, "DELETE", "/servers/up")
        unknown = await ask(running, "POST", "/servers/uq/restart")

    assert (exists.status_code, in_file.status_code, unknown.status_code) == (409, 409, 404)
    assert "in the configuration file" in exists.json()["detail"]
    assert secret.status_code == 400
    assert "${env:NAME}" in secret.json()["fix"]
    assert "hunter2" not in secret.text
