"""Suites as files: where a problem stands, and the snapshots beside them."""

from pathlib import Path

import pytest

from interlock.cli.lab.suite_files import (
    MAX_BYTES,
    read_snapshots,
    read_suite_file,
    suite_files,
    write_snapshots,
)
from interlock.errors import ConfigError

GOOD = "tests:\n  - name: a\n    tool: t\n"


def problems_of(text: str | bytes) -> tuple[str, ...]:
    file = Path("suite.yaml")
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as unfit:
        read_suite_file(file)
    return unfit.value.problems


def test_a_suite_is_read() -> None:
    Path("suite.yaml").write_text(GOOD, encoding="utf-8")
    found = read_suite_file(Path("suite.yaml"))

    assert found.suite.tests[0].tool == "t"
    assert found.snapshots == Path("suite.yaml.snapshots.json")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("tests:\n  - name: a\n    tol: t\n", "3:5: unknown key 'tol'; did you mean 'tool'?"),
        ("tests:\n  - {name: a, tool: t, expect: [{target: text, matcher: exact, valu: 1}]}\n", "2:64: unknown key"),
        ("tests: [\n", "2:1: not valid YAML"),
        ("tests:\n  - {name: a, tool: t, expect: [{target: text, matcher: regex, value: '('}]}\n", "2:33: RE2"),
        ("servers: {up: {}}\ntests: [{name: a, tool: t}]\n", "1:11: needs exactly one of"),
        ("tests: [{name: a, name: b, tool: t}]\n", "1:19: key 'name' stands here twice"),
        ("", '1:1: this is not of type "object"'),
    ],
)
def test_a_problem_is_told_with_line_and_column(text: str, at: str) -> None:
    assert any(each.startswith(f"suite.yaml:{at}") for each in problems_of(text))


def test_problems_are_told_in_the_order_of_the_file() -> None:
    told = problems_of("tests:\n  - {name: a, tool: t, b: 1}\n  - {name: b, tool: t, a: 1}\n")

    assert [each.split(":")[1] for each in told] == ["2", "3"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"\xff", "is not UTF-8 text"), (b"#" * (MAX_BYTES + 1), "is larger than 4 MiB")],
    ids=["bytes", "large"],
)
def test_a_file_that_is_no_suite_at_all_is_refused(content: bytes, problem: str) -> None:
    assert problems_of(content) == (f"suite.yaml: {problem}",)


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(ConfigError) as unfit:
        read_suite_file(Path("nowhere.yaml"))

    assert unfit.value.problems == ("nowhere.yaml: cannot be read: No such file or directory",)


def test_a_folder_means_the_suites_below_it_each_once() -> None:
    for name in ("all/b.yaml", "all/deep/a.yml", "all/notes.txt", "all/b.yaml.snapshots.json"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("", encoding="utf-8")

    assert suite_files(["all", "all/b.yaml", "gone.yaml"]) == [
        Path("all/b.yaml"),
        Path("all/deep/a.yml"),
        Path("gone.yaml"),
    ]


# Snapshots ------------------------------------------------------------------------------------------------------


def test_snapshots_are_read_as_they_were_written() -> None:
    file = Path("s.snapshots.json")
    kept = {"b": {"text": {"type": "string"}}, "a": {"/x": {"type": "number"}}}
    write_snapshots(file, kept)

    assert read_snapshots(file) == kept
    assert file.read_text(encoding="utf-8").index('"a"') < file.read_text(encoding="utf-8").index('"b"')
    assert list(Path().glob("*.new")) == []


def test_without_a_file_there_are_no_snapshots() -> None:
    assert read_snapshots(Path("none.json")) == {}


@pytest.mark.parametrize("text", ["[]", "{", '{"a": {"text": 5}}', '{"a": {"text": {"type": "nonsense"}}}'])
def test_a_file_that_holds_no_snapshots_is_told_before_anything_is_called(text: str) -> None:
    file = Path("s.snapshots.json")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as unfit:
        read_snapshots(file)

    assert "--update-snapshots" in unfit.value.problems[0]
