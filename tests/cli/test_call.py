"""`interlock call`: a call as an agent makes it, with the operator at the keyboard."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Beside, Interlock, environment, eventually, run_process
from tests.running import server_yaml
from tests.upstream.running import events, received, stdio_argv


def last(il: Interlock) -> dict[str, object]:
    """The newest call on record."""
    return il("activity", "list", "--type", "tool_call,policy_decision", "--limit", "1", "--json").json["items"][0]


def test_the_text_of_the_result_is_printed(il: Interlock, beside: Beside) -> None:
    written = il("call", "tool-write", "--tool-name", "up:write_note", "--json_args", '{"name": "a", "text": "b\\nc"}')
    done = il("call", "tool-read", "--tool-name", "up:read_note", "--json-args", '{"name": "a"}')

    assert (written.exit, written.out, written.err) == (0, "Written.\n", "")
    assert (done.exit, done.out, done.err) == (0, "b\nc\n", "")


def test_with_json_the_whole_result_is_printed(il: Interlock, beside: Beside) -> None:
    done = il("call", "tool-read", "--tool-name", "up:structured", "--json_args", '{"a": 1, "b": 2}', "--json")

    assert (done.exit, done.err) == (0, "")
    assert done.json["content"] == [{"type": "text", "text": "3"}]
    assert done.json["structuredContent"] == {"sum": 3}
    assert done.json["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "test-upstream"


def test_arguments_may_come_from_stdin(il: Interlock, beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"a": 20, "b": 3}'))
    done = il("call", "tool-read", "--tool-name", "up:structured", "--json_args", "-")

    assert (done.exit, done.out) == (0, "23\n")


def test_the_call_is_on_record_with_its_intent(il: Interlock, beside: Beside) -> None:
    il("call", "tool-read", "--tool-name", "up:echo", "--reason", "to see", "--sensitivity", "internal")
    record = last(il)

    assert (record["caller"], record["entry"], record["status"]) == ("operator-agent", "call", "success")
    assert record["metadata"] == {
        "tool_variant": "call_tool_read",
        "intent": {"operation_type": "read", "data_sensitivity": "internal", "reason": "to see"},
        "warnings": [],
    }


def test_what_is_hidden_in_a_result_is_shown_and_what_is_no_text_is_named(il: Interlock, beside: Beside) -> None:
    done = il("call", "tool-read", "--tool-name", "odd:list_tricks")

    assert done.exit == 0
    assert done.out == "a\tb\n<U+001B>[31mred<U+202E>\n[image image/png, 12 kB]\n"


def test_a_tool_whose_name_needs_care_in_a_path_can_be_called(il: Interlock, beside: Beside) -> None:
    done = il("call", "tool-read", "--tool-name", "odd:read_a/b: 100%\nü", "--json_args", '{"x": [1, null]}')

    assert (done.exit, done.out) == (0, '{"x": [1, null]}\n')


# Errors of the tool ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_a_result_that_is_an_error_is_printed_and_ends_with_its_own_code(
    il: Interlock, beside: Beside, words: tuple[str, ...]
) -> None:
    done = il("call", "tool-read", "--tool-name", "up:fail", *words)

    assert (done.exit, done.err) == (5, "The tool returned an error.\n")
    assert "It failed." in done.out


def test_an_error_of_the_protocol_is_told_and_ends_with_the_same_code(il: Interlock, beside: Beside) -> None:
    done = il("call", "tool-read", "--tool-name", "up:fail", "--json_args", '{"code": -32050}')

    assert (done.exit, done.out) == (5, "")
    assert done.err == "The server answered with an error: It failed badly. (-32050)\n"


def test_an_error_of_the_protocol_in_json(il: Interlock, beside: Beside) -> None:
    done = il("call", "tool-read", "--tool-name", "up:fail", "--json_args", '{"code": -32050}', "--json")

    assert done.exit == 5
    assert done.json == {"error": {"code": -32050, "message": "It failed badly.", "data": {"tried": 1}}}


# Refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "exit_code", "code", "sentence", "fix"),
    [
        (
            ("tool-write", "up:write_note", '{"name": "secret-1", "text": "x"}'),
            10,
            "DENIED_BY_RULE",
            "Tool 'up:write_note' is not allowed here.",
            "Do not retry. Find another way, or ask the operator to change the rules.",
        ),
        (
            ("tool-read", "up:read_nota", "{}"),
            2,
            "UNKNOWN_TOOL",
            "Tool 'up:read_nota' not found. Did you mean 'up:read_note'?",
            "`interlock tool list` shows the names.",
        ),
        (
            ("tool-read", "up:structured", '{"a": "x"}'),
            2,
            "INVALID_ARGUMENTS",
            "Arguments of 'up:structured' do not fit its input schema: /a: the value is not of type \"integer\"",
            "Correct the arguments; `interlock tool show up:structured` shows the schema.",
        ),
        (
            ("tool-write", "up:delete_note", "{}"),
            14,
            "SERVER_MISMATCH",
            "Tool 'up:delete_note' is marked destructive by server, use call_tool_destructive",
            "Use `interlock call tool-destructive`.",
        ),
    ],
)
def test_a_refusal_has_its_code_a_way_out_a_record_and_sends_nothing(
    il: Interlock, beside: Beside, words: tuple[str, str, str], exit_code: int, code: str, sentence: str, fix: str
) -> None:
    variant, tool, arguments = words
    before = beside.sent()
    done = il("call", variant, "--tool-name", tool, "--json_args", arguments, "--json")
    record = last(il)

    assert (done.exit, done.json["error"]) == (exit_code, {"code": code, "message": sentence, "fix": fix})
    assert done.err.splitlines()[-2:] == [sentence, f"  {fix}"]
    assert beside.sent() == before
    assert (record["status"], record["tool"], record["entry"]) == ("blocked", tool.partition(":")[2], "call")


def test_a_tool_of_a_server_that_is_down_is_explained(il: Interlock, beside: Beside) -> None:
    done = il("call", "tool-read", "--tool-name", "down:read_x")

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("Server 'down' is down: ")
    assert "Tool 'down:read_x' not found." in done.err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("--sensitivity", "x"),
            "Invalid intent.data_sensitivity 'x': must be public, internal, private, or unknown\n",
        ),
        (("--reason", "x" * 1001), "intent.reason exceeds maximum length of 1000 characters\n"),
    ],
)
def test_a_bad_declaration_is_refused(il: Interlock, beside: Beside, words: tuple[str, ...], error: str) -> None:
    before = beside.sent()
    done = il("call", "tool-read", "--tool-name", "up:echo", *words)

    assert (done.exit, done.out, beside.sent()) == (2, "", before)
    assert done.err.startswith(error)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--tool-name", "echo"), "'echo' does not say its server\n  Write it as server:tool.\n"),
        (("--tool-name", "a/b:c"), "'a/b:c' is no tool name\n"),
        (("--tool-name", "up:echo", "--json_args", "[1]"), "--json_args must be a JSON object\n"),
        (("--tool-name", "up:echo", "--json_args", "{"), "--json_args is not valid JSON: "),
        (("--tool-name", "up:echo", "--json_args", '{"a": 1, "a": 2}'), "--json_args is not valid JSON: key 'a'"),
        ((), "the following arguments are required: --tool-name\n"),
    ],
)
def test_what_cannot_be_understood_is_a_usage_error_before_any_gateway_is_asked(
    il: Interlock, words: tuple[str, ...], error: str
) -> None:
    done = il("call", "tool-read", *words)

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith(error)


# Processes of their own -----------------------------------------------------------------------------------------


def has_arrived(log: Path, tool: str) -> bool:
    """Whether the upstream has received a call of this tool."""
    return tool in [each.message["params"]["name"] for each in received(log) if each.method == "tools/call"]


@pytest.mark.usefixtures("interrupts_reach_children")
def test_ctrl_c_cancels_the_call_at_the_gateway_and_the_upstream(il: Interlock, beside: Beside) -> None:
    argv = [*COMMAND, "call", "tool-read", "--tool-name", "up:slow", "--json_args", '{"seconds": 60}']
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        eventually(lambda: has_arrived(beside.folder / "up.log", "slow"))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    assert (process.returncode, err) == (130, "")
    eventually(lambda: len(events(beside.folder / "up.log", "cancelled")) == 1)
    eventually(lambda: last(il)["status"] == "cancelled")


@pytest.mark.usefixtures("interrupts_reach_children")
def test_ctrl_c_of_a_lone_call_leaves_no_child_and_a_record(il: Interlock, tmp_path: Path) -> None:
    log = tmp_path / "up.log"
    Path("interlock.yaml").write_text("servers:\n" + server_yaml("up", stdio_argv(log), trusted=True))
    argv = [*COMMAND, "call", "tool-read", "--tool-name", "up:slow", "--json_args", '{"seconds": 60}']
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        eventually(lambda: has_arrived(log, "slow"))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    (started,) = events(log, "started")

    assert (process.returncode, err) == (130, "")
    with pytest.raises(ProcessLookupError):
        os.kill(started["pid"], 0)
    assert [each["status"] for each in il("activity", "list", "--tool", "up:slow", "--json").json["items"]] == [
        "cancelled"
    ]


def test_a_lone_call_starts_the_sample_and_leaves_a_record() -> None:
    done = run_process("call", "tool-read", "--tool-name", "sample:list_notes")
    page = run_process("activity", "list", "--type", "tool_call", "--json")

    assert (done.exit, done.out, done.err) == (0, "todo\nwelcome\n", "")
    assert [each["tool"] for each in json.loads(page.out)["items"]] == ["list_notes"]
