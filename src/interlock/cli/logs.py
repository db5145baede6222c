"""What is logged, on stderr: one line for each thing that is told, whoever had a hand in its words.

Exceptions and problems may quote what a server, an issuer or a client sent. A line break in it would let them write
lines that look like ours, and an escape sequence would let them rewrite the terminal of whoever reads the log.

INVARIANT: only the first line of a record begins at the margin; everything that is hidden in it is shown.
"""

import contextlib
import logging
import sys
from collections.abc import Generator

from interlock.core.hidden import visible

_INDENT = "    "


class OneLine(logging.Formatter):
    """A record as a line; where an exception came from stands indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        told = f"{record.levelname}: {visible(record.getMessage())}"
        trace = self.formatException(record.exc_info).split("\n") if record.exc_info else []
        return "\n".join([told, *(f"{_INDENT}{visible(line)}" for line in trace)])


class _Stderr(logging.Handler):
    """Writes to whatever stderr is at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"{self.format(record)}\n")
        sys.stderr.flush()


@contextlib.contextmanager
def logged() -> Generator[None]:
    """Have warnings and worse on stderr, from us and from everything that we use. Once is enough."""
    if any(isinstance(each, _Stderr) for each in logging.getLogger().handlers):
        yield
        return
    handler = _Stderr(logging.WARNING)
    handler.setFormatter(OneLine())
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
