"""Server-sent events, in every shape and cut at every byte."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.forward.link import MAX_MESSAGE, BadMessage, TooLong
from interlock.forward.sse import MAX_LINES, EventStream


def read(*pieces: bytes) -> list[bytes]:
    events = EventStream()
    return [text for piece in pieces for text in events.feed(piece)]


SHAPES: dict[str, tuple[bytes, list[bytes]]] = {
    "LF": (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    "CR": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "all of them": (b"data: a\r\n\rdata: b\n\r\ndata: c\r\n\n", [b"a", b"b", b"c"]),
    "several lines": (b"data: a\ndata: b\ndata\ndata:\ndata:  c\n\n", [b"a\nb\n\n\n c"]),
    "no blank": (b"data:a\n\n", [b"a"]),
    "a colon in the data": (b"data: a: b\n\n", [b"a: b"]),
    "comments": (b": hello\n\n:\ndata: a\n: more\n\n", [b"a"]),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "a byte order mark later on": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a"]),
    "ids and hints": (b"id: 7\nretry: 10\ndata: a\n\n", [b"a"]),
    "an id to resume from": (b"id: 7\ndata:\n\n", []),
    "the event that messages have": (b"event: message\ndata: a\n\n", [b"a"]),
    "another event": (b"event: endpoint\ndata: /x\n\ndata: a\n\n", [b"a"]),
    "an unknown field": (b"dataset: x\nfoo\ndata: a\n\n", [b"a"]),
    "an end that is missing": (b"data: a\n\ndata: b\n", [b"a"]),
    "blank lines": (b"\n\n\r\n\r\rdata: a\n\n\n\n", [b"a"]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_an_event_has_many_shapes(name: str) -> None:
    text, messages = SHAPES[name]
    assert read(text) == messages


@pytest.mark.parametrize("name", SHAPES)
def test_the_pieces_do_not_matter(name: str) -> None:
    text, messages = SHAPES[name]
    for cut in range(len(text) + 1):
        assert read(text[:cut], text[cut:]) == messages
    assert read(*(text[at : at + 1] for at in range(len(text)))) == messages


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_any_bytes_mean_the_same_in_any_pieces(text: bytes, cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(text)]
    assert read(*(text[start:end] for start, end in pairwise(ends))) == read(text)


@given(st.lists(st.binary(min_size=1, max_size=20).filter(lambda data: not set(data) & set(b"\r\n")), max_size=5))
def test_what_is_written_is_read(messages: list[bytes]) -> None:
    assert read(b"".join(b"data: " + message + b"\n\n" for message in messages)) == messages


def test_the_longest_message_is_taken() -> None:
    message = b"x" * MAX_MESSAGE
    assert read(b"data: " + message + b"\r\n\r\n") == [message]


@pytest.mark.parametrize(
    ("pieces", "is_answer"),
    [
        ([b"data: " + b"x" * (MAX_MESSAGE + 1) + b"\n\n"], True),
        ([b"data: " + b"x" * 65536, *[b"x" * 65536] * 65], True),
        ([b"data: " + b"x" * (MAX_MESSAGE // 2) + b"\n"] * 3, True),
        ([b"x" * 65536] * 65, False),
        ([b": " + b"x" * 65536] * 65, False),
    ],
    ids=["a message", "a message in pieces", "several lines", "no end of line", "a comment"],
)
def test_an_event_that_is_too_long_is_refused(pieces: list[bytes], is_answer: bool) -> None:
    with pytest.raises(BadMessage, match=r"too long|longer than") as refused:
        read(*pieces)

    assert isinstance(refused.value, TooLong) == is_answer


@pytest.mark.parametrize("line", [b"\n", b":\r", b"data\r\n", b"data: x\n\n"])
def test_a_stream_of_very_many_lines_is_refused(line: bytes) -> None:
    with pytest.raises(BadMessage, match="too many lines"):
        read(*[line * 1000] * (MAX_LINES // 1000 + 1))
