"""The signs of secrets: names by their words, shapes by their issuers, and names with their values in texts."""

import pytest

from interlock.core.secret_names import SECRET_KEYS, SECRET_LABELS, SECRET_PAIRS, is_secret_key, is_secret_label
from interlock.core.secret_signs import may_hold_secrets, signs_in


def hidden(text: str) -> list[str]:
    raw = text.encode()
    return [raw[sign.start : sign.end].decode() for sign in signs_in(raw)]


@pytest.mark.parametrize(
    "key",
    "password PASSWORD user_password dbPasswd secret clientSecret token access_token accessToken api_key apiKey API-KEY"
    " apikey Authorization cookie Set-Cookie private_key connection_string credentials x-auth-key bearer passcode"
    " sessionId user_session_id SESSION-ID JSESSIONID".split(),
)
def test_a_key_that_promises_a_secret_is_secret(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize(
    "key",
    "key keyboard tokenizer max_tokens maxTokens next_page_token path author secretary monkey public_key_id".split(),
)
def test_a_key_that_only_sounds_like_it_is_not(key: str) -> None:
    assert not is_secret_key(key)


@pytest.mark.parametrize("key", "pass user_pass dbPass auth basic-auth jwt id_jwt".split())
def test_a_label_promises_a_secret_only_with_a_text(key: str) -> None:
    assert is_secret_label(key)
    assert not is_secret_key(key)


@pytest.mark.parametrize("key", "pass_rate passed auth_scope_id auth_url author jwt_issuer compass session".split())
def test_a_word_that_describes_something_else_is_no_label(key: str) -> None:
    assert not is_secret_label(key)


def test_a_long_name_is_judged_like_a_short_one() -> None:
    assert is_secret_key("x_" * 200 + "password")
    assert not is_secret_key("x_" * 200 + "word")


@pytest.mark.parametrize("name", [*SECRET_KEYS, *SECRET_LABELS, *map("_".join, SECRET_PAIRS)])
def test_json_with_a_secret_name_in_it_is_worth_decoding(name: str) -> None:
    assert may_hold_secrets(f'{{"{name.upper()}": 1}}'.encode())


def test_json_with_nothing_of_the_kind_is_not() -> None:
    assert not may_hold_secrets(b'{"content": [{"type": "text", "text": "0 records"}], "isError": false}')


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ('"password": "x"', ["x"]),
        ("'password': 'x'", ["x"]),
        (r"\"password\": \"x y\", \"b\": 1", ["x y"]),
        (r"\\\"api_key\\\":\\\"x\\\"", ["x"]),
        ("'jwt' => 'x'", ["x"]),
        (r'"password": "a\"b\\", "c": "d"', [r"a\"b\\"]),
        (r"\"password\": \"a\\\"b\\\\\", \"c\": \"d\"", [r"a\\\"b\\\\"]),
        (r'{"a": "\"token\": \"x", "b": "c"}', ["x"]),
        ('"password": "cut of', ["cut of"]),
        ('"pin": 1234, "x": 5', ["1234"]),
        ('"tokens": ["a", "b"], "x": 5', ['["a", "b"]']),
        ('"credentials": {"a": [1]}, "x": 5', ['{"a": [1]}']),
        ('"tokens": ["cut of", ', ['["cut of", ']),
        ('"a": "password=abc\\\\" "token": "x"', ["password=abc", "x"]),
        ("password=abc&x=1", ["password=abc"]),
        (r"line\npassword=abc", ["password=abc"]),
        ('password="a b" c', ['password="a b"']),
        ("password='a'token': 'b'", ["password='a'", "b"]),
        ("user_pass=abc", ["user_pass=abc"]),
        ("API-Key: abcdef", ["API-Key: abcdef"]),
        ("--password x y", []),
        ("--password xyz", ["--password xyz"]),
        ("--password=x", ["--password=x"]),
        ("--db-pass 'x y'", ["--db-pass 'x y'"]),
        ('run ["--password", "x"]', ["x"]),
        ("Cookie: a=b; c=d\nHost: x", ["Cookie: a=b; c=d"]),
    ],
)
def test_a_name_with_its_value_is_a_sign(text: str, secrets: list[str]) -> None:
    assert hidden(text) == secrets


@pytest.mark.parametrize(
    "text",
    [
        "token: yes",
        "auth: required",
        "the token is: see the documents",
        '"secretary": "Bob"',
        '"author": "Bob"',
        '"max_tokens": 500000',
        '"password": null, "token": "", "secret": false',
        '"pass": 12',
        "password: [redacted github]",
        '"password": "[redacted value]"',
        "--verbose word",
        '{"a": "http://x", "b": "y@z"}',
    ],
)
def test_what_only_looks_like_it_is_none(text: str) -> None:
    assert hidden(text) == []
