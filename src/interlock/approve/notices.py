"""Telling people outside that an approval waits, or what became of it: by webhooks and by a command.

Whoever tells a notice here never waits and never fails because of it; a receiver that is dead cannot hold up a call.
What is sent is what the desk shows of an approval, already redacted. An agent chooses how long its arguments are, and
must not be able to keep a notice from arriving by making it too long: what is very long is left out, and named.

This module refuses to decide anything: nothing that a receiver answers has an effect on an approval.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from interlock import errors
from interlock.approve.hook import RUN_SECONDS, Hook
from interlock.approve.outbox import TROUBLED, Delivery, Message, Outbox, Status, Target
from interlock.approve.webhooks import ATTEMPT_SECONDS, PAUSES, Receiver, Webhook
from interlock.clock import Clock
from interlock.core.canonical import canonical_text
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, JsonObject, Micros
from interlock.core.redact import KnownSecrets
from interlock.core.times import iso
from interlock.errors import Reason
from interlock.store.protocol import Activity, ActivityType, new_id

__all__ = ["Delivery", "Notice", "NoticeTargets", "Notices", "Pace", "Status", "Webhook"]

MOST_SHOWN = 200
"""How many deliveries are remembered."""
MOST_BODY = 64 * 1024
"""How many bytes a notice may have before its longest parts are left out."""
MOST_PART = 2 * 1024
"""How many bytes a part of the approval may have in such a notice."""
_LOG = logging.getLogger("interlock")
_STOPPED = "the gateway stopped before it was delivered"
_TAKEN_OUT = "it was taken out of the configuration before this was delivered"
_COMMAND_PLACE = "notices.command"


class Notice(Struct, frozen=True):
    """Something that happened to an approval, and what is shown of it: already redacted."""

    event: str
    at: Micros
    approval: JsonObject


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient we are, in seconds."""

    pauses: tuple[float, ...] = PAUSES
    """Between the attempts to reach a webhook."""
    attempt: float = ATTEMPT_SECONDS
    command: float = RUN_SECONDS
    grace: float = 2.0
    """For what is under way when the gateway stops."""


@dataclass(frozen=True, slots=True)
class NoticeTargets:
    """Who is told of approvals; `unusable` is what is wrong with those that cannot be."""

    webhooks: tuple[Webhook, ...]
    command: tuple[str, ...] | None
    unusable: tuple[Reason, ...]


@dataclass(slots=True)
class _Told:
    """One target: where it stands in the configuration, and what waits for it."""

    place: str
    outbox: Outbox


class Notices:
    """Takes notices, and delivers them while `running`."""

    def __init__(
        self,
        clock: Clock,
        log: Callable[[Activity], None],
        pace: Pace | None = None,
        *,
        secrets: Callable[[], KnownSecrets] = KnownSecrets,
    ) -> None:
        """`log` is given every final outcome; `secrets` tells the values that are repeated nowhere."""
        self._clock = clock
        self._secrets = secrets
        self._log = log
        self._pace = pace or Pace()
        self._all: dict[Hashable, _Told] = {}
        self._group: asyncio.TaskGroup | None = None
        self._unusable: tuple[Reason, ...] = ()
        self._deliveries: deque[Delivery] = deque(maxlen=MOST_SHOWN)

    def configure(
        self, webhooks: Sequence[Webhook], command: tuple[str, ...] | None, unusable: Sequence[Reason] = ()
    ) -> None:
        """Tell these from now on. One that was told before goes on with what waits for it, even if it had enough.

        `unusable` is what is wrong with targets that are not among them. Raises ValueError for a secret that is none.
        """
        wanted: dict[Hashable, tuple[str, Target]] = {
            (each.url, each.secret): (each.place, Receiver(each, self._clock, self._pace.pauses, self._pace.attempt))
            for each in webhooks
        }
        if command is not None:
            wanted[command] = _COMMAND_PLACE, Hook(command, self._pace.command, self._secrets)
        before, self._all = self._all, {}
        for key, (place, target) in wanted.items():
            kept = before.pop(key, None)
            self._all[key] = _Told(place, self._outbox(target) if kept is None else kept.outbox)
            self._all[key].outbox.revive()
        for each in before.values():
            each.outbox.close(_TAKEN_OUT)
        self._unusable = tuple(unusable)

    @property
    def configured(self) -> bool:
        """Whether anybody is told."""
        return bool(self._all)

    def tell(self, notice: Notice) -> None:
        """Have everybody told who is to be; never waits, never raises."""
        if not self._all:
            return
        now = self._clock.now()
        try:
            message = _message(notice, now)
        except (
            Exception
        ):  # a defect of whoever made the notice, who must not fail because of it: it is told as a failure
            for each in self._all.values():
                shown = each.outbox.target.shown
                self._hear(Delivery(now, notice.event, "", shown, 0, Status.FAILED, "it cannot be written as JSON"))
            return
        for each in self._all.values():
            each.outbox.put(message)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Deliver while the block runs. When it ends, what is due gets a moment, and the rest is given up."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for each in self._all.values():
                each.outbox.start(group)
            try:
                yield
            finally:
                self._group = None
                await self._wind_up()

    def deliveries(self) -> Sequence[Delivery]:
        """What was delivered and what was not, the newest first."""
        return tuple(self._deliveries)

    def problems(self) -> Sequence[Reason]:
        """What an operator should see to: targets that cannot be told, or that fail again and again."""
        return [*self._unusable, *filter(None, (_problem(each) for each in self._all.values()))]

    def _outbox(self, target: Target) -> Outbox:
        outbox = Outbox(target, self._clock, self._hear)
        if self._group is not None:
            outbox.start(self._group)
        return outbox

    async def _wind_up(self) -> None:
        boxes = [each.outbox for each in self._all.values()]
        for box in boxes:
            box.end()
        try:
            if tasks := [task for box in boxes for task in box.tasks]:
                await asyncio.wait(tasks, timeout=self._pace.grace)
        finally:
            for box in boxes:
                box.close(_STOPPED)

    def _hear(self, delivery: Delivery) -> None:
        self._deliveries.appendleft(delivery)
        if delivery.status is Status.RETRYING:
            return
        try:
            self._log(_activity(delivery))
        except Exception as failed:  # that a record cannot be kept is told by the record; deliveries go on
            _LOG.warning("The delivery of a notice could not be recorded: %s", type(failed).__name__)


def _problem(told: _Told) -> Reason | None:
    box = told.outbox
    if box.gone:
        return errors.RECEIVER_GONE(place=told.place, target=box.target.shown)
    if box.failures < TROUBLED:
        return None
    about = errors.HOOK_FAILS if told.place == _COMMAND_PLACE else errors.WEBHOOK_FAILS
    return about(place=told.place, target=box.target.shown, count=box.failures, detail=box.last_failure)


def _activity(delivery: Delivery) -> Activity:
    body: dict[str, Json] = {
        "event": "notice",
        "notice": delivery.event,
        "approval": delivery.approval,
        "target": delivery.target,
        "attempts": delivery.attempt,
        "detail": delivery.detail,
    }
    status = CallState.SUCCESS if delivery.status is Status.DELIVERED else CallState.ERROR
    return Activity(new_id(delivery.at), delivery.at, ActivityType.SYSTEM, status, body)


# What goes out ----------------------------------------------------------------------------------------------------


def _message(notice: Notice, now: Micros) -> Message:
    approval, tool = (_text(notice.approval.get(name)) for name in ("id", "tool_name"))
    return Message(f"msg_{new_id(now)}", notice.event, approval, tool, body_of(notice))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def body_of(notice: Notice) -> bytes:
    """The JSON that tells a notice: what happened, when, and the approval without what is too long."""
    body = _body(notice, notice.approval)
    if len(body) <= MOST_BODY:
        return body
    short = {name: value for name, value in notice.approval.items() if len(_encoded(value)) <= MOST_PART}
    return _body(notice, {**short, "left_out": [name for name in notice.approval if name not in short]})


def _body(notice: Notice, approval: JsonObject) -> bytes:
    told: Mapping[str, Json] = {"type": notice.event, "timestamp": iso(notice.at), "data": approval}
    return _encoded(told)


def _encoded(value: Json) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half a character, which only an escape can write
        return canonical_text(value).encode("ascii")
