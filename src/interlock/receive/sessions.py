"""Legacy sessions, each bound to the principal that opened it.

The SDK makes the session ids and keeps the protocol state; it does not know our principals, and its idle timer does not
see the calls that our lane serves. So here it is remembered whose session it is and when it was last used. A session
used by another principal answers exactly like one that does not exist.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from interlock.clock import Clock
from interlock.core.model import Micros
from interlock.core.questions import Answerable
from interlock.receive.decode import RequestId, Response
from interlock.receive.earshot import Hearer

MAX_SESSIONS = 1000
"""How many sessions a principal may have at a time: a client that forgets to end them must not use up the memory."""


@dataclass(slots=True)
class Session:
    """One session: whose it is, what its client calls itself, and which of its calls are under way."""

    id: str
    principal: str
    client: str | None
    used_at: Micros
    running: dict[RequestId, Callable[[], None]] = field(default_factory=dict[RequestId, Callable[[], None]])
    """How to cancel each call that is under way."""
    streams: int = 0
    """How many streams its client keeps open."""
    log_level: str | None = None
    """The level of log messages that its client asked for."""
    hearer: Hearer | None = None
    """What tells its client of changes."""
    can: Answerable = field(default_factory=Answerable)
    """What its client can be asked."""
    asked: dict[str, asyncio.Future[Response]] = field(default_factory=dict[str, asyncio.Future[Response]])
    """What it was asked and has not answered, by our ids."""

    def answered(self, response: Response) -> bool:
        """Take an answer of its client; whether it is one to a question of ours."""
        heard = self.asked.get(response.id) if isinstance(response.id, str) else None
        if heard is None:
            return False
        if not heard.done():
            heard.set_result(response)
        return True


class Sessions:
    """All sessions of this gateway."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_id: dict[str, Session] = {}
        self._of: Counter[str] = Counter()
        """How many sessions each principal has."""

    def are_enough(self, principal: str) -> bool:
        """Whether a principal has as many as it may have."""
        return self._of[principal] >= MAX_SESSIONS

    def opened(
        self,
        session_id: str,
        principal: str,
        client: str | None,
        hearer: Hearer | None = None,
        can: Answerable | None = None,
    ) -> None:
        now = self._clock.now()
        self._by_id[session_id] = Session(session_id, principal, client, now, hearer=hearer, can=can or Answerable())
        self._of[principal] += 1

    def find(self, session_id: str, principal: str) -> Session | None:
        """The session, if it belongs to this principal; finding it counts as using it."""
        session = self._by_id.get(session_id)
        if session is None or session.principal != principal:
            return None
        session.used_at = self._clock.now()
        return session

    def closed(self, session_id: str) -> Session | None:
        session = self._by_id.pop(session_id, None)
        if session is not None:
            self._of[session.principal] -= 1
        return session

    def touch(self, session: Session) -> None:
        """Count a session as used just now."""
        session.used_at = self._clock.now()

    def idle_for(self, seconds: int) -> list[Session]:
        """Sessions that nobody used for so long, in which nothing runs and to which nobody listens."""
        before = self._clock.now() - seconds * 1_000_000
        quiet = (each for each in self._by_id.values() if not each.running and not each.streams)
        return [each for each in quiet if each.used_at < before]

    def ids(self) -> list[str]:
        return list(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)
