"""One connection of the HTTP face: uvicorn's, with a bound on what comes before a request is complete.

Uvicorn waits for the head of a request as long as it takes and keeps as much of it as comes, so that whoever can open a
connection could hold it, and the memory behind it, for good. Here the head has to arrive within a time and a size; the
body is bounded further in, by the edge. Requests themselves are left alone.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from interlock.alarms import Alarm, Alarms

HEAD_SECONDS = 30.0
MAX_HEAD = 64 * 1024

_ALARMS = Alarms()


class Connection(HttpToolsProtocol):
    """Closed when the head of a request takes too long or is too long. The method names are the parser's."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._waiting: Alarm | None = None
        """There while the head of a request is awaited."""
        self._head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._waiting is not None:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._waiting is None:
            self._expect()

    def on_headers_complete(self) -> None:
        self._arrived()
        super().on_headers_complete()

    def _expect(self) -> None:
        self._head = 0
        self._waiting = _ALARMS.set(HEAD_SECONDS, self.transport.abort)

    def _arrived(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
