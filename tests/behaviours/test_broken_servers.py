"""Servers that cannot work: each is named with its problem and its fix, wherever one looks, and the rest runs."""

import sys
from collections.abc import Generator

import pytest

from tests.cli.running import Outcome, gateway_beside, run_process
from tests.running import server_yaml
from tests.upstream.others import page
from tests.upstream.running import stdio_argv

BROKEN = {
    "gone": ("{command: /nowhere/at/all}", "cannot be started: No such file or directory"),
    "folderless": ("{command: sh, cwd: /nowhere/at/all}", "cannot be started: No such file or directory"),
    "unset": ("{command: sh, env: {TOKEN: '${env:IL_NOT_SET}', OTHER: swordfish}}", "IL_NOT_SET is not set"),
    "unread": ("{command: sh, env: {TOKEN: '${file:/nowhere/secret}'}}", "the file /nowhere/secret cannot be read"),
    "deaf": ("{url: 'http://127.0.0.1:9/mcp'}", "cannot be reached"),
    "unencrypted": ("{url: 'httpsPAGE'}", "cannot be reached"),
    "silent": (f"{{command: '{sys.executable}', args: [-c, '']}}", "it exited with status 0"),
    "chatty": (f"{{command: '{sys.executable}', args: [-c, \"print('hello')\"]}}", "it exited with status 0"),
    "web": ("{url: 'httpPAGE'}", "answered"),
}
"""What is wrong, and what is said about it."""
GIVE_IT = "Give it to the gateway, then `interlock server restart"


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, Outcome]]:
    """What each of the commands says beside a gateway with all of these servers, and one that works."""
    folder = tmp_path_factory.mktemp("broken")
    with page() as (url, _):
        broken = "".join(
            f"  {name}: {text.replace('PAGE', url.removeprefix('http'))}\n" for name, (text, _) in BROKEN.items()
        )
        text = "servers:\n" + server_yaml("good", stdio_argv(folder / "good.log")) + broken
        with gateway_beside(folder, text) as running:
            where = ["--data-dir", str(running.folder.path), "--config", str(folder / "interlock.yaml")]
            yield {
                "status": run_process("status", *where),
                "status --json": run_process("status", "--json", *where),
                "doctor": run_process("doctor", "--json", *where),
                "call": run_process("call", "tool-read", "--tool-name", "good:echo", "--json_args", "{}", *where),
                "refused": run_process("call", "tool-read", "--tool-name", "gone:echo", "--json_args", "{}", *where),
            }


def test_the_one_that_works_is_ready_and_can_be_called(said: dict[str, Outcome]) -> None:
    servers = said["status --json"].json["servers"]

    # One that does not work is started again and again, so that it is not always down.
    assert [each["id"] for each in servers if each["health"] == "ready"] == ["good"]
    assert [each["id"] for each in servers if each["problem"]] == list(BROKEN)
    assert said["status"].exit == 0
    assert said["call"].exit == 0, said["call"].err


@pytest.mark.parametrize("server", BROKEN)
def test_status_names_the_problem_and_the_fix(said: dict[str, Outcome], server: str) -> None:
    (row,) = [line for line in said["status"].lines if line.startswith(f"{server} ")]
    fixes = [line for line in said["status"].lines if line.startswith(f"{server}: ")]

    assert BROKEN[server][1] in row
    assert (GIVE_IT in row) == (fixes == [])
    assert len(fixes) <= 1


@pytest.mark.parametrize("server", BROKEN)
def test_doctor_names_the_server_and_the_fix(said: dict[str, Outcome], server: str) -> None:
    checks = {each["check"]: each for each in said["doctor"].json["checks"]}
    servers = checks["servers"]

    assert said["doctor"].exit == 20
    assert servers["state"] == "fail"
    assert f"{server} is down" in servers["text"] or f"{server} is starting" in servers["text"]
    assert f"{server}: " in servers["fix"] or f"{server}: " in checks["commands"]["text"]


def test_what_is_called_on_a_broken_server_is_refused_with_a_reason(said: dict[str, Outcome]) -> None:
    assert said["refused"].exit not in (0, 1)
    assert "gone" in said["refused"].err


def test_no_secret_is_shown(said: dict[str, Outcome]) -> None:
    assert [name for name, each in said.items() if "swordfish" in each.out + each.err] == []
