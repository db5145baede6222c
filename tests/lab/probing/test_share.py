"""A budget is dealt out a call at a time, tool by tool."""

import pytest

from interlock.lab.probing.share import share_of_first


def shares(wanted: list[int], left: int | None) -> list[int]:
    """What each tool gets if all make use of their share."""
    got: list[int] = []
    for at in range(len(wanted)):
        got.append(share_of_first(wanted[at:], None if left is None else left - sum(got)))
    return got


@pytest.mark.parametrize(
    ("wanted", "left", "expected"),
    [
        ([5, 5, 5], None, [5, 5, 5]),
        ([5, 5, 5], 15, [5, 5, 5]),
        ([5, 5, 5], 0, [0, 0, 0]),
        ([5, 5, 5], 2, [1, 1, 0]),
        ([5, 5, 5], 3, [1, 1, 1]),
        ([5, 5, 5], 7, [3, 2, 2]),
        ([5, 1, 5], 7, [3, 1, 3]),
        ([0, 5, 5], 3, [0, 2, 1]),
    ],
)
def test_each_tool_gets_a_call_before_one_gets_another(
    wanted: list[int], left: int | None, expected: list[int]
) -> None:
    assert shares(wanted, left) == expected
