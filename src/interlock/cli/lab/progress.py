"""Progress of long work: a bar on stderr where somebody sits at a terminal, nothing anywhere else."""

import contextlib
import itertools
import sys
from collections.abc import Callable, Generator

from interlock.cli.render import visible


@contextlib.contextmanager
def bar() -> Generator[Callable[[str, int, int], None]]:
    """A bar that is told what is done now, how much of it is behind, and how much there is about."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def told(what: str, done: int, total: int) -> None:
            progress.update(task, description=visible(what), completed=done, total=max(done, total))

        yield told


@contextlib.contextmanager
def steps(total: int) -> Generator[Callable[[str], None]]:
    """The same for work that is known beforehand to have so many steps; it is told what each was about."""
    done = itertools.count(1)
    with bar() as told:
        yield lambda what: told(what, next(done), total)
