"""A command at a terminal of its own, as a person has it: what is on the screen, and the keys that are pressed."""

import contextlib
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

SECONDS = 60.0
"""After which a test that waits for something on the screen has failed."""
_TAKE_THE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Seat:
    """A process, and the other side of its terminal."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self._before = self._modes()
        self.screen = ""

    def until(self, text: str) -> None:
        """Wait until a text is on the screen."""
        deadline = time.monotonic() + SECONDS
        while text not in self.screen:
            assert time.monotonic() < deadline, self.screen
            assert self._look(), self.screen

    def press(self, key: str) -> None:
        os.write(self._descriptor, key.encode())

    def ended(self) -> int:
        """How the process ended; all that it wrote is on the screen then."""
        deadline = time.monotonic() + SECONDS
        while self._look():
            assert time.monotonic() < deadline, self.screen
        return self.process.wait(timeout=SECONDS)

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal has the modes that it had in the beginning."""
        return self._modes() == self._before

    def _modes(self) -> list[Any]:
        return termios.tcgetattr(self._descriptor)

    def _look(self) -> bool:
        """Take up what was written; whether more may come."""
        ready, _, _ = select.select([self._descriptor], [], [], 1.0)
        if not ready:
            return self.process.poll() is None
        try:
            written = os.read(self._descriptor, 65536)
        except OSError:  # nobody has the terminal open any more
            return False
        self.screen += written.decode("utf-8", "replace")
        return bool(written)


@contextlib.contextmanager
def seated(argv: list[str], env: Mapping[str, str], cwd: Path) -> Generator[Seat]:
    """Run a command at a terminal; it is gone when the block ends."""
    ours, its = pty.openpty()
    try:
        wrapped = [sys.executable, "-c", _TAKE_THE_TERMINAL, *argv]
        process = subprocess.Popen(
            wrapped, stdin=its, stdout=its, stderr=its, env=env, cwd=cwd, start_new_session=True, bufsize=0
        )
        with process:
            seat = Seat(process, ours)
            os.close(its)
            try:
                yield seat
            finally:
                process.kill()
    finally:
        os.close(ours)


def descendants(process: int) -> set[int]:
    """The processes that a process has started, and those that they have."""
    parents: dict[int, int] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            with contextlib.suppress(OSError):
                parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}
