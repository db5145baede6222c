"""How the place of a setting is written."""

import pytest

from interlock.config.paths import Path, dotted


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("posture",), "posture"),
        (("listen", "port"), "listen.port"),
        (("route_rules", 0), "route_rules[0]"),
        (("route_rules", 12, "args", "repo"), "route_rules[12].args.repo"),
    ],
)
def test_a_path_is_written_with_dots_and_brackets(path: Path, text: str) -> None:
    assert dotted(path) == text
