"""How a server of a suite becomes a target."""

import pytest

from interlock.cli.lab.suite_run import target_of
from interlock.cli.lab.target import Wanted
from interlock.lab.suites.suite import Place


@pytest.mark.parametrize(
    ("place", "target"),
    [
        (Place(id="up"), Wanted(server="up")),
        (Place(url="http://x/mcp"), Wanted(url="http://x/mcp", more={"headers": {}})),
        (Place(url="http://x", headers={"A": "b"}), Wanted(url="http://x", more={"headers": {"A": "b"}})),
        (Place(command="run"), Wanted(argv=("run",), more={"env": {}})),
        (
            Place(command="run", args=["it"], env={"A": "b"}, cwd="/there"),
            Wanted(argv=("run", "it"), more={"env": {"A": "b"}, "cwd": "/there"}),
        ),
    ],
)
def test_a_server_of_a_suite_is_the_target_that_it_says(place: Place, target: Wanted) -> None:
    assert target_of(place) == target
