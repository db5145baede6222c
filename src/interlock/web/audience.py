"""Everybody who hears of approvals, and the warning when nobody does.

A call that waits while nobody listens waits for its deadline: whoever runs the gateway should hear of that from us, and
not from an agent that got nowhere. Listening is who has an event stream open and may answer, whoever is told by
notices, and an approver that looked or answered a short while ago.

This module refuses to answer and to wait: it is told of each change by the desk, which has no time for it.
"""

import logging

from interlock import errors
from interlock.approve.notices import Notice, Notices
from interlock.clock import Clock
from interlock.core.approvals import Approval, shown_approval
from interlock.core.model import Micros
from interlock.web.feed import Feed, Topic

ATTENTIVE: Micros = 600_000_000
"""How long an approver that looked or answered counts as listening."""
WARN_EVERY: Micros = 60_000_000
_VOTED = "voted"
"""The one change that is not told by notices: nothing has become of the approval yet."""
_LOG = logging.getLogger("interlock")


class Audience:
    """Knows who listens, and tells them."""

    def __init__(self, clock: Clock, feed: Feed, notices: Notices) -> None:
        self._clock = clock
        self._feed = feed
        self._notices = notices
        self._seen: Micros | None = None
        """When an approver was last seen."""
        self._warned: Micros | None = None

    def listening(self) -> list[str]:
        """Who listens, in words; nobody when it is empty."""
        readers = sum(each.answers and Topic.APPROVAL in each.topics for each in self._feed.readers)
        found = {
            "an approver reads the event stream": readers > 0,
            "notices are configured": self._notices.configured,
            "an approver was here a short while ago": self._is_recent(self._seen, ATTENTIVE),
        }
        return [words for words, so in found.items() if so]

    def seen(self) -> None:
        """An approver looked at what waits."""
        self._seen = self._clock.now()

    def told(self, approval: Approval, change: str) -> None:
        """Something became of an approval: called by the register once that is durable."""
        if change == _VOTED or approval.approver is not None:
            self.seen()
        if change != _VOTED and self._notices.configured:
            at = approval.decided_at or approval.created_at
            self._notices.tell(Notice(f"{Topic.APPROVAL}.{change}", at, shown_approval(approval)))
        if change == "created" and not self.listening():
            self._warn()

    def _warn(self) -> None:
        if not self._is_recent(self._warned, WARN_EVERY):
            self._warned = self._clock.now()
            reason = errors.NOBODY_LISTENS()
            _LOG.warning("%s %s", reason.text, reason.fix)

    def _is_recent(self, at: Micros | None, within: Micros) -> bool:
        return at is not None and self._clock.now() - at < within
