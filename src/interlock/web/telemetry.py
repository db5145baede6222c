"""Calls as spans and figures of OpenTelemetry, sent to a collector by OTLP over HTTP.

A span is made of what is on record of a call, when it has ended, in the place where it is counted for Prometheus: the
path of a call knows nothing of it, and without the setting nothing of this is even loaded. Names are those of the
conventions for MCP. Spans wait in a queue with a bound for a thread that sends them, and the oldest go when it is full.
A collector that is away or slow is told of once, and once more when it is back; no call waits for it.

This module refuses to send arguments, results, reasons, texts of errors, tokens, names of callers, and names of tools
that an agent made up. The providers are its own and not those of the process, so that nothing leaves which libraries
would send through them.
"""

import asyncio
import contextlib
import logging
import math
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import cast

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import DEFAULT_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from prometheus_client.core import Metric

from interlock import __version__
from interlock.core.lifecycle import CallState
from interlock.core.model import CALL_METHOD, Json, Micros
from interlock.core.safety import Effect
from interlock.core.trace import Trace, read_kept
from interlock.store.protocol import Activity

MOST_WAITING = 2048
"""How many spans wait for the collector at most."""
SEND_SECONDS = 3.0
"""How long the collector may take to answer, with everything that is tried again."""
FIGURES_SECONDS = 30.0
"""How often figures are sent."""
GOODBYE_SECONDS = 5.0
"""How long the last spans may take when the gateway stops."""
SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""The upper bounds of the histogram, as the conventions want them."""

_LOG = logging.getLogger("interlock")
# Its words come with each batch that fails, and quote what the collector answered. We tell of it ourselves, once.
logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)


class Telemetry:
    """Sends what it is told of. `running` has to be entered before anything leaves."""

    def __init__(
        self, endpoint: str, headers: Mapping[str, str], instance: str, gauges: Callable[[], Sequence[Metric]]
    ) -> None:
        """`instance` tells this gateway from others, and `gauges` are asked for when figures are sent."""
        about = Resource.create(
            {"service.name": "interlock", "service.version": __version__, "service.instance.id": instance}
        )
        base, sent_along = endpoint.rstrip("/"), dict(headers)
        spans = OTLPSpanExporter(f"{base}/v1/traces", headers=sent_along, timeout=SEND_SECONDS)
        figures = OTLPMetricExporter(f"{base}/v1/metrics", headers=sent_along, timeout=SEND_SECONDS)
        self._ids = _Ids()
        self._spans = TracerProvider(DEFAULT_ON, about, shutdown_on_exit=False, id_generator=self._ids)
        self._spans.add_span_processor(BatchSpanProcessor(_Told(spans, endpoint), MOST_WAITING))
        self._tracer = self._spans.get_tracer("interlock", __version__)
        self._reader = PeriodicExportingMetricReader(figures, export_interval_millis=math.inf)
        self._figures = MeterProvider([self._reader], about, shutdown_on_exit=False)
        meter = self._figures.get_meter("interlock", __version__)
        self._duration = meter.create_histogram(
            "mcp.server.operation.duration", "s", explicit_bucket_boundaries_advisory=SECONDS
        )
        self._gauge = meter.create_gauge
        self._gauges = gauges

    def seen(self, activity: Activity) -> None:
        """Make a span of a call that ended. Whatever is wrong with one is told, and is nothing to the call."""
        try:
            self._make_span(activity)
        except Exception:  # a span is never worth a call, nor the record that comes after it
            _LOG.exception("No span could be made of a call.")

    def _make_span(self, activity: Activity) -> None:
        trace = read_kept(activity.body.get("trace"))
        began = activity.at if trace is None else trace.received
        ended = max(began, activity.at + _took(activity))
        said = attributes_of(activity)
        self._duration.record((ended - began) / 1e6, {name: said[name] for name in _COUNTED if name in said})
        self._ids.next = trace
        span = self._tracer.start_span(
            _name(said), _above(trace), kind=SpanKind.SERVER, attributes=said, start_time=began * 1000
        )
        if "error.type" in said:
            span.set_status(Status(StatusCode.ERROR))
        span.end(ended * 1000)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Send figures now and then, and what is left when the block ends."""
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(self._keep_sending())
            try:
                yield
            finally:
                sending.cancel()
                self._read_gauges()
                await _apart(self._end, GOODBYE_SECONDS)

    async def _keep_sending(self) -> None:
        while True:
            await asyncio.sleep(FIGURES_SECONDS)
            self._read_gauges()
            await _apart(self._reader.collect, SEND_SECONDS)

    def _read_gauges(self) -> None:
        # Here and not where they are sent: that is another thread, and what they tell of belongs to this one.
        for family in self._gauges():
            gauge = self._gauge(family.name.replace("_", "."), description=family.documentation)
            for sample in family.samples:
                gauge.set(sample.value, sample.labels)

    def _end(self) -> None:
        ending = threading.Thread(target=self._spans.shutdown, daemon=True)
        ending.start()
        self._reader.collect()
        self._figures.shutdown()
        ending.join()


class _Ids(IdGenerator):
    """The ids that a span was given when its call came: the caller's server may know them by now."""

    def __init__(self) -> None:
        self.next: Trace | None = None
        self._others = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        return self._others.generate_trace_id() if self.next is None else int(self.next.trace_id, 16)

    def generate_span_id(self) -> int:
        return self._others.generate_span_id() if self.next is None else int(self.next.span_id, 16)


class _Told(SpanExporter):
    """Tells whoever watches the process when a collector cannot be reached, and when it can again; once each."""

    def __init__(self, spans: SpanExporter, endpoint: str) -> None:
        self._sent = spans
        self._endpoint = endpoint
        self._fails = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._sent.export(spans)
        fails = result is not SpanExportResult.SUCCESS
        if fails and not self._fails:
            _LOG.warning("Traces do not reach the collector at %s; calls go on without.", self._endpoint)
        elif self._fails and not fails:
            _LOG.warning("Traces reach the collector at %s again.", self._endpoint)
        self._fails = fails
        return result

    def shutdown(self) -> None:
        self._sent.shutdown()


_COUNTED = ("mcp.method.name", "gen_ai.tool.name", "error.type", "network.transport", "interlock.verdict")
"""The attributes that are bounded, so that each value may have a figure of its own."""


def attributes_of(activity: Activity) -> dict[str, str]:
    """What a span says of a call."""
    method = _method(activity)
    said = {
        "mcp.method.name": method,
        "gen_ai.operation.name": "execute_tool" if method == CALL_METHOD else None,
        # What nobody lists is a name that an agent made up, and may be anything.
        "gen_ai.tool.name": activity.tool if method == CALL_METHOD and activity.safety_class else None,
        "mcp.session.id": _session(activity),
        "jsonrpc.request.id": activity.body.get("request_id"),
        "network.transport": "tcp" if activity.body.get("entry") == "mcp" else None,
        "error.type": _error(activity),
        "interlock.verdict": activity.verdict,
        "interlock.safety_class": activity.safety_class,
        "interlock.approval.id": activity.approval_id,
        "interlock.activity.id": activity.id,
        "interlock.server": activity.server if activity.safety_class else None,
    }
    return {name: str(value) for name, value in said.items() if value is not None}


def _name(said: Mapping[str, str]) -> str:
    tool = said.get("gen_ai.tool.name")
    return said["mcp.method.name"] if tool is None else f"{said['mcp.method.name']} {tool}"


def _method(activity: Activity) -> str:
    metadata = activity.body.get("metadata")
    method = metadata.get("method") if isinstance(metadata, Mapping) else None
    return method if isinstance(method, str) else CALL_METHOD


def _session(activity: Activity) -> str | None:
    """The session of the protocol. What stands for one where there is none names the caller."""
    given = activity.session_id
    return given if given is not None and "@" not in given and given != activity.caller else None


def _error(activity: Activity) -> str | None:
    """Why a call has no result, in a word: our code where we refused it, else how it ended."""
    if activity.status is CallState.SUCCESS:
        return None
    if activity.verdict != Effect.ALLOW:
        reasons = cast("Sequence[Mapping[str, Json]]", activity.body.get("reasons") or ())
        code = reasons[0].get("code") if reasons else None
        return str(activity.status if code is None else code)
    return "tool_error" if activity.status is CallState.ERROR else str(activity.status)


def _took(activity: Activity) -> Micros:
    timings = activity.body.get("timings")
    return sum(each for each in timings.values() if isinstance(each, int)) if isinstance(timings, Mapping) else 0


def _above(trace: Trace | None) -> Context:
    """What a span is part of: nothing, or what the caller named."""
    if trace is None or trace.parent is None:
        return Context()
    flags = TraceFlags(TraceFlags.SAMPLED if trace.sampled else TraceFlags.DEFAULT)
    above = SpanContext(int(trace.trace_id, 16), int(trace.parent, 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(above), Context())


async def _apart(work: Callable[[], object], seconds: float) -> None:
    """Do something in a thread of its own, and go on without it when it takes too long."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def run() -> None:
        try:
            work()
        finally:
            with contextlib.suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(done.set)

    # A daemon, so that a collector that never answers does not keep the process.
    threading.Thread(target=run, name="interlock-telemetry", daemon=True).start()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await done.wait()
