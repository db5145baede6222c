"""A collector of OpenTelemetry for tests: a real HTTP server that decodes what it is sent."""

import contextlib
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

SECONDS = 30


class Collector:
    """What arrived, decoded and raw, and the answer that whoever sends gets."""

    def __init__(self) -> None:
        self.url = ""
        self.answer = 200
        self.spans: list[Span] = []
        self.metrics: list[Metric] = []
        self.about: dict[str, str] = {}
        """What the sender says of itself."""
        self.raw = b""
        self.headers: list[dict[str, str]] = []
        self.asked = 0
        self._came = threading.Condition()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        with self._came:
            self.asked += 1
            if self.answer == 200:
                self.raw += body
                self.headers.append(headers)
                _DECODERS[path](self, body)
            self._came.notify_all()
            return self.answer

    def wait_until_asked(self, times: int) -> None:
        """Wait until it was sent something this often, whether it took it or not."""
        with self._came:
            assert self._came.wait_for(lambda: self.asked >= times, SECONDS)

    def take_spans(self, body: bytes) -> None:
        for each in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.about = {item.key: item.value.string_value for item in each.resource.attributes}
            self.spans += [span for scope in each.scope_spans for span in scope.spans]

    def take_metrics(self, body: bytes) -> None:
        for each in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            self.metrics += [metric for scope in each.scope_metrics for metric in scope.metrics]


_DECODERS = {"/v1/traces": Collector.take_spans, "/v1/metrics": Collector.take_metrics}


def said(span: Span) -> dict[str, str]:
    """The attributes of a span."""
    return {each.key: each.value.string_value for each in span.attributes}


@contextlib.contextmanager
def collecting() -> Generator[Collector]:
    """A collector on a free port of this machine."""
    collector = Collector()

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(collector.take(self.path, headers, body))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
