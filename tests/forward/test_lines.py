"""Lines, cut from pieces; what becomes of those that are too long is seen in the tests of the link."""

from interlock.forward.lines import Lines
from interlock.forward.link import MAX_MESSAGE


def test_lines_are_cut_wherever_the_pieces_end() -> None:
    text = b"one\n\ntwo\r\nthree\nfour"
    for size in range(1, len(text) + 1):
        lines = Lines()
        for start in range(0, len(text), size):
            lines.feed(text[start : start + size])

        assert [lines.next() for _ in range(5)] == [b"one", b"", b"two\r", b"three", None]


def test_there_is_a_line_only_when_it_is_whole() -> None:
    lines = Lines()
    lines.feed(b"on")
    before = bool(lines)
    lines.feed(b"e\n")

    assert not before
    assert lines


def test_a_line_that_is_too_long_is_passed_over_and_the_next_one_is_not() -> None:
    lines = Lines()
    lines.feed(b'{"jsonrpc":"2.0","id":7,"result":"')
    for _ in range(MAX_MESSAGE // 65_536 + 1):
        lines.feed(b"x" * 65_536)
    passing = lines.passing is not None
    lines.feed(b'"}\nnext\n')

    assert passing
    assert lines.passing is None
    assert [lines.next(), lines.next()] == [b"next", None]
