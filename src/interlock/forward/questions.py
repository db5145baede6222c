"""Questions of an upstream on their way to the client of the call that caused them, and the answers back.

Before 2026-07-28 an upstream asks with requests of its own while a call goes on (`Inquiries`); since then it answers
the call with what it wants to know and is asked again (`Again`). Either way the call's asker is given questions
that were read and found fit, and the time of the call stands still until they are answered.

This module refuses to choose a call: which one a question belongs to is for the link to say, and a question that
belongs to none is not for anybody.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from interlock import errors
from interlock.core.questions import MAX_QUESTION, Question, Unfit, read_question
from interlock.errors import Reason
from interlock.forward.envelope import Question as Request
from interlock.forward.envelope import answer_text
from interlock.forward.link import Answer, Asker, LinkTimeout, RpcError

_T = TypeVar("_T")
MAX_QUESTIONS = 20
"""How often an upstream may ask during one call."""
MAX_ROUNDS = 10
"""How often an upstream may want to be asked again."""
MAX_AT_ONCE = 8
MAX_KEY = 200
MAX_ROUND = 2 * MAX_QUESTION
"""How many questions there may be in one round, how long their names, and how long the whole round."""
PAUSE_SECONDS = 0.05
"""How long to wait, at first, for an upstream that wants to be asked again without an answer."""
INVALID_REQUEST, INTERNAL = -32600, -32603
NOT_IN_ONE_CALL = RpcError(INVALID_REQUEST, "A question must belong to exactly one call that is under way.")

# Requests of a legacy upstream ----------------------------------------------------------------------------------


class Timer:
    """Calls `due` after so many seconds, not counting those in which it was stopped."""

    def __init__(self, seconds: float, due: Callable[[], None]) -> None:
        self._left = seconds
        self._due = due
        self._stops = 0
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._handle: asyncio.TimerHandle | None = self._loop.call_later(seconds, due)

    @contextlib.contextmanager
    def stopped(self) -> Generator[None]:
        self._stops += 1
        if self._stops == 1 and self._handle is not None:
            self._left -= self._loop.time() - self._began
            self._handle.cancel()
        try:
            yield
        finally:
            self._stops -= 1
            if self._stops == 0 and self._handle is not None:
                self._began = self._loop.time()
                self._handle = self._loop.call_later(max(0.0, self._left), self._due)

    def cancel(self) -> None:
        """It is not needed any more, stopped or not."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Inquiries:
    """The requests of an upstream during one request of ours. `reply` sends it the text of an answer."""

    def __init__(self, asker: Asker, reply: Callable[[bytes], None]) -> None:
        self._asker = asker
        self._reply = reply
        self._group = asyncio.TaskGroup()
        self._open: dict[bytes, asyncio.Task[None]] = {}
        self._count = 0
        self._timer: Timer | None = None

    def begin(self, seconds: float, due: Callable[[], None]) -> Timer:
        """Start the time of the request; it stands still while somebody is asked."""
        self._timer = Timer(seconds, due)
        return self._timer

    async def during(self, work: Awaitable[_T]) -> _T:
        """Wait for what comes of our request. What was not answered by then is withdrawn."""
        failed: Exception | None = None
        outcome: list[_T] = []
        async with asyncio.TaskGroup() as self._group:
            try:
                outcome.append(await work)
            except Exception as why:  # raised again below: the group would wrap it up
                failed = why
            for task in list(self._open.values()):
                task.cancel()
        try:
            if failed is not None:
                raise failed
        finally:
            del failed  # a frame that is held by the exception that it holds stays until garbage is collected
        return outcome[0]

    def take(self, request: Request) -> None:
        """Take a request of the upstream."""
        if self._count >= MAX_QUESTIONS or request.id in self._open:
            error = RpcError(INVALID_REQUEST, f"At most {MAX_QUESTIONS} questions in one call, each with its own id.")
            self._reply(answer_text(request.id, Answer(error=error)))
            return
        self._count += 1
        task = self._open[request.id] = self._group.create_task(self._answer(request))
        task.add_done_callback(lambda _: self._open.pop(request.id, None))

    def withdraw(self, request_id: bytes) -> None:
        """The upstream does not want an answer any more."""
        if request_id in self._open:
            self._open[request_id].cancel()

    async def _answer(self, request: Request) -> None:
        try:
            question = read_question(request.method, request.params)
        except Unfit as unfit:
            self._reply(answer_text(request.id, Answer(error=RpcError(unfit.code, unfit.why))))
            return
        with self._timer.stopped() if self._timer is not None else contextlib.nullcontext():
            answers = await self._asker.ask({"question": question})
        self._reply(answer_text(request.id, answers["question"]))


# A modern upstream that wants to be asked again -----------------------------------------------------------------


class _Kind(msgspec.Struct):
    resultType: str = ""  # noqa: N815 (the names on the wire)


class _Wanted(msgspec.Struct):
    method: str
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Required(msgspec.Struct):
    """What an upstream wants to know before it answers."""

    inputRequests: dict[str, _Wanted] | None = None  # noqa: N815
    requestState: str | None = None  # noqa: N815


_KIND = msgspec.json.Decoder(_Kind)
_REQUIRED = msgspec.json.Decoder(_Required)


@dataclass(frozen=True, slots=True)
class _Round:
    questions: Mapping[str, Question]
    state: str | None


def wants_more(answer: Answer) -> bool:
    """Whether an answer may be one that only asks for more; what really stands in it is read later."""
    return b"input_required" in answer.result


def _round(answer: Answer) -> _Round | None:
    """What is wanted in an answer; None when it is what was asked for. Raises Unfit."""
    if not wants_more(answer):
        return None
    try:
        if _KIND.decode(answer.result).resultType != "input_required":
            return None
    except (msgspec.MsgspecError, RecursionError):
        return None
    try:
        required = _REQUIRED.decode(answer.result)
    except (msgspec.MsgspecError, RecursionError):
        raise Unfit("it asked for input in no form of the protocol") from None
    requests = required.inputRequests or {}
    if len(answer.result) > MAX_ROUND or len(requests) > MAX_AT_ONCE or any(len(key) > MAX_KEY for key in requests):
        raise Unfit("it asked for too much at once")
    questions = {key: read_question(each.method, bytes(each.params)) for key, each in requests.items()}
    return _Round(questions, required.requestState)


@dataclass(frozen=True, slots=True)
class Again:
    """One request to a modern upstream that may want to be asked again.

    `send` sends it with more members in its params and so many seconds; without an asker no question is answered.
    """

    send: Callable[[bytes, float], Awaitable[Answer]]
    asker: Asker | None
    server: str

    async def until_answered(self, answer: Answer, seconds: float) -> Answer:
        """What it answers in the end, if `answer` is what it said first. While somebody is asked, no time passes."""
        loop = asyncio.get_running_loop()
        left = seconds
        number = 0
        while True:
            wanted = self._read(answer, number)
            if isinstance(wanted, Answer):
                return wanted
            responses: Mapping[str, Answer] = {}
            if self.asker is not None and wanted.questions:
                responses = await self.asker.ask(wanted.questions)
            failed = next((each for each in responses.values() if each.error is not None), None)
            if failed is not None:
                return failed
            began = loop.time()
            if not wanted.questions:
                await asyncio.sleep(PAUSE_SECONDS * 2**number)
            if left <= 0:
                raise LinkTimeout(f"no answer within {seconds:g} s")
            answer = await self.send(_members(responses, wanted.state), left)
            left -= loop.time() - began
            number += 1

    def _read(self, answer: Answer, number: int) -> _Round | Answer:
        """What it wants to know now; or the answer, if that is nothing, or nothing that it may."""
        try:
            wanted = _round(answer)
        except Unfit as unfit:
            return _failed(errors.UNFIT_QUESTION(server=self.server, problem=unfit.why))
        if wanted is None:
            return answer
        if self.asker is None:
            return _failed(errors.NOT_ASKABLE(server=self.server))
        if number < MAX_ROUNDS:
            return wanted
        return _failed(errors.UNFIT_QUESTION(server=self.server, problem=f"it asked more than {MAX_ROUNDS} times"))


def _members(responses: Mapping[str, Answer], state: str | None) -> bytes:
    """What it wanted to know, and its own state, as more members of the params."""
    told = {key: msgspec.Raw(each.result) for key, each in responses.items()}
    answers = b',"inputResponses":' + msgspec.json.encode(told) if told else b""
    return answers if state is None else answers + b',"requestState":' + msgspec.json.encode(state)


def _failed(reason: Reason) -> Answer:
    said = msgspec.json.encode({"code": reason.code, "message": reason.text, "fix": reason.fix})
    return Answer(error=RpcError(INTERNAL, f"{reason.text} {reason.fix}", said))
