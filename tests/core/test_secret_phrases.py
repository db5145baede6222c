"""What languages and commands have a way of their own for, and URLs: the secret is hidden, and the rest is left."""

import base64

import msgspec
import pytest

from interlock.core.redact import KnownSecrets, has_nothing_to_hide, redact_text

NEEDLE = "w8Rk2pLq77"
VALUE = "[redacted value]"

PHRASES = [
    "ALTER USER shop IDENTIFIED BY '{}';",
    "create user 'shop'@'%' identified by '{}'",
    "CREATE USER shop IDENTIFIED WITH caching_sha2_password BY '{}'",
    'CREATE USER shop IDENTIFIED BY "{}"',
    "CREATE USER shop IDENTIFIED BY {}",
    "GRANT ALL ON shop.* TO 'shop'@'%' IDENTIFIED\nBY '{}'",
    "CREATE ROLE shop WITH PASSWORD '{}' LOGIN",
    "create role shop with password '{}'",
    "ALTER ROLE shop PASSWORD '{}'",
    "ALTER ROLE shop ENCRYPTED PASSWORD '{}'",
    "SET PASSWORD FOR shop = PASSWORD('{}')",
    "curl -u shop:{} https://example.test",
    "curl -s --user shop:{} https://example.test",
    "curl -sS -X POST -ushop:{} https://example.test",
    "curl -u 'shop:{}' https://example.test",
    "curl --proxy-user=shop:{} https://example.test",
    "mysql -p{}",
    "mysql -u root -p{} shop",
    "mysql -u root -p'{}' shop",
    "mysqldump -h db -p{} shop | gzip",
    "mariadb-dump -p{} shop",
    "sshpass -p {} ssh shop",
    "sshpass -p{} ssh shop",
    "machine example.test login shop password {}",
    "machine example.test\n  login shop\n  password {}\n",
    "default login shop password {}",
    "define('DB_PASSWORD', '{}');",
    'define( "AUTH_KEY", "{}" );',
]


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("around", ["{}", "first\n{}", 'say \\n{}\\n and "more"'])
def test_of_a_phrase_the_secret_is_hidden_and_the_rest_is_left(phrase: str, around: str) -> None:
    text = around.replace("{}", phrase)

    shown = redact_text(text.replace("{}", NEEDLE))

    assert shown == text.replace("{}", VALUE)
    assert redact_text(shown) == shown
    assert not has_nothing_to_hide(msgspec.json.encode({"text": text.replace("{}", NEEDLE)}))


def test_each_of_two_commands_in_a_line_has_its_secret_hidden() -> None:
    assert (
        redact_text(f"curl -u a:{NEEDLE} x && curl -s -u b:{NEEDLE} y")
        == f"curl -u a:{VALUE} x && curl -s -u b:{VALUE} y"
    )


def test_a_password_of_digits_is_hidden_and_ports_are_not() -> None:
    assert redact_text("mysql -p12345 shop") == f"mysql -p{VALUE} shop"
    assert redact_text("docker run --name mysql -p3306:3306 mysql:8") == "docker run --name mysql -p3306:3306 mysql:8"


@pytest.mark.parametrize(
    "text", ["mysql -p", "mysql -p shop", "mysql -p;", "curl -u shop: https://x", "IDENTIFIED BY ''"]
)
def test_where_no_secret_follows_none_is_hidden(text: str) -> None:
    assert redact_text(text) == text


# URLs -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "login",
    [
        f"u:{NEEDLE}",
        f"u:p@{NEEDLE}",
        f"u:{NEEDLE}@p",
        f"u:p@q@{NEEDLE}",
        f"u:pa/{NEEDLE}",
        f"u:{NEEDLE}/a/b",
        f"u:1a/{NEEDLE}",
        f"u:p/{NEEDLE}@q",
        f":pa/{NEEDLE}",
        f"anna@example.test:{NEEDLE}",
    ],
)
@pytest.mark.parametrize("rest", ["host", "host:8080/a@b", "host/a?mail=c@d", "host?mail=c@d"])
@pytest.mark.parametrize("slash", ["/", "\\/"])
def test_the_password_in_a_url_ends_at_the_last_at_before_the_host(login: str, rest: str, slash: str) -> None:
    shown = redact_text(f"see https://{login}@{rest} there".replace("/", slash))

    assert shown == f"see [redacted url-password]{rest} there".replace("/", slash)


@pytest.mark.parametrize(
    "token",
    ["9f8e7d6c5b4a39281706f5e4d3c2b1a098765432", "aB3dE5fG7hJ9kL1mN3pQ", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"],
)
def test_a_user_that_looks_random_is_a_token(token: str) -> None:
    known = KnownSecrets((), b"k" * 32)

    assert (
        redact_text(f"git clone https://{token}@github.com/shop.git")
        == "git clone [redacted url-token]github.com/shop.git"
    )
    assert redact_text(f"https://{token}@x", known).split()[1] == redact_text(f"password={token}", known).split()[1]


# Keys -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_in_base64_is_known_without_a_name(kind: str) -> None:
    pem = f"-----BEGIN {kind}PRIVATE KEY-----\n{NEEDLE * 20}\n-----END {kind}PRIVATE KEY-----\n".encode()
    whole, lines = base64.b64encode(pem).decode(), base64.encodebytes(pem).decode()

    assert redact_text(f"data: {whole} end") == "data: [redacted private-key-base64] end"
    assert lines.splitlines()[1] not in redact_text(lines)
    assert lines.splitlines()[1] not in redact_text(lines.replace("\n", "\\n"))


def test_of_two_credentials_without_a_gap_between_them_both_are_hidden() -> None:
    assert (
        redact_text("AKIA03T39MWV38NH0YU9ghp_8fgdjy1H5lHX7po8Xmja77kJcf60") == "[redacted aws-key-id][redacted github]"
    )
