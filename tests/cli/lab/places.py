"""What the tests of the lab's verbs start from: the values of a command line, and servers to point them at."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from interlock.cli.command import Options
from interlock.cli.lab.options import add_knobs, add_target
from tests.lab import secretive

SAMPLE = [sys.executable, "-m", "interlock.lab.sample"]
SECRETIVE = [sys.executable, str(Path(secretive.__file__))]


def values_of(*words: str, data: Path | None = None, config: Path | None = None) -> Namespace:
    """The values of a verb with a target and knobs."""
    parser = Options()
    add_target(parser)
    add_knobs(parser)
    parsed: Any = parser.parse_args(words)
    parsed.config = None if config is None else str(config)
    parsed.data_dir = None if data is None else str(data)
    return parsed
