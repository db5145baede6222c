"""Secrets are hidden at any depth, and nothing else is."""

import json
from typing import Any

import pytest
from hypothesis import given

from interlock.core.model import Json
from interlock.core.redact import MAX_DEPTH, SECRET_SHAPES, is_secret_key, redact, redact_text
from tests.core.strategies import json_values

LONG = "A1b2C3d4E5f6G7h8I9j0" * 4
HEX = "0123456789abcdef" * 4
SECRETS = {
    "private-key": f"-----BEGIN RSA PRIVATE KEY-----\n{LONG}\n-----END RSA PRIVATE KEY-----",
    "interlock-token": f"il_ab12_{LONG}",
    "jwt": f"eyJ{LONG}.{LONG}.{LONG}",
    "bearer": f"Bearer {LONG}",
    "url-password": "postgresql://user:hunter22@",
    "github": f"ghp_{LONG}",
    "gitlab": f"glpat-{LONG}",
    "openai": f"sk-proj-{LONG}",
    "anthropic": f"sk-ant-{LONG}",
    "stripe": f"sk_live_{LONG}",
    "stripe-webhook": f"whsec_{LONG}",
    "slack": f"xoxb-{LONG}",
    "slack-webhook": "https://hooks.slack.com/services/T0/B0/XXXX",
    "aws-key-id": "AKIAABCDEFGHIJKLMNOP",
    "google-api": f"AIza{LONG[:35]}",
    "google-oauth": f"ya29.{LONG}",
    "azure": f"AccountKey={LONG}",
    "npm": f"npm_{LONG}",
    "pypi": f"pypi-{LONG}",
    "digitalocean": f"dop_v1_{HEX}",
    "huggingface": f"hf_{LONG}",
    "sendgrid": f"SG.{LONG}.{LONG}",
    "telegram": f"123456789:AA{LONG}",
    "shopify": f"shpat_{HEX[:32]}",
    "vault": f"hvs.{LONG}",
    "notion": f"ntn_{LONG}",
    "linear": f"lin_api_{LONG}",
    "age-key": f"AGE-SECRET-KEY-1{LONG.upper()}",
    "flag": "--password correct-horse",
    "assignment": "password=correct-horse",
}


def test_every_shape_has_an_example_here() -> None:
    assert set(SECRETS) == {name for name, _ in SECRET_SHAPES}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("around", ["{}", "before {} after", '"{}"', "x\n{}\ny", "é {} ü"])
def test_a_credential_is_hidden_wherever_it_stands_in_a_text(name: str, around: str) -> None:
    redacted = redact_text(around.format(SECRETS[name]))

    assert SECRETS[name] not in redacted
    assert "[redacted " in redacted
    assert redacted.startswith(around.partition("{")[0])


@pytest.mark.parametrize("depth", [0, 1, 5, 30, 100])
def test_depth_is_no_way_round(depth: int) -> None:
    value: Any = {"note": SECRETS["github"], "Password": ["x", {"y": 1}]}
    for level in range(depth):
        value = {"in": value} if level % 2 else [value]

    text = json.dumps(redact(value))

    assert SECRETS["github"] not in text
    assert '"x"' not in text


def test_what_lies_too_deep_to_be_looked_at_is_hidden_whole_and_nothing_above_it() -> None:
    value: Any = "plain"
    for _ in range(MAX_DEPTH):
        value = [value]

    assert "plain" in json.dumps(redact(value))
    assert "plain" not in json.dumps(redact([value]))
    assert "plain" in json.dumps(redact({"a": value[0]}))
    assert "plain" not in json.dumps(redact({"a": value}))


@pytest.mark.parametrize(
    "key",
    "password PASSWORD user_password dbPasswd secret clientSecret token access_token accessToken api_key apiKey API-KEY"
    " apikey Authorization cookie Set-Cookie private_key connection_string credentials x-auth-key bearer".split(),
)
def test_a_key_that_promises_a_secret_is_secret(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize(
    "key",
    "key keyboard tokenizer max_tokens maxTokens next_page_token path author secretary monkey public_key_id".split(),
)
def test_a_key_that_only_sounds_like_it_is_not(key: str) -> None:
    assert not is_secret_key(key)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("hunter2", "[redacted text of 7 characters]"),
        (1234, "[redacted number]"),
        (12.5, "[redacted number]"),
        ({"a": "b"}, "[redacted object]"),
        (["a"], "[redacted list]"),
        (None, None),
        ("", ""),
        (True, True),
        (False, False),
    ],
)
def test_the_value_of_a_secret_key_shows_only_what_kind_it_was(value: Json, shown: Json) -> None:
    assert redact({"password": value}) == {"password": shown}


def test_a_credential_used_as_a_key_is_hidden_too() -> None:
    assert SECRETS["slack"] not in json.dumps(redact({SECRETS["slack"]: 1}))


def test_overlapping_credentials_leave_nothing_behind() -> None:
    text = f"Authorization: Bearer {SECRETS['jwt']} and password={SECRETS['github']}"

    assert LONG[:12] not in redact_text(text)


@pytest.mark.parametrize(
    "text", ["hello", "list the tokens", "see https://example.test/a:b", "a@b.c", "1" * 5000, "é" * 100, "\ud800 x"]
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact_text(text) == text


@given(json_values)
def test_redacting_keeps_the_shape_and_changes_nothing_harmless(value: Json) -> None:
    assert redact(value) == value
