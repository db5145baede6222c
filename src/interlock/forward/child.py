"""The process of an upstream, with everything that it starts.

It is started from a list of arguments, never by a shell, in a session of its own, and sees of our environment only what
a program needs to run: our secrets are not among it. Its group is ended as a whole, because the process that we know is
often only the runner of the real one. What it writes to stderr is kept for the operator, the end of it only.

The gateway never waits for such a process without a limit, and never forgets one: whatever happens, its group is told
to the reaper while it lives, killed when it is done with, and the process itself is reaped.

The process is started by the standard library and its pipes are given to the event loop, because what event loops make
of processes differs: one of them lets every process inherit descriptors that are none of its business.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import IO, cast

from interlock.forward.reaper import Reaper

INHERITED = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "TERM",
        "TMPDIR",
        "TZ",
        "NODE_EXTRA_CA_CERTS",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ]
)
INHERITED_PREFIX = "LC_"
STDERR_BYTES = 64 * 1024
STDERR_LINES = 500
EXIT_SECONDS = 2.0
"""How long a process may take to leave after its input was closed."""
TERM_SECONDS = 1.0
"""And how long it and all that it started may take after they were asked by signal."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_KILL_SECONDS = 5.0
"""Killing takes effect at once, except on a process that waits for a broken disk: not even that may hold us up."""
_LAST_WORDS_SECONDS = 1.0
"""How long the exit may lag behind the end of the output, or the other way round."""
_POLL_SECONDS = 0.02
_STDERR_GULP = 4 * STDERR_BYTES
_STDERR_REST = 0.005
"""A process that floods its stderr is read so much, then not for so long: the loop belongs to all upstreams."""


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of an upstream: a few variables of ours, and exactly what the operator gave it."""
    ours = os.environ.items()
    inherited = {name: value for name, value in ours if name in INHERITED or name.startswith(INHERITED_PREFIX)}
    return {**inherited, **given}


class Tail:
    """The end of what was written: bounded in bytes and in lines, however it came."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, piece: bytes) -> None:
        self._kept += piece
        # Cutting at twice the size makes it a copy now and then instead of one per piece.
        if len(self._kept) > 2 * STDERR_BYTES:
            del self._kept[:-STDERR_BYTES]

    def lines(self) -> list[str]:
        return self._kept[-STDERR_BYTES:].decode("utf-8", "replace").splitlines()[-STDERR_LINES:]


class _Output(asyncio.Protocol):
    """A pipe that the process writes to."""

    def __init__(self, hear: Callable[[bytes], None], over: Callable[[], None]) -> None:
        self._hear = hear
        self._over = over

    def data_received(self, data: bytes) -> None:
        self._hear(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over()


class _Input(asyncio.BaseProtocol):
    """The pipe that the process reads from."""

    def __init__(self, full: Callable[[bool], None], over: Callable[[], None]) -> None:
        self._full = full
        self._over = over

    def pause_writing(self) -> None:
        self._full(True)

    def resume_writing(self) -> None:
        self._full(False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over()


class Child:
    """One process, started once. What it says goes to `on_output`, `on_room` tells that it reads again, and `on_end`
    comes once, when it left or fell silent without having been told to."""

    def __init__(
        self,
        reaper: Reaper,
        *,
        on_output: Callable[[bytes], None],
        on_room: Callable[[], None],
        on_end: Callable[[str], None],
    ) -> None:
        self.full = False
        """Whether there is too much that it has not read; whoever writes now only fills our memory."""
        self.returncode: int | None = None
        """How it left; None while it is there."""
        self._reaper = reaper
        self._on_output = on_output
        self._on_room = on_room
        self._on_end = on_end
        self._group: int | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._outputs: dict[int, asyncio.ReadTransport] = {}
        self._unread = {_STDOUT, _STDERR}
        """The pipes that have not ended."""
        self._left = asyncio.Event()
        self._stopping = False
        self._ended = False
        self._last_words: asyncio.TimerHandle | None = None
        self._stderr = Tail()
        self._gulped = 0

    # What the owner does ----------------------------------------------------------------------------------------

    async def start(self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> None:
        """Start the process; raises OSError or ValueError when that fails."""
        # This takes a millisecond or two, as with any event loop: they all wait until the program is found and loaded.
        process = subprocess.Popen(  # noqa: ASYNC220
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=environment(env),
            cwd=cwd,
            start_new_session=True,
        )
        self._group = process.pid
        self._watch(process)
        connecting = asyncio.ensure_future(self._connect(process))
        with contextlib.ExitStack() as unless_started:
            # Whatever ends the start, the process must not outlive it.
            unless_started.callback(connecting.add_done_callback, lambda _: self.kill())
            self._reaper.register(process.pid)
            # Interrupting a loop while it takes over a pipe can leave the pipe with two owners. It takes one turn.
            await asyncio.wait({connecting})
            unless_started.pop_all()

    @property
    def pid(self) -> int | None:
        """The process, which is also the number of its group; None when all is over."""
        return self._group

    @property
    def open(self) -> bool:
        """Whether it is there, listens and talks."""
        return self._stdin is not None and self._last_words is None and not (self._stopping or self._ended)

    def stderr_lines(self) -> list[str]:
        """The last lines that it wrote to stderr."""
        return self._stderr.lines()

    def write(self, data: bytes) -> None:
        """Give it input, if it takes any."""
        if self._stdin is not None and self.open:
            self._stdin.write(data)

    def pause(self) -> None:
        """Leave its output in the pipe; once the pipe is full, it has to wait."""
        self._hold(_STDOUT)

    def resume(self) -> None:
        """Read its output again."""
        self._release(_STDOUT)

    def kill(self) -> None:
        """End the whole group now, and hear no more of it."""
        self._ended = True
        self._signal(signal.SIGKILL)
        self._hang_up()
        self._settle()

    async def stop(self) -> None:
        """Close its input and let it leave; if it does not, end the whole group."""
        if self._group is None:
            return
        self._stopping = True
        try:
            if self._stdin is not None:
                self._stdin.close()
            self.resume()  # what it still has to say must not keep it from leaving
            await self._left_within(EXIT_SECONDS)
            if self._signal(signal.SIGTERM):
                await self._gone_within(TERM_SECONDS)
            if self._signal(signal.SIGKILL):
                await self._left_within(_KILL_SECONDS)
        finally:
            self._stopping = False
            self.kill()

    # What the loop tells us -------------------------------------------------------------------------------------

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Have `_leave` called when the process has left."""
        loop = asyncio.get_running_loop()
        try:
            watch = os.pidfd_open(process.pid)
        except (AttributeError, OSError):  # an older kernel, or another system
            tell = partial(loop.call_soon_threadsafe, self._leave, process)
            threading.Thread(target=_wait_for, args=(process, tell), daemon=True).start()
            return

        def left() -> None:
            loop.remove_reader(watch)
            os.close(watch)
            self._leave(process)

        loop.add_reader(watch, left)

    def _leave(self, process: subprocess.Popen[bytes]) -> None:
        if not self._stopping:
            # Whoever was left behind would hold the pipes open. The process is not reaped yet, so that the number of
            # the group can be nobody else's.
            self._signal(signal.SIGKILL)
        self.returncode = process.wait()
        self._left.set()
        self._settle()

    async def _connect(self, process: subprocess.Popen[bytes]) -> None:
        """Give the pipes to the loop, which owns them from then on."""
        loop = asyncio.get_running_loop()
        for fd, pipe, hear in ((_STDOUT, process.stdout, self._hear), (_STDERR, process.stderr, self._keep)):
            output = partial(_Output, hear, partial(self._lose, fd))
            self._outputs[fd], _ = await loop.connect_read_pipe(output, cast(IO[bytes], pipe))
        given = partial(_Input, self._fill, partial(self._lose, _STDIN))
        self._stdin, _ = await loop.connect_write_pipe(given, cast(IO[bytes], process.stdin))

    def _hear(self, piece: bytes) -> None:
        if not self._ended:
            self._on_output(piece)

    def _keep(self, piece: bytes) -> None:
        self._stderr.add(piece)
        self._gulped += len(piece)
        if self._gulped >= _STDERR_GULP:
            self._gulped = 0
            self._hold(_STDERR)
            asyncio.get_running_loop().call_later(_STDERR_REST, self._release, _STDERR)

    def _fill(self, full: bool) -> None:
        self.full = full
        if not full:
            # Not within: a pipe that breaks while it tells us of room would be closed twice, and asyncio fails at that.
            asyncio.get_running_loop().call_soon(self._tell_of_room)

    def _tell_of_room(self) -> None:
        if self.open and not self.full:
            self._on_room()

    def _lose(self, fd: int) -> None:
        self._unread.discard(fd)
        if fd != _STDERR or self._left.is_set():  # closing stderr alone is a habit of daemons, and harmless
            self._settle()

    # The end ----------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """A pipe or the process ended: see whether all is over.

        They end in any order, and each waits for the others, because the last answers may still be in the pipe and the
        reason for a silence in the exit status or on stderr; but not for long.
        """
        if self._stopping:
            return
        if self._left.is_set() and not self._unread:
            self._bury()
        elif self._last_words is None and not self._ended:
            self._last_words = asyncio.get_running_loop().call_later(_LAST_WORDS_SECONDS, self._give_up)

    def _give_up(self) -> None:
        told = self._ended
        self.kill()
        if not told:
            self._on_end(self._why())

    def _bury(self) -> None:
        if self._last_words is not None:
            self._last_words.cancel()
        if self._group is not None:
            self._reaper.unregister(self._group)
            self._group = None
        self._hang_up()
        if not self._ended:
            self._ended = True
            self._on_end(self._why())

    def _why(self) -> str:
        code = self.returncode
        if code is None:
            return "it closed its input or output"
        return f"it exited with status {code}" if code >= 0 else f"it was ended by signal {-code}"

    def _signal(self, number: int) -> bool:
        """Signal the whole group; whether there was anybody left to hear it."""
        if self._group is None:
            return False
        try:
            os.killpg(self._group, number)
        except OSError:
            return False
        return True

    async def _left_within(self, seconds: float) -> None:
        """Wait until the process has left, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._left.wait()

    async def _gone_within(self, seconds: float) -> None:
        """Wait until the process has left and its group is empty, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._left.wait()
                while self._signal(0):  # noqa: ASYNC110 (nothing tells us when somebody else's child is gone)
                    await asyncio.sleep(_POLL_SECONDS)

    # The pipes --------------------------------------------------------------------------------------------------

    def _hang_up(self) -> None:
        self._unread.clear()
        # Closing would first wait until everything is read, which may be never; aborting twice is an error.
        if self._stdin is not None and (not self._stdin.is_closing() or self._stdin.get_write_buffer_size() > 0):
            self._stdin.abort()
        for output in self._outputs.values():
            output.close()

    def _hold(self, fd: int) -> None:
        pipe = self._outputs.get(fd)
        if pipe is not None and pipe.is_reading() and not pipe.is_closing():
            pipe.pause_reading()

    def _release(self, fd: int) -> None:
        pipe = self._outputs.get(fd)
        if pipe is not None and not pipe.is_reading() and not pipe.is_closing():
            pipe.resume_reading()


def _wait_for(process: subprocess.Popen[bytes], tell: Callable[[], object]) -> None:
    process.wait()
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know any more
        tell()
