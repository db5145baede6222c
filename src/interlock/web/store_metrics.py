"""The figures of the record for Prometheus: whether it can be written, what could not be, and whether its seals hold.

A gateway that cannot write refuses what it must not do unrecorded, so whoever watches it has to see that before the
agents complain. What the store says of itself is asked when somebody collects; what was lost is counted as it happens.
"""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from interlock.approve.lease import Lease
from interlock.store.audit.sealer import Sealer
from interlock.store.protocol import Store


class StoreMetrics(Collector):
    """Counts what could not be written, and asks the store and whoever seals it when it is collected."""

    def __init__(self, store: Store, sealer: Callable[[], Sealer | None], lease: Lease | None = None) -> None:
        """The sealer is asked for, because a gateway may have none. A lease is there where others use the store too."""
        self._store = store
        self._sealer = sealer
        self._lease = lease
        self._unwritten = 0

    def unwritten(self) -> None:
        """Something had to be on record and could not be."""
        self._unwritten += 1

    @property
    def _failing(self) -> bool:
        # Without a lease every call is refused before anything is written, so no write can fail and tell of it.
        return self._store.ailing or (self._lease is not None and not self._lease.holds)

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        sealer = self._sealer()
        unsealed = sealer is not None and sealer.problem is not None
        disagrees = sealer is not None and sealer.disagreement is not None
        yield GaugeMetricFamily(
            "interlock_store_failing", "Whether calls are refused for want of the store.", self._failing
        )
        yield CounterMetricFamily(
            "interlock_unrecorded", "Records that had to be written and could not be.", self._unwritten
        )
        if self._lease is not None:
            others = self._lease.others
            yield GaugeMetricFamily("interlock_gateways", "Gateways that use the store, with this one.", 1 + others)
        yield GaugeMetricFamily("interlock_seal_failing", "Whether the log could not be sealed lately.", unsealed)
        yield GaugeMetricFamily(
            "interlock_log_disagrees", "Whether the log lacks what its anchor has seen of it.", disagrees
        )
