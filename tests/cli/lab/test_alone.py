"""One server out of a configuration."""

from pathlib import Path

import pytest

from interlock.cli.lab.alone import alone
from interlock.cli.lab.target import wanted
from interlock.errors import Code, InterlockError
from tests.running import config_of

TWO = """
servers:
  one: {command: one, enabled: false}
  two: {url: "https://two.example/mcp"}
route_rules: [{id: a, server_id: one, effect: deny}]
"""


def test_a_server_is_alone_under_its_own_names_and_with_all_rules(tmp_path: Path) -> None:
    settings = alone(config_of(tmp_path, TWO), wanted(["one"])).settings

    assert list(settings.servers) == ["one"]
    assert settings.servers["one"].enabled
    assert (settings.expose, settings.namespacing) == ("direct", False)
    assert [each.id for each in settings.route_rules] == ["a"]


def test_what_is_written_into_the_file_later_does_not_bring_the_others_back(tmp_path: Path) -> None:
    assert alone(config_of(tmp_path, TWO), wanted(["two"])).file is None


@pytest.mark.parametrize(
    ("words", "name", "command", "args", "url"),
    [
        (["/opt/server.py", "--stdio"], "server", "/opt/server.py", ["--stdio"], None),
        (["npx -y @org/server-x"], "server-x", "npx", ["-y", "@org/server-x"], None),
        (["https://far.example/mcp"], "far-example", None, [], "https://far.example/mcp"),
    ],
)
def test_a_command_or_an_address_becomes_a_server(
    tmp_path: Path, words: list[str], name: str, command: str | None, args: list[str], url: str | None
) -> None:
    servers = alone(config_of(tmp_path, TWO), wanted(words)).settings.servers

    assert list(servers) == [name]
    assert (servers[name].command, servers[name].args, servers[name].url) == (command, args, url)


def test_without_any_server_there_is_the_sample(tmp_path: Path) -> None:
    assert alone(config_of(tmp_path), wanted(["sample"])).settings.servers == {}


def test_a_server_that_nobody_configured_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(InterlockError) as refused:
        alone(config_of(tmp_path, TWO), wanted(["tow"]))

    assert refused.value.reason.code is Code.NOT_FOUND
    assert "Did you mean 'two'?" in refused.value.reason.text
