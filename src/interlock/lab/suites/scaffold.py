"""A pytest suite for the tools of a server, written from what it lists and what it answered.

The suite says that each tool answers in the form in which it answered when the suite was made; what the answers mean is
for a person to add. A tool that only reads is called twice in its test, one that changes something once and marked
serial, and the test of a destructive one is skipped until somebody has read it.

Names, schemas and answers are a stranger's text on its way into a program. Whatever of it stands in one is written as
an escaped literal of ASCII, and the names of files and functions are made anew: this module refuses to put a character
into code that it did not choose.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from msgspec import Struct

from interlock.core.model import Json
from interlock.core.safety import ExecClass
from interlock.errors import Code
from interlock.lab.plan import Decision, Planned
from interlock.lab.suites.drafts import Draft, results_of
from interlock.lab.suites.shape import observe

WIDTH = 100
LONGEST_NAME = 60
REVIEW = "# review before first run"
_ODD = re.compile(r"[^a-z0-9]+")


class Opening(Struct, frozen=True):
    """How the suite reaches its server: the words of the target, and what the run that made the suite was allowed."""

    target: tuple[str, ...]
    server: str
    made: str
    """The day on which the suite was made."""
    execute_destructive: bool = False
    strict: bool = False
    config: str | None = None


def suite_of(drafts: Sequence[Draft], opening: Opening) -> dict[str, str]:
    """The files of the suite, by their paths below its folder."""
    names = Names()
    # What changes something comes last, so that the others meet the server as it was when they were made.
    ordered = sorted(drafts, key=lambda each: each.planned.decision is not Decision.EXECUTE)
    written = [_Written(each, names.take(each.tool)) for each in ordered]
    shapes = {f"snapshots/{each.name}.json": each.snapshot() for each in written}
    return {
        "conftest.py": _conftest(opening),
        f"test_{plain(opening.server)}.py": "\n\n\n".join([_heading(opening), *map(_test, written)]) + "\n",
        **{path: text for path, text in shapes.items() if text is not None},
    }


# Text of strangers ----------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """A name that is safe for a file and for a function, whatever the text is."""
    return _ODD.sub("_", text.lower()).strip("_")[:LONGEST_NAME].strip("_") or "tool"


class Names:
    """Plain names, each given once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, text: str) -> str:
        name, number = plain(text), 1
        while name in self._taken:
            number += 1
            name = f"{plain(text)}_{number}"
        self._taken.add(name)
        return name


def on_one_line(text: str) -> str:
    """A text for a comment: one line of ASCII."""
    return ascii(text)[1:-1]


def literal(value: Json, indent: int = 4) -> str:
    """A JSON value as a Python literal of ASCII, broken into lines where it is long."""
    short = ascii(value)
    if len(short) + indent <= WIDTH or not value:
        return short
    pad, end = " " * (indent + 4), " " * indent
    if isinstance(value, dict):
        lines = [f"{pad}{key!a}: {literal(each, indent + 4)},\n" for key, each in value.items()]
        return "{\n" + "".join(lines) + end + "}"
    if isinstance(value, list):
        lines = [f"{pad}{literal(each, indent + 4)},\n" for each in value]
        return "[\n" + "".join(lines) + end + "]"
    return short


# Files ----------------------------------------------------------------------------------------------------------


_CONFTEST = '''"""Opens the server of these tests through Interlock: calls are decided about and recorded as ever.

Made by `interlock scaffold`; change it as you like.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.cli.lab.testing import OpenBench, open_bench

TARGET = {target}
EXECUTE_DESTRUCTIVE = {execute_destructive}
"""Whether tools that destroy something may be called; read their tests first."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "serial: changes something on the server; do not run it beside others")


@pytest.fixture(scope="session")
def bench() -> Iterator[OpenBench]:
    snapshots = Path(__file__).with_name("snapshots")
    update = bool(os.environ.get("UPDATE_SNAPSHOTS"))  # set, the answers of this run are kept as snapshots
    policy = dict(execute_destructive=EXECUTE_DESTRUCTIVE{more})
    with open_bench(TARGET, snapshots=snapshots, update=update, **policy) as opened:
        yield opened
'''


def _conftest(opening: Opening) -> str:
    more = [f"config={opening.config!a}"] if opening.config is not None else []
    more += ["strict=True"] if opening.strict else []
    return _CONFTEST.format(
        target=literal(list(opening.target), 0),
        execute_destructive=opening.execute_destructive,
        more="".join(f", {each}" for each in more),
    )


def _heading(opening: Opening) -> str:
    return "\n".join(
        [
            f'"""Tests for the tools of {plain(opening.server)}, made by `interlock scaffold` on {opening.made}.',
            "",
            "They say that each tool answers in the form in which it answered then. Arguments are made up: put real",
            "ones in their place, and say what the answers mean. Nothing is cleaned up after a test that changes",
            "something.",
            '"""',
            "",
            "import pytest",
            "",
            "from interlock.cli.lab.testing import OpenBench",
        ]
    )


# Tests ----------------------------------------------------------------------------------------------------------


class _Written(Struct, frozen=True):
    """A draft on its way into the suite."""

    draft: Draft
    name: str

    @property
    def is_stable(self) -> bool:
        """Whether there is something to hold answers against."""
        return bool(results_of(self.draft)) and self.draft.is_error is False and self.draft.problem is None

    def snapshot(self) -> str | None:
        if not self.is_stable:
            return None
        shape = observe(cast("list[Json]", results_of(self.draft))).schema(strict=False)
        return json.dumps(shape, indent=2, sort_keys=True) + "\n"


def _test(written: _Written) -> str:
    body = _BODIES[written.draft.planned.decision](written)
    return "\n".join([*_above(written.draft), f"def test_{written.name}(bench: OpenBench) -> None:", *body])


_LIFTED = {
    ExecClass.READ_ONLY_PRESUMED: "strict out of conftest.py",
    ExecClass.DESTRUCTIVE: "set EXECUTE_DESTRUCTIVE in conftest.py",
}
"""What lets a tool run that was kept back for its class when the suite was made."""


def _is_kept_back(planned: Planned) -> bool:
    """Whether a person who has looked at it may let it run. Where it is no matter of the class, nothing helps."""
    quarantined = planned.reason is not None and planned.reason.code is Code.QUARANTINED
    return planned.decision is Decision.GENERATE_ONLY and not planned.tool.needs_task and not quarantined


def _above(draft: Draft) -> Iterator[str]:
    """What stands above the function: the word to the reader, and the marks."""
    planned = draft.planned
    why = "" if draft.problem is None else f"{draft.problem.text} {draft.problem.fix}".rstrip()
    if _is_kept_back(planned):
        yield f"{REVIEW}: {on_one_line(draft.tool)} is {planned.tool.exec_class.value}."
        yield f"# Then take the skip away, and {_LIFTED[planned.tool.exec_class]}."
    elif planned.decision is Decision.EXECUTE_ONCE:
        yield f"# {planned.tool.exec_class.value}: called once, and not when this test was made."
    if planned.decision is not Decision.EXECUTE:
        yield "@pytest.mark.serial"
    if _is_kept_back(planned):
        yield '@pytest.mark.skip(reason="review before first run")'
    elif why:
        yield f"@pytest.mark.skip(reason={why!a})"


def _arguments(draft: Draft) -> str:
    return f"    arguments = {literal(draft.arguments or {})}"


def _twice(written: _Written) -> Iterator[str]:
    draft, tool = written.draft, ascii(written.draft.tool)
    yield _arguments(draft)
    yield f"    first = bench.call({tool}, arguments)"
    yield f"    again = bench.call({tool}, arguments)"
    yield ""
    if written.is_stable:
        yield "    assert not first.is_error, first.text"
        yield "    first.check_output_schema()"
        yield "    again.check_same_shape(first)"
        yield f"    first.check_snapshot({written.name!a})"
        return
    # Nothing is said about what came of it: another test, or another day, may bring about what was missing then.
    yield "    # The server did not take these made-up arguments; put real ones here, and say what has to come of them."
    yield "    assert first.is_answer"
    yield "    assert again.is_answer"


def _once(written: _Written) -> Iterator[str]:
    yield _arguments(written.draft)
    yield f"    answer = bench.call({written.draft.tool!a}, arguments)"
    yield ""
    yield "    # Made-up arguments may well be refused; say here what has to come of real ones."
    yield "    assert answer.is_answer"
    yield "    answer.check_output_schema()"


_BODIES: dict[Decision, Callable[[_Written], Iterator[str]]] = {
    Decision.EXECUTE: _twice,
    Decision.EXECUTE_ONCE: _once,
    Decision.GENERATE_ONLY: _once,
    Decision.REFUSE: _once,
}
