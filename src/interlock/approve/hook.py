"""Notices for a command of the operator's: a process for each, which gets the notice on its input.

It is started from a list of words, never by a shell, and sees of our environment only what a program needs to run. What
agents and servers chose, such as the name of a tool, reaches its environment without control characters and cut to a
bounded length. It has a few seconds; then it is killed, and with it everything that it started in its process group,
which also ends when the command itself does. Its output is thrown away but for the last words of its complaint.

Each run is tended by a thread, because what event loops make of processes differs.
"""

import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import IO, cast

from msgspec import Struct

from interlock.approve.outbox import Attempt, Fate, Message
from interlock.core.redact import KnownSecrets, redact_text

COMMAND = "command"
"""How the command is called wherever deliveries are shown: its words may hold a secret."""
RUN_SECONDS = 10.0
AT_ONCE = 2
LAST_WORDS = 200
"""How many characters of the end of its stderr are kept."""
_LONGEST = 256
"""How long a variable of its environment may become by somebody else's doing."""
_INHERITED = ("PATH", "HOME", "LANG")
_POLL_SECONDS = 0.02
_KILL_SECONDS = 5.0
_CANCEL_SECONDS = 1.0
"""How long whoever cancels a run waits until the process is dead; the thread sees to it in any case."""
_PIECE = 4096
"""How much of stderr is read at once, and kept: more than is shown, so that a secret is not cut before it is seen."""
_LAST_PIECES = 16
"""How many pieces are read when the process has left: somebody who escaped may go on writing."""


class Run(Struct, frozen=True):
    """How a process ended. No `code` when it was not started, or cannot even be killed."""

    code: int | None
    stderr: bytes = b""
    problem: str = ""


class Hook:
    """The target that is a command."""

    shown = COMMAND
    at_once = AT_ONCE
    pauses = ()
    """A command may have had its effect before it failed, so it is not run again."""

    def __init__(
        self, argv: tuple[str, ...], seconds: float, secrets: Callable[[], KnownSecrets] = KnownSecrets
    ) -> None:
        """`secrets` tells the values that are not repeated if the command complains of them."""
        self._argv = argv
        self._seconds = seconds
        self._secrets = secrets
        self._threads = ThreadPoolExecutor(AT_ONCE, "interlock-hook")

    async def send(self, message: Message) -> Attempt:
        stop = threading.Event()
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, run, self._argv, environment(message), message.body, stop)
        try:
            await asyncio.wait({running}, timeout=self._seconds)
            late = not running.done()
            stop.set()
            ended = await running
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait({running}, timeout=_CANCEL_SECONDS)
            raise
        if ended.code == 0 and not late:
            return Attempt(Fate.TAKEN, "exit 0")
        what = f"killed after {self._seconds:g} s" if late else ended.problem or _exit(ended.code)
        return Attempt(Fate.MISSED, what + _last_words(ended.stderr, self._secrets()))


def environment(message: Message) -> dict[str, bytes]:
    """The whole environment of the command. Values are bytes, because no locale may have a say in what fits."""
    ours = {name: os.environb[name.encode()] for name in _INHERITED if name in os.environ}
    told = {
        "INTERLOCK_EVENT": message.event,
        "INTERLOCK_APPROVAL_ID": message.approval,
        "INTERLOCK_TOOL": message.tool,
    }
    return ours | {name: harmless(text[:_LONGEST]).encode("utf-8") for name, text in told.items()}


def harmless(text: str) -> str:
    """A text without anything that a terminal or a script would act upon: what cannot be printed becomes `?`."""
    return "".join(each if each.isprintable() else "?" for each in text)


def run(argv: tuple[str, ...], env: Mapping[str, bytes], body: bytes, stop: threading.Event) -> Run:
    """Run a command until it leaves or is told to stop, and end everything that it started."""
    if stop.is_set():
        return Run(None, problem="there was no time to start it")
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=env,
            start_new_session=True,
        )
    except (OSError, ValueError) as failed:
        why = failed.strerror if isinstance(failed, OSError) else "it holds a character that no command can hold"
        return Run(None, problem=f"it cannot be started: {why}")
    with cast(IO[bytes], process.stdin) as stdin, cast(IO[bytes], process.stderr) as stderr:
        try:
            tail = _tend(process, stdin, stderr, body, stop)
        finally:
            code = _end(process)
        return Run(code, _drained(stderr, tail))


def _tend(
    process: subprocess.Popen[bytes], stdin: IO[bytes], stderr: IO[bytes], body: bytes, stop: threading.Event
) -> bytes:
    """Give the process its input and read its stderr while it is there; returns the end of that."""
    tail, rest = b"", memoryview(body)
    for pipe in (stdin, stderr):
        os.set_blocking(pipe.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(stdin, selectors.EVENT_WRITE)
        selector.register(stderr, selectors.EVENT_READ)
        while not (stop.is_set() or _has_left(process)):
            for ready, _ in selector.select(_POLL_SECONDS):
                if ready.fd == stderr.fileno():
                    piece = os.read(ready.fd, _PIECE)
                    tail = (tail + piece)[-_PIECE:]
                    if not piece:
                        selector.unregister(stderr)
                else:
                    rest = rest[_written(ready.fd, rest) :]
                    if not rest:
                        selector.unregister(stdin)
                        stdin.close()
    return tail


def _written(fd: int, rest: memoryview) -> int:
    """Write what fits; how much that was. All of it when nobody reads."""
    try:
        return os.write(fd, rest)
    except BrokenPipeError:
        return len(rest)


def _has_left(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process has left. Where that can be known without reaping it, its number is nobody else's yet."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _end(process: subprocess.Popen[bytes]) -> int | None:
    """Kill what is left of the group, and reap the process."""
    with contextlib.suppress(OSError):  # nobody is left
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.wait(_KILL_SECONDS)
    except subprocess.TimeoutExpired:  # it waits for a broken disk: not even that may hold us up
        return None


def _drained(stderr: IO[bytes], tail: bytes) -> bytes:
    for _ in range(_LAST_PIECES):
        try:
            piece = os.read(stderr.fileno(), _PIECE)
        except BlockingIOError:
            break
        if not piece:
            break
        tail = (tail + piece)[-_PIECE:]
    return tail


def _exit(code: int | None) -> str:
    if code is None:
        return "it cannot be killed"
    return f"exit {code}" if code >= 0 else f"ended by signal {-code}"


def _last_words(stderr: bytes, known: KnownSecrets) -> str:
    """The end of what the command complained of, without secrets and on one line."""
    words = harmless(" ".join(redact_text(stderr.decode("utf-8", "replace"), known).split()))
    return f": {words[-LAST_WORDS:]}" if words else ""
