"""A name is known for that of a secret however its words are put together, and in whatever language they are."""

import json

import pytest

from interlock.core.redact import has_nothing_to_hide, redact, redact_text
from interlock.core.secret_names import SECRET_ABROAD, is_secret_header, is_secret_key, is_secret_label

NEEDLE = "w8Rk2pLq77"
GLUED = (
    "PGPASSWORD dbpassword MYSQLPASSWD authtoken AUTHTOKEN secretaccesskey clientsecret password1 PASSWORD2 myapikey"
)
LABELS = "SSHPASS dbpass userpass rootpwd storepass"
ABROAD = "Passwort Kennwort DBPASSWORT wachtwoord contrasena senha mot_de_passe motDePasse"
WIDE = "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44"
NAMES = (
    *GLUED.split(),
    "MYSQL_PWD",
    *ABROAD.split(),
    *SECRET_ABROAD,
    "ПАРОЛЬ",
    "мой_пароль",
    WIDE,
    "db_pass\u200bword",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_hides_its_value_as_a_key_and_in_a_text(name: str) -> None:
    member = {name: NEEDLE}

    assert is_secret_key(name)
    for text in (f"{name}={NEEDLE}", f"export {name}='{NEEDLE}'", f"{name}: {NEEDLE}", json.dumps(member), str(member)):
        assert NEEDLE not in redact_text(text)
        assert not has_nothing_to_hide(json.dumps({"text": text}, ensure_ascii=False).encode())
    assert NEEDLE not in str(redact(member))
    assert not has_nothing_to_hide(json.dumps(member, ensure_ascii=False).encode())


@pytest.mark.parametrize("name", LABELS.split())
def test_a_label_is_known_without_a_gap_before_it_too(name: str) -> None:
    assert is_secret_label(name)
    assert not is_secret_key(name)
    assert NEEDLE not in redact_text(f"{name}={NEEDLE}")
    assert redact({name: 12}) == {name: 12}


@pytest.mark.parametrize(
    "name",
    "compass bypass overpass trespass surpass encompass bandpass passage passenger author authority tokenize tokenizer"
    " token0 token1 tokens_used secretary OLDPWD hotkey monkey publickey primarykey keyboard pagetoken pageToken"
    " nextpagetoken spin topping cotangens 密 码 пар".split(),
)
def test_a_word_of_a_language_is_no_name_of_a_secret(name: str) -> None:
    assert not is_secret_label(name)
    assert redact_text(f"{name}=abcdefgh") == f"{name}=abcdefgh"


def test_mot_de_passe_is_known_as_it_is_written_to_people() -> None:
    assert NEEDLE not in redact_text(f"Mot de passe : {NEEDLE}")


def test_a_colon_of_full_width_is_a_colon() -> None:
    assert NEEDLE not in redact_text(f"密码\uff1a{NEEDLE}")


@pytest.mark.parametrize("name", ["Authorization", "proxy-authorization", "Set-Cookie", "X-Api-Key"])
def test_a_header_that_holds_only_a_secret_is_known(name: str) -> None:
    assert is_secret_header(name)


# Names and values side by side ----------------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["headers", "request_headers", "rawHeaders", "env", "environment"])
def test_in_a_list_of_pairs_a_name_hides_its_value(key: str) -> None:
    assert redact({key: [["X-Shop-Token", NEEDLE], ["Accept", "text/html"], ["a", "b", "c"], "x"]}) == {
        key: [["X-Shop-Token", "[redacted text of 10 characters]"], ["Accept", "text/html"], ["a", "b", "c"], "x"]
    }


def test_a_header_and_its_value_in_a_list_of_lists_are_known_wherever_they_stand() -> None:
    value = [["Authorization", NEEDLE], ["token", "varchar"]]
    shown = [["Authorization", "[redacted text of 10 characters]"], ["token", "varchar"]]

    assert redact(value) == shown
    assert json.loads(redact_text(json.dumps({"a": value}))) == {"a": shown}
    assert NEEDLE not in redact_text(json.dumps(value)[:-2])
    assert redact(["Authorization", "Cookie"]) == ["Authorization", "Cookie"]


@pytest.mark.parametrize("pair", [{"name": "DB_PASSWORD", "value": NEEDLE}, {"Value": NEEDLE, "Key": "DB_PASSWORD"}])
@pytest.mark.parametrize("levels", range(3))
@pytest.mark.parametrize("around", ["{}", "found: {}", "{}\n{}", "[1, {}, "])
def test_a_name_and_its_value_in_two_members_are_known_in_json_that_cannot_be_decoded(
    pair: dict[str, str], levels: int, around: str
) -> None:
    text = around.replace("{}", json.dumps(pair))
    for _ in range(levels):
        text = json.dumps([text])[:-1]

    shown = redact_text(text)

    assert NEEDLE not in shown
    assert "DB_PASSWORD" in shown
    assert redact_text(shown) == shown


@pytest.mark.parametrize(("value", "shown"), [("1234", '"[redacted value]"'), ("null", "null"), ('""', '""')])
def test_a_value_beside_its_name_may_be_a_number_or_nothing(value: str, shown: str) -> None:
    assert redact_text(f'x {{"name": "PIN", "value": {value}}}') == f'x {{"name": "PIN", "value": {shown}}}'


# Lines of a key -------------------------------------------------------------------------------------------------
BEGIN, END = "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"
PUTTY = ["PuTTY-User-Key-File-3: ssh-rsa", "Private-Lines: 1", NEEDLE, "Private-MAC: 00ff"]


@pytest.mark.parametrize(
    "lines", [[BEGIN, "AAAA", "", NEEDLE, NEEDLE, END], PUTTY, [BEGIN.replace("K", "\u200bK"), NEEDLE, END]]
)
def test_a_private_key_is_hidden_to_its_end_where_each_line_is_kept_by_itself(lines: list[str]) -> None:
    for value in ([*lines, "after"], {"lines": ["before", *lines, "after"]}, json.dumps([*lines, "after"])):
        shown = redact(value)
        assert NEEDLE not in str(shown)
        assert "after" in str(shown)
        assert redact(shown) == shown


def test_a_private_key_without_an_end_is_hidden_to_the_end_of_the_list() -> None:
    def hidden(length: int) -> str:
        return f"[redacted text of {length} characters]"

    shown = redact([BEGIN, "AAAA", 7, NEEDLE, "last"])

    assert shown == ["[redacted private-key]", hidden(4), 7, hidden(10), hidden(4)]


def test_a_private_key_in_one_line_ends_in_it() -> None:
    assert redact([f"{BEGIN} {NEEDLE} {END}", "after"]) == ["[redacted private-key]", "after"]
