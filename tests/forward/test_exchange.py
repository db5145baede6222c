"""What the answer to a POST means."""

import pytest

from interlock.forward.envelope import Question
from interlock.forward.exchange import (
    MAX_NOTIFICATIONS,
    MAX_STREAM,
    Acceptance,
    Exchange,
    Overhearing,
    Refused,
    SessionGone,
)
from interlock.forward.http1 import Head
from interlock.forward.link import MAX_MESSAGE, Answer, BadMessage, LinkDown, Notification, RpcError, TooLong
from tests.forward.raw_server import error, events, result, told

ORIGIN = "http://example.org"


class Conversation:
    """An exchange for request 7, and what was said in it besides."""

    def __init__(self, *, session: str | None = None, listening: bool = False) -> None:
        self.progress: list[Notification] = []
        self.heard: list[Notification] = []
        self.asked: list[tuple[Question, str | None]] = []
        self.exchange = Exchange(
            ORIGIN,
            7,
            session,
            listener=self.progress.append if listening else None,
            heard=self.heard.append,
            asked=lambda question, session: self.asked.append((question, session)),
        )

    def take(self, status: int, kind: str, *pieces: bytes, **fields: str) -> Answer:
        """Let an answer come in; gives what it came to."""
        named = {name.replace("_", "-").encode(): value.encode("latin-1") for name, value in fields.items()}
        body = self.exchange.head(Head(status, {b"content-type": kind.encode(), **named}))
        if not any(body.take(piece) for piece in pieces):
            body.end()
        return self.exchange.answer


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/json ;x"])
def test_json_is_one_reply(kind: str) -> None:
    text = result(7, {"a": 1})
    assert Conversation().take(200, kind, text[:9], text[9:]) == Answer(b'{"a":1}')


def test_events_end_with_the_reply() -> None:
    conversation = Conversation()
    text = events(told("notifications/early", {"a": 1}), result(7, {"b": 2}), told("notifications/late"))

    assert conversation.take(200, "text/event-stream", text) == Answer(b'{"b":2}')
    assert conversation.heard == [Notification("notifications/early", b'{"a": 1}')]


def test_an_error_is_an_answer() -> None:
    assert Conversation().take(200, "application/json", error(7, -1, "no")) == Answer(error=RpcError(-1, "no"))


def test_progress_goes_to_whoever_listens_and_the_rest_to_all() -> None:
    conversation = Conversation(listening=True)
    mine = told("notifications/progress", {"progressToken": 7, "progress": 1})
    other = told("notifications/progress", {"progressToken": 8, "progress": 1})
    conversation.take(200, "text/event-stream", events(mine, other, told("notifications/else"), result(7)))

    assert conversation.progress == [Notification("notifications/progress", b'{"progress":1}')]
    assert [each.method for each in conversation.heard] == ["notifications/progress", "notifications/else"]


@pytest.mark.parametrize("listening", [True, False])
def test_a_log_message_is_for_whoever_listens_to_this_request_and_for_nobody_else(listening: bool) -> None:
    conversation = Conversation(listening=listening)
    conversation.take(200, "text/event-stream", events(told("notifications/message", {"level": "info"}), result(7)))

    assert conversation.heard == []
    assert [each.method for each in conversation.progress] == ["notifications/message"] * listening


def test_without_a_listener_progress_goes_to_all() -> None:
    conversation = Conversation()
    conversation.take(200, "text/event-stream", events(told("notifications/progress", {"progressToken": 7}), result(7)))

    assert conversation.heard == [Notification("notifications/progress", b'{"progressToken": 7}')]


def test_questions_are_passed_on_with_their_session() -> None:
    conversation = Conversation(session="s")
    conversation.take(200, "text/event-stream", events(b'{"jsonrpc":"2.0","id":"q","method":"roots/list"}', result(7)))

    assert conversation.asked == [(Question(b'"q"', "roots/list"), "s")]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("application/json", b""),
        ("application/json", result(8)),
        ("application/json", error(None)),
        ("application/json", result(7).replace(b"7", b'"7"')),
        ("application/json", result(7).replace(b"7", b"7.0")),
        ("application/json", b"[" + result(7) + b"]"),
        ("application/json", result(7) + result(7)),
        ("application/json", told("notifications/message")),
        ("application/json", b'{"jsonrpc":"2.0","id":7,"method":"ping"}'),
        ("application/json", b'{"jsonrpc":"2.0","id":7,"result":"\xff"}'),
        ("application/json", b"<html>"),
        ("text/event-stream", events(result(8))),
        ("text/event-stream", events(b"not json")),
        ("text/event-stream", events(b'{"jsonrpc":"2.0","id":7,"result":"\xff"}')),
        ("text/html", result(7)),
        ("application/json, text/html", result(7)),
        ("", result(7)),
    ],
)
def test_anything_but_the_reply_is_a_bad_message(kind: str, text: bytes) -> None:
    with pytest.raises(BadMessage):
        Conversation().take(200, kind, text)


@pytest.mark.parametrize("status", [201, 202, 204])
def test_a_request_is_not_answered_by_its_acceptance(status: int) -> None:
    with pytest.raises(BadMessage, match=f"answered with {status}"):
        Conversation().take(status, "")


def test_a_stream_that_ends_without_a_reply_is_a_link_that_went_down() -> None:
    with pytest.raises(LinkDown, match="ended the stream") as down:
        Conversation().take(200, "text/event-stream", events(told("notifications/message")))
    assert down.value.sent


# Limits ---------------------------------------------------------------------------------------------------------


def test_the_longest_answer_is_taken_and_one_byte_more_is_not() -> None:
    padding = MAX_MESSAGE - len(result(7, {"a": ""}))
    longest = result(7, {"a": "x" * padding})
    assert len(Conversation().take(200, "application/json", longest).result) > padding

    with pytest.raises(TooLong, match="longer than"):
        Conversation().take(200, "application/json", longest, b" ")


def test_only_so_much_may_be_told_and_asked_in_one_exchange() -> None:
    some = events(told("a"), b'{"jsonrpc":"2.0","id":1,"method":"b"}') * (MAX_NOTIFICATIONS // 2)
    assert Conversation().take(200, "text/event-stream", some, events(result(7))) == Answer(b"{}")

    with pytest.raises(BadMessage, match="too much"):
        Conversation().take(200, "text/event-stream", some, events(told("a"), result(7)))


def test_a_stream_does_not_go_on_for_ever() -> None:
    comment = b":" + b"x" * (MAX_MESSAGE // 2) + b"\n"
    with pytest.raises(BadMessage, match="an event stream is too long"):
        Conversation().take(200, "text/event-stream", *[comment] * (MAX_STREAM // len(comment) + 1))


# Refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 404, 405, 422, 500, 503])
def test_an_error_with_our_id_is_the_answer_whatever_the_status(status: int) -> None:
    assert Conversation().take(status, "application/json", error(7, -32601)) == Answer(error=RpcError(-32601, "no"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("application/json", error(8)),
        ("application/json", error("server-error")),
        ("application/json", error(None)),
        ("application/json", result(7)),
        ("application/json", b'{"detail":"no"}'),
        ("application/json", b""),
        ("text/html", error(7)),
        ("text/event-stream", events(error(7))),
        ("", b""),
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_without_one_the_status_is_a_refusal(status: int, kind: str, text: bytes) -> None:
    with pytest.raises(Refused, match=f"answered with HTTP status {status}") as refused:
        Conversation().take(status, kind, text)
    assert (refused.value.status, refused.value.sent) == (status, True)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (301, "redirects"),
        (307, "redirects"),
        (308, "redirects"),
        (304, "redirects"),
        (401, "credential"),
        (403, "does not let us in"),
    ],
)
def test_some_statuses_say_it_all(status: int, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence) as refused:
        Conversation().take(status, "application/json", error(7), location="http://evil.example/")
    assert "evil" not in refused.value.why


def test_404_in_a_session_means_that_the_session_is_gone() -> None:
    with pytest.raises(SessionGone) as gone:
        Conversation(session="s").take(404, "application/json", error(7))
    assert not gone.value.sent


def test_a_session_id_is_taken_from_the_head() -> None:
    conversation = Conversation()
    conversation.take(200, "application/json", result(7), mcp_session_id="1868a90c-!~")
    assert conversation.exchange.new_session() == "1868a90c-!~"


def test_there_need_not_be_a_session() -> None:
    conversation = Conversation()
    conversation.take(200, "application/json", result(7))
    assert conversation.exchange.new_session() is None


@pytest.mark.parametrize("session", ["a b", "a, b", "ä", "a\tb"])
def test_a_session_id_with_odd_characters_is_refused(session: str) -> None:
    conversation = Conversation()
    conversation.take(200, "application/json", result(7), mcp_session_id=session)
    with pytest.raises(BadMessage, match="session id"):
        conversation.exchange.new_session()


@pytest.mark.parametrize("status", [200, 202, 204])
def test_a_notification_is_accepted_by_any_success(status: int) -> None:
    Acceptance(ORIGIN, None).head(Head(status, {}))


@pytest.mark.parametrize(
    ("status", "session", "kind"), [(400, "s", Refused), (404, None, Refused), (404, "s", SessionGone)]
)
def test_a_notification_can_be_refused(status: int, session: str | None, kind: type[LinkDown]) -> None:
    with pytest.raises(kind):
        Acceptance(ORIGIN, session).head(Head(status, {}))


# A stream outside of any request --------------------------------------------------------------------------------


def overheard(*texts: bytes, status: int = 200, kind: str = "text/event-stream") -> tuple[list[str], list[Question]]:
    """What is heard and asked on a stream, until it ends."""
    heard: list[str] = []
    asked: list[Question] = []
    overhearing = Overhearing(
        ORIGIN, "s", heard=lambda told: heard.append(told.method), asked=lambda question, _: asked.append(question)
    )
    body = overhearing.head(Head(status, {b"content-type": kind.encode()}))
    body.take(events(*texts))
    return heard, asked


def test_what_is_said_outside_of_requests_is_heard_but_for_log_messages_and_replies_to_nothing() -> None:
    question = b'{"jsonrpc":"2.0","id":"q","method":"roots/list"}'
    heard, asked = overheard(told("notifications/a"), told("notifications/message"), result(7), question)

    assert heard == ["notifications/a"]
    assert asked == [Question(b'"q"', "roots/list")]


def test_a_stream_that_says_too_much_is_ended() -> None:
    with pytest.raises(BadMessage, match="too much"):
        overheard(*[told("notifications/a")] * (MAX_NOTIFICATIONS + 1))


def test_what_is_no_stream_is_refused() -> None:
    with pytest.raises(Refused):
        overheard(status=405)
    with pytest.raises(SessionGone):
        overheard(status=404)
    with pytest.raises(BadMessage):
        overheard(kind="application/json")
