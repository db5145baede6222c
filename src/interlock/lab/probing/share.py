"""How a budget of calls is shared among the tools of a probe: in breadth first.

Each tool gets its first call before any gets a second, and so on, so that a small budget says a little about every tool
and not everything about one. Only the shares are dealt out in this way. The calls themselves are made tool by tool, so
that a tool that breaks the server is the one that is blamed, and no other tool stands between two equal calls.
"""

from collections.abc import Sequence


def share_of_first(wanted: Sequence[int], left: int | None) -> int:
    """How many of its calls the first of some tools gets, where `left` calls are left for all of them."""
    if left is None or left >= sum(wanted):
        return wanted[0]
    got, rest, turn = 0, left, 1
    while rest > 0 and got < wanted[0]:
        got += 1
        rest -= sum(each >= turn for each in wanted)
        turn += 1
    return got
