"""How options are parsed, and what is said when they cannot be."""

import pytest

from interlock.cli.command import (
    Options,
    Values,
    Verb,
    add_json,
    noun_help,
    parser_for,
    run_noun,
    run_verb,
    unknown_word,
)
from interlock.errors import Code, Exit, InterlockError, Reason
from tests.cli.running import Interlock, configure


def verb(name: str = "look", seen: list[Values] | None = None) -> Verb:
    """A small verb that remembers the values it was run with."""

    def options(parser: Options) -> None:
        parser.add_argument("thing")
        add_json(parser)

    def run(values: Values) -> Exit:
        if seen is not None:
            seen.append(values)
        return Exit.FINDINGS

    return Verb(name, "Look at a thing.", options, run, ("interlock look here", "interlock look there --json"))


def test_a_verb_is_run_with_its_options_and_gives_the_exit_code() -> None:
    seen: list[Values] = []
    assert run_verb("interlock look", verb(seen=seen), ["here", "--json", "--config", "c", "--data-dir", "d"]) == 20
    assert vars(seen[0]) == {"thing": "here", "json": True, "config": "c", "data_dir": "d", "is_command": False}


def test_what_is_left_out_is_false_or_nothing() -> None:
    seen: list[Values] = []
    run_verb("interlock look", verb(seen=seen), ["here"])
    assert vars(seen[0]) == {"thing": "here", "json": False, "config": None, "data_dir": None, "is_command": False}


def test_a_noun_runs_the_verb_that_was_named() -> None:
    first: list[Values] = []
    second: list[Values] = []
    verbs = (verb("look", first), verb("touch", second))
    assert run_noun("interlock thing", "Things.", verbs, ["touch", "it"]) is Exit.FINDINGS
    assert (first, [values.thing for values in second]) == ([], ["it"])


def test_help_of_a_verb_ends_with_its_examples() -> None:
    help_text = parser_for("interlock look", verb()).format_help()
    assert help_text.startswith("usage: interlock look ")
    assert help_text.endswith("\nExamples:\n  interlock look here\n  interlock look there --json\n")


def test_help_of_a_noun_lines_up_its_verbs() -> None:
    assert noun_help("interlock thing", "Things.", [("look", "Look at it."), ("destroy", "End it.")]) == (
        "usage: interlock thing COMMAND [options]\n"
        "\n"
        "Things.\n"
        "\n"
        "Commands:\n"
        "  look     Look at it.\n"
        "  destroy  End it.\n"
        "\n"
        "`interlock thing COMMAND --help` shows options and examples.\n"
    )


@pytest.mark.parametrize(
    ("given", "hint"),
    [("tol", "Did you mean `interlock tool`?"), ("zzz", "Commands: tool, rule.")],
)
def test_an_unknown_word_is_an_error_with_the_nearest_word_or_all_of_them(given: str, hint: str) -> None:
    error = unknown_word("interlock", given, ["tool", "rule"])
    assert error.reason == Reason(f"unknown command '{given}'", Code.BAD_REQUEST, hint)


def test_bad_options_are_an_error_like_any_other() -> None:
    with pytest.raises(InterlockError) as caught:
        run_verb("interlock look", verb(), [])
    assert caught.value.reason == Reason(
        "the following arguments are required: thing", Code.BAD_REQUEST, "See `interlock look --help`."
    )


@pytest.mark.parametrize(
    ("words", "problem", "prog"),
    [
        (("run-tool",), "the following arguments are required: NAME", "interlock run-tool"),
        (("rule", "test"), "the following arguments are required: --tool", "interlock rule test"),
        (("rule", "explain"), "the following arguments are required: TOOL", "interlock rule explain"),
        (("tool", "classify", "--nope"), "unrecognized arguments: --nope", "interlock tool classify"),
        (("rule", "lint", "extra"), "unrecognized arguments: extra", "interlock rule lint"),
        (("config", "show", "--config"), "argument --config: expected one argument", "interlock config show"),
    ],
)
def test_bad_options_are_told_on_stderr_with_the_way_to_help(
    il: Interlock, words: tuple[str, ...], problem: str, prog: str
) -> None:
    done = il(*words)
    assert (done.exit, done.out, done.err) == (2, "", f"{problem}\n  See `{prog} --help`.\n")


@pytest.mark.parametrize(
    ("words", "problem", "prog"),
    [
        (("run-tool", "--json"), "the following arguments are required: NAME", "interlock run-tool"),
        (("rule", "test", "--json"), "the following arguments are required: --tool", "interlock rule test"),
        (("config", "show", "--json", "--nope"), "unrecognized arguments: --nope", "interlock config show"),
    ],
)
def test_with_json_bad_options_are_a_coded_error_on_stdout_too(
    il: Interlock, words: tuple[str, ...], problem: str, prog: str
) -> None:
    done = il(*words)
    assert (done.exit, done.err) == (2, f"{problem}\n  See `{prog} --help`.\n")
    assert done.json == {"error": {"code": "BAD_REQUEST", "message": problem, "fix": f"See `{prog} --help`."}}


@pytest.mark.parametrize(
    ("option", "value"), [("--class", "harmless"), ("--operation-type", "look")], ids=["class", "operation type"]
)
def test_a_word_that_is_no_choice_is_refused_with_the_choices(il: Interlock, option: str, value: str) -> None:
    done = il("rule", "test", "--tool", "a:b", option, value)
    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith(f"argument {option}: invalid choice: '{value}' (choose from ")


def test_an_option_must_be_written_out(il: Interlock) -> None:
    done = il("config", "show", "--jso")
    assert (done.exit, done.err.splitlines()[0]) == (2, "unrecognized arguments: --jso")


def test_the_file_of_the_option_is_the_one_that_is_read(il: Interlock) -> None:
    configure("zzz: 1")
    done = il("config", "validate", "--config", "team.yaml")
    assert (done.exit, done.out) == (2, "")
    assert done.err.splitlines()[0] == "team.yaml: cannot be read: No such file or directory"


def test_the_file_of_the_variable_is_read_when_there_is_no_option(
    il: Interlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_CONFIG", "team.yaml")
    assert il("config", "validate").err.splitlines()[0] == "team.yaml: cannot be read: No such file or directory"
