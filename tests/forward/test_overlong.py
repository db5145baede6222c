"""Whom a line concerns that is too long to be taken, and when nobody can tell."""

import pytest

from interlock.forward.link import BadMessage
from interlock.forward.overlong import MAX_PASSED, Overlong

LONG = b"x" * 5_000
"""Long enough that the middle of a line is never looked at."""


def passed(line: bytes, size: int = 1_000) -> Overlong:
    """A line that has passed by in pieces of this size."""
    overlong = Overlong(line[:size])
    for start in range(size, len(line), size):
        overlong.go_on(line[start : start + size])
    overlong.end()
    return overlong


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":"', b'"}'),
        (b'{"jsonrpc": "2.0", "id": 7, "error": {"message": "', b'"}}\r'),
        (b'{"id":7,"jsonrpc":"2.0","result":"', b'","more":{"id":8}}'),
        (b' { "id" : 7 , "result" : "', b'" , "jsonrpc" : "2.0" } '),
        (b'{"result":"', b'","jsonrpc":"2.0","id":7}'),
        (b'{"jsonrpc":"2.0","result":"', b'","id":7}\r'),
        (b'{"error":{"id":9,"message":"', b'"}, "id": 7, "jsonrpc": "2.0"}'),
        (b'{"jsonrpc":"2.0","result":{"id":9,"text":"', b'","list":[{"id":8}]},"id":7}'),
    ],
    ids=lambda part: part.decode(),
)
@pytest.mark.parametrize("size", [300, 1_000, 10_000])
def test_the_id_is_read_where_answers_have_it(head: bytes, tail: bytes, size: int) -> None:
    assert passed(head + LONG + tail, size).id == b"7"


def test_an_id_at_the_beginning_is_known_at_once() -> None:
    assert Overlong(b'{"jsonrpc":"2.0","id":7,"result":"' + LONG).id == b"7"
    assert Overlong(b'{"result":"' + LONG).id is None


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="no message"),
        pytest.param(b'{"jsonrpc":"2.0","method":"notifications/message","params":"', id="a notification"),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":"', id="a question"),
        pytest.param(b'[{"jsonrpc":"2.0","id":7,"result":"', id="a batch"),
        pytest.param(b'{"jsonrpc":"2.0","id":"7","result":"', id="an id that is never ours"),
        pytest.param(b'{"other":1,"id":7,"result":"', id="an unusual beginning"),
        pytest.param(b'{"jsonrpc":"1.0","id":7,"result":"', id="another version"),
    ],
)
def test_what_does_not_begin_as_an_answer_is_refused_at_once(line: bytes) -> None:
    with pytest.raises(BadMessage, match="longer than"):
        Overlong(line + LONG)


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(b'"}', id="no id"),
        pytest.param(b'","other":{"id":7}}', id="the id of something inside"),
        pytest.param(b'","id":7', id="cut off"),
        pytest.param(b',\\"id\\":7}"}', id="inside of a text"),
        pytest.param(b'","id":7.0}', id="no whole number"),
        pytest.param(b'","id":"7"}', id="an id that is never ours"),
    ],
)
def test_an_answer_without_a_readable_id_is_refused_at_its_end(tail: bytes) -> None:
    with pytest.raises(BadMessage, match="longer than"):
        passed(b'{"result":"' + LONG + tail)


def test_a_line_that_goes_on_for_too_long_is_refused() -> None:
    overlong, piece = Overlong(b'{"id":7,"result":"'), b"x" * (1 << 20)
    for _ in range(MAX_PASSED // len(piece) - 1):
        overlong.go_on(piece)

    with pytest.raises(BadMessage, match=f"longer than {MAX_PASSED}"):
        overlong.go_on(piece)
