"""Reading what a user typed or points at."""

import io
import json
import sys
from pathlib import Path

import pytest

from interlock.cli.inputs import (
    known,
    parse_arg,
    parse_args,
    parse_json,
    parse_object,
    read_tools,
    server_and_tool,
    split_tool,
)
from interlock.errors import Code, InterlockError, Reason
from tests.cli.running import run_process

_JSON_FIX = "Check quotes and commas; `python3 -m json.tool` points at the place."


def refusal(error: pytest.ExceptionInfo[InterlockError]) -> Reason:
    return error.value.reason


# JSON -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "x", [], {}, {"a": [{"b": None}]}])
def test_any_json_is_read(value: object) -> None:
    assert parse_json(json.dumps(value), "it") == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is not valid JSON: Expecting value: line 1 column 1 (char 0)"),
        (
            "{'a': 1}",
            "it is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        ('{"a": 1} x', "it is not valid JSON: Extra data: line 1 column 10 (char 9)"),
        ('{"a": 1, "b": 2, "a": 3}', "it is not valid JSON: key 'a' stands twice in one object"),
        ('[{"x": {"b": 2, "b": 2}}]', "it is not valid JSON: key 'b' stands twice in one object"),
        ("NaN", "it is not valid JSON: NaN is no JSON number"),
        ("[Infinity]", "it is not valid JSON: Infinity is no JSON number"),
        ("[-Infinity]", "it is not valid JSON: -Infinity is no JSON number"),
        ("[" * 100_000 + "]" * 100_000, "it is nested too deeply"),
        ("[1e999]", "it is not valid JSON: 1e999 is too large for a number"),
        ('{"a": -1.5E+400}', "it is not valid JSON: -1.5E+400 is too large for a number"),
    ],
    ids=[
        "nothing",
        "quotes",
        "rest",
        "twice",
        "twice inside",
        "nan",
        "infinity",
        "minus infinity",
        "depth",
        "too large",
        "too small",
    ],
)
def test_what_is_not_strict_json_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InterlockError) as error:
        parse_json(text, "it")
    assert refusal(error) == Reason(problem, Code.BAD_REQUEST, _JSON_FIX)


@pytest.mark.parametrize(
    "text",
    [r'"\ud800"', r'{"a": "x\udfff"}', r'{"\ud83d": 1}', r'["\ude42\ud83d"]'],
    ids=["low", "value", "key", "swapped"],
)
def test_half_a_surrogate_pair_is_refused_because_it_could_never_be_sent(text: str) -> None:
    with pytest.raises(InterlockError) as error:
        parse_json(text, "it")
    fix = "Write characters beyond U+FFFF as a pair of escapes."
    assert refusal(error) == Reason("it holds half a character", Code.BAD_REQUEST, fix)


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert parse_json(r'"\ud83d\ude42"', "it") == "🙂"


@pytest.mark.parametrize(
    ("text", "number"), [("1e308", 1e308), ("1e-999", 0.0), ("12345678901234567890", 12345678901234567890)]
)
def test_a_number_that_can_be_held_is_read(text: str, number: float) -> None:
    assert parse_json(text, "it") == number


def test_an_object_is_read() -> None:
    assert parse_object('{"path": "README.md"}', "--args-json") == {"path": "README.md"}


@pytest.mark.parametrize("text", ["[]", "null", '"x"', "5", "true"])
def test_what_must_be_an_object_is_refused_if_it_is_none(text: str) -> None:
    with pytest.raises(InterlockError) as error:
        parse_object(text, "--args-json")
    assert refusal(error) == Reason(
        "--args-json must be a JSON object", Code.BAD_REQUEST, 'Write it like {"path": "README.md"}.'
    )


# A saved tools/list ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrapped",
    [
        '[{"name": "a"}, {"name": "b"}]',
        '{"tools": [{"name": "a"}, {"name": "b"}], "nextCursor": "x"}',
        '{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}, {"name": "b"}]}}',
        '{"result": [{"name": "a"}, {"name": "b"}]}',
    ],
    ids=["a bare list", "the result", "the whole answer", "a result that is a list"],
)
def test_tools_are_read_from_whatever_was_saved(wrapped: str) -> None:
    Path("tools.json").write_text(wrapped)
    assert [tool["name"] for tool in read_tools("tools.json")] == ["a", "b"]


def test_a_dash_reads_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('[{"name": "a"}]'))
    assert [tool["name"] for tool in read_tools("-")] == ["a"]


def test_the_rest_of_a_tool_is_kept() -> None:
    tool = {"name": "a", "description": "größe", "annotations": {"readOnlyHint": True}}
    Path("tools.json").write_text(json.dumps([tool], ensure_ascii=False), encoding="utf-8")
    assert read_tools("tools.json") == [tool]


@pytest.mark.parametrize(
    ("content", "problem", "fix"),
    [
        (b"", "tools.json is not valid JSON: Expecting value: line 1 column 1 (char 0)", _JSON_FIX),
        (b'"\xff"', "tools.json: is not UTF-8 text", "Save the tools/list answer as UTF-8 JSON."),
        (
            b"{}",
            "tools.json: holds no list of tools",
            'Save a tools/list result: {"tools": [{"name": …}]}.',
        ),
        (
            b'{"tools": {}}',
            "tools.json: holds no list of tools",
            'Save a tools/list result: {"tools": [{"name": …}]}.',
        ),
        (
            b'{"error": {"code": -32601}}',
            "tools.json: holds no list of tools",
            'Save a tools/list result: {"tools": [{"name": …}]}.',
        ),
        (b"[1]", "tools.json: tool 1 has no name", 'Each tool is an object with a "name".'),
        (b'[{"name": "a"}, {}]', "tools.json: tool 2 has no name", 'Each tool is an object with a "name".'),
        (b'[{"name": ""}]', "tools.json: tool 1 has no name", 'Each tool is an object with a "name".'),
        (b'[{"name": 5}]', "tools.json: tool 1 has no name", 'Each tool is an object with a "name".'),
    ],
)
def test_a_file_that_holds_no_tools_is_refused(content: bytes, problem: str, fix: str) -> None:
    Path("tools.json").write_bytes(content)
    with pytest.raises(InterlockError) as error:
        read_tools("tools.json")
    assert refusal(error) == Reason(problem, Code.BAD_REQUEST, fix)


@pytest.mark.parametrize(("source", "why"), [("none.json", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_refused(source: str, why: str) -> None:
    with pytest.raises(InterlockError) as error:
        read_tools(source)
    assert refusal(error) == Reason(
        f"{source}: cannot be read: {why}", Code.BAD_REQUEST, "Check the path; `-` reads stdin."
    )


def test_a_process_reads_the_tools_from_its_stdin() -> None:
    done = run_process("tool", "classify", "--from", "-", "--json", stdin='{"tools": [{"name": "delete_größe"}]}')
    assert (done.exit, done.err) == (0, "")
    assert [tool["name"] for tool in done.json] == ["delete_größe"]


# Arguments and names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("path=README.md", ("path", "README.md")),
        ("query=a=b=c", ("query", "a=b=c")),
        ("empty=", ("empty", "")),
        ("spaced= x ", ("spaced", " x ")),
    ],
)
def test_an_argument_is_split_at_the_first_equals_sign(text: str, pair: tuple[str, str]) -> None:
    assert parse_arg(text) == pair


def test_arguments_keep_their_order_and_stay_texts() -> None:
    assert list(parse_args(["b=1", "a=true"]).items()) == [("b", "1"), ("a", "true")]


def test_an_argument_without_an_equals_sign_is_refused() -> None:
    with pytest.raises(InterlockError) as error:
        parse_arg("path")
    assert refusal(error) == Reason("--arg 'path' has no '='", Code.BAD_REQUEST, "Write --arg key=value.")


@pytest.mark.parametrize("text", ["=value", " =value"])
def test_an_argument_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(InterlockError) as error:
        parse_arg(text)
    assert refusal(error) == Reason(
        f"--arg '{text}' has no name before the '='", Code.BAD_REQUEST, "Write --arg key=value."
    )


def test_an_argument_given_twice_is_refused() -> None:
    with pytest.raises(InterlockError) as error:
        parse_args(["a=1", "b=2", "a=1"])
    assert refusal(error) == Reason("--arg 'a' is given twice", Code.BAD_REQUEST, "Give each argument once.")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("delete_file", (None, "delete_file")),
        ("github:delete_file", ("github", "delete_file")),
        ("github:odd:name", ("github", "odd:name")),
        ("github__delete_file", (None, "github__delete_file")),
    ],
)
def test_a_tool_is_a_bare_name_or_has_its_server_before_a_colon(name: str, split: tuple[str | None, str]) -> None:
    assert split_tool(name) == split


@pytest.mark.parametrize("name", [":", ":tool", "server:", "a/b:tool"])
def test_half_a_tool_name_is_refused(name: str) -> None:
    with pytest.raises(InterlockError) as error:
        split_tool(name)
    assert refusal(error) == Reason(
        f"'{name}' is no tool name", Code.BAD_REQUEST, "Write it as server:tool, or as the bare tool name."
    )


def test_a_whole_tool_name_has_its_server() -> None:
    assert server_and_tool("github:odd:name") == ("github", "odd:name")


def test_a_tool_name_without_its_server_is_refused_where_it_is_needed() -> None:
    with pytest.raises(InterlockError) as error:
        server_and_tool("delete_file")
    assert refusal(error) == Reason(
        "'delete_file' does not say its server", Code.BAD_REQUEST, "Write it as server:tool."
    )


def test_a_known_name_is_given_back() -> None:
    assert known("server", "github", ("db", "github")) == "github"


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (("db", "github"), "server 'githb' not found. Did you mean 'github'?"),
        (("db", "jira"), "server 'githb' not found. Known: db, jira."),
        ((), "server 'githb' not found. None is configured."),
    ],
)
def test_an_unknown_name_is_refused_with_a_suggestion(choices: tuple[str, ...], text: str) -> None:
    with pytest.raises(InterlockError) as error:
        known("server", "githb", choices)
    assert refusal(error) == Reason(text, Code.NOT_FOUND, "List what there is and use its exact name.")
