"""HTTP/1.1 as bytes: addresses, header lines, answers."""

import pytest

from interlock.forward.http1 import MAX_FIELDS, MAX_HEAD, Address, AnswerParser, field_line, parse_address
from interlock.forward.link import BadMessage

# Addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "authority", "target"),
    [
        ("http://example.org/mcp", "example.org", 80, False, "example.org", "/mcp"),
        ("https://example.org", "example.org", 443, True, "example.org", "/"),
        ("http://example.org:8080/a/b?c=d&e", "example.org", 8080, False, "example.org:8080", "/a/b?c=d&e"),
        ("https://example.org:443/", "example.org", 443, True, "example.org", "/"),
        ("http://example.org:443/", "example.org", 443, False, "example.org:443", "/"),
        ("http://127.0.0.1:1/x", "127.0.0.1", 1, False, "127.0.0.1:1", "/x"),
        ("http://[::1]/mcp", "::1", 80, False, "[::1]", "/mcp"),
        ("https://[2001:db8::1]:8443/mcp", "2001:db8::1", 8443, True, "[2001:db8::1]:8443", "/mcp"),
        ("HTTP://EXAMPLE.org/A%20b", "example.org", 80, False, "example.org", "/A%20b"),
        ("http://example.org/a#fragment", "example.org", 80, False, "example.org", "/a"),
        ("http://example.org?a=b", "example.org", 80, False, "example.org", "/?a=b"),
    ],
)
def test_a_url_is_taken_apart(url: str, host: str, port: int, tls: bool, authority: str, target: str) -> None:
    assert parse_address(url) == Address(host, port, tls, authority, target)


def test_the_origin_is_for_people_and_holds_no_secret() -> None:
    assert parse_address("https://example.org:8443/a?key=secret").origin == "https://example.org:8443"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "//example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://user@example.org/",
        "http://user:secret@example.org/",
        "http://:secret@example.org/",
        "http://example.org:port/",
        "http://example.org:99999/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://exa mple.org/",
        "http://example.org/a b",
        "http://example.org/\r\nX-Evil: 1",
        "http://example.org/\x00",
        "http://exämple.org/",
        "http://example.org/ä",
        " http://example.org/",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_address(url)
    assert "secret" not in str(refused.value)


# Header lines ---------------------------------------------------------------------------------------------------


def test_a_header_line_is_a_name_and_a_value() -> None:
    assert field_line("Authorization", "Bearer a b~!") == b"Authorization: Bearer a b~!\r\n"


@pytest.mark.parametrize(
    "value", ["", " ", " a", "a ", "a\r\nX: 1", "a\n", "\na", "a\rb", "a\x00", "a\x7f", "a\tb", "ä"]
)
def test_a_value_cannot_leave_its_line(value: str) -> None:
    with pytest.raises(ValueError, match="the value of header X-Key") as refused:
        field_line("X-Key", value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\n", "a\n", "ä", "(a)"])
def test_a_name_is_a_token(name: str) -> None:
    with pytest.raises(ValueError, match="a header name"):
        field_line(name, "x")


# Answers --------------------------------------------------------------------------------------------------------


def read(*pieces: bytes) -> tuple[AnswerParser, bytes]:
    parser = AnswerParser()
    body = b""
    for piece in pieces:
        body += parser.feed(piece)
        if parser.problem:
            raise BadMessage(parser.problem)
    return parser, body


ANSWERS = {
    "with a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc", True),
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n2;x=y\r\nbc\r\n0\r\n\r\n",
        200,
        b"abc",
        True,
    ),
    "without a body": (b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 202, b"", True),
    "without even a length": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    "without a reason": (b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
    "that closes": (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
    "of old": (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
    "of old that stays": (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
    "after hints": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        b"HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\na",
        201,
        b"a",
        True,
    ),
    "with an empty header": (
        b"HTTP/1.1 200 OK\r\nX-Empty:\r\nX-Blank: \r\nContent-Length: 1\r\n\r\na",
        200,
        b"a",
        True,
    ),
    "with a second answer behind it": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb",
        200,
        b"a",
        False,
    ),
    "with garbage behind it": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na#!", 200, b"a", False),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer(name: str) -> None:
    text, status, body, reusable = ANSWERS[name]
    parser, read_body = read(text)

    assert parser.head is not None
    assert (parser.head.status, read_body, parser.complete, parser.reusable) == (status, body, True, reusable)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_in_any_two_pieces(name: str) -> None:
    text, status, body, reusable = ANSWERS[name]
    for cut in range(1, len(text)):
        parser, read_body = read(text[:cut], text[cut:])
        assert parser.head is not None
        assert (parser.head.status, read_body, parser.complete, parser.reusable) == (status, body, True, reusable)


def test_headers_have_lower_case_names_and_keep_their_values() -> None:
    parser, _ = read(b"HTTP/1.1 200 OK\r\nContent-TYPE: Text/HTML; a=b\r\nX-Empty:\r\nVary: a\r\nvary: b\r\n\r\n")

    assert parser.head is not None
    assert parser.head.fields == {b"content-type": b"Text/HTML; a=b", b"x-empty": b"", b"vary": b"a, b"}
    assert parser.head.field(b"absent") == ""


def test_what_follows_the_body_changes_nothing() -> None:
    parser, body = read(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nMcp-Session-Id: x\r\nX-A: b\r\n\r\n"
    )

    assert parser.head is not None
    assert parser.head.fields == {b"transfer-encoding": b"chunked"}
    assert (body, parser.complete, parser.reusable) == (b"a", True, True)


def test_one_answer_after_the_other() -> None:
    parser = AnswerParser()
    for number in range(3):
        parser.begin()
        body = parser.feed(b"HTTP/1.1 200 OK\r\nX-N: %d\r\nContent-Length: 1\r\n\r\n%d" % (number, number))
        assert parser.head is not None
        assert (body, parser.head.field(b"x-n"), parser.complete) == (b"%d" % number, str(number), True)


@pytest.mark.parametrize(
    ("text", "until_close"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nabc", True),
        (b"HTTP/1.0 200 OK\r\nContent-Type: a/b\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", False),
        (b"HTTP/1.1 200 OK\r\nContent", False),
    ],
)
def test_whether_an_answer_ends_with_its_connection(text: bytes, until_close: bool) -> None:
    assert read(text)[0].until_close is until_close


REFUSED = {
    "not HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "garbage": b"\x00\x01\x02\x03",
    "JSON": b'{"jsonrpc":"2.0","id":1,"result":{}}',
    "a request": b"POST /mcp HTTP/1.1\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "a status of no kind": b"HTTP/1.1 099 Odd\r\n\r\n",
    "a long status": b"HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/2": b"HTTP/2.0 200 OK\r\n\r\n",
    "a future HTTP": b"HTTP/1.9 200 OK\r\n\r\n",
    "bare line feeds": b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "a folded header": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    "a blank before the colon": b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
    "a control character": b"HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "a length of no end": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "a length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "another coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "chunks twice": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "a chunk longer than it says": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
    "compressed": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\na",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    "another protocol, unsaid": b"HTTP/1.1 101 Switching Protocols\r\n\r\nabc",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * (MAX_FIELDS + 1) + b"\r\n",
    "a long header": b"HTTP/1.1 200 OK\r\nA: " + b"b" * MAX_HEAD + b"\r\n\r\n",
    "a long header before a body": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nA: " + b"b" * MAX_HEAD + b"\r\n\r\nabc",
    "many headers behind the body": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * MAX_FIELDS + b"\r\n"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_anything_else_is_refused(name: str) -> None:
    with pytest.raises(BadMessage):
        read(REFUSED[name])


def test_what_came_before_a_problem_still_counts() -> None:
    parser = AnswerParser()
    body = parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nxyz")

    assert (body, parser.complete) == (b"abc", False)
    assert "Invalid character in chunk size" in parser.problem


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"HTTP/1.1 200 ", b"O" * 1000),
        (b"HTTP/1.1 200 OK\r\nA", b"a" * 1000),
        (b"HTTP/1.1 200 OK\r\nA: ", b"b" * 1000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 10),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x" * 1000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ", b"b" * 1000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA", b"a" * 1000),
    ],
    ids=["reason", "name", "value", "hints", "chunk extension", "trailer", "trailer name"],
)
def test_framing_that_never_ends_is_refused(start: bytes, more: bytes) -> None:
    pieces = [start, *[more] * (MAX_HEAD // len(more) + 2)]
    with pytest.raises(BadMessage):
        read(*pieces)


def test_a_long_stream_of_small_pieces_is_no_long_head() -> None:
    parser = AnswerParser()
    parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert sum(len(parser.feed(b"1\r\na\r\n")) for _ in range(MAX_HEAD)) == MAX_HEAD
