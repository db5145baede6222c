"""A wire to the database that can be cut: a socket that passes on what it hears, until a test says otherwise."""

import asyncio
import contextlib
from enum import Enum, auto
from pathlib import Path
from types import TracebackType

NAME = ".s.PGSQL.5432"
_COMMIT = b"COMMIT\0"


class At(Enum):
    """When the wire breaks by itself."""

    NEVER = auto()
    BEFORE_COMMIT = auto()
    """Nobody hears that it is to be done."""
    AFTER_COMMIT = auto()
    """It is done, and nobody hears of that."""


class Wire:
    """Between a store and the server whose socket lies in a folder. Belongs to the loop of the test."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder = folder
        self._server = server / NAME
        self._doors: list[asyncio.Server] = []
        self._ends: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._open.set()
        self.breaks = At.NEVER
        self.for_good = False
        """Whether nobody gets through any more after it broke."""
        self.broke = asyncio.Event()

    def address(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    async def __aenter__(self) -> "Wire":
        self.folder.mkdir(parents=True, exist_ok=True)
        await self.mend()
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._open.set()
        self.cut()

    async def mend(self) -> None:
        """Let everything through from now on."""
        self.breaks, self.for_good = At.NEVER, False
        self._open.set()
        if not self._doors:
            self._doors.append(await asyncio.start_unix_server(self._passed_on, self.folder / NAME))

    def cut(self) -> None:
        """Break every connection, and let none in."""
        for door in self._doors:
            door.close()
        self._doors.clear()
        (self.folder / NAME).unlink(missing_ok=True)
        self._hang_up()

    def freeze(self) -> None:
        """Nothing more gets through, and nobody is told."""
        self._open.clear()

    def _hang_up(self) -> None:
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()

    async def _passed_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        with contextlib.suppress(OSError):
            there, here = await asyncio.open_unix_connection(self._server)
            self._ends.add(here)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._to_server(reader, here))
                both.create_task(self._to_store(there, writer))

    async def _to_server(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while heard := await reader.read(1 << 16):
                await self._open.wait()
                if self.breaks is At.BEFORE_COMMIT and _COMMIT in heard:
                    self._break()
                    return
                if self.breaks is At.AFTER_COMMIT and _COMMIT in heard:
                    self.breaks = At.NEVER
                    self._after = True
                server.write(heard)
            server.close()

    async def _to_store(self, server: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while heard := await server.read(1 << 16):
                await self._open.wait()
                if self._after:
                    self._break()
                    return
                writer.write(heard)
            writer.close()

    _after = False
    """Whether the next answer is that of a commit which nobody is to hear of."""

    def _break(self) -> None:
        self.breaks, self._after = At.NEVER, False
        if self.for_good:
            self.cut()
        else:
            self._hang_up()
        self.broke.set()
