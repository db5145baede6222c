"""Saying which activities are meant. That each option does what it says is tested with `activity list`."""

from argparse import ArgumentParser

from interlock.cli.filters import add_filters, query_of


def asked(*words: str) -> dict[str, str]:
    parser = ArgumentParser()
    add_filters(parser)
    return {name: value for name, value in query_of(parser.parse_args(words)).items() if value is not None}


def test_a_tool_may_be_named_with_its_server() -> None:
    assert asked("--tool", "up:echo") == {"server": "up", "tool": "echo"}


def test_a_name_with_a_colon_is_taken_as_it_is_when_the_server_is_given() -> None:
    assert asked("--server", "up", "--tool", "a:b") == {"server": "up", "tool": "a:b"}


def test_words_that_may_be_repeated_are_joined() -> None:
    assert asked("--status", "error", "--status", "blocked") == {"status": "error,blocked"}
