"""How far long work is: a bar on a terminal, and nothing elsewhere, because a log file has no use for one."""

import contextlib
import sys
from collections.abc import Callable, Generator


@contextlib.contextmanager
def bar(what: str, total: int | None = None) -> Generator[Callable[[object], None]]:
    """A bar until the block ends; each call of what it gives is one step."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda _: progress.advance(task)
