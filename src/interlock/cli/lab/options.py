"""The options that the verbs of the lab share: which server, and how far to go with it.

What is not given on the command line is what the section `lab` of the configuration says, and that has defaults.
"""

import argparse
import math
from typing import TYPE_CHECKING

from interlock.cli.command import Options, Values
from interlock.lab.run import TIMEOUT, Knobs

if TYPE_CHECKING:
    from interlock.config.tree import Lab

LONGEST = 3600.0
"""The most seconds that a call may be given."""


def add_target(parser: Options) -> None:
    """The server that is meant."""
    parser.add_argument(
        "target",
        nargs="+",
        metavar="TARGET",
        help="a server id, an http(s) URL, or a command line: in quotes, or after --",
    )


def add_knobs(parser: Options) -> None:
    """How far a run may go."""
    knobs = parser.add_argument_group("how far to go")
    knobs.add_argument("--execute-destructive", action="store_true", help="call destructive tools too, once each")
    knobs.add_argument("--strict", action="store_true", help="call no tool that is only presumed to be read-only")
    knobs.add_argument("--max-calls", type=_count, metavar="N", help="call at most so often")
    knobs.add_argument("--concurrency", type=_count, metavar="N", help="calls at once (2)")
    knobs.add_argument("--call-delay", type=_span, metavar="MS", help="pause between calls over HTTP (100)")
    knobs.add_argument("--timeout", type=_seconds, metavar="S", help=f"seconds that a call may take ({TIMEOUT:g})")
    knobs.add_argument("--seed", type=int, default=0, metavar="N", help="other made-up arguments for another number")


def knobs_of(values: Values, lab: "Lab") -> Knobs:
    """The knobs of a run: the command line before the configuration."""
    delay = lab.call_delay.total_seconds() if values.call_delay is None else values.call_delay / 1000
    return Knobs(
        execute_destructive=values.execute_destructive or lab.execute_destructive,
        strict=values.strict,
        max_calls=lab.max_calls if values.max_calls is None else values.max_calls,
        concurrency=values.concurrency or lab.concurrency,
        call_delay=delay,
        timeout=values.timeout or TIMEOUT,
        seed=values.seed,
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("it must be a whole number of at least 1")
    return int(text)


def _span(text: str) -> int:
    if not text.isdecimal() or int(text) > LONGEST * 1000:
        raise argparse.ArgumentTypeError("it must be a whole number of milliseconds, at most an hour")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= LONGEST:
        raise argparse.ArgumentTypeError(f"it must be a number of seconds above 0, at most {LONGEST:g}")
    return seconds
