"""The command tree, and how errors become exit codes."""

import errno
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock import __version__
from interlock.cli.command import Verb, parser_for
from interlock.cli.main import NOUNS, main
from tests.cli.running import (
    COMMAND,
    Interlock,
    configure,
    environment,
    run_into_a_closed_pipe,
    run_into_a_full_disk,
    run_into_head,
    run_process,
)


def verbs() -> Iterator[tuple[str, Verb]]:
    """Every verb with the words that lead to it."""
    for noun in NOUNS:
        module = noun.load()
        if hasattr(module, "VERB"):
            yield noun.name, module.VERB
        else:
            for verb in module.VERBS:
                yield f"{noun.name} {verb.name}", verb


VERBS = dict(verbs())
NOUNS_WITH_VERBS = "approval grant call tool client server activity audit rule token config".split()


# Help -----------------------------------------------------------------------------------------------------------


def test_the_verbs_are_all_there() -> None:
    assert set(VERBS) == {
        "demo",
        "init",
        "serve",
        "stdio",
        "open",
        "status",
        "doctor",
        "approval list",
        "approval show",
        "approval approve",
        "approval deny",
        "approval watch",
        "approval metrics",
        "grant list",
        "grant revoke",
        "freeze",
        "thaw",
        "call tool-read",
        "call tool-write",
        "call tool-destructive",
        "run-tool",
        "tool list",
        "tool show",
        "tool diff",
        "tool trust",
        "tool override",
        "tool classify",
        "db migrate",
        "db backup",
        "db check",
        "db copy",
        "client list",
        "client connect",
        "client diff",
        "client undo",
        "server list",
        "server logs",
        "server add",
        "server import",
        "server remove",
        "server enable",
        "server disable",
        "server restart",
        "activity list",
        "activity show",
        "activity tail",
        "activity stats",
        "activity export",
        "audit verify",
        "audit export",
        "audit checkpoint",
        "audit prune",
        "rule test",
        "rule explain",
        "rule suggest",
        "rule replay",
        "rule lint",
        "mock",
        "record",
        "replay",
        "probe",
        "token create",
        "token list",
        "token revoke",
        "scan",
        "test",
        "scaffold",
        "propose",
        "config show",
        "config validate",
        "config schema",
    }


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",)])
def test_help_lists_every_command_with_a_sentence(il: Interlock, words: tuple[str, ...]) -> None:
    done = il(*words)
    assert (done.exit, done.err) == (0, "")
    assert done.out.startswith("usage: interlock COMMAND [options]\n")
    for noun in NOUNS:
        assert f"  {noun.name:<8}  {noun.summary}\n" in done.out


@pytest.mark.parametrize("noun", NOUNS_WITH_VERBS)
def test_help_of_a_noun_lists_its_verbs(il: Interlock, noun: str) -> None:
    done = il(noun, "--help")
    assert (done.exit, done.err) == (0, "")
    for words, verb in VERBS.items():
        assert (f"{verb.name} " in done.out and verb.summary in done.out) == words.startswith(noun)


@pytest.mark.parametrize("words", VERBS)
def test_help_of_every_verb_has_its_sentence_and_an_example(il: Interlock, words: str) -> None:
    done = il(*words.split(), "--help")
    assert (done.exit, done.err) == (0, "")
    assert VERBS[words].summary in done.out
    assert done.out.partition("\nExamples:\n")[2].splitlines() == [f"  {each}" for each in VERBS[words].examples]
    assert VERBS[words].examples


@pytest.mark.parametrize("words", VERBS)
def test_every_verb_takes_the_options_that_are_everywhere(il: Interlock, words: str) -> None:
    help_text = il(*words.split(), "--help").out
    assert "--config FILE" in help_text
    assert "--data-dir DIR" in help_text


@pytest.mark.parametrize(
    ("words", "example"), [(words, example) for words, verb in VERBS.items() for example in verb.examples]
)
def test_every_example_of_the_help_is_a_command_that_parses(words: str, example: str) -> None:
    typed = shlex.split(re.split(" >>? ", example)[0])
    prefix = ["interlock", *words.split()]
    start = typed.index("interlock")
    assert typed[start : start + len(prefix)] == prefix
    parser_for(words, VERBS[words]).parse_args(typed[start + len(prefix) :])


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_printed_on_stdout(il: Interlock, flag: str) -> None:
    done = il(flag)
    assert (done.exit, done.out, done.err) == (0, f"interlock {__version__}\n", "")


# Misspelt words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "given", "hint"),
    [
        (("tol",), "tol", "Did you mean `interlock tool`?"),
        (("runtool",), "runtool", "Did you mean `interlock run-tool`?"),
        (("Rule",), "Rule", "Did you mean `interlock rule`?"),
        (
            ("zzz",),
            "zzz",
            f"Commands: {', '.join(noun.name for noun in NOUNS)}.",
        ),
        (("tool", "clasify"), "clasify", "Did you mean `interlock tool classify`?"),
        (("rule", "tets"), "tets", "Did you mean `interlock rule test`?"),
        (("rule", "explian"), "explian", "Did you mean `interlock rule explain`?"),
        (("config", "validat"), "validat", "Did you mean `interlock config validate`?"),
        (("config", "zzz"), "zzz", "Commands: show, validate, schema."),
    ],
)
def test_a_misspelt_command_is_refused_with_a_suggestion(
    il: Interlock, words: tuple[str, ...], given: str, hint: str
) -> None:
    done = il(*words)
    assert (done.exit, done.out, done.err) == (2, "", f"unknown command '{given}'\n  {hint}\n")


@pytest.mark.parametrize(
    ("words", "given", "hint"),
    [
        (("tol", "--json"), "tol", "Did you mean `interlock tool`?"),
        (("rule", "tets", "--json"), "tets", "Did you mean `interlock rule test`?"),
    ],
)
def test_with_json_a_misspelt_command_is_a_coded_error_on_stdout_too(
    il: Interlock, words: tuple[str, ...], given: str, hint: str
) -> None:
    done = il(*words)
    assert (done.exit, done.err) == (2, f"unknown command '{given}'\n  {hint}\n")
    assert done.json == {"error": {"code": "BAD_REQUEST", "message": f"unknown command '{given}'", "fix": hint}}


@pytest.mark.parametrize("noun", NOUNS_WITH_VERBS)
def test_a_noun_without_a_verb_is_a_mistake_that_shows_its_help_on_stderr(il: Interlock, noun: str) -> None:
    help_text = il(noun, "--help").out
    done = il(noun)
    assert (done.exit, done.out, done.err) == (2, "", help_text)


# Options before the noun ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        ("--config", "team.yaml"),
        ("--config=team.yaml",),
        ("--config", "team.yaml", "--data-dir", "data"),
        ("--data-dir", "data", "--config", "team.yaml"),
        ("--data-dir=data", "--config=team.yaml"),
    ],
)
def test_the_options_that_are_everywhere_may_stand_before_the_noun(il: Interlock, options: tuple[str, ...]) -> None:
    Path("team.yaml").write_text("servers: {a: {command: x}}")
    done = il(*options, "config", "validate")
    assert (done.exit, done.out, done.err) == (0, "team.yaml is valid: 1 server, 0 rules.\n", "")


def test_an_option_before_the_noun_is_followed_by_the_options_of_the_verb(il: Interlock) -> None:
    Path("team.yaml").write_text("posture: open")
    done = il("--config", "team.yaml", "config", "show", "--json")
    assert (done.exit, done.json["settings"]["posture"]) == (0, "open")


def test_an_option_before_the_noun_comes_before_the_variable(il: Interlock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_CONFIG", "nowhere.yaml")
    Path("team.yaml").touch()
    assert il("--config", "team.yaml", "config", "validate").exit == 0


@pytest.mark.parametrize("words", [("--config", "c", "--help"), ("--data-dir", "d", "help"), ("--config=c", "-h")])
def test_help_is_help_whatever_stands_before_it(il: Interlock, words: tuple[str, ...]) -> None:
    done = il(*words)
    assert (done.exit, done.out, done.err) == (0, il("--help").out, "")


@pytest.mark.parametrize("words", [("--config",), ("--data-dir",), ("--data-dir", "d"), ("--config=c",)])
def test_options_alone_are_no_command(il: Interlock, words: tuple[str, ...]) -> None:
    done = il(*words)
    assert (done.exit, done.out, done.err) == (2, "", il("--help").out)


# Errors ---------------------------------------------------------------------------------------------------------


def test_an_error_is_a_sentence_and_a_fix_on_stderr_and_nothing_on_stdout(il: Interlock) -> None:
    configure("postur: strict")
    done = il("config", "validate")
    assert (done.exit, done.out) == (2, "")
    assert done.err == (
        "interlock.yaml:1:1: unknown key 'postur'; did you mean 'posture'?\n"
        "  Mend the configuration; `interlock config validate` checks it again. Nothing was started.\n"
    )


def test_with_json_an_error_is_on_stdout_too_with_its_code(il: Interlock) -> None:
    configure("postur: strict")
    done = il("config", "validate", "--json")
    assert done.exit == 2
    assert done.json == {
        "error": {
            "code": "BAD_REQUEST",
            "message": "interlock.yaml:1:1: unknown key 'postur'; did you mean 'posture'?",
            "fix": "Mend the configuration; `interlock config validate` checks it again. Nothing was started.",
            "problems": ["interlock.yaml:1:1: unknown key 'postur'; did you mean 'posture'?"],
        }
    }
    assert done.err.startswith("interlock.yaml:1:1: unknown key 'postur'")


@pytest.mark.parametrize(
    "words",
    [
        ("run-tool", "read_file", "--dry-run"),
        ("tool", "classify", "read_file"),
        ("rule", "test", "--tool", "github:read_file"),
        ("rule", "explain", "github:read_file"),
        ("rule", "lint"),
        ("config", "show"),
        ("config", "validate"),
        ("run-tool", "read_file"),
        ("call", "tool-read", "--tool-name", "a:b"),
        ("tool", "list"),
        ("tool", "show", "a:b"),
        ("server", "list"),
        ("server", "logs", "a"),
        ("activity", "list"),
        ("activity", "show", "a"),
        ("audit", "verify"),
        ("audit", "checkpoint"),
        ("token", "create", "--name", "a", "--role", "agent"),
        ("token", "list"),
        ("token", "revoke", "a"),
    ],
)
def test_every_verb_that_reads_the_configuration_refuses_a_bad_one(il: Interlock, words: tuple[str, ...]) -> None:
    configure("zzz: 1")
    done = il(*words)
    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("interlock.yaml:1:1: unknown key 'zzz'\n")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("t\x1b[2Jo\u202eol\n",), "unknown command 't<U+001B>[2Jo<U+202E>ol<U+000A>'"),
        (("rule", "te\nst\u200b"), "unknown command 'te<U+000A>st<U+200B>'"),
        (("rule", "lint", "a\nb\x1b"), "unrecognized arguments: a<U+000A>b<U+001B>"),
        (("rule", "test", "--tool", "a\n\x1b"), "'a<U+000A><U+001B>' does not say its server"),
        (("rule", "test", "--tool", "a\n\x1b:x"), "server 'a<U+000A><U+001B>' not found. Known: a."),
        (
            ("rule", "explain", "a:x", "--workspace", "w\n\x1b"),
            "workspace 'w<U+000A><U+001B>' not found. None is configured.",
        ),
        (("run-tool", "x\n\x1b"), "Blocked: tool 'x<U+000A><U+001B>' has unknown safety class."),
        (("run-tool", "read_x", "--arg", "a\n\x1b"), "--arg 'a<U+000A><U+001B>' has no '='"),
        (
            ("tool", "classify", "--from", "a\n\x1b"),
            "a<U+000A><U+001B>: cannot be read: No such file or directory",
        ),
        (
            ("config", "validate", "--config", "a\n\x1b"),
            "a<U+000A><U+001B>: cannot be read: No such file or directory",
        ),
        (("call", "tool-read", "--tool-name", "x\n\x1b"), "'x<U+000A><U+001B>' does not say its server"),
        (("tool", "show", "\n\x1b:"), "'<U+000A><U+001B>:' is no tool name"),
        (("tool", "classify", "--from", "a\u00a0b"), "a<U+00A0>b: cannot be read: No such file or directory"),
    ],
)
def test_line_breaks_and_escapes_in_what_was_typed_are_shown_in_every_error(
    il: Interlock, words: tuple[str, ...], shown: str
) -> None:
    configure("servers: {a: {command: x}}")
    assert il(*words).err.splitlines()[0] == shown


def test_line_breaks_and_escapes_in_the_file_are_shown_in_an_error(il: Interlock) -> None:
    configure('"a\\n\\e[2J": 1\ndefault_workspace: "w\\r\\n"\n')
    assert il("config", "validate").err.splitlines()[0] == ("interlock.yaml:1:1: unknown key 'a<U+000A><U+001B>[2J'")


def test_the_schema_is_printed_whatever_the_file_says(il: Interlock) -> None:
    configure("zzz: 1")
    assert il("config", "schema").exit == 0


def test_interrupting_ends_with_the_code_of_an_interrupt(il: Interlock, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.StringIO):
        def read(self, size: int | None = -1, /) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    done = il("tool", "classify", "--from", "-")
    assert (done.exit, done.out, done.err) == (130, "", "")


def test_a_reader_that_goes_away_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert main(["config", "validate"]) == 0


def test_a_reader_that_goes_away_does_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    configure("route_rules: [{id: nothing}]")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert main(["rule", "lint"]) == 20


def test_output_that_cannot_be_written_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["config", "schema"]) == 1
    assert capsys.readouterr().err == "cannot write the output: No space left on device\n"


# A process of its own -------------------------------------------------------------------------------------------


def test_the_module_is_the_command() -> None:
    done = run_process("run-tool", "update_repo_file")
    assert (done.exit, done.out) == (10, "")
    assert done.err.splitlines()[0] == (
        "Blocked: tool 'update_repo_file' is classified write-capable. Add --approve to run it."
    )


def test_asking_for_help_loads_none_of_the_heavy_libraries() -> None:
    program = (
        "import sys; from interlock.cli.main import main; main(['--help']);"
        "sys.stderr.write(' '.join(sorted({'pydantic', 'rich', 'ruamel', 're2'} & sys.modules.keys())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


_FAULTY = "servers: {a: {command: x}}\nroute_rules: [{id: nothing}]\n"
_INTO_PIPES = [
    (("--version",), 0, f"interlock {__version__}\n"),
    (("--help",), 0, "usage: interlock COMMAND [options]\n"),
    (("rule", "--help"), 0, "usage: interlock rule COMMAND [options]\n"),
    (("config", "schema"), 0, "{\n"),
    (("config", "show", "--json"), 0, "{\n"),
    (("config", "validate"), 0, "interlock.yaml is valid: 1 server, 1 rule.\n"),
    (("run-tool", "read_x", "--dry-run"), 0, "Tool:     a:read_x\n"),
    (("activity", "list", "--json"), 0, "{\n"),
    (("server", "list"), 0, "SERVER  NAMESPACE  TRANSPORT  HEALTH  TOOLS  PROTOCOL  TRUSTED  PROBLEM\n"),
    (("rule", "lint", "--json"), 20, "[\n"),
    (
        ("rule", "lint"),
        20,
        "RULE     FINDING          WHAT IS WRONG                                         AT\n",
    ),
]


@pytest.mark.parametrize(("words", "exit_code", "line"), _INTO_PIPES)
def test_head_shows_the_first_line_and_the_command_ends_as_without_it(
    words: tuple[str, ...], exit_code: int, line: str
) -> None:
    configure(_FAULTY)
    done = run_into_head(*words)
    assert (done.exit, done.out, done.err) == (exit_code, line, "")


@pytest.mark.parametrize(("words", "exit_code"), [row[:2] for row in _INTO_PIPES])
def test_a_pipe_whose_reader_went_away_leaves_the_exit_code_and_nothing_on_stderr(
    words: tuple[str, ...], exit_code: int
) -> None:
    configure(_FAULTY)
    done = run_into_a_closed_pipe(*words)
    assert (done.exit, done.err) == (exit_code, "")


def test_an_error_is_still_told_on_stderr_when_the_reader_of_its_json_went_away() -> None:
    done = run_into_a_closed_pipe("run-tool", "remove_device", "--json")
    assert (done.exit, done.err.splitlines()) == (
        10,
        [
            "Blocked: tool 'remove_device' is classified dangerous. Add --dangerous to run it.",
            "  Look at it first with --dry-run, then add --dangerous.",
        ],
    )


def test_a_full_disk_is_told_in_one_line() -> None:
    done = run_into_a_full_disk("config", "schema")
    assert (done.exit, done.err) == (1, "cannot write the output: No space left on device\n")


def test_a_terminal_that_knows_only_ascii_gets_escapes() -> None:
    configure("workspaces: [{id: größe}]")
    done = run_process("config", "show", PYTHONIOENCODING="ascii")
    assert (done.exit, done.err) == (0, "")
    (row,) = [line for line in done.lines if line.startswith("workspaces[0].id")]
    assert row.split() == ["workspaces[0].id", r"gr\xf6\xdfe", "interlock.yaml:1:19"]


def test_an_error_on_a_terminal_that_knows_only_ascii_gets_escapes() -> None:
    done = run_process("tol→", PYTHONIOENCODING="ascii")
    assert (done.exit, done.out, done.err.splitlines()[0]) == (2, "", r"unknown command 'tol\u2192'")


def test_forcing_colours_does_not_colour_what_goes_into_a_pipe() -> None:
    done = run_process("tool", "classify", "delete_file", FORCE_COLOR="1", TERM="xterm-256color")
    assert (done.exit, "\x1b" in done.out) == (0, False)


@pytest.mark.usefixtures("interrupts_reach_children")
def test_ctrl_c_ends_the_process_quietly() -> None:
    os.mkfifo("tools.json")
    with subprocess.Popen(
        [*COMMAND, "tool", "classify", "--from", "tools.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        try:
            writer = opened_for_writing(Path("tools.json"), process)
            process.send_signal(signal.SIGINT)
            os.close(writer)  # The signal may come just before the process waits for the pipe; the end of it wakes it.
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, b"", b"")


def opened_for_writing(pipe: Path, process: "subprocess.Popen[bytes]") -> int:
    """Open a named pipe as soon as the process has it open for reading."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
    raise AssertionError("the process ended before it read the pipe")
