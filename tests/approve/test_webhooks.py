"""One attempt to post a notice: what the receiver gets, and what is made of its answer."""

import asyncio
import base64
import hashlib
import hmac
import logging
import socket
from pathlib import Path

import pytest

from interlock.approve.outbox import Attempt, Fate
from interlock.approve.webhooks import LONGEST_WAIT, Receiver, Webhook, key_of, seconds_of, signature
from tests.approve.receiving import BROKEN, MESSAGE, OK, PATH, SECONDS, answer, receiver, silent, url_of
from tests.certificates import self_signed, serving
from tests.fakes import FakeClock
from tests.forward.raw_server import Peer, RawServer, head

NOW = 1_790_000_000_000_000
KEY = bytes(range(24))
SECRET = "whsec_" + base64.b64encode(KEY).decode()


def to(url: str, secret: str | None = None, seconds: float = SECONDS) -> Receiver:
    return Receiver(Webhook(url, secret), FakeClock(NOW), (), seconds)


async def sent(url: str, secret: str | None = None) -> Attempt:
    async with asyncio.timeout(SECONDS):
        return await to(url, secret).send(MESSAGE)


# What the receiver gets -----------------------------------------------------------------------------------------


def test_a_signature_is_what_a_receiver_computes_by_hand() -> None:
    signed = signature(KEY, "msg_1", 1_790_000_000, b'{"a":1}')
    by_hand = hmac.new(KEY, b'msg_1.1790000000.{"a":1}', hashlib.sha256)

    assert signed == "v1," + base64.b64encode(by_hand.digest()).decode()


def test_a_signature_is_the_one_that_the_specification_s_own_libraries_expect() -> None:
    key = key_of("whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}')

    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    ("secret", "key"), [(SECRET, KEY), ("plain words", b"plain words"), ("größe", "größe".encode())]
)
def test_a_secret_is_base64_behind_its_prefix_and_plain_text_otherwise(secret: str, key: bytes) -> None:
    assert key_of(secret) == key


@pytest.mark.parametrize(
    ("secret", "problem"),
    [
        ("whsec_sword-fish", "begins with whsec_, but is no base64 after that"),
        ("whsec_a", "begins with whsec_, but is no base64 after that"),
        ("whsec_", "is empty"),
        ("", "is empty"),
    ],
)
def test_a_secret_without_a_key_in_it_is_refused_without_being_repeated(secret: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{problem}$"):
        key_of(secret)


async def test_the_request_has_the_headers_of_the_specification_and_the_body_as_it_was_signed() -> None:
    async with receiver(OK) as server:
        attempt = await sent(url_of(server), SECRET)
        (got,) = server.received

    assert attempt == Attempt(Fate.TAKEN, "204")
    assert got.line == f"POST {PATH} HTTP/1.1"
    assert got.body == MESSAGE.body
    assert (got.field("webhook-id"), got.field("webhook-timestamp")) == ("msg_1", "1790000000")
    assert got.field("webhook-signature") == signature(KEY, "msg_1", 1_790_000_000, MESSAGE.body)
    assert got.field("content-type") == "application/json"


async def test_without_a_secret_there_is_no_signature() -> None:
    async with receiver(OK) as server:
        await sent(url_of(server))

    assert server.received[0].field("webhook-signature") is None
    assert server.received[0].field("webhook-id") == "msg_1"


async def test_a_name_and_a_password_in_the_address_are_sent_as_such_and_shown_nowhere() -> None:
    async with receiver(OK) as server:
        url = f"http://bob:s%40crat@127.0.0.1:{server.port}/"
        await sent(url)

    assert server.received[0].field("authorization") == "Basic " + base64.b64encode(b"bob:s@crat").decode()
    assert Webhook(url).shown == f"http://127.0.0.1:{server.port}"


async def test_nothing_of_the_environment_changes_where_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with receiver(OK) as server:
        assert (await sent(url_of(server))).fate is Fate.TAKEN


# What is shown --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example.com/T0/B0/swordfish?key=hunter2#more", "https://hooks.example.com"),
        ("https://bob:swordfish@Hooks.example.com:8443/x", "https://hooks.example.com:8443"),
        ("http://[::1]:9/swordfish", "http://[::1]:9"),
        ("https://host:swordfish/", "an address that cannot be read"),
    ],
)
def test_of_an_address_only_scheme_host_and_port_are_shown(url: str, shown: str) -> None:
    assert Webhook(url, "hunter2").shown == shown
    assert repr(Webhook(url, "hunter2")) == f"Webhook({shown})"


async def test_the_client_logs_nothing_of_the_address_at_any_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with receiver(OK) as server:
        await sent(url_of(server), "hunter3hunter3")

    assert not [each for each in ("swordfish", "hunter2", "hunter3") if each in caplog.text]


# What is made of the answer -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "attempt"),
    [
        (answer("200 OK"), Attempt(Fate.TAKEN, "200")),
        (answer("299 Fine"), Attempt(Fate.TAKEN, "299")),
        (answer("410 Gone"), Attempt(Fate.GONE, "410: the receiver wants no more notices")),
        (answer("404 Not Found"), Attempt(Fate.MISSED, "404")),
        (BROKEN, Attempt(Fate.MISSED, "500")),
        (answer("429 Slow Down"), Attempt(Fate.MISSED, "429")),
        (answer("429 Slow Down", "Retry-After: 7"), Attempt(Fate.MISSED, "429", 7.0)),
        (answer("503 Busy", "Retry-After: 9000"), Attempt(Fate.MISSED, "503", LONGEST_WAIT)),
        (answer("503 Busy", "Retry-After: soon"), Attempt(Fate.MISSED, "503")),
        (answer("500 No", "Retry-After: 7"), Attempt(Fate.MISSED, "500")),
    ],
)
async def test_the_status_decides(given: bytes, attempt: Attempt) -> None:
    async with receiver(given) as server:
        assert await sent(url_of(server)) == attempt


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("601", LONGEST_WAIT),
        ("9" * 5000, LONGEST_WAIT),
        ("Mon, 21 Sep 2026 14:13:50 GMT", 30.0),
        ("Mon, 21 Sep 2026 14:13:50 -0000", 30.0),
        ("Mon, 21 Sep 2020 14:13:50 GMT", 0.0),
        ("Mon, 21 Sep 2099 14:13:50 GMT", LONGEST_WAIT),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
        ("Mon, 99 Sep 2026 14:13:20 GMT", None),
        ("Mon, 21 Sep 99999999999999999999 14:13:20 GMT", None),
    ],
)
def test_how_long_a_receiver_can_have_us_wait_is_bounded(text: str, seconds: float | None) -> None:
    assert seconds_of(text, NOW) == seconds


async def test_a_redirect_is_not_followed() -> None:
    async with receiver(OK) as other, receiver(answer("307 There", f"Location: {url_of(other)}")) as server:
        attempt = await sent(url_of(server))

    assert attempt == Attempt(Fate.MISSED, "307: redirects are not followed")
    assert other.received == []


async def test_a_cookie_is_not_brought_back() -> None:
    async with receiver(answer("200 OK", "Set-Cookie: a=b")) as server:
        target = to(url_of(server))
        await target.send(MESSAGE)
        await target.send(MESSAGE)

    assert [each.field("cookie") for each in server.received] == [None, None]


async def test_an_answer_without_end_is_not_read() -> None:
    sent_bytes = 0

    async def script(peer: Peer) -> None:
        nonlocal sent_bytes
        await peer.request()
        await peer.send(head("200 OK", "Transfer-Encoding: chunked"))
        while True:
            await peer.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent_bytes += 65536

    async with RawServer(script) as server:
        assert (await sent(url_of(server))).fate is Fate.TAKEN

    assert sent_bytes < 32 * 1024 * 1024  # what the pipes between us hold, and not more


async def test_one_that_never_answers_is_left_after_a_while() -> None:
    async with asyncio.timeout(SECONDS), silent() as (server, asked):
        attempt = await to(url_of(server), seconds=0.2).send(MESSAGE)
        await asked.wait()

    assert attempt == Attempt(Fate.MISSED, "no answer within 0.2 s")


async def test_one_that_hangs_up_is_told_in_words_of_ours() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.reset()

    async with RawServer(script) as server:
        assert await sent(url_of(server)) == Attempt(Fate.MISSED, "the connection broke before an answer came")


async def test_one_that_is_not_there_is_told_in_words_of_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    assert await sent(f"http://127.0.0.1:{port}{PATH}") == Attempt(Fate.MISSED, "it cannot be reached")


@pytest.mark.parametrize(
    "url", ["https://host:99999/swordfish", "https://[::1/swordfish", "https://\u2603..x/swordfish"]
)
async def test_an_address_that_cannot_be_used_is_not_repeated(url: str) -> None:
    attempt = await sent(url)

    assert attempt.fate is Fate.MISSED
    assert "swordfish" not in attempt.detail


async def test_an_answer_that_is_no_http_is_a_failure() -> None:
    async with receiver(b"what?\r\n\r\n") as server:
        assert (await sent(url_of(server))).fate is Fate.MISSED


async def test_a_certificate_that_nobody_vouches_for_is_not_accepted(tmp_path: Path) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()

    async with RawServer(script, tls=serving(self_signed(tmp_path))) as server:
        attempt = await sent(f"https://127.0.0.1:{server.port}{PATH}")

    assert attempt == Attempt(Fate.MISSED, "its certificate is not trusted")
    assert server.received == []
