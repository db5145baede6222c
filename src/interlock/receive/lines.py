"""Lines over the pipes of this process: whole ones only, bounded, and no more of them than the other side reads.

Stdin and stdout can be pipes, sockets, files or a terminal, and are shared with whoever started us. An event loop takes
only some of these, and changes the mode of all who share one. So each is used by a plain thread that blocks where it
has to, and that never keeps the process from ending.

This module refuses to keep a line that is too long, to write half a line, and to know what a line means.
"""

import asyncio
import contextlib
import os
import queue
import select
import threading
from collections.abc import AsyncIterator

PIECE = 64 * 1024
AHEAD = 4
"""How many pieces may be read before the last one is looked at."""
UNREAD = 16
"""How many lines may wait for a client that does not read; whoever has another one waits with it."""


# In -------------------------------------------------------------------------------------------------------------


async def pieces(descriptor: int) -> AsyncIterator[bytes]:
    """What comes in, until it ends."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(AHEAD)

    def read() -> None:
        piece = b"-"
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know any more
            while piece:
                room.acquire()
                piece = _read(descriptor)
                loop.call_soon_threadsafe(arrived.put_nowait, piece)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while piece := await arrived.get():
        room.release()
        yield piece


def _read(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, PIECE)
        except BlockingIOError:  # somebody who shares the descriptor wants it so
            select.select([descriptor], [], [])
        except OSError:
            return b""


async def lines(arriving: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes | None]:
    """Each line without its end, or None for one that is longer than the limit: that is skipped, not kept.

    What stands after the last end of a line is no line.
    """
    begun = bytearray()
    skipping = False
    async for piece in arriving:
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            part, start = piece[start:end], end + 1
            if not skipping:
                yield None if len(begun) + len(part) > limit else bytes(begun + part)
            begun.clear()
            skipping = False
        begun += b"" if skipping else piece[start:]
        if len(begun) > limit:
            begun.clear()
            skipping = True
            yield None


# Out ------------------------------------------------------------------------------------------------------------


class Outlet:
    """Writes lines to a descriptor, one after the other. `run` has to be under way for anything to be written."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(UNREAD)

    async def say(self, line: bytes) -> None:
        """Have a line written; waits while the client does not read."""
        # Line breaks in JSON stand between its parts only, where a space is as good.
        await self._waiting.put(line.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")

    async def said(self) -> None:
        """Wait until everything is written."""
        await self._waiting.join()

    async def run(self) -> None:
        """Write until nobody reads any more."""
        loop = asyncio.get_running_loop()
        given: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        written: asyncio.Queue[bool] = asyncio.Queue()

        def write() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know any more
                while line := given.get():
                    loop.call_soon_threadsafe(written.put_nowait, _write(self._descriptor, line))

        threading.Thread(target=write, name="stdout", daemon=True).start()
        try:
            is_read = True
            while is_read:
                waiting = [await self._waiting.get()]
                while not self._waiting.empty():  # as many as there are: changing threads costs more than writing
                    waiting.append(self._waiting.get_nowait())
                given.put(b"".join(waiting))
                is_read = await written.get()
                for _ in waiting:
                    self._waiting.task_done()
        finally:
            given.put(b"")


def _write(descriptor: int, line: bytes) -> bool:
    """Write a whole line; whether there is anybody to read it."""
    rest = memoryview(line)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # somebody who shares the descriptor wants it so
            select.select([], [descriptor], [])
        except OSError:
            return False
    return True
