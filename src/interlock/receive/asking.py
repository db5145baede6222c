"""Asking the client of one call: what it cannot be asked is refused, the rest is asked in the way of its era.

A legacy client is asked in the stream of its call, with an id of ours, and answers with a POST in the same session
(`LiveAsker`). A modern one is asked in the answer to its request, which is the matter of `parked`. Whoever asks keeps
account of what was asked, for the record, and of why a question was refused, for the client. What was answered is
passed on and kept nowhere.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import msgspec

from interlock import errors
from interlock.core.model import Json, JsonObject
from interlock.core.questions import Answerable, Question, Unfit, read_answer
from interlock.errors import Reason
from interlock.pipeline import Answer, RpcError
from interlock.receive import replies
from interlock.receive.decode import Response
from interlock.receive.overhear import Tell
from interlock.receive.sessions import Session

ASK_SECONDS = 600.0
"""How long a person has to answer."""
MISSING_CAPABILITY = -32021
_INVALID_REQUEST, _INTERNAL = -32600, -32603
_MAX_MESSAGE = 1000
"""How much of a client's error is passed on, in characters."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a question was not asked, as the client is told: a JSON-RPC code, a sentence, and what it would need."""

    code: int
    reason: Reason
    data: JsonObject


class Account:
    """What one call was asked."""

    def __init__(self, can: Answerable, server: str) -> None:
        self.can = can
        self.asked: Counter[str] = Counter()
        self.problem: Problem | None = None
        """Why the last question that was refused was."""
        self._server = server

    def refusals(self, questions: Mapping[str, Question]) -> Mapping[str, Answer] | None:
        """The answers to questions of which the client cannot answer one; None when it can answer all."""
        self.asked.update(each.kind.value for each in questions.values())
        for question in questions.values():
            needed = self.can.lacks(question)
            if needed is not None:
                reason = errors.CANNOT_BE_ASKED(server=self._server, kind=question.kind.value)
                self.problem = Problem(MISSING_CAPABILITY, reason, {"requiredCapabilities": needed})
                error = RpcError(self.can.refusal_code(question), "The client does not support this.")
                return dict.fromkeys(questions, Answer(error=error))
        return None


def answer_of(question: Question, given: Json) -> Answer:
    """A client's answer as the server gets it; raises Unfit."""
    return Answer(msgspec.json.encode(read_answer(question, given)))


class LiveAsker:
    """Asks a legacy client while its call goes on."""

    def __init__(self, session: Session, tell: Tell, account: Account) -> None:
        self.account = account
        self._session = session
        self._tell = tell
        self._silent = False

    @property
    def can(self) -> Answerable:
        return self.account.can

    @property
    def asked(self) -> Mapping[str, int]:
        return self.account.asked

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, Answer]:
        """One after another: there is one person."""
        refusals = self.account.refusals(questions)
        if refusals is not None:
            return refusals
        return {key: await self._ask(question) for key, question in questions.items()}

    async def _ask(self, question: Question) -> Answer:
        if self._silent:
            return _unanswered()
        own = f"interlock-{secrets.token_hex(16)}"
        heard: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._session.asked[own] = heard
        try:
            if self._tell(_request(own, question)) is False:
                return Answer(error=RpcError(_INTERNAL, "The client does not read."))
            async with asyncio.timeout(ASK_SECONDS):
                return _read(question, await heard)
        except TimeoutError:
            # Whoever was silent for so long is not asked again in this call: it ends when its own time is over.
            self._silent = True
            return _unanswered()
        finally:
            del self._session.asked[own]
            if not heard.done() or heard.cancelled():
                self._tell(replies.notification("notifications/cancelled", msgspec.json.encode({"requestId": own})))


def _request(own: str, question: Question) -> bytes:
    params = question.shown(elicitation_id=own)
    head = b'{"jsonrpc":"2.0","id":' + msgspec.json.encode(own) + b',"method":' + msgspec.json.encode(question.method)
    return head + (b',"params":' + msgspec.json.encode(params) if params else b"") + b"}"


def _read(question: Question, response: Response) -> Answer:
    if "error" in response.members:
        given = response.members["error"]
        error = cast("JsonObject", given) if isinstance(given, Mapping) else {"code": None}
        code, message = error.get("code"), error.get("message")
        known = code if isinstance(code, int) else _INTERNAL
        return Answer(error=RpcError(known, message[:_MAX_MESSAGE] if isinstance(message, str) else ""))
    try:
        return answer_of(question, response.members["result"])
    except Unfit as unfit:
        return Answer(error=RpcError(_INTERNAL, f"The client's answer is not one: {unfit.why}."))


def _unanswered() -> Answer:
    return Answer(error=RpcError(_INVALID_REQUEST, f"Nobody answered within {ASK_SECONDS:g} s."))
