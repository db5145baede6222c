"""The command tree, and how errors become exit codes."""

import importlib
import io
import os
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
from tests.cli.running import COMMAND, Interlock, configure, environment, run_process


def verbs() -> Iterator[tuple[str, Verb]]:
    """Every verb with the words that lead to it."""
    for noun in NOUNS:
        module = importlib.import_module(noun.module)
        if hasattr(module, "VERB"):
            yield noun.name, module.VERB
        else:
            for verb in module.VERBS:
                yield f"{noun.name} {verb.name}", verb


VERBS = dict(verbs())


# Help -----------------------------------------------------------------------------------------------------------


def test_the_offline_verbs_are_all_there() -> None:
    assert set(VERBS) == {
        "run-tool",
        "tool classify",
        "rule test",
        "rule explain",
        "rule lint",
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


@pytest.mark.parametrize("noun", ["tool", "rule", "config"])
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
    typed = shlex.split(example.partition(" > ")[0])
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
        (("zzz",), "zzz", "Commands: run-tool, tool, rule, config."),
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
    assert (done.exit, done.out, done.err) == (2, "", f"interlock: unknown command '{given}'\n  {hint}\n")


def test_a_noun_without_a_verb_is_a_mistake_that_shows_the_verbs(il: Interlock) -> None:
    done = il("rule")
    assert done.exit == 2
    assert "usage: interlock rule COMMAND [options]" in done.out + done.err


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
    ],
)
def test_every_verb_that_reads_the_configuration_refuses_a_bad_one(il: Interlock, words: tuple[str, ...]) -> None:
    configure("zzz: 1")
    done = il(*words)
    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("interlock.yaml:1:1: unknown key 'zzz'\n")


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
    class Closed(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["config", "schema"]) == 0


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


def test_a_pipe_whose_reader_went_away_leaves_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*COMMAND, "config", "schema"],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            check=False,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def interrupts_reach_children() -> Iterator[None]:
    """A process started in the background of a shell may ignore Ctrl-C, and its children with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
