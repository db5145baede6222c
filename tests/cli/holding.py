"""Calls that really wait for approval at a gateway beside a test, and those who answer for them."""

import contextlib
import queue
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx2

from interlock.core.canonical import argument_digest
from tests.cli.running import Interlock, eventually
from tests.running import Running
from tests.talking import NO_TLS

SECONDS = 30
REASON = "The note is a copy."
_numbers = count()
"""No two calls are the same: what was just denied is denied again without asking."""


class Rest:
    """The REST face of a gateway, as whoever has a token sees it."""

    def __init__(self, running: Running, token: str | None = None) -> None:
        credential = token or running.folder.credential() or ""
        self._url = f"http://{running.host}/api/v1"
        self._headers = {"Authorization": f"Bearer {credential}"}

    def get(self, path: str, **query: str) -> Any:
        return httpx2.get(
            f"{self._url}{path}", headers=self._headers, params=query, timeout=SECONDS, verify=NO_TLS
        ).json()

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> httpx2.Response:
        return httpx2.post(f"{self._url}{path}", headers=self._headers, json=body or {}, timeout=SECONDS, verify=NO_TLS)

    def pending(self) -> list[dict[str, Any]]:
        return self.get("/approvals", status="pending", limit="500")["items"]


@dataclass(frozen=True)
class Held:
    """A call that waits, its approval as it was when it was asked, and how to learn what came of it."""

    approval: dict[str, Any]
    answer: Callable[[], httpx2.Response]

    @property
    def id(self) -> str:
        return self.approval["id"]

    @property
    def end(self) -> str:
        """The end of its id, which no other has."""
        return self.id[-8:]


@contextlib.contextmanager
def held(
    running: Running,
    arguments: Mapping[str, Any] | None = None,
    reason: str = REASON,
    tool: str = "up/delete_note",
    ends: Rest | None = None,
) -> Generator[Held]:
    """A call of operator-agent that waits. Denied at the end of the block if nobody has answered it: by the operator,
    or by whoever `ends` it."""
    rest, given = Rest(running), arguments or {"name": f"note {next(_numbers)}"}
    answers: queue.SimpleQueue[httpx2.Response] = queue.SimpleQueue()
    body = {"arguments": given, "entry": "call", "variant": "destructive", "intent": _intent(reason)}
    thread = threading.Thread(target=lambda: answers.put(rest.post(f"/tools/{tool}/call", body)))
    thread.start()
    found: list[dict[str, Any]] = []

    def waits() -> bool:
        found.extend(each for each in rest.pending() if each["digest"] == argument_digest(given))
        return bool(found) or not thread.is_alive()

    eventually(waits)
    assert found, answers.get(timeout=SECONDS).text
    try:
        yield Held(found[0], lambda: answers.get(timeout=SECONDS))
    finally:
        (ends or rest).post(f"/approvals/{found[0]['id']}/deny")
        thread.join()


def _intent(reason: str) -> dict[str, str]:
    return {"operation_type": "destructive", "data_sensitivity": "internal", "reason": reason}


def approver(il: Interlock, running: Running, name: str, *words: str) -> Rest:
    """Somebody else who may answer."""
    token = il("token", "create", "--name", name, "--role", "approver", "--kind", "human", *words).out.strip()
    return Rest(running, token)
