"""The figures for Prometheus."""

from collections.abc import Sequence
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from interlock import __version__
from interlock.core.health import Health, UpstreamState
from interlock.core.lifecycle import CallState
from interlock.core.safety import SafetyClass
from interlock.web.metrics import SECONDS, Metrics
from tests.web.office import Office, activity


class Upstreams:
    """Two upstreams: one that is ready and one that is not."""

    def states(self) -> Sequence[UpstreamState]:
        return [
            UpstreamState("up", "up", "stdio", Health.READY, "", 13, "2025-11-25", True),
            UpstreamState("far", "far", "http", Health.DOWN, "gone", 0, "", False),
        ]

    def logs(self, server: str) -> Sequence[str] | None:
        return None


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(Upstreams(), lambda: 7)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """One figure, as somebody who collects them reads it."""
    families = text_string_to_metric_families(metrics.text()[0].decode())
    samples = [sample for family in families for sample in family.samples]
    return next((each.value for each in samples if each.name == name and each.labels == labels), None)


def ended(status: CallState, safety_class: SafetyClass | None, entry: str, upstream_us: Any = None) -> Any:
    body: dict[str, Any] = {"entry": entry} | ({} if upstream_us is None else {"timings": {"upstream_us": upstream_us}})
    return activity(1, status=status, safety_class=safety_class, body=body)


def test_calls_are_counted_by_how_they_ended(metrics: Metrics) -> None:
    for _ in range(3):
        metrics.seen(ended(CallState.SUCCESS, SafetyClass.READ_ONLY, "mcp", 100))
    metrics.seen(ended(CallState.BLOCKED, None, "try-it"))

    calls = "interlock_calls_total"
    assert value(metrics, calls, status="success", safety_class="read-only", entry="mcp") == 3
    assert value(metrics, calls, status="blocked", safety_class="none", entry="try-it") == 1
    assert value(metrics, calls, status="error", safety_class="read-only", entry="mcp") is None


def test_the_time_of_upstreams_is_a_histogram_of_calls_that_were_sent(metrics: Metrics) -> None:
    for micros in (500, 1_000, 40_000, 300_000_000):
        metrics.seen(ended(CallState.SUCCESS, SafetyClass.READ_ONLY, "mcp", micros))
    metrics.seen(ended(CallState.BLOCKED, None, "mcp"))

    bucket = "interlock_call_seconds_bucket"
    assert value(metrics, bucket, le="0.001") == 2
    assert value(metrics, bucket, le="0.05") == 3
    assert value(metrics, bucket, le="120.0") == 3
    assert value(metrics, bucket, le="+Inf") == 4
    assert value(metrics, "interlock_call_seconds_count") == 4
    assert value(metrics, "interlock_call_seconds_sum") == pytest.approx(300.0415)


def test_the_bounds_go_up() -> None:
    assert list(SECONDS) == sorted(set(SECONDS))


def test_stray_calls_are_counted_from_nought(metrics: Metrics) -> None:
    before = value(metrics, "interlock_stray_calls_total")
    metrics.stray_call()

    assert (before, value(metrics, "interlock_stray_calls_total")) == (0, 1)


def test_what_can_be_asked_is_asked_when_it_is_collected(metrics: Metrics) -> None:
    assert value(metrics, "interlock_sessions") == 7
    assert value(metrics, "interlock_upstream_up", server="up") == 1
    assert value(metrics, "interlock_upstream_up", server="far") == 0
    assert value(metrics, "interlock_upstream_tools", server="up") == 13
    assert value(metrics, "interlock_build_info", version=__version__) == 1


def test_what_agents_write_never_becomes_a_label(metrics: Metrics) -> None:
    metrics.seen(
        activity(1, tool="evil-tool", caller="evil-caller", server="evil-server", body={"client": "evil-client"})
    )

    assert b"evil" not in metrics.text()[0]


def test_two_gateways_count_for_themselves(metrics: Metrics) -> None:
    Metrics(Upstreams(), lambda: 0).stray_call()

    assert value(metrics, "interlock_stray_calls_total") == 0


def test_the_text_is_what_prometheus_has_always_read(metrics: Metrics) -> None:
    assert metrics.text()[1] == "text/plain; version=0.0.4; charset=utf-8"


async def test_calls_of_a_gateway_show_up(live: Office) -> None:
    await live.ask("POST", "/tools/up/echo/call", json={})
    await live.ask("POST", "/tools/up/delete_note/call", json={})

    calls, metrics = "interlock_calls_total", live.parts.metrics
    assert value(metrics, calls, status="success", safety_class="read-only", entry="try-it") == 1
    assert value(metrics, calls, status="blocked", safety_class="dangerous", entry="try-it") == 1
    assert value(metrics, "interlock_call_seconds_count") == 1
    assert value(metrics, "interlock_upstream_up", server="odd") == 1
