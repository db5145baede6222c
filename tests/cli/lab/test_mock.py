"""`interlock mock`: which files it takes, and what it says about those that it does not."""

import json
from pathlib import Path

import pytest

from interlock.cli.lab.mock import read_manifest
from tests.cli.running import Interlock, run_process

GOOD = "mock_server:\n  name: records\n  tools:\n    - name: t\n"


def file(folder: Path, text: str, name: str = "m.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + "      respones: {}\n", ":5:7: unknown key 'respones'"),
        (GOOD + "      fault: explode\n", ":5:14: no such fault"),
        (GOOD + "      annotations: yes\n", ":5:20: 'annotations' must be an object"),
        (GOOD + "    - {description: d}\n", ":5:7: 'name' is missing"),
        (GOOD + "      input_schema: {type: objekt}\n", ":5:28: 'input_schema' is no JSON Schema at /type: 'objekt'"),
        (
            GOOD + "      outputSchema:\n        properties:\n          a: {minLength: -1}\n",
            ":7:26: 'outputSchema' is no JSON Schema at /properties/a/minLength: -1 is less",
        ),
        ("mock_server: [\n", ":2:1: not valid YAML"),
        ("mock_server: {name: a, name: b}\n", ":1:24: key 'name' stands here twice"),
        ('{"tools": [\n', ":2:1: not valid YAML"),
        ('{"tools": [{"title": "x"}]}', ": tool 1 has no name"),
        ("", ": this must be an object"),
        ("just a text", ":1:1: this must be an object"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(
    il: Interlock, tmp_path: Path, text: str, said: str
) -> None:
    source = file(tmp_path, text)
    done = il("mock", "--tools-from", source)

    assert (done.exit, done.out) == (2, "")
    assert f"{source}{said}" in done.err


def test_a_file_that_cannot_be_read_is_refused(il: Interlock, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xff")

    for source, said in (("nowhere.yaml", "No such file"), (str(tmp_path), "directory"), ("latin", "not UTF-8")):
        done = il("mock", "--tools-from", source if source.startswith("/") else str(tmp_path / source))
        assert (done.exit, done.out) == (2, "")
        assert said in done.err


def test_what_the_file_says_cannot_play_tricks_on_the_terminal(il: Interlock, tmp_path: Path) -> None:
    done = il("mock", "--tools-from", file(tmp_path, 'mock_server: {name: m, "\\e[2Jx": 1}'))

    assert "<U+001B>[2Jx" in done.err
    assert "\x1b" not in done.err


def test_a_saved_list_is_named_after_its_file(tmp_path: Path) -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t"}]}}
    manifest = read_manifest(file(tmp_path, json.dumps(answer), "github.json"))

    assert manifest.name == "github"
    assert [each.name for each in manifest.tools] == ["t"]


def test_a_manifest_may_be_written_as_json(tmp_path: Path) -> None:
    manifest = read_manifest(file(tmp_path, '{"mock_server": {"name": "m", "tools": []}}', "m.json"))

    assert manifest.name == "m"


def test_a_mock_of_a_broken_file_leaves_stdout_to_the_protocol(tmp_path: Path) -> None:
    done = run_process("mock", "--tools-from", file(tmp_path, "mock_server: {"), stdin="{}\n")

    assert (done.exit, done.out) == (2, "")
    assert done.err


def test_it_ends_when_its_client_leaves(tmp_path: Path) -> None:
    done = run_process("mock", "--tools-from", file(tmp_path, GOOD))

    assert (done.exit, done.out) == (0, "")
    assert done.err == "The mock 'records' has 1 tool.\n"
