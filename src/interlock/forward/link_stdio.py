"""A link to an upstream that runs as a process of ours and talks over its standard input and output.

One message is one line. A process can write anything there: an endless line, half a character, answers to questions
that nobody asked, a million notifications, or nothing at all, ever. Each of these ends in a failed request or, at
worst, in the end of this one process; none fills our memory or takes the event loop from the other upstreams.
A banner or a stray print is passed over, a few times, and so is an answer that is too long, which only its own request
has to pay for; anything else that is no message ends the link.

What it asks says nothing about the request that it is about. So it is taken to be about the one that is under way, if
there is exactly one and none before it was given up without an answer; otherwise it is refused.

INVARIANT: every request ends: with its own answer, at its deadline, or with the link.
"""

import asyncio
import itertools
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import msgspec

from interlock.core.questions import KINDS
from interlock.forward.child import Child
from interlock.forward.envelope import (
    PROGRESS,
    Question,
    Reply,
    answer_text,
    cancelled_text,
    notification_text,
    own_progress,
    read_message,
    reply_text,
    request_text,
    with_progress_token,
    withdrawn,
)
from interlock.forward.lines import Lines
from interlock.forward.link import (
    MAX_MESSAGE,
    Answer,
    Asker,
    BadMessage,
    LinkDown,
    LinkTimeout,
    Listener,
    Mirrored,
    Notification,
    OnDown,
    TooLong,
    nobody,
)
from interlock.forward.questions import NOT_IN_ONE_CALL, Inquiries
from interlock.forward.reaper import Reaper

MAX_JUNK_LINES = 20
MAX_JUNK_LINE = 1024
"""How often, and how long, a line may be that is no JSON."""

NOTIFY_SECONDS = 10.0
"""How long a notification waits for an upstream that does not read."""

_TURN = 64
"""So many lines are taken before the other links have their turn."""
_UNASKED_SECONDS = 0.00003
"""What nobody waits for is paid for: the upstream is not read for so long per message, and per KiB of it. That is some
ten times what taking it costs, so that a flood gets a tenth of the loop; it is paid once per turn."""

_NEVER_CANCELLED = "initialize"
"""The protocol forbids to cancel it."""


_Outcome: TypeAlias = Answer | Callable[[], Exception]
"""What comes of a request: an answer, or what makes the failure. It is made only where it is raised, because a frame
that holds the exception that passed through it keeps the params in memory until the next collection of garbage."""


@dataclass(frozen=True, slots=True)
class _Unsent:
    """A message on its way out."""

    line: bytes
    done: asyncio.Future[_Outcome]
    wants_answer: bool


class _Progress(msgspec.Struct):
    progressToken: int  # noqa: N815 (its name on the wire)


_PROGRESS = msgspec.json.Decoder(_Progress)


class StdioLink:
    """A process behind a Link. It can be started again after it was closed or went down, as a new process."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        *,
        on_notification: Listener,
        reaper: Reaper,
        on_down: OnDown = nobody,
    ) -> None:
        self.modern = False
        self.protocol_version: str | None = None
        self.ignored = 0
        """Answers to nothing, progress of nothing, and questions to which our reply found no room."""
        self.junk = 0
        """Lines of this process that were no JSON and were passed over."""
        self.stray = 0
        """The same of all processes so far."""
        self._argv, self._env, self._cwd = tuple(argv), dict(env), cwd
        self._on_notification = on_notification
        self._on_down = on_down
        self._reaper = reaper
        self._numbers = itertools.count(1)
        # Callers may send tokens of their own, which must never be taken for ours: ours begin where nobody can guess.
        self._tokens = secrets.randbits(50)
        self._waiting: dict[bytes, asyncio.Future[_Outcome]] = {}
        """The requests that left, by the JSON text of their ids."""
        self._unsent: dict[bytes, _Unsent] = {}
        self._listeners: dict[int, Listener] = {}
        self._inquiries: dict[bytes, Inquiries] = {}
        """Those of the requests that may be asked about."""
        self._given_up: set[bytes] = set()
        """Those of them that were given up and may still go on over there."""
        self._child = self._new_child()
        self._down: str | None = "it is not started"
        self._lines = Lines()
        self._next_turn: asyncio.Handle | None = None
        """Set while the upstream is not read."""
        self._unasked = 0

    # The process ------------------------------------------------------------------------------------------------

    def _new_child(self) -> Child:
        return Child(self._reaper, on_output=self._heard, on_room=self._send_unsent, on_end=self._fail)

    async def start(self) -> None:
        await self.close()
        self._child, self._down, self.junk = self._new_child(), None, 0
        try:
            await self._child.start(self._argv, self._env, self._cwd)
        except (OSError, ValueError) as failed:
            reason = failed.strerror if isinstance(failed, OSError) else failed
            self._down = f"{self._argv[0]} cannot be started: {reason}"
            raise LinkDown(self._down, sent=False) from failed

    @property
    def pid(self) -> int | None:
        """The process, which is also the number of its group; None when there is none."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether a request would be sent."""
        return self._down is None and self._child.open

    @property
    def returncode(self) -> int | None:
        """How the process left; None before that."""
        return self._child.returncode

    @property
    def in_doubt(self) -> bool:
        return bool(self._given_up)

    def stderr_lines(self) -> list[str]:
        """The last lines that the process wrote to stderr. They are untrusted, like all that it says."""
        return self._child.stderr_lines()

    async def close(self) -> None:
        self._fail("the link was closed")
        await self._child.stop()

    def drop(self) -> None:
        self._fail("the link was given up")
        self._child.kill()

    # Out --------------------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: bytes,
        *,
        seconds: float,
        name: str | None = None,
        mirrored: Mirrored = (),
        listener: Listener | None = None,
        asker: Asker | None = None,
    ) -> Answer:
        number = next(self._numbers)
        if asker is None or self.modern:
            return await self._requested(number, method, params, seconds, listener)
        key, inquiries = b"%d" % number, Inquiries(asker, self._reply)
        self._inquiries[key] = inquiries
        try:
            return await inquiries.during(self._requested(number, method, params, seconds, listener))
        finally:
            del self._inquiries[key]

    async def _requested(
        self, number: int, method: str, params: bytes, seconds: float, listener: Listener | None
    ) -> Answer:
        tell = method != _NEVER_CANCELLED
        if listener is None:
            return await self._outcome(number, self._post(number, request_text(number, method, params)), seconds, tell)
        token = self._tokens + number
        self._listeners[token] = listener
        try:
            text = request_text(number, method, with_progress_token(params, token))
            return await self._outcome(number, self._post(number, text), seconds, tell)
        finally:
            del self._listeners[token]

    async def notify(self, method: str, params: bytes) -> None:
        number = next(self._numbers)
        done = self._post(number, notification_text(method, params), wants_answer=False)
        await self._outcome(number, done, NOTIFY_SECONDS, tell=False)

    async def hear(self) -> bool:
        """There is one stream for everything."""
        return False

    def _post(self, number: int, text: bytes, *, wants_answer: bool = True) -> asyncio.Future[_Outcome]:
        """Send a message, or put it behind those that wait for room."""
        if self._down is not None:
            raise LinkDown(self._down, sent=False)
        if not self._child.open:
            raise LinkDown("it has only begun, or is about to end", sent=False)
        # A line end inside would make two messages of one; some readers take a carriage return for one as well.
        if b"\n" in text or b"\r" in text:
            raise ValueError("a message over stdio has to be one line")
        done: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        key, unsent = b"%d" % number, _Unsent(text + b"\n", done, wants_answer)
        if self._child.full or self._unsent:
            self._unsent[key] = unsent
        else:
            self._write(key, unsent)
        return done

    async def _outcome(self, number: int, done: asyncio.Future[_Outcome], seconds: float, tell: bool) -> Answer:
        """Wait for what comes of a message, at most so long. The upstream is told if it is given up, unless it must
        not be."""
        key = b"%d" % number
        inquiries = self._inquiries.get(key)
        if inquiries is None:
            timer = asyncio.get_running_loop().call_later(seconds, self._expire, key, seconds)
        else:
            timer = inquiries.begin(seconds, partial(self._expire, key, seconds))
        try:
            outcome = await done
        finally:
            timer.cancel()
            self._forget(key, number, tell)
        if isinstance(outcome, Answer):
            return outcome
        raise outcome()

    def _write(self, key: bytes, unsent: _Unsent) -> None:
        self._child.write(unsent.line)
        if unsent.wants_answer:
            self._waiting[key] = unsent.done
        else:
            _resolve(unsent.done, Answer())

    def _send_unsent(self) -> None:
        """The upstream reads again: send what waits, in its order, until there is no more room."""
        while self._unsent and not self._child.full:
            key = next(iter(self._unsent))
            self._write(key, self._unsent.pop(key))

    def _expire(self, key: bytes, seconds: float) -> None:
        if key in self._unsent:
            failure = partial(LinkDown, f"it has not read its input for {seconds:g} s", sent=False)
            _resolve(self._unsent[key].done, failure)
        elif key in self._waiting:
            _resolve(self._waiting[key], partial(LinkTimeout, f"no answer within {seconds:g} s"))

    def _forget(self, key: bytes, number: int, tell: bool) -> None:
        """Nobody waits for it any more. If it left and was not answered, the upstream is told so.

        That is written even when there is little room: there are never more of these lines than there were requests,
        and those found room.
        """
        self._unsent.pop(key, None)
        if self._waiting.pop(key, None) is not None and tell:
            self._child.write(cancelled_text(number) + b"\n")
            if key in self._inquiries:
                self._given_up.add(key)

    def _fail(self, why: str, *, broken: bool = False) -> None:
        """The end of the link: whoever waits is told, and nobody is let in any more."""
        if self._down is not None:
            return
        self._down = why
        waiting, self._waiting = self._waiting, {}
        unsent, self._unsent = self._unsent, {}
        self._given_up = set()
        self._lines, self._unasked = Lines(), 0
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None
        for done in waiting.values():
            _resolve(done, partial(BadMessage, why) if broken else partial(LinkDown, why, sent=True))
        for each in unsent.values():
            _resolve(each.done, partial(LinkDown, why, sent=False))
        if broken:
            self._child.kill()
        self._on_down(why)

    # In ---------------------------------------------------------------------------------------------------------

    def _heard(self, piece: bytes) -> None:
        if self._down is not None:
            return
        try:
            overlong = self._lines.feed(piece)
        except BadMessage as bad:
            self._fail(str(bad), broken=True)
            return
        if overlong is not None:
            self._answered_at_length(overlong)
        if self._lines.passing is not None:
            self._unasked += len(piece) // 1024
        if self._next_turn is None:
            self._turn()

    def _turn(self) -> None:
        """Take some of the lines that came in, then let the others have the loop."""
        for _ in range(_TURN):
            if self._unasked >= _TURN or (line := self._lines.next()) is None:
                break
            if not self._take(line):
                self._unasked += 1 + len(line) // 1024
        self._rest()

    def _rest(self) -> None:
        """Go on when more comes in; or in the next turn of the loop; or after a while, if much came unasked for."""
        loop = asyncio.get_running_loop()
        rested, self._next_turn = self._next_turn is not None, None
        if self._unasked >= _TURN:
            self._next_turn = loop.call_later(self._unasked * _UNASKED_SECONDS, self._turn)
            self._unasked = 0
        elif self._lines:
            self._next_turn = loop.call_soon(self._turn)
        if self._next_turn is not None:
            self._child.pause()
        elif rested:
            self._child.resume()

    def _take(self, line: bytes) -> bool:
        """Deal with one line; whether somebody waited for it."""
        try:
            message = read_message(line)
        except BadMessage as bad:
            self._bear(line, bad)
            return False
        if isinstance(message, Reply):
            return self._answered(message)
        if isinstance(message, Question):
            self._asked(message)
        else:
            self._told(message)
        return False

    def _bear(self, line: bytes, bad: BadMessage) -> None:
        if not line.strip():
            return
        if self.junk < MAX_JUNK_LINES and _is_chatter(line):
            self.junk += 1
            self.stray += 1
        else:
            self._fail(str(bad), broken=True)

    def _answered(self, reply: Reply) -> bool:
        done = self._waiting.pop(reply.id, None)
        if done is None:
            self._given_up.discard(reply.id)
            self.ignored += 1
            return False
        _resolve(done, reply.answer)
        return True

    def _answered_at_length(self, number: bytes) -> None:
        """An answer is too long: whoever waits for it is told, and the others wait on."""
        done = self._waiting.pop(number, None)
        if done is None:
            self.ignored += 1
        else:
            _resolve(done, partial(TooLong, f"its answer is longer than {MAX_MESSAGE} bytes"))

    def _asked(self, question: Question) -> None:
        if self._child.full:
            self.ignored += 1  # it asks without reading; replies would pile up
        elif question.method not in KINDS or not self._inquiries:
            self._reply(reply_text(question))
        elif (inquiries := self._under_way()) is not None:
            inquiries.take(question)
        else:
            self._reply(answer_text(question.id, Answer(error=NOT_IN_ONE_CALL)))

    def _under_way(self) -> Inquiries | None:
        """The one request that a question can be about."""
        if len(self._waiting) != 1 or self._given_up:
            return None
        return self._inquiries.get(next(iter(self._waiting)))

    def _reply(self, text: bytes) -> None:
        if self._down is None:
            self._child.write(text + b"\n")

    def _told(self, notification: Notification) -> None:
        if notification.method != PROGRESS:
            question_id = withdrawn(notification) if self._inquiries else None
            if question_id is not None:
                for each in self._inquiries.values():
                    each.withdraw(question_id)
            _tell(self._on_notification, notification)
            return
        token = _token_of(notification)
        listener = self._listeners.get(token)
        own = own_progress(notification, token) if listener is not None else None
        if listener is None or own is None:
            self.ignored += 1
        else:
            _tell(listener, own)


def _resolve(done: asyncio.Future[_Outcome], outcome: _Outcome) -> None:
    # Whoever waited may have been cancelled in this very turn of the loop.
    if not done.done():
        done.set_result(outcome)


def _tell(listener: Listener, notification: Notification) -> None:
    try:
        listener(notification)
    except Exception as failed:  # a defect of ours, not of the upstream: the link goes on
        context = {"message": "a listener failed", "exception": failed}
        asyncio.get_running_loop().call_exception_handler(context)


def _token_of(progress: Notification) -> int:
    """The token of a progress notification; -1, which is never ours, when it has none that could be."""
    try:
        return _PROGRESS.decode(progress.params).progressToken
    except msgspec.MsgspecError:
        return -1


def _is_chatter(line: bytes) -> bool:
    """Whether a line is what programs print for people: short, readable, and not meant as a message."""
    if len(line) > MAX_JUNK_LINE or line.lstrip().startswith(b"{"):
        return False
    try:
        line.decode()
        msgspec.json.decode(line, type=msgspec.Raw)
    except UnicodeDecodeError:
        return False
    except (msgspec.MsgspecError, RecursionError):
        return True
    return False
