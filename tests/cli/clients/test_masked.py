"""What a person sees of a change: everything but the secrets."""

import pytest

from interlock.cli.clients.masked import Kind, difference, masked
from interlock.cli.clients.table import CLIENTS
from tests.cli.golden import SECRETS, golden


def kind_of(client: str) -> Kind:
    return "toml" if CLIENTS[client].toml else "json"


@pytest.mark.parametrize("client", CLIENTS)
def test_no_secret_of_a_client_is_shown_in_old_or_new_lines(client: str) -> None:
    text, kind = golden(client).decode(), kind_of(client)
    old = difference("f", text, "{}" if kind == "json" else "", kind)
    new = difference("f", "{}" if kind == "json" else "", text, kind)

    assert "/opt/tools" in old + new or "127.0.0.1" in old + new
    assert not [each for each in SECRETS if each in old + new]


@pytest.mark.parametrize(
    "text",
    [
        '{"env": {"ANY_NAME": "hunter2"}}',
        '{"env": {"ANY_NAME": "h\\u0075nter2"}}',
        '{"headers": {"X": "hunter2"}}',
        '{"api_key": "hunter2"}',
        '{"args": ["--password", "hunter2"]}',
        '{"url": "https://me:hunter2@h/"}',
        '{"a": 1, // token=hunter2-and-more-of-it\n"b": 2}',
    ],
)
def test_a_secret_is_hidden_wherever_it_stands(text: str) -> None:
    shown = difference("f", text, "{}", "json")

    assert "nter2" not in shown
    assert shown.startswith("--- f\n+++ f\n")


def test_numbers_given_to_a_server_are_hidden_and_switches_are_not() -> None:
    assert masked('{"env": {"PIN": 4711, "ON": true}}', "json") == '{"env": {"PIN": "***", "ON": true}}'


def test_a_reference_is_shown() -> None:
    text = 'env: {A: "${env:A}"}\nheaders:\n  Authorization: Bearer ${file:/x/y}\n'

    shown = difference("f", "", text, "yaml")

    assert "${env:A}" in shown
    assert "Bearer ${file:/x/y}" in shown


def test_a_secret_that_somebody_wrote_into_the_settings_is_hidden() -> None:
    assert "hunter2" not in difference("f", "servers: {a: {env: {ANY: hunter2}}}\n", "", "yaml")


def test_the_same_text_has_no_difference() -> None:
    assert difference("f", "{}", "{}", "json") == ""
