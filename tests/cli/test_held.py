"""A call from the command line while it is held."""

import contextlib
import json
import re
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.holding import Rest
from tests.cli.running import COMMAND, Beside, Interlock, environment, eventually, gateway_beside, run_process
from tests.running import server_yaml
from tests.upstream.running import stdio_argv

pytestmark = pytest.mark.usefixtures("interrupts_reach_children")


@contextlib.contextmanager
def calling(
    arguments: dict[str, str], *words: str, tool: str = "up:delete_note"
) -> "Generator[tuple[subprocess.Popen[str], str]]":
    """`interlock call tool-destructive` in a process of its own, once it says that it waits, and for which approval."""
    given = ("--tool-name", tool, "--json_args", json.dumps(arguments), "--reason", "x")
    argv = [*COMMAND, "call", "tool-destructive", *given, *words]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stderr is not None
        try:
            first, second, third = (process.stderr.readline() for _ in range(3))
            if first.startswith("WARNING: Nobody listens"):  # a gateway of this very process says so on the same stderr
                first, second, third = second, third, process.stderr.readline()
            found = re.fullmatch(
                r"  Approve it in another terminal with `interlock approval approve (\S+)`\.\n", second
            )
            assert re.fullmatch(r"Held: \w+__delete_note waits for approval, (5m|4m \d+s) left\.\n", first), first
            assert third == "  Ctrl-C gives it up.\n"
            assert found
            yield process, found[1]
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_a_held_call_says_for_what_it_waits_and_runs_when_it_is_approved(il: Interlock, beside: Beside) -> None:
    with calling({"name": "approved"}) as (process, approval):
        approved = il("approval", "approve", approval)
        done = ended(process)

    assert approved.exit == 0
    assert done == (0, "No such note.\n", "")


def test_a_denied_call_ends_with_its_own_code(il: Interlock, beside: Beside) -> None:
    with calling({"name": "denied"}, "--json") as (process, approval):
        il("approval", "deny", approval, "--reason", "not today")
        code, out, err = ended(process)

    assert (code, json.loads(out)["error"]["code"]) == (11, "DENIED")
    assert err.startswith("Tool call denied. Reason: not today\n")


def test_an_interrupt_ends_the_call_and_its_approval(il: Interlock, beside: Beside) -> None:
    with calling({"name": "interrupted"}) as (process, approval):
        process.send_signal(signal.SIGINT)
        done = ended(process)
        eventually(lambda: il("approval", "show", approval, "--json").json["status"] != "pending")
    record = il("approval", "show", approval, "--json").json

    assert done == (130, "", "")
    assert (record["status"], record["resolution"]) == ("cancelled", "client disconnected")


def test_a_call_that_attaches_to_an_approval_names_that_one(il: Interlock, beside: Beside) -> None:
    with calling({"name": "twice"}) as (first, approval), calling({"name": "twice"}) as (second, same):
        il("approval", "deny", approval)
        codes = ended(first)[0], ended(second)[0]

    assert approval == same
    assert codes == (11, 11)


def test_a_call_that_is_not_held_says_nothing_of_it(il: Interlock, beside: Beside) -> None:
    with calling({"name": "other"}) as (_, approval):
        done = run_process("call", "tool-read", "--tool-name", "up:slow", "--json_args", '{"seconds": 1}')
        il("approval", "deny", approval)

    assert (done.exit, done.err) == (0, "")


def config(folder: Path, head: str) -> str:
    return f"{head}\nservers:\n" + server_yaml("up", stdio_argv(folder / "up.log"), trusted=True)


def call(il: Interlock, name: str) -> tuple[int, str, str]:
    given = ("--json_args", json.dumps({"name": name}), "--reason", "x")
    done = il("call", "tool-destructive", "--tool-name", "up:delete_note", *given)
    return done.exit, done.out, done.err


def test_a_call_that_nobody_answers_in_time_has_its_own_code(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gateway_beside(tmp_path, config(tmp_path, "hold: {approval_timeout: 1}")) as running:
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
        code, out, err = call(il, "late")

    assert (code, out) == (12, "")
    assert "Tool call denied. Reason: timed out\n" in err


def test_a_call_that_still_waits_when_patience_ends_runs_when_it_is_repeated(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gateway_beside(tmp_path, config(tmp_path, "hold: {answer_after: 2s}")) as running:
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
        code, out, err = call(il, "patient")
        (waits,) = Rest(running).pending()
        il("approval", "approve", waits["id"])
        again = call(il, "patient")

    assert (code, out) == (13, "")
    assert err.splitlines()[-2:] == [
        f"The call waits for approval {waits['id']} until {waits['expires_at']}.",
        f"  Approve it with `interlock approval approve {waits['id']}` and repeat this command: it runs once.",
    ]
    assert again == (0, "No such note.\n", "")


def test_a_call_without_a_gateway_can_be_approved_by_another_command(il: Interlock) -> None:
    with calling({"name": "todo"}, tool="sample:delete_note") as (process, approval):
        approved = il("approval", "approve", approval)
        done = ended(process)

    assert approved.exit == 0
    assert done == (0, "deleted todo\n", "")
