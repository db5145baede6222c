"""What came back of a call, for a terminal. Whole calls are tested with `interlock call`."""

from typing import Any

import pytest

from interlock.cli.calling import name_of, print_result, shown_size


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ({"type": "image", "mimeType": "image/png", "data": "AAAA" * 4000}, "[image image/png, 12 kB]"),
        ({"type": "audio", "mimeType": "audio/wav", "data": "AAA="}, "[audio audio/wav, 2 bytes]"),
        ({"type": "image", "data": ""}, "[image, 0 bytes]"),
        (
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
            "[resource_link file:///a text/plain]",
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "ü" * 600}},
            "[resource file:///a text/plain, 1 kB]",
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA"}},
            "[resource file:///b, 3 bytes]",
        ),
        ({"type": "hologram", "data": 5}, "[hologram]"),
        ({"type": "text", "text": 5}, "[text]"),
        ({"type": 5}, "[content of no kind]"),
        ({}, "[content of no kind]"),
        ("words", "[no content]"),
        (None, "[no content]"),
    ],
)
def test_what_is_no_text_is_named(block: Any, name: str) -> None:
    assert name_of(block) == name


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (12_345, "12 kB"),
        (1_000_000, "1.0 MB"),
        (25_300_000, "25.3 MB"),
    ],
)
def test_sizes_are_told_as_people_say_them(size: int, shown: str) -> None:
    assert shown_size(size) == shown


@pytest.mark.parametrize(
    ("result", "exit_code", "out"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b\n"}]}, 0, "a\nb\n"),
        ({"content": [{"type": "text", "text": ""}]}, 0, "\n"),
        ({"content": []}, 0, ""),
        ({}, 0, ""),
        ({"content": "x"}, 0, ""),
        ({"content": [], "structuredContent": {"sum": 3}}, 0, '{\n  "sum": 3\n}\n'),
        ({"content": [{"type": "text", "text": "3"}], "structuredContent": {"sum": 3}}, 0, "3\n"),
        ({"content": [{"type": "image\x1b[2J"}]}, 0, "[image<U+001B>[2J]\n"),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, 5, "no\n"),
        ({"content": [{"type": "text", "text": "yes"}], "isError": "true"}, 0, "yes\n"),
    ],
)
def test_a_result_is_its_texts(
    capsys: pytest.CaptureFixture[str], result: dict[str, Any], exit_code: int, out: str
) -> None:
    assert print_result(result, as_json=False) == exit_code
    assert capsys.readouterr().out == out
