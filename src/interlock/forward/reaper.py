"""Nothing that the gateway starts outlives it, even when it is killed without a word.

A signal at the death of a parent reaches children and misses grandchildren, and most upstreams are grandchildren: a
package runner starts the real server. So each gateway has one small process beside it, in a session of its own, that
holds the reading end of a pipe. The gateway writes down there which process groups it has; the pipe closes with the
gateway, whatever ends it, and the process ends every group that is still written down.

INVARIANT: a group that was unregistered is never signalled; its number may belong to somebody else by then.
"""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import IO, cast

from interlock.forward import reaper_process

_PROGRAM = (sys.executable, "-I", "-S", str(Path(reaper_process.__file__).resolve()))
_CLOSE_SECONDS = 5.0
"""Longer than the program takes to end the groups that are left."""


class Reaper:
    """The gateway's end of the pipe. Registering is writing a few bytes; it never waits."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process beside us, while there is one."""
        return None if self._process is None else self._process.pid

    @property
    def groups(self) -> frozenset[int]:
        """The groups that would be ended with us."""
        return frozenset(self._groups)

    async def start(self) -> None:
        """Start the process; raises OSError when that fails."""
        if self._process is None:
            self._begin()

    def register(self, group: int) -> None:
        """From now on, this group ends when we do."""
        self._groups.add(group)
        self._write(b"+%d\n" % group)

    def unregister(self, group: int) -> None:
        """This group is gone: its number is nothing to us any more."""
        self._groups.discard(group)
        if self._process is not None:
            self._write(b"-%d\n" % group)

    async def close(self) -> None:
        """Let go of the process; groups that are still registered are ended first."""
        process, self._process = self._process, None
        if process is None:
            return
        _pipe_to(process).close()
        try:
            await asyncio.to_thread(process.wait, _CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _write(self, line: bytes) -> None:
        try:
            if self._process is None:
                self._begin()
            else:
                _pipe_to(self._process).write(line)
        except BrokenPipeError:
            # Somebody ended the process. The next one is told everything anew, this line included.
            self._begin()

    def _begin(self) -> None:
        if self._process is not None:
            _pipe_to(self._process).close()
            self._process.wait()
        self._process = subprocess.Popen(
            _PROGRAM,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            start_new_session=True,
        )
        _pipe_to(self._process).write(b"".join(b"+%d\n" % group for group in self._groups))


def _pipe_to(process: subprocess.Popen[bytes]) -> IO[bytes]:
    return cast(IO[bytes], process.stdin)
