"""Single keys from a terminal: each is heard as it is pressed, and the terminal is as it was afterwards.

Ctrl-C stays what it is, a signal. This module refuses to touch a terminal in whose background the process runs: the
shell in front has it then.
"""

import asyncio
import contextlib
import os
import sys
import termios
import tty
from collections.abc import Generator

GONE = ""
"""What is heard when the terminal has gone away."""
_AT_ONCE = 100


def terminal() -> int | None:
    """The descriptor of the terminal at which a person sits, if there is one."""
    if sys.stdin is None or not sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - it can be closed
        return None
    descriptor = sys.stdin.fileno()
    try:
        in_front = os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # a terminal, but not ours
        in_front = False
    return descriptor if in_front else None


@contextlib.contextmanager
def keys_of(descriptor: int) -> Generator[asyncio.Queue[str]]:
    """The keys that are pressed while the block runs, in lower case; GONE when the terminal has gone away."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def hear() -> None:
        typed = b""
        with contextlib.suppress(OSError):
            typed = os.read(descriptor, _AT_ONCE)
        if not typed:
            loop.remove_reader(descriptor)
            heard.put_nowait(GONE)
        for each in typed.decode("utf-8", "replace"):
            heard.put_nowait(each.lower())

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        loop.add_reader(descriptor, hear)
        yield heard
    finally:
        loop.remove_reader(descriptor)
        with contextlib.suppress(termios.error):  # it has gone away
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
