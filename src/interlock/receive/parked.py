"""Calls that wait for their modern client: the server asked something, and the answer comes with another request.

Since 2026-07-28 a client is asked in the answer to its request, and makes the request anew to answer. The call itself
goes on meanwhile in a task of its own, decided once and on record once; what comes later is not a new call but the next
part of this one. Whoever comes back needs the sealed state, which is good once. A call waits for a limited time, and a
caller has a limited number of them; then, and when the gateway stops, it ends as one that was given up: the server is
told, and the outcome is recorded.

While its client is connected, leaving the request ends the call, as it does for every other.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import cast

import msgspec

from interlock import errors
from interlock.core.model import Call, JsonObject
from interlock.core.questions import Answerable, Question, Unfit
from interlock.pipeline import Answer, Notification, Reply, RpcError
from interlock.receive.asking import ASK_SECONDS, Account, Problem, answer_of
from interlock.receive.decode import Request
from interlock.receive.sealed import Seal, Unsealed, new_waiting

MAX_WAITING = 16
"""How many calls of one caller may wait."""
REFUSED = -32001
_INTERNAL = -32603

Listener = Callable[[Notification], None]
Run = Callable[["ParkedCall"], Awaitable[Reply]]
"""Takes a call along the path; the parked call is its asker and its listener."""


@dataclass(frozen=True, slots=True)
class Required:
    """What a client has to answer before the call goes on: the questions, and the state to hand back."""

    questions: Mapping[str, Question]
    state: str

    def result(self) -> bytes:
        """The same as the result of a request."""
        asked = {key: {"method": each.method, "params": each.shown()} for key, each in self.questions.items()}
        return msgspec.json.encode({"resultType": "input_required", "inputRequests": asked, "requestState": self.state})


class BadState(Exception):
    """There is no call that waits for what was sent."""


class BadAnswer(Exception):
    """What was sent is no answer to what was asked; the call goes on waiting."""


class ParkedCall:
    """One call of a modern client. It is the asker of its own call."""

    def __init__(self, lot: "Parking", call: Call, account: Account, early: JsonObject) -> None:
        self.call = call
        self.account = account
        self.listener: Listener | None = None
        """Who hears of its progress now; nobody while it waits."""
        self.task: asyncio.Task[None] | None = None
        self.reply: Reply | None = None
        self.defect: Exception | None = None
        self.questions: Mapping[str, Question] = {}
        """What its client has to answer."""
        self._lot = lot
        self._early: JsonObject = early
        """Answers that its client gave before it was asked. They are for the first questions, if they fit."""
        self._turn = asyncio.Lock()
        self._news = asyncio.Event()
        self._answers: asyncio.Future[Mapping[str, Answer]] | None = None

    # For the path -----------------------------------------------------------------------------------------------

    @property
    def can(self) -> Answerable:
        return self.account.can

    @property
    def asked(self) -> Mapping[str, int]:
        return self.account.asked

    def hear(self, told: Notification) -> None:
        """Pass on what is told of the call, if somebody is connected."""
        if self.listener is not None:
            self.listener(told)

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, Answer]:
        """Have the client asked in the answer to its request; several rounds follow one another."""
        refusals = self.account.refusals(questions)
        if refusals is not None:
            return refusals
        early, self._early = self._early, {}
        if questions.keys() <= early.keys():
            with contextlib.suppress(Unfit):
                return {key: answer_of(each, early[key]) for key, each in questions.items()}
        async with self._turn:
            if not self._lot.has_room(self.call.caller.name):
                self.account.problem = Problem(REFUSED, errors.TOO_MANY_PARKED(limit=MAX_WAITING), {})
                error = RpcError(_INTERNAL, "Too many calls wait for this caller.")
                return dict.fromkeys(questions, Answer(error=error))
            self._answers = asyncio.get_running_loop().create_future()
            self.questions = questions
            self._news.set()
            try:
                return await self._answers
            except asyncio.CancelledError:
                self._news.clear()  # the server does not want to know it any more: whoever comes back waits
                raise
            finally:
                self.questions, self._answers = {}, None

    # For its client ---------------------------------------------------------------------------------------------

    async def run(self, run: Run) -> None:
        """The task of the call."""
        try:
            self.reply = await run(self)
        except Exception as defect:  # ours: it belongs to the client that waits, and not to the group of all calls
            self.defect = defect
        finally:
            self._news.set()

    async def next(self) -> Reply | None:
        """Wait until the call ended or its client is asked something; whoever gives up waiting gives up the call."""
        assert self.task is not None  # noqa: S101 - it is made with its task
        try:
            await self._news.wait()
        except asyncio.CancelledError:
            await self.end()
            raise
        if self.defect is not None:
            raise self.defect
        if self.task.cancelled():
            raise BadState
        return self.reply

    def answer(self, given: JsonObject) -> None:
        """Take the answers to all questions; raises BadAnswer. Names that nobody asked for are passed over."""
        try:
            answers = {key: answer_of(each, given[key]) for key, each in self.questions.items()}
        except Unfit as unfit:
            raise BadAnswer(unfit.why) from None
        if self._answers is not None:
            self._news.clear()
            if not self._answers.done():
                self._answers.set_result(answers)

    async def end(self) -> None:
        """Give up the call, and wait until that is on record."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})


@dataclass(slots=True)
class _Waiting:
    """A call that waits, and what for."""

    call: ParkedCall
    questions: Mapping[str, Question]
    state: str
    timer: asyncio.TimerHandle


class Parking:
    """All calls of modern clients that may be asked something."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal
        self._group: asyncio.TaskGroup | None = None
        self._waiting: dict[bytes, _Waiting] = {}
        self._calls: set[ParkedCall] = set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While calls can be begun; those that are left at the end are given up."""
        async with asyncio.TaskGroup() as self._group:
            try:
                yield
            finally:
                for each in self._waiting.values():
                    each.timer.cancel()
                for call in self._calls:
                    if call.task is not None:
                        call.task.cancel()
                self._waiting.clear()

    def __len__(self) -> int:
        return len(self._waiting)

    def has_room(self, caller: str) -> bool:
        # One whose question its client has not been handed yet waits as well: many may ask before any is handed out.
        waiting = {each.call for each in self._waiting.values()} | {each for each in self._calls if each.questions}
        return sum(each.call.caller.name == caller for each in waiting) < MAX_WAITING

    def begin(self, call: Call, account: Account, run: Run, early: JsonObject) -> ParkedCall:
        """Begin a call. `early` is what its client answers before it is asked."""
        assert self._group is not None  # noqa: S101 - nobody is served before that
        parked = ParkedCall(self, call, account, early)
        self._calls.add(parked)
        parked.task = self._group.create_task(parked.run(run))
        parked.task.add_done_callback(lambda _: self._calls.discard(parked))
        return parked

    async def outcome(self, parked: ParkedCall, listener: Listener | None) -> Reply | Required:
        """What its client is told next: how the call ended, or what it is asked. Until then it hears of progress."""
        parked.listener = listener
        reply = await parked.next()
        if reply is not None:
            return reply
        waiting = new_waiting()
        state = self._seal.close(parked.call, waiting, ASK_SECONDS)
        timer = asyncio.get_running_loop().call_later(ASK_SECONDS, self._expire, waiting)
        self._waiting[waiting] = _Waiting(parked, parked.questions, state, timer)
        parked.listener = None
        return Required(parked.questions, state)

    def find(self, call: Call, request: Request) -> ParkedCall | Required:
        """The call that a request goes on with; or the same questions again if it does not answer them all.

        If the server wants to know something else by now, or nothing any more, the answers are nobody's. Raises
        BadState, or BadAnswer when there is an answer that is none.
        """
        try:
            waiting = self._seal.open(call, request.params.get("requestState"))
            found = self._waiting[waiting]
        except (Unsealed, KeyError):
            raise BadState from None
        given = request.params.get("inputResponses")
        answers: JsonObject = cast("JsonObject", given) if isinstance(given, Mapping) else {}
        if found.call.questions is found.questions:
            if not found.questions.keys() <= answers.keys():
                return Required(found.questions, found.state)
            found.call.answer(answers)
        del self._waiting[waiting]
        found.timer.cancel()
        return found.call

    def _expire(self, waiting: bytes) -> None:
        found = self._waiting.pop(waiting, None)
        if found is not None and found.call.task is not None:
            found.call.task.cancel()
