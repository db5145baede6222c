"""What a seal says, and what is none."""

import pytest

from interlock.store.audit.seal import Seal, SealKind, line_of, read_line, seal_of, statement

TEXT = statement(SealKind.CHECKPOINT, "c1", 7, b"\xab" * 32, 99)


def test_the_signed_text_never_changes_between_versions() -> None:
    assert TEXT == (
        '{"at":99,"chain":"c1","form":"interlock-seal-v1","hash":"' + "ab" * 32 + '","kind":"checkpoint","seq":7}'
    )


def test_a_text_is_what_it_says() -> None:
    seal = seal_of(TEXT, "k", b"s")

    assert seal == Seal(SealKind.CHECKPOINT, "c1", 7, 99, b"\xab" * 32, TEXT, "k", b"s")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        TEXT.replace("v1", "v2"),
        TEXT.replace("checkpoint", "other"),
        TEXT.replace('"seq":7', '"seq":7,"more":1'),
        TEXT.replace('"seq":7', '"seq": 7'),
        TEXT.replace('"seq":7', '"seq":7.0'),
        TEXT.replace("ab", "AB", 1),
        TEXT.replace("ab", "zz", 1),
        "\ud800",
    ],
)
def test_whatever_else_stands_there_is_no_seal(text: str) -> None:
    with pytest.raises(ValueError, match="no seal"):
        seal_of(text, "k", b"s")


def test_a_seal_goes_into_a_line_and_comes_out_as_it_was() -> None:
    seal = seal_of(TEXT, "k", b"\0\xff")

    assert read_line(line_of(seal).encode()) == seal
    assert "\n" not in line_of(seal)


@pytest.mark.parametrize("line", [b"", b"null", b"{}", b"\xff", b'{"seal":"x","key":"k","signature":"zz"}'])
def test_a_line_that_is_no_seal_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"no seal|hexadecimal"):
        read_line(line)
