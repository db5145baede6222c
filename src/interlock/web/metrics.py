"""The figures that Prometheus collects: how many calls ended how, how long upstreams take, and which of them are up.

Counting happens on the path of every call, so it is one step in a dictionary; everything else is done when somebody
collects. Each gateway has figures of its own, none are global to the process.

This module refuses labels that an agent could choose: names of tools and callers are without bound, and each new value
would stay in memory for good.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from interlock import __version__
from interlock.core.health import Health, Upstreams
from interlock.store.protocol import Activity

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""The upper bounds of the histogram: from a local server's answer to the longest a call may take by default."""

NO_CLASS = "none"
"""Stands for the class of a tool that nobody knows; `unknown` is a class of its own."""


class Metrics(Collector):
    """Counts what it is told of, and asks the upstreams and sessions when it is collected."""

    def __init__(self, upstreams: Upstreams, sessions: Callable[[], int]) -> None:
        self._upstreams = upstreams
        self._sessions = sessions
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._stray_calls = 0
        self._in_bucket = [0] * (len(SECONDS) + 1)
        self._upstream_us = 0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def seen(self, activity: Activity) -> None:
        """Count a call that ended: refused, or with its outcome."""
        entry = activity.body.get("entry")
        self._calls[activity.status, activity.safety_class or NO_CLASS, entry if isinstance(entry, str) else ""] += 1
        timings = activity.body.get("timings")
        took = timings.get("upstream_us") if isinstance(timings, Mapping) else None
        if isinstance(took, int):
            self._in_bucket[bisect_left(SECONDS, took / 1e6)] += 1
            self._upstream_us += took

    def also(self, others: Collector) -> None:
        """Collect the figures of others too."""
        self._registry.register(others)

    def stray_call(self) -> None:
        """Count a call that reached the SDK instead of our lane."""
        self._stray_calls += 1

    def gauges(self) -> Iterator[Metric]:
        """What is so at this moment, of all figures."""
        return (each for each in self._registry.collect() if each.type == "gauge")

    def text(self) -> tuple[bytes, str]:
        """All figures as they are now, and their content type."""
        return generate_latest(self._registry), CONTENT_TYPE_PLAIN_0_0_4

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        yield self._build()
        yield self._calls_by_end()
        yield CounterMetricFamily(
            "interlock_stray_calls", "Calls that reached the SDK instead of our lane.", self._stray_calls
        )
        yield self._upstream_time()
        yield GaugeMetricFamily("interlock_sessions", "Open sessions of agents.", self._sessions())
        yield from self._upstream_states()

    def _build(self) -> Metric:
        family = GaugeMetricFamily("interlock_build_info", "The version that runs.", labels=["version"])
        family.add_metric([__version__], 1)
        return family

    def _calls_by_end(self) -> Metric:
        labels = ["status", "safety_class", "entry"]
        family = CounterMetricFamily("interlock_calls", "Calls that ended, by how they ended.", labels=labels)
        for values, count in self._calls.items():
            family.add_metric(values, count)
        return family

    def _upstream_time(self) -> Metric:
        bounds = [*(str(each) for each in SECONDS), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._in_bucket), strict=True))
        help_text = "Time that upstreams took to answer calls."
        return HistogramMetricFamily("interlock_call_seconds", help_text, buckets, self._upstream_us / 1e6)

    def _upstream_states(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("interlock_upstream_up", "Whether an upstream is ready.", labels=["server"])
        tools = GaugeMetricFamily("interlock_upstream_tools", "Tools that an upstream lists.", labels=["server"])
        for state in self._upstreams.states():
            up.add_metric([state.id], state.health is Health.READY)
            tools.add_metric([state.id], state.tools)
        yield up
        yield tools
