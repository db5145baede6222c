"""What is read as one word is one, whatever its letters are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.redact import redact_text
from interlock.core.secret_letters import plain

NEEDLE = "w8Rk2pLq77"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("plain", "plain"),
        ("caf\u00e9 \\n", "caf\u00e9 \\n"),
        ("\uff30\uff41\uff53\uff53\uff1d\uff11", "Pass=1"),
        ("pass\u200bword", "password"),
        ("p\\u0061ss\\\\u200bword", "password"),
        ("\\uFF50\\u043f", "p\u043f"),
        ("\\u0022 \\u005c \\ud83d \\u12", "\\u0022 \\u005c \\ud83d \\u12"),
        ("\uff02\uff3c", "\uff02\uff3c"),
    ],
)
def test_a_text_is_read_as_it_is_meant(text: str, read: str) -> None:
    assert plain(text) == read


@given(
    st.lists(st.sampled_from(["\\", "u", "0061", "200b", "005c", "\u200b", "\uff55", "\uff10", "a", "\\u"])).map(
        "".join
    )
)
def test_what_is_plain_stays_plain(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@pytest.mark.parametrize(
    "name", ["pass\u200bword", "p\u0430ssword".replace("\u0430", "\uff41"), "\u043f\u0430\u0440\u043e\u043b\u044c"]
)
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("around", ["{}", "found: {}", "{}\n{}", "[1, {}, "])
def test_other_letters_hide_no_name_in_json_whether_or_not_it_can_be_decoded(
    name: str, escaped: bool, around: str
) -> None:
    text = around.replace("{}", json.dumps({name: NEEDLE}, ensure_ascii=escaped))

    for each in (text, json.dumps([{"type": "text", "text": text}], ensure_ascii=escaped)):
        for cut in (each, each[:-2]):
            shown = redact_text(cut)
            assert NEEDLE not in shown
            assert redact_text(shown) == shown


def test_a_text_without_a_secret_keeps_its_letters() -> None:
    text = "\uff21\uff22\uff23 \\u0061 \u200b"

    assert redact_text(text) == text
