"""The one place that prints: tables for people, JSON for scripts, errors for both.

Names, descriptions and arguments come from outside and may hold escape sequences that rewrite the screen, or bidi
marks that make `delete` look like something else. Everything external passes through `visible` before it is printed.
"""

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterable, Sequence

from interlock.core.hidden import visible
from interlock.core.model import Json
from interlock.errors import ANSWERS, ConfigError, Exit, Reason

STYLES = {
    "read-only": "green",
    "write-capable": "yellow",
    "subprocess": "magenta",
    "dangerous": "bold red",
    "unknown": "bold red",
    "allow": "green",
    "hold": "yellow",
    "deny": "bold red",
    "success": "green",
    "error": "bold red",
    "blocked": "bold red",
    "denied": "bold red",
    "ready": "green",
    "ok": "green",
    "warn": "yellow",
    "fail": "bold red",
    "down": "bold red",
    "pending": "yellow",
    "approved": "green",
}
_WIDEST = 10_000
_PROSE = 24
"""A cell of several words is folded only if it is longer than this: a time is not."""
_UNITS = (("d", 86_400, 1_000_000), ("h", 3_600, 24), ("m", 60, 60), ("s", 1, 60))


def forget_stdout() -> None:
    """Send what is still to come nowhere: the reader went away, as `head` does, or the disk is full."""
    with contextlib.suppress(io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write(text: str) -> bool:
    """The one way to stdout; whether somebody still reads. A reader that went away does not change what a verb found,
    nor its exit code."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_stdout()
        return False
    return True


def print_json(value: Json) -> None:
    """JSON on stdout. ASCII only, so that nothing in it can play tricks on a terminal."""
    write(json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def print_lines(lines: Iterable[str]) -> None:
    """Lines of text on stdout, each made safe."""
    write("".join(f"{visible(line)}\n" for line in lines))


def print_text(text: str) -> None:
    """A text of several lines on stdout. Its line breaks and tabs stay; everything else that is hidden is shown."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    write("".join("\t".join(visible(part) for part in line.split("\t")) + "\n" for line in lines))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout: coloured on a terminal, plain and never cut elsewhere.

    A narrow terminal folds prose only. An id or a name in pieces can be neither read nor copied, so a line with them
    may be longer than the terminal, which then wraps it as a whole.
    """
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    width = None if terminal else _WIDEST
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    cells = [[Text(visible(cell), style=STYLES.get(cell, "")) for cell in row] for row in rows]
    for number, column in enumerate(columns):
        whole = (row[number].cell_len for row in cells if " " not in row[number].plain)
        prose = (min(row[number].cell_len, _PROSE) for row in cells)
        table.add_column(column, overflow="fold", min_width=max(len(column), *whole, *prose, 0))
    for row in cells:
        table.add_row(*row)
    least = Measurement.get(console, console.options.update(width=_WIDEST), table).minimum
    console.width = max(console.width, least)
    # Rendered first and written by us, because rich would end the process when the reader goes away.
    with console.capture() as captured:
        console.print(table, crop=False)
    write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def print_error(reason: Reason, *, as_json: bool) -> Exit:
    """The sentence and the fix on stderr, with --json the coded error on stdout too. Returns the exit code."""
    if as_json:
        print_json({"error": reason_as_json(reason)})
    fix = [f"  {visible(reason.fix)}\n"] if reason.fix else []
    sys.stderr.write("".join([f"{visible(reason.text)}\n", *fix]))
    return Exit.INTERNAL if reason.code is None else ANSWERS[reason.code].exit


def print_problems(error: ConfigError, *, as_json: bool) -> Exit:
    """What is wrong with the configuration, a line each."""
    if as_json:
        problems: list[Json] = list(error.problems)
        print_json({"error": {**reason_as_json(error.reason), "problems": problems}})
    sys.stderr.write("".join(f"{visible(problem)}\n" for problem in error.problems))
    sys.stderr.write(f"  {visible(error.reason.fix)}\n")
    return Exit.USAGE


def note(text: str) -> None:
    """Something for a person that is not data: on stderr."""
    sys.stderr.write(f"{visible(text)}\n")


def counted(number: int, word: str) -> str:
    """`1 rule`, `2 rules`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def short_time(at: str | None) -> str:
    """A time of ours, to the second: `2026-11-15 09:30:00Z`. `-` when there is none."""
    return "-" if at is None else f"{at[:10]} {at[11:19]}Z"


def span(seconds: float) -> str:
    """How long, in two units at most: `42s`, `4m 12s`, `3h 5m`, `2d 4h`."""
    left = max(int(seconds), 0)
    found = [(left // size % most, unit) for unit, size, most in _UNITS if left >= size]
    return " ".join(f"{number}{unit}" for number, unit in found[:2] if number) or "0s"


def reason_as_json(reason: Reason) -> dict[str, Json]:
    return {"code": reason.code, "message": reason.text, "fix": reason.fix}
