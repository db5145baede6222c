"""Software that nobody here wrote: the official clients in front of the gateway, the official example server behind it.

Each client has one session over each transport, in which it talks with each upstream. The tests look at what the client
heard, at what the upstream received and at the record.
"""

import re
from collections.abc import Generator

import pytest

from interlock.core.lifecycle import CallState
from tests.clients import typescript
from tests.clients.python import client_in
from tests.clients.script import Message
from tests.clients.stage import Conversation, Everything, Session, hold_session
from tests.upstream.everything import everything_over_http

CLIENTS = {
    "typescript": typescript.play,
    "typescript-2-legacy": typescript.second_in("legacy"),
    "typescript-2-2026-07-28": typescript.second_in("2026-07-28"),
    "typescript-2-auto": typescript.second_in("auto"),
    "legacy": client_in("legacy"),
    "2026-07-28": client_in("2026-07-28"),
    "auto": client_in("auto"),
}
OPENINGS = {
    "typescript": "initialize",
    "typescript-2-legacy": "initialize",
    "typescript-2-2026-07-28": "server/discover",
    "typescript-2-auto": "server/discover",
    "legacy": "initialize",
    "2026-07-28": "tools/list",
    "auto": "server/discover",
}
OPENINGS_OVER_STDIO = OPENINGS | dict.fromkeys(["typescript-2-2026-07-28", "typescript-2-auto"], "tools/list")
"""Over stdio these ask for the version in a process of its own, which they end before they begin."""
UPSTREAMS = {
    "http": ["fixture-stdio", "everything-stdio", "fixture-http", "everything-http"],
    "stdio": ["fixture-stdio", "everything-stdio"],
}
OUR_TOOLS = ["retrieve_tools", "call_tool_read", "call_tool_write", "call_tool_destructive"]

SESSIONS = [(client, door) for door in UPSTREAMS for client in CLIENTS]
CONVERSATIONS = [(client, door, upstream) for client, door in SESSIONS for upstream in UPSTREAMS[door]]
each_session = pytest.mark.parametrize(("client", "door"), SESSIONS)
each_conversation = pytest.mark.parametrize(("client", "door", "upstream"), CONVERSATIONS)
each_conversation_with_the_fixture = pytest.mark.parametrize(
    ("client", "door", "upstream"), [each for each in CONVERSATIONS if each[2].startswith("fixture")]
)


class Sessions:
    """The sessions of this module. Each is held once, when a test first asks for it; one that failed stays failed."""

    def __init__(self, folders: pytest.TempPathFactory, everything: Everything) -> None:
        self._folders, self._everything = folders, everything
        self._held: dict[tuple[str, str], Session | None] = {}

    def get(self, client: str, door: str) -> Session:
        if (client, door) not in self._held:
            self._held[client, door] = None
            folder = self._folders.mktemp("session")
            self._held[client, door] = hold_session(CLIENTS[client], door, folder, self._everything)
        session = self._held[client, door]
        assert session is not None, "this session came to no end, see the first test of it"
        return session


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Generator[Sessions]:
    log = tmp_path_factory.mktemp("everything") / "upstream.log"
    with everything_over_http(log) as url:
        yield Sessions(tmp_path_factory, Everything(url, log))


@pytest.fixture
def session(sessions: Sessions, client: str, door: str) -> Session:
    return sessions.get(client, door)


@pytest.fixture
def conversation(session: Session, upstream: str) -> Conversation:
    return session.conversations[upstream]


def text_of(result: Message) -> str:
    (content,) = result["content"]
    return content["text"]


@each_session
def test_each_client_speaks_the_protocol_that_it_prefers(session: Session, client: str, door: str) -> None:
    asked = [message["method"] for way, message in session.transcript.wire if way == "out"]

    assert asked[0] == (OPENINGS if door == "http" else OPENINGS_OVER_STDIO)[client]
    assert ("initialize" in asked) == (OPENINGS[client] == "initialize")


@each_conversation
def test_the_client_lists_the_tools_of_the_upstream(conversation: Conversation) -> None:
    listed = [tool["name"] for tool in conversation.result("list")["tools"]]

    assert listed[:4] == OUR_TOOLS
    assert {f"{conversation.upstream}__{tool}" for tool in conversation.part.tools} <= set(listed)


@each_conversation
def test_a_call_is_answered_with_what_the_upstream_said(conversation: Conversation) -> None:
    result = conversation.result("call")

    assert text_of(result) == conversation.part.says
    assert result.get("isError") is not True


@each_conversation
def test_progress_arrives_under_the_callers_own_token_and_before_the_answer(conversation: Conversation) -> None:
    wire = conversation.transcript
    asked = wire.request_of(conversation.part.steps["progress"])
    token = asked["params"]["_meta"]["progressToken"]
    told = wire.incoming(method="notifications/progress")
    reports = [(place, each["params"]) for place, each in told if each["params"]["progressToken"] == token]
    ((answered, _),) = wire.incoming(id=asked["id"])
    progress = [each["progress"] for _, each in reports]
    heard = [each["progress"] for each in conversation.outcomes["progress"].progress]

    assert [place < answered for place, _ in reports] == [True] * conversation.part.reports
    assert progress == sorted(progress)
    # The TypeScript client does not pass on what comes in at the same moment as the answer.
    assert heard == progress[: len(heard)]


@each_conversation
def test_a_call_that_is_given_up_is_cancelled_upstream_and_on_record(conversation: Conversation) -> None:
    cancelled = [each for each in conversation.record if each.status is CallState.CANCELLED]

    assert conversation.outcomes["cancel"].aborted
    assert conversation.told_to_stop
    assert [each.body["arguments"] for each in cancelled] == [conversation.part.steps["cancel"].arguments]


@each_conversation
def test_the_connection_is_as_good_as_before_once_a_call_was_given_up(conversation: Conversation) -> None:
    assert text_of(conversation.result("afterwards")) == conversation.part.says


@each_conversation
def test_an_error_of_the_tool_reaches_the_client_as_a_result(conversation: Conversation) -> None:
    result = conversation.result("tool error")

    assert result["isError"] is True
    assert text_of(result) == conversation.part.fails


@each_conversation_with_the_fixture
def test_an_error_of_the_protocol_reaches_the_client_as_one(conversation: Conversation) -> None:
    error = conversation.outcomes["protocol error"].error

    assert error is not None
    assert (error["code"], error["data"]) == (-32011, {"tried": 1})
    assert error["message"].endswith("It failed badly.")


@each_conversation
def test_a_tool_that_does_not_exist_is_refused_and_nothing_is_sent(conversation: Conversation) -> None:
    result = conversation.result("unknown")

    assert result["isError"] is True
    assert result["structuredContent"]["code"] == "UNKNOWN_TOOL"
    assert "nothing" not in [name for name, _ in conversation.forwarded()]


@each_conversation
def test_the_record_is_what_the_upstream_received(conversation: Conversation) -> None:
    allowed = [each for each in conversation.record if each.verdict == "allow"]
    refused = [each for each in conversation.record if each.verdict == "deny"]

    assert [(each.tool, each.body["arguments"]) for each in allowed] == conversation.forwarded()
    assert [each.tool for each in refused] == ["nothing"]


@each_session
def test_the_client_finds_nothing_to_complain_of(session: Session) -> None:
    parts = [each.part for each in session.conversations.values()]
    tokens, given_up = (
        [session.transcript.request_of(part.steps[step])["id"] for part in parts] for step in ("progress", "cancel")
    )
    # Excused is what may still come when the client does not wait any more: progress that it did ask for, and over
    # HTTP the answer to a call that it gave up, because that is how a stream ends in the legacy protocol.
    late = [rf'"progressToken":{number}\b' for number in tokens + given_up]
    late += [rf'"id":{number}\b' for number in given_up]

    assert [each for each in session.transcript.complaints if not re.search("|".join(late), each)] == []
