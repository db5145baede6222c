"""What would become of the tools of a server."""

from interlock.core.decide import GatewayEntry
from interlock.core.policy import Policy
from interlock.core.safety import Posture
from interlock.core.toolbook import Listing, ToolBook
from interlock.web.preview import ToolCounts, tool_counts

BOOK = ToolBook().with_listing(
    Listing("up", "up", [{"name": each} for each in ("read_a", "list_b", "delete_c", "frobnicate")])
)


def test_tools_are_counted_by_class_and_by_what_would_become_of_a_call() -> None:
    assert tool_counts(BOOK, Policy(), None, 0) == ToolCounts(
        4, {"read-only": 2, "dangerous": 1, "unknown": 1}, {"allow": 2, "hold": 2}
    )


def test_another_posture_gives_other_verdicts() -> None:
    strict = Policy(entry=GatewayEntry(Posture.STRICT))

    assert tool_counts(BOOK, strict, None, 0).by_verdict == {"allow": 2, "hold": 1, "deny": 1}


def test_no_tools_are_no_counts() -> None:
    assert tool_counts([], Policy(), None, 0) == ToolCounts(0, {}, {})
