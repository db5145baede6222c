"""Secrets are hidden at any depth, and nothing else is."""

import base64
import json
import re
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.model import Json
from interlock.core.redact import MAX_DEPTH, KnownSecrets, has_nothing_to_hide, redact, redact_text, redact_texts
from interlock.core.secret_shapes import SECRET_SHAPES
from tests.core.strategies import json_values
from tests.issued import NAMED as OTHERWISE
from tests.issued import SHAPED, Issued, one_of_each

MADE = {each.kind: each for each in one_of_each(20261116)}
SECRETS = {kind: MADE[kind].text for kind in SHAPED}
NAMED = {kind: MADE[kind].text for kind in OTHERWISE}


def test_every_shape_has_an_example_here() -> None:
    assert set(SECRETS) == {name for name, _ in SECRET_SHAPES}


@pytest.mark.parametrize("secret", MADE.values(), ids=MADE)
@pytest.mark.parametrize("around", ["{}", "before {} after", '"{}"', "x\n{}\ny", "é {} ü", r"escaped \n{}"])
def test_a_credential_is_hidden_wherever_it_stands_in_a_text(secret: Issued, around: str) -> None:
    redacted = redact_text(around.format(secret.text))

    assert secret.body not in redacted
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


@pytest.mark.parametrize("name", ["aws-key-id", "github", "gitlab", "openai", "stripe", "slack", "interlock-token"])
def test_a_credential_that_a_name_is_joined_to_is_hidden(name: str) -> None:
    assert redact_text(f"h__nope_{SECRETS[name]}") == f"h__nope_[redacted {name}]"


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_a_credential_with_a_mark_that_is_no_word_is_hidden_after_a_letter_too(name: str) -> None:
    assert redact_text(f"v1{SECRETS[name]}") == f"v1[redacted {name}]"


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\ufeff", "\u2060"])
def test_a_character_that_is_not_drawn_keeps_no_secret_from_being_seen(unseen: str) -> None:
    secret, known = SECRETS["github"], "correct horse"
    text = f"{secret[:10]}{unseen}{secret[10:]} and {known[:5]}{unseen}{known[5:]}"

    assert redact_text(text, KnownSecrets([known])) == "[redacted github] and [redacted configured secret]"
    assert not has_nothing_to_hide(json.dumps(text, ensure_ascii=False).encode())
    assert redact_text(f"x{unseen}{secret}") == f"x{unseen}[redacted github]"
    assert redact_text(f"fine{unseen} text") == f"fine{unseen} text"


def test_overlapping_credentials_leave_nothing_behind() -> None:
    text = f"Authorization: Bearer {SECRETS['jwt']} and password={SECRETS['github']}"

    assert MADE["jwt"].body not in redact_text(text)
    assert MADE["github"].body not in redact_text(text)


@pytest.mark.parametrize(
    "text", ["hello", "list the tokens", "see https://example.test/a:b", "a@b.c", "1" * 5000, "é" * 100, "\ud800 x"]
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact_text(text) == text


@given(json_values)
def test_redacting_keeps_the_shape_and_changes_nothing_harmless(value: Json) -> None:
    assert redact(value) == value


# Names with their values ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["pass", "user_pass", "auth", "jwt"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x", "[redacted text of 1 characters]"),
        (["a", "b"], "[redacted list]"),
        (12, 12),
        ({"issuer": "me", "token": "x"}, {"issuer": "me", "token": "[redacted text of 1 characters]"}),
    ],
)
def test_a_label_hides_texts_and_lists_and_lets_objects_be_looked_into(key: str, value: Json, shown: Json) -> None:
    assert redact({key: value}) == {key: shown}


@pytest.mark.parametrize("name", ["name", "key", "header", "Key"])
def test_a_name_and_its_value_in_two_members_are_a_key_and_its_value(name: str) -> None:
    assert redact([{name: "Authorization", "value": "abc", "x": "y"}, {name: "Accept", "value": "abc"}]) == [
        {name: "Authorization", "value": "[redacted text of 3 characters]", "x": "y"},
        {name: "Accept", "value": "abc"},
    ]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--password", "x", "y"], ["--password", "[redacted text of 1 characters]", "y"]),
        (["--password=x", "y"], ["[redacted flag]", "y"]),
        (["--verbose", "x"], ["--verbose", "x"]),
        (["password", "x"], ["password", "x"]),
        (["--token", {"a": "b"}], ["--token", {"a": "b"}]),
        (["-----PASSWORD-----", "x"], ["-----PASSWORD-----", "x"]),
    ],
)
def test_in_a_command_line_the_word_after_a_secret_flag_is_hidden(words: Json, shown: Json) -> None:
    assert redact(words) == shown


# JSON in texts --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("levels", range(5))
def test_json_in_texts_is_looked_into_however_often_it_was_encoded(levels: int) -> None:
    text = json.dumps({"user": "ann", "password": "hunter2", "deep": [{"credentials": {"a": "b-b-b"}}]})
    for _ in range(levels):
        text = json.dumps({"content": [{"type": "text", "text": text}]})

    shown = redact_text(text)

    assert "hunter2" not in shown
    assert "b-b-b" not in shown
    for _ in range(levels):
        shown = json.loads(shown)["content"][0]["text"]
    assert json.loads(shown)["user"] == "ann"


def test_json_text_in_arguments_is_looked_into() -> None:
    assert "hunter2" not in json.dumps(redact({"body": '{"login": {"pass": "hunter2"}}'}))


def test_json_without_a_secret_keeps_its_look() -> None:
    text = '{ "key": [1.0,  2e3],\n "author": "Ann" }'

    assert redact_text(text) == text


def test_escaped_letters_are_no_way_round() -> None:
    assert "hunter2" not in redact_text('{"p\\u0061ssword": "hunter2"}')


def test_of_two_members_with_one_name_none_is_overlooked() -> None:
    assert "hunter2" not in redact_text('{"password": "hunter2", "password": ""}')


def test_texts_in_texts_do_not_make_depth_a_way_to_fail() -> None:
    value: Any = "plain-token"
    for _ in range(12):
        for _ in range(60):
            value = [value]
        value = json.dumps(value)

    assert "nested too deeply" in redact_text(value)


# Known values ---------------------------------------------------------------------------------------------------
WORDS = 'say "cheese"\\ önly'
KNOWN = KnownSecrets([WORDS, "swordfish", "swordfish-2", "short"])


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        f"the word is {WORDS}.",
        json.dumps(WORDS),
        json.dumps(WORDS, ensure_ascii=False),
        json.dumps({"a": [WORDS]}),
        json.dumps([json.dumps(WORDS), "cut"])[:-3],
    ],
)
def test_a_known_value_is_hidden_as_it_is_and_as_json_writes_it(text: str) -> None:
    shown = redact_text(text, KNOWN)

    assert "cheese" not in shown
    assert "[redacted configured secret]" in shown


@pytest.mark.parametrize("value", ["p&ss/w\u00f6rd+ 7?", "plainvalue", "x~y!z(1)"])
def test_a_known_value_is_hidden_in_the_usual_encodings(value: str) -> None:
    raw, known = value.encode(), KnownSecrets([value])
    addresses = [quote(value), quote(value, safe=""), quote_plus(value), quote(value, safe="").lower()]
    for written in (raw.hex(), raw.hex().upper(), *addresses):
        assert written not in redact_text(f"see {written} there", known)
    for before in (b"", b"u", b"u:", b"user:", b"user::"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            shown = redact_text(encode(before + raw + b":and more").decode(), known)
            assert "[redacted configured secret]" in shown
    assert not has_nothing_to_hide(json.dumps({"a": base64.b64encode(b"u:" + raw).decode()}).encode(), known)


ODD = "k/y+ \u00f6\U0001f511=/77"
SOME_ESCAPED = [
    ODD.replace("/", "\\/"),
    json.dumps(ODD).replace("/", "\\/"),
    json.dumps(json.dumps(ODD).replace("/", "\\/")).replace("/", "\\/"),
    "".join(f"\\u{ord(char):04x}" if char.isascii() else char for char in ODD),
    ODD.replace("k", "\\u006B"),
    json.dumps(ODD.replace("k", "\\u006B")),
    ODD.replace("+", "%2B"),
    quote(ODD, safe="=/"),
    quote(ODD, safe="+").replace("%20", "+"),
    quote(quote(ODD, safe="=")),
    "".join(f"%{byte:02x}" for byte in ODD.encode()),
    "\\ud83d\\ude00%zz" + ODD.replace("=", "%3d"),
]


@pytest.mark.parametrize("written", SOME_ESCAPED)
@pytest.mark.parametrize("around", ["{}", "\u00e9%20 {} \\/ %C3%A9 {}.", "%0A{}%0A"])
def test_a_known_value_is_hidden_whichever_of_its_letters_are_escaped(written: str, around: str) -> None:
    known = KnownSecrets([ODD])
    text = around.replace("{}", written)

    shown = redact_text(text, known)

    assert "77" not in shown
    assert shown.startswith(around.partition("{")[0])
    assert shown.endswith(around.rpartition("}")[2])
    assert redact_text(shown, known) == shown
    assert not has_nothing_to_hide(msgspec.json.encode({"a": text}), known)
    assert not has_nothing_to_hide(json.dumps({"a": text}).replace("/", "\\/").encode(), known)


@pytest.mark.parametrize("text", ["100%25 \\u00e9t\\u00e9 \\ud800", "k%2Fy%2B and \\/ no more", "plain \ud800 \\u0041"])
def test_escapes_of_anything_else_stay_as_they_are(text: str) -> None:
    known = KnownSecrets([ODD, "k/y+ and something else"])

    assert redact_text(text, known) == text


def test_a_known_value_is_hidden_in_every_key_and_text_of_a_value() -> None:
    assert redact({"swordfish": ["a swordfish", 1], "b": "short"}, KNOWN) == {
        "[redacted configured secret]": ["a [redacted configured secret]", 1],
        "b": "short",
    }


def test_of_a_known_value_that_begins_with_another_one_nothing_is_left() -> None:
    assert redact_text("swordfish-2", KNOWN) == "[redacted configured secret]"


# Marks ----------------------------------------------------------------------------------------------------------
ALIKE = st.lists(st.text("ab", min_size=6, max_size=16), min_size=1, max_size=4)


@given(ALIKE, st.text("abé\ud800", max_size=80))
def test_of_values_that_are_alike_as_much_is_hidden_as_if_each_was_tried_at_every_place(
    values: list[str], text: str
) -> None:
    longest_first = "|".join(sorted(values, key=len, reverse=True))
    hidden = re.sub(longest_first, "[redacted configured secret]", text)

    # Half a letter is kept as it is only where nothing was hidden.
    assert KnownSecrets(values).hide(text) == (text if hidden == text else hidden.replace("\ud800", "?"))


@pytest.mark.parametrize("value", ["aaaaaaaaaaaaaab", "aaaaaaaaaaaaaab" + "\ud800"])
def test_a_value_that_only_seems_to_begin_sooner_is_hidden_where_it_does(value: str) -> None:
    assert KnownSecrets([value]).hide(f"aaaaaa{value.encode('utf-8', 'replace').decode()}.") == (
        "aaaaaa[redacted configured secret]."
    )


KEYED, ELSEWHERE = KnownSecrets(["of-the-operator-7"], b"k" * 32), KnownSecrets((), b"other" * 4)
BODY = MADE["github"].text
MARK = re.compile(r"\[redacted ([0-9a-f]{8}) ")


def mark_of(text: str, known: KnownSecrets = KEYED) -> str:
    (mark,) = MARK.findall(redact_text(text, known))
    return mark


@pytest.mark.parametrize(
    "text",
    [
        f"see {BODY} there",
        f"Authorization: Bearer {BODY}",
        f"bearer {BODY}",
        f"password={BODY}&x=1",
        f'token: "{BODY}"',
        f"--token {BODY}",
        f"https://x:{BODY}@host/",
        f"<token>{BODY}</token>",
        json.dumps({"password": BODY}),
        json.dumps({"deep": [json.dumps({"note": BODY})]}),
    ],
)
def test_one_secret_has_one_mark_however_it_is_written(text: str) -> None:
    assert mark_of(text) == mark_of(BODY)


def test_two_secrets_have_two_marks_and_two_keys_give_two_marks_to_one() -> None:
    assert mark_of(BODY) != mark_of(BODY[:-1])
    assert mark_of(BODY) != mark_of(BODY, ELSEWHERE)


def test_without_a_key_there_is_no_mark() -> None:
    assert redact_text(BODY) == "[redacted github]"


def test_a_configured_secret_has_a_mark_too() -> None:
    assert MARK.sub("[redacted ", redact_text('say "of-the-operator-7"', KEYED)) == 'say "[redacted configured secret]"'
    assert mark_of("of-the-operator-7") == mark_of('{"a": "of-the-operator-7"}')


@pytest.mark.parametrize("secret", ["hunter2", "1234", "correct-horse", "a" * 40, "abcabcabcabcabcabc"])
def test_what_could_be_guessed_has_no_mark(secret: str) -> None:
    shown = redact({"password": secret, "text": f"password={secret}"}, KEYED)

    assert secret not in str(shown)
    assert not MARK.findall(str(shown))


@given(st.lists(st.sampled_from([*MADE.values()]).map(lambda each: each.text), max_size=6).map(" ".join))
def test_with_marks_redacting_twice_is_the_same_as_once(text: str) -> None:
    value: Json = {"password": text, "note": text, "inside": json.dumps({"token": [text]})}

    once = redact(value, KEYED)

    assert redact(once, KEYED) == once
    assert redact(once, ELSEWHERE) == once


def test_where_names_only_describe_they_hide_nothing_and_texts_are_looked_at() -> None:
    schema: Json = {"password": {"type": "string", "examples": [BODY, 7, None]}, BODY: True}

    shown = redact_texts(schema, KEYED)

    assert isinstance(shown, dict)
    assert shown["password"] == {"type": "string", "examples": [redact_text(BODY, KEYED), 7, None]}
    assert BODY not in str(shown)


# Twice is once --------------------------------------------------------------------------------------------------
PIECES = [
    *(*SECRETS.values(), *NAMED.values()),
    *('"', "'", "\\", "\\\\", "\\n", "\n", "{", "}", "[", "]", ":", ",", "=", "=>", ";", "&", " "),
    *("password", "--token", "auth", "Cookie", "Bearer ", '"password": "', '\\"token\\": \\"', "[redacted value]"),
    *("hunter2", "1234", "null", "\ud800", "\u200b", "\\u200b", "\\u0061", "\uff50", "\uff1a", "пароль", "@", "/"),
    *(
        "IDENTIFIED BY '",
        "curl -u a:",
        "mysql -p",
        '"name": "token", "value": "',
        "define('",
        '[["Cookie", "',
        "https://",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.integers(0, 2))
def test_redacting_twice_is_the_same_as_once(text: str, levels: int) -> None:
    for _ in range(levels):
        text = json.dumps({"a": text, "password": [text]})

    once = redact_text(text)

    assert redact_text(once) == once
    assert redact(redact({"token": text, text: [text]})) == redact({"token": text, text: [text]})


# One look ---------------------------------------------------------------------------------------------------------
PARTS = [
    *("basic", "Basic ", "sig=", "https://", "hooks.slack.com/services", "/", "user", ":", "@", "eyJ", ".", "AKIA"),
    *(
        "sk-",
        "ghp_",
        "npm_",
        "hvs.",
        "SG.",
        "12345678",
        ":AA",
        "il_",
        "_",
        "-----BEGIN A",
        "abcdefghijklmnopqrstuvwxyz",
    ),
    *("ABCDEFGHIJKLMNOP", *"\t\n\r\b\f\x01\x7f\u2028\\/\"'{}[]", "a1B2c3D4e5F6g7H8i9J0", "LS0tLS1CRUdJTiBQUklWQVRF"),
    *(
        "identified",
        "by",
        " ",
        "curl",
        "-u",
        "mysql",
        "-p",
        "\uff50",
        "\uff41\uff53\uff53=",
        "密",
        "码",
        "senh",
        "a",
        "=",
    ),
]


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join), st.integers(0, 2))
def test_what_one_look_lets_pass_has_nothing_to_hide(text: str, levels: int) -> None:
    for _ in range(levels):
        text = json.dumps({"a": text}, ensure_ascii=False)
    value: dict[str, Json] = {"content": text, text: [text]}

    assert not has_nothing_to_hide(msgspec.json.encode(value)) or redact(value) == value


@pytest.mark.parametrize("secret", [*SECRETS.values(), *NAMED.values()], ids=[*SECRETS, *NAMED])
@pytest.mark.parametrize("around", ["{}", "before {} after", '"{}"', "x\n{}\ny", "é {} ü", "\t{}\b"])
def test_one_look_sees_every_secret(secret: str, around: str) -> None:
    assert not has_nothing_to_hide(msgspec.json.encode({"content": around.replace("{}", secret)}))


def test_one_look_sees_the_values_that_are_known() -> None:
    quoted = 'open "sesame"'

    assert not has_nothing_to_hide(msgspec.json.encode({"a": f"said {quoted}"}), KnownSecrets([quoted]))
    assert not has_nothing_to_hide(msgspec.json.encode({"a": json.dumps([quoted])}), KnownSecrets([quoted]))
    assert has_nothing_to_hide(msgspec.json.encode({"a": "open"}), KnownSecrets([quoted]))
    assert has_nothing_to_hide(msgspec.json.encode({"a": f"said {quoted}"}), KnownSecrets())


def _slashes_escaped(text: str) -> str:
    """JSON as several languages write it by default."""
    return json.dumps({"text": text}).replace("/", "\\/")


@pytest.mark.parametrize(
    "text",
    ["see http://bob:hunter22@db", "https://hooks.slack.com/services/T0/B0/XXXX", "?sig=abcdefgh/ijklmnop/qrstuvwx"],
)
@pytest.mark.parametrize("levels", [1, 2])
def test_one_look_sees_a_secret_between_escaped_slashes(text: str, levels: int) -> None:
    for _ in range(levels):
        text = _slashes_escaped(text)

    assert redact_text(text) != text
    assert not has_nothing_to_hide(msgspec.json.encode({"content": text}))


@pytest.mark.parametrize(
    "key", ["s_s_n", "S.S.N.", "P I N", "o\nt\np", "tok\u200ben", "c\u017fv\u212av", 'p"i"n', "to[redacted value]ken"]
)
def test_one_look_sees_a_secret_name_that_is_taken_apart(key: str) -> None:
    inside: dict[str, Json] = {key: "123-45-6789"}

    assert redact(inside) != inside
    for each in (inside, {"content": json.dumps(inside, ensure_ascii=False)}):
        assert not has_nothing_to_hide(msgspec.json.encode(each))


@pytest.mark.parametrize("value", ['open "sesame"', "open\\sesame", "open\nsesame", "öpen sesame"])
@pytest.mark.parametrize("levels", range(3))
def test_one_look_sees_a_known_value_wherever_redacting_does(value: str, levels: int) -> None:
    known, text = KnownSecrets([value]), value
    for _ in range(levels):
        text = json.dumps([text], ensure_ascii=False)

    assert redact_text(text, known) != text
    assert not has_nothing_to_hide(msgspec.json.encode({"content": text}), known)
