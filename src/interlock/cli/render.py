"""The one place that prints: tables for people, JSON for scripts, errors for both.

Names, descriptions and arguments come from outside and may hold escape sequences that rewrite the screen, or bidi
marks that make `delete` look like something else. Everything external passes through `visible` before it is printed.
"""

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence

from interlock.core.model import Json
from interlock.errors import ANSWERS, Exit, Reason

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_STYLES = {
    "read-only": "green",
    "write-capable": "yellow",
    "subprocess": "magenta",
    "dangerous": "bold red",
    "unknown": "bold red",
    "allow": "green",
    "hold": "yellow",
    "deny": "bold red",
}


def visible(text: str) -> str:
    """The text with control, bidi, zero-width and unassigned characters made visible as <U+202E>."""
    return "".join(f"<U+{ord(char):04X}>" if _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN_CATEGORIES


def print_json(value: Json) -> None:
    """JSON on stdout. ASCII only, so that nothing in it can play tricks on a terminal."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def print_lines(lines: Iterable[str]) -> None:
    """Lines of text on stdout, each made safe."""
    sys.stdout.write("".join(f"{visible(line)}\n" for line in lines))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout: coloured on a terminal, plain and never cut elsewhere."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=None if terminal else 10_000, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell), style=_STYLES.get(cell, "")) for cell in row))
    console.print(table)


def print_error(reason: Reason, *, as_json: bool) -> Exit:
    """The sentence and the fix on stderr, with --json the coded error on stdout too. Returns the exit code."""
    if as_json:
        print_json({"error": reason_as_json(reason)})
    lines = [f"{visible(line)}\n" for line in reason.text.splitlines()]
    sys.stderr.write("".join([*lines, f"  {visible(reason.fix)}\n" if reason.fix else ""]))
    return Exit.INTERNAL if reason.code is None else ANSWERS[reason.code].exit


def note(text: str) -> None:
    """Something for a person that is not data: on stderr."""
    sys.stderr.write(f"{visible(text)}\n")


def reason_as_json(reason: Reason) -> dict[str, Json]:
    return {"code": reason.code, "message": reason.text, "fix": reason.fix}
