"""What a caller says of its trace: read strictly, kept whole."""

import pytest

from interlock.core.model import Json
from interlock.core.trace import Parent, Trace, read_kept, read_parent

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(("flags", "sampled"), [("00", False), ("01", True), ("02", False), ("ff", True)])
def test_a_traceparent_names_a_trace_a_span_and_whether_it_is_kept(flags: str, sampled: bool) -> None:
    assert read_parent(f"00-{TRACE}-{SPAN}-{flags}") == Parent(TRACE, SPAN, sampled)


@pytest.mark.parametrize(
    "given",
    [
        None,
        7,
        "",
        TRACE,
        f"01-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01\n",
        f" 00-{TRACE}-{SPAN}-01",
        ["00", TRACE, SPAN, "01"],
    ],
)
def test_what_is_no_traceparent_names_nothing(given: Json) -> None:
    assert read_parent(given) is None


@pytest.mark.parametrize("sampled", [True, False])
def test_a_server_is_told_what_reads_as_our_span(sampled: bool) -> None:
    trace = Trace(TRACE, SPAN, 5, parent="c" * 16, sampled=sampled)

    assert read_parent(trace.traceparent) == Parent(TRACE, SPAN, sampled)


def test_what_is_kept_reads_as_it_was() -> None:
    trace = Trace(TRACE, SPAN, 5, parent="c" * 16, sampled=False, goes_on=True)

    assert (read_kept(trace.kept()), read_kept(None)) == (trace, None)
