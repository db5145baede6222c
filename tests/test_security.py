"""The threat model names tests that exist, and no threat twice or not at all."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WRITTEN = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", WRITTEN)))
ROWS = re.findall(r"^\| (T\d+) \| (.+) \| (.+) \| (.+) \|$", WRITTEN, re.M)
THREATS = 37


@cache
def named_in(file: str) -> frozenset[str]:
    """The names of the tests in a file, without running it."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(each.name for each in functions if each.name.startswith("test_"))


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_every_test_that_is_named_exists(file: str) -> None:
    assert {name for each, name in NAMED if each == file} - named_in(file) == set()


def test_every_threat_has_its_line_with_what_prevents_it_and_a_test() -> None:
    assert [each for each, *_ in ROWS] == [f"T{number}" for number in range(1, THREATS + 1)]
    assert [each for each, *_, tests in ROWS if "::" not in tests] == []


def test_nothing_that_is_written_like_a_test_is_overlooked() -> None:
    assert WRITTEN.count("::test_") == len(re.findall(r"`tests/[\w/]+\.py::test_\w+`", WRITTEN))
