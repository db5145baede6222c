"""The shape of the house, as a test: what is not checked here would grow."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "interlock").rglob("*.py"))
MODULES = [file for file in SOURCES if file.name not in ("__init__.py", "__main__.py")]

MAX_MODULE, MAX_FUNCTION, MAX_TOP_LEVEL = 500, 60, 20
TESTED_ELSEWHERE = {
    "app/agents.py": "tests/receive/test_face.py",
    "app/listening.py": "tests/receive/test_face.py",
    "config/document.py": "tests/config/test_source.py",
    "config/meanings.py": "tests/test_docs.py",
    "core/health.py": "tests/forward/test_fleet.py",
    "core/poison/atoms.py": "tests/core/poison/test_rules.py",
    "core/poison/english.py": "tests/core/poison/test_rules.py",
    "core/poison/languages.py": "tests/core/poison/test_rules.py",
    "core/roster.py": "tests/config/test_roster.py",
    **{
        f"errors/{each}.py": "tests/test_errors.py"
        for each in "calls clients codes raised reason requests surroundings".split()
    },
    "forward/link.py": "tests/forward/test_link_stdio.py",
    "kept.py": "tests/test_record.py",
    "lab/model.py": "tests/lab/test_run.py",
    "lab/report/style.py": "tests/lab/report/test_html.py",
    "receive/turns.py": "tests/behaviours/test_questions.py",
    "sent.py": "tests/test_pipeline.py",
    "store/audit/seals.py": "tests/store/test_sql_seals.py",
    "store/approval_queries.py": "tests/store/test_approvals.py",
    "store/protocol.py": "tests/store/test_contract.py",
    "store/sql.py": "tests/store/test_contract.py",
    "store/shared.py": "tests/store/test_postgres_shared.py",
    "store/sql_approvals.py": "tests/store/test_approvals.py",
    "store/seal_queries.py": "tests/store/test_sql_seals.py",
    "web/feed.py": "tests/web/test_events.py",
}
"""Modules that only hold types or texts; the tests of what fills or reads them are theirs too."""


def name_of(file: Path) -> str:
    return file.relative_to(ROOT / "src" / "interlock").as_posix()


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_every_module_has_its_test_file(file: Path) -> None:
    inside = file.relative_to(ROOT / "src" / "interlock")
    own = ROOT / "tests" / inside.parent / f"test_{inside.name}"

    assert own.is_file() or (ROOT / TESTED_ELSEWHERE.get(name_of(file), "-")).is_file()


@pytest.mark.parametrize("file", SOURCES, ids=name_of)
def test_every_module_says_why_it_exists(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("file", SOURCES, ids=name_of)
def test_no_module_is_too_long_to_read(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MAX_MODULE


@pytest.mark.parametrize("file", SOURCES, ids=name_of)
def test_no_function_is_too_long_to_read(file: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]

    assert [each.name for each in functions if (each.end_lineno or 0) - each.lineno >= MAX_FUNCTION] == []


def test_the_package_has_few_top_level_ideas() -> None:
    entries = [each for each in (ROOT / "src" / "interlock").iterdir() if each.name != "__pycache__"]

    assert len(entries) <= MAX_TOP_LEVEL


def test_the_readme_shows_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert "make serve" in readme
    assert "make test" in readme
