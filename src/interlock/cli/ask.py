"""Questions on a terminal. A script is never asked, and whoever hangs up has said no."""

import sys
from collections.abc import Sequence

from interlock.cli.command import Options, Values
from interlock.cli.render import visible


def add_consent(parser: Options) -> None:
    """The options of a verb that asks before it writes."""
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, change nothing")
    parser.add_argument("--yes", action="store_true", help="ask nothing and do what is shown")


def can_ask(values: Values) -> bool:
    """Whether a person is there who can answer."""
    return not getattr(values, "no_input", False) and sys.stdin.isatty() and sys.stderr.isatty()


def agreed(question: str) -> bool:
    """Whether a person says yes; anything else is no."""
    return chosen(f"{question} [y/N]", ("y", "yes")) is not None


def chosen(question: str, answers: Sequence[str]) -> str | None:
    """Which of the answers a person gives; None for any other."""
    sys.stderr.write(f"{visible(question)} ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip().lower()
    return answer if answer in answers else None
