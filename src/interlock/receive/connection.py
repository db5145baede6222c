"""One connection of the HTTP face: uvicorn's, with a bound on what comes before a request is complete.

Uvicorn waits for the head of a request as long as it takes and keeps as much of it as comes, so that whoever can open a
connection could hold it, and the memory behind it, for good. Here the head has to arrive within a time and a size; the
body is bounded further in, by the edge, but not what may follow a body in chunks: header lines again, which nobody here
reads, and which uvicorn would take for part of the head. They are dropped. Requests themselves are left alone.
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
        """How much has come since the request last got any further."""
        self._further = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        waiting, self._further = self._waiting, False
        super().data_received(data)
        if self._waiting is None and self.cycle.response_complete:
            self._expect()  # uvicorn takes anything for the next request, and lets it take its time
        # A head that begins in here has perhaps a long body of another request before it, and counts from what follows.
        if self._waiting is waiting and not self._further:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._waiting is None:
            self._expect()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._waiting is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._arrived()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._get_further()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._get_further()
        super().on_message_complete()

    def _get_further(self) -> None:
        self._head, self._further = 0, True

    def _expect(self) -> None:
        self._head = 0
        self._waiting = _ALARMS.set(HEAD_SECONDS, self.transport.abort)

    def _arrived(self) -> None:
        self._head = 0
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
