"""The figures of the desk for Prometheus: how many calls wait and for how long, how approvals end, what is stopped.

What became of approvals is counted as the register tells it; what is so at a moment is asked when somebody collects.
No label is one that an agent could choose.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from interlock.approve.room import Room
from interlock.clock import Clock
from interlock.core.approvals import SECOND, Approval
from interlock.core.lifecycle import ApprovalState

SECONDS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""The upper bounds of the histogram: from a glance to an hour."""
ENDS = tuple(each for each in ApprovalState if each is not ApprovalState.PENDING)
_ANSWERS = (ApprovalState.APPROVED, ApprovalState.DENIED)


class DeskMetrics(Collector):
    """Counts what becomes of approvals, and asks the room when it is collected."""

    def __init__(self, room: Room, clock: Clock) -> None:
        self._room = room
        self._clock = clock
        self._ended: Counter[str] = Counter()
        self._in_bucket = [0] * (len(SECONDS) + 1)
        self._waited = 0

    def told(self, approval: Approval, change: str) -> None:
        """Something became of an approval: called by the register once that is durable."""
        if approval.decided_at is None:
            return
        self._ended[approval.status] += 1
        if approval.status in _ANSWERS:
            waited = max(0, approval.decided_at - approval.created_at)
            self._in_bucket[bisect_left(SECONDS, waited / SECOND)] += 1
            self._waited += waited

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        board = self._room.register.board
        oldest = board.longest_wait(self._clock.now()) / SECOND
        yield GaugeMetricFamily("interlock_approvals_pending", "Calls that wait for an approval.", len(board))
        yield GaugeMetricFamily("interlock_approvals_oldest_wait_seconds", "How long the oldest has waited.", oldest)
        yield self._ends()
        yield self._waits()
        frozen = len(self._room.freezer.in_force)
        yield GaugeMetricFamily("interlock_frozen", "Emergency stops that are in force.", frozen)

    def _ends(self) -> Metric:
        family = CounterMetricFamily("interlock_approvals", "Approvals by how they ended.", labels=["status"])
        for status in ENDS:
            family.add_metric([status], self._ended[status])
        return family

    def _waits(self) -> Metric:
        bounds = [*(str(each) for each in SECONDS), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._in_bucket), strict=True))
        help_text = "How long calls had waited when somebody answered."
        return HistogramMetricFamily("interlock_approval_wait_seconds", help_text, buckets, self._waited / SECOND)
