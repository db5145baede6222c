"""Spans and figures of calls, as a collector receives them."""

import asyncio
import json
import logging
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.core import GaugeMetricFamily

from interlock.core.canonical import argument_digest
from interlock.core.lifecycle import CallState
from interlock.core.model import Call, Caller
from interlock.core.safety import Effect, SafetyClass
from interlock.core.trace import Trace
from interlock.kept import Origin
from interlock.sent import Way
from interlock.store.protocol import Activity
from interlock.web.telemetry import MOST_WAITING, Telemetry, attributes_of
from tests.asking import META, MODERN, Legacy, Modern
from tests.collector import Collector, collecting, said
from tests.running import Running, server_yaml, serving, started
from tests.talking import NO_TLS
from tests.upstream.running import received, stdio_argv
from tests.web.office import NOW, activity

PARENT = f"00-{'a' * 32}-{'b' * 16}-01"
UNSAID = "hunter2-what-nobody-may-read"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def collector() -> Generator[Collector]:
    with collecting() as running:
        yield running


def telemetry_for(url: str) -> Telemetry:
    waiting = GaugeMetricFamily("interlock_approvals_pending", "Calls that wait.", 3)
    return Telemetry(url, {"x-key": "of-the-collector"}, "here:7373", lambda: [waiting])


def ended(status: CallState = CallState.SUCCESS, body: dict[str, Any] | None = None, **columns: Any) -> Activity:
    known = {"tool": "read_note", "server": "up", "safety_class": SafetyClass.READ_ONLY, "verdict": Effect.ALLOW}
    return activity(1, status=status, body={"entry": "mcp", **(body or {})}, **(known | columns))


# What leaves ----------------------------------------------------------------------------------------------------


async def test_a_call_is_a_span_with_its_times_and_the_place_that_its_caller_gave_it(collector: Collector) -> None:
    trace = Trace("a" * 32, "c" * 16, NOW, parent="b" * 16)
    telemetry = telemetry_for(collector.url)
    async with telemetry.running():
        timings = {"recorded_us": 100, "upstream_us": 2_000}
        telemetry.seen(ended(body={"trace": trace.kept(), "timings": timings}))
        telemetry.seen(ended())

    first, other = collector.spans
    assert (first.name, first.kind) == ("tools/call read_note", Span.SPAN_KIND_SERVER)
    assert (first.trace_id.hex(), first.span_id.hex(), first.parent_span_id.hex()) == ("a" * 32, "c" * 16, "b" * 16)
    assert (first.start_time_unix_nano, first.end_time_unix_nano) == (NOW * 1000, (NOW + 1_000_000 + 2_100) * 1000)
    assert (other.parent_span_id, other.trace_id == first.trace_id) == (b"", False)
    assert collector.headers[0]["x-key"] == "of-the-collector"
    assert (collector.about["service.name"], collector.about["service.instance.id"]) == ("interlock", "here:7373")


async def test_a_call_whose_caller_wants_no_trace_is_no_span_but_is_counted(collector: Collector) -> None:
    telemetry = telemetry_for(collector.url)
    async with telemetry.running():
        telemetry.seen(ended(body={"trace": Trace("a" * 32, "c" * 16, NOW, "b" * 16, sampled=False).kept()}))

    assert (collector.spans, len(_durations(collector))) == ([], 1)


async def test_figures_leave_with_their_names_and_without_what_is_unbounded(collector: Collector) -> None:
    telemetry = telemetry_for(collector.url)
    async with telemetry.running():
        telemetry.seen(ended(body={"request_id": "r-1", "timings": {"upstream_us": 30_000}}, approval_id="a-1"))

    (point,) = _durations(collector)
    assert {each.key for each in point.attributes} == {
        "mcp.method.name",
        "gen_ai.tool.name",
        "network.transport",
        "interlock.verdict",
    }
    assert (point.count, list(point.explicit_bounds)[:3]) == (1, [0.01, 0.02, 0.05])
    (pending,) = [each for each in collector.metrics if each.name == "interlock.approvals.pending"]
    assert pending.gauge.data_points[0].as_int == 3


def _durations(collector: Collector) -> list[Any]:
    named = [each for each in collector.metrics if each.name == "mcp.server.operation.duration"]
    return [point for each in named for point in each.histogram.data_points]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (ended(), None),
        (ended(CallState.ERROR), "tool_error"),
        (ended(CallState.INDETERMINATE), "indeterminate"),
        (ended(CallState.BLOCKED, {"reasons": [{"code": "FROZEN", "text": "x"}]}, verdict=Effect.DENY), "FROZEN"),
        (ended(CallState.TIMEOUT, {"reasons": [{"code": None, "text": "x"}]}, verdict=Effect.HOLD), "timeout"),
        (ended(CallState.BLOCKED, {"reasons": []}, verdict=Effect.DENY), "blocked"),
    ],
)
def test_why_a_call_has_no_result_is_said_in_a_word(call: Activity, error: str | None) -> None:
    assert attributes_of(call).get("error.type") == error


def test_a_name_that_an_agent_made_up_does_not_leave() -> None:
    found = attributes_of(ended(tool=UNSAID, server=UNSAID, safety_class=None, session_id=f"{UNSAID}@1", caller=UNSAID))

    assert UNSAID not in json.dumps(found)
    assert "mcp.session.id" not in found


def test_a_resource_is_no_tool() -> None:
    found = attributes_of(ended(tool="resources/read", body={"metadata": {"method": "resources/read"}}))

    assert found["mcp.method.name"] == "resources/read"
    assert {"gen_ai.tool.name", "gen_ai.operation.name"}.isdisjoint(found)


# A collector that is away ---------------------------------------------------------------------------------------


async def test_a_collector_that_is_away_costs_spans_beyond_the_bound_and_nothing_else(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.web.telemetry.SEND_SECONDS", 0.2)
    monkeypatch.setattr("interlock.web.telemetry.GOODBYE_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    telemetry = telemetry_for(url)
    with caplog.at_level(logging.WARNING):
        async with asyncio.timeout(30), telemetry.running():
            for _ in range(MOST_WAITING * 2):
                telemetry.seen(ended())

    assert [each.getMessage() for each in caplog.records] == [
        f"Traces do not reach the collector at {url}; calls go on without."
    ]


async def test_a_defect_of_a_span_is_told_and_is_nothing_to_the_call(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = telemetry_for(collector.url)
    async with telemetry.running():
        telemetry.seen(ended(body={"trace": {"span_id": 7}}))

    assert [each.getMessage() for each in caplog.records] == ["No span could be made of a call."]


# The whole way --------------------------------------------------------------------------------------------------


def settings(collector: Collector, log: Path, more: str = "", *, era: str = "both") -> str:
    return (
        f"posture: guarded\nexpose: direct\ntelemetry: {{endpoint: '{collector.url}/'{more}}}\n"
        f"hold: {{answer_after: 0s}}\nservers:\n{server_yaml('up', stdio_argv(log, era=era), trusted=True)}"
    )


async def called(running: Running, http: httpx2.AsyncClient, tool: str, **arguments: str) -> dict[str, Any]:
    """Call as a modern client that says which trace its call is part of."""
    meta: dict[str, Any] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}, "traceparent": PARENT}
    return await Modern(http, running).call(arguments, {"_meta": meta}, tool)


async def test_calls_through_a_gateway_reach_the_collector_without_what_was_said_in_them(
    tmp_path: Path, collector: Collector
) -> None:
    text = settings(collector, tmp_path / "log")
    async with serving(tmp_path, text) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        await called(running, http, "read_note", title=UNSAID)
        await called(running, http, "delete_note", title=UNSAID, _justification=UNSAID)
        await called(running, http, UNSAID)
        legacy = Legacy(http, running)
        await legacy.open({})
        params = {"name": "up__read_note", "arguments": {"title": UNSAID}}
        await legacy.post({"id": "seven", "method": "tools/call", "params": params}, traceparent=PARENT)
        recorded = await running.activities()

    spans = {each.name: each for each in collector.spans[:3]}
    assert list(spans) == ["tools/call read_note", "tools/call delete_note", "tools/call"]
    assert {(each.trace_id.hex(), each.parent_span_id.hex()) for each in collector.spans} == {("a" * 32, "b" * 16)}
    held = said(spans["tools/call delete_note"])
    assert (held["interlock.verdict"], held["interlock.safety_class"], held["error.type"]) == (
        "hold",
        "dangerous",
        "PENDING",
    )
    assert held["interlock.approval.id"] == recorded[1].approval_id
    assert [said(each)["interlock.activity.id"] for each in collector.spans] == [each.id for each in recorded]
    last = said(collector.spans[3])
    assert (last["jsonrpc.request.id"], last["mcp.session.id"]) == ("seven", recorded[3].session_id)
    assert UNSAID.encode() not in collector.raw
    assert "traceparent" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_hears_of_our_span_where_the_operator_wants_it(
    tmp_path: Path, collector: Collector, era: str
) -> None:
    log = tmp_path / "log"
    text = settings(collector, log, ", propagate: true", era=era)
    async with serving(tmp_path, text) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        await called(running, http, "read_note", title="x")

    (call,) = [each.message for each in received(log) if each.method == "tools/call"]
    (span,) = collector.spans
    assert call["params"]["_meta"]["traceparent"] == f"00-{'a' * 32}-{span.span_id.hex()}-01"


async def test_a_read_that_ends_as_the_gateway_does_is_a_span_too(tmp_path: Path, collector: Collector) -> None:
    async with started(tmp_path, settings(collector, tmp_path / "log")) as gateway:
        call = Call(Caller("ci"), "up", "read_note", {"name": "x"}, argument_digest({"name": "x"}))
        await gateway.pipeline.run(call, Way(Origin("mcp")))

    assert [each.name for each in collector.spans] == ["tools/call read_note"]


async def test_a_call_does_not_notice_that_the_collector_refuses(tmp_path: Path, collector: Collector) -> None:
    collector.answer = 400
    text = settings(collector, tmp_path / "log")
    async with serving(tmp_path, text) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        answer = await called(running, http, "read_note", title="x")

    assert answer["result"]["content"][0]["text"] == "There is no such note."
    assert (collector.asked > 0, collector.spans) == (True, [])


def test_without_the_setting_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from tests.running import started\n"
        "async def run():\n"
        "    async with started(Path(sys.argv[1])): pass\n"
        "asyncio.run(run()); print([each for each in sys.modules if each.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "[]\n"
