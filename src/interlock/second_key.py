"""The second key, as the path needs it: what the desk is told of a call, and what its answer means for it.

The desk knows no servers, no clients and no protocol; the pipeline knows no approvals. What lies between them stands
here: a client that hears that its call still waits, one that is asked for its reason, whether what was approved is
still what would be sent, and what a caller gets that comes back for a call which has run.

INVARIANT: after a yes only a fresh decision that needs exactly this grant lets a call pass; anything else is stale.
"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from interlock import errors
from interlock.approve.board import Known
from interlock.approve.desk import Approved, Desk, Held, Progress
from interlock.core.approvals import withheld
from interlock.core.decide import Facts, decide, grant_key, standing_ground
from interlock.core.grants import Grant, changed
from interlock.core.lifecycle import CALL, CallEvent, CallState
from interlock.core.model import Allow, Call, Deny, Hold, Json, Micros, Verdict
from interlock.core.policy import Policy
from interlock.core.questions import Question
from interlock.core.times import iso
from interlock.core.toolbook import ListedTool
from interlock.errors import Reason
from interlock.forward.link import Answer, Asker, LinkDown, Listener, Notification
from interlock.kept import MAX_CONTENT, Unapproved
from interlock.record import GrantSpent, Recorder
from interlock.sent import Reply, Way
from interlock.store.protocol import Activity, StoreUnavailable

PROGRESS = "notifications/progress"
_TINY = 1e-6
"""What waiting counts for in progress: so little that the first step of the server itself is further."""
_QUESTION = Question(
    "elicitation/create",
    {
        "mode": "form",
        "message": "This tool requires approval before execution. Why do you need this call?",
        "requestedSchema": {
            "type": "object",
            "properties": {"justification": {"type": "string", "title": "Reason", "maxLength": 1000}},
            "required": ["justification"],
        },
    },
)
_Run: TypeAlias = tuple[str, str]
"""An approval, and the digest of the arguments: by a wider grant, calls with other arguments run too."""
RECORDED = "interlock/recorded"
"""The key in `_meta` of an outcome that comes from the record."""


class SecondKey:
    """Takes calls to the desk, and lets those pass that have a grant."""

    def __init__(self, desk: Desk, recorder: Recorder, awake: Callable[[str], Awaitable[None]]) -> None:
        """`awake` returns when a server could be called, and raises LinkDown when it cannot."""
        self._desk = desk
        self._recorder = recorder
        self._awake = awake
        self._runs: dict[_Run, asyncio.Future[Reply | None]] = {}
        """The calls that run by an approval now, for those who wait for the same one."""

    def known(self, call: Call, now: Micros) -> Known:
        """What a decision about a call may depend on."""
        return self._desk.register.board.known(call, now)

    async def has_turned(self, call: Call) -> bool:
        """Whether a call that needs nobody's word names an approval of its caller: then that is what it is about."""
        approval = await self._desk.register.get(call.approval_id or "")
        return approval is not None and approval.requester == call.caller.name

    async def turned(
        self, call: Call, found: ListedTool, verdict: Hold | Allow, way: Way, policy: Policy
    ) -> Approved | Unapproved:
        """Wait until somebody answers for a call, or it is told to come again."""
        if isinstance(verdict, Hold) and verdict.attach_to is None and call.approval_id is None:
            try:
                await self._awake(call.server)
            except LinkDown as down:  # nobody is asked about a call that would come to nothing
                return Unapproved(CallEvent.REFUSE, errors.UPSTREAM_DOWN(server=call.server, problem=down.why))
        reason = reason_asker(way.asker, wanted=policy.patience.elicit)
        workspace = policy.workspaces.get(call.caller.workspace or "")
        progress = progress_of(way.listener)
        return await self._desk.hold(
            Held(call, found, verdict, way.origin, policy.patience, workspace, progress, reason)
        )

    def fits(self, approved: Approved, facts: Facts) -> Verdict:
        """The fresh verdict about a call that was approved: it passes by this grant, or not at all."""
        fresh = replace(facts, grants=(unspent(approved.grant),))
        return still_fits(decide(fresh), approved.grant, fresh, self._desk.register.board.may_still)

    async def use(
        self, call: Call, verdict: Allow, forward: Callable[[], Awaitable[Reply]], *, waited: bool
    ) -> Reply | None:
        """Run a call by its grant; None when that is gone: revoked, or used by somebody else who brought the same call.
        Of those who waited for one approval together only one runs, however wide the grant is."""
        register, run = self._desk.register, (verdict.approval or "", call.digest)
        grant = register.take(verdict.grant or "")
        # By a wider grant others may run too, and theirs is not the call that was waited for.
        joinable = grant is not None and (waited or grant.uses_left is not None)
        # What runs by it has taken it already, and whoever follows other gateways may have seen it as it was before.
        if grant is None or (joinable and run in self._runs):
            return None
        try:
            reply = await (self._joinable(run, forward) if joinable else forward())
        except GrantSpent:
            register.forget(grant)
            return None
        except StoreUnavailable:
            if grant.uses_left is not None:  # a standing one was not taken away, and may have been revoked meanwhile
                register.give_back(grant)
            raise
        if reply.unsent and grant.uses_left is not None:
            register.give_back(grant)
        return reply

    async def _joinable(self, run: _Run, forward: Callable[[], Awaitable[Reply]]) -> Reply:
        """Run a call, and have others who ask for its outcome meanwhile wait for it."""
        self._runs[run] = ended = asyncio.get_running_loop().create_future()
        try:
            reply = await forward()
            ended.set_result(reply)
            return reply
        finally:
            del self._runs[run]
            if not ended.done():
                ended.set_result(None)

    async def outcome(self, approval: str, call: Call, found: ListedTool | None) -> Reply:
        """What came of the call that an approval let pass: as it ends, if it runs, else as it was recorded. Never that
        of another call, with other arguments."""
        running = self._runs.get((approval, call.digest))
        reply = None if running is None else await asyncio.shield(running)
        if reply is not None:
            return reply
        used = await self._desk.register.used_by(approval)
        ran = None if used is None else await self._recorder.find(used)
        of_this = ran if ran is not None and ran.body.get("digest") == call.digest else None
        schema = found is not None and "outputSchema" in found.descriptor
        return recorded(of_this, approval, has_schema=schema)


# While it waits -------------------------------------------------------------------------------------------------


def progress_of(listener: Listener | None) -> Progress | None:
    """Tells a client that its call still waits, if it wants to hear."""
    if listener is None:
        return None

    def tell(seconds: float, sentence: str) -> None:
        listener(Notification(PROGRESS, msgspec.json.encode({"progress": seconds * _TINY, "message": sentence})))

    return tell


def reason_asker(asker: Asker | None, *, wanted: bool) -> Callable[[], Awaitable[str]] | None:
    """Asks a client for its reason, if that is wanted and it can be asked."""
    if not wanted or asker is None or asker.can.lacks(_QUESTION) is not None:
        return None

    async def ask() -> str:
        answers = await asker.ask({"justification": _QUESTION})
        return _justification(answers["justification"])

    return ask


class _Given(msgspec.Struct):
    justification: str = ""


class _Form(msgspec.Struct):
    action: str = ""
    content: _Given | None = None


_FORM = msgspec.json.Decoder(_Form)


def _justification(answer: Answer) -> str:
    """What a client answered; nothing when it would not."""
    if answer.error is not None:
        return ""
    try:
        said = _FORM.decode(answer.result)
    except msgspec.MsgspecError:
        return ""
    return said.content.justification if said.action == "accept" and said.content is not None else ""


# After a yes ----------------------------------------------------------------------------------------------------


def still_fits(verdict: Verdict, grant: Grant, facts: Facts, may_still: Callable[[str], bool]) -> Verdict:
    """A fresh verdict about a call that was approved, which passes by this grant or not at all."""
    if isinstance(verdict, Deny):
        return verdict
    if withheld(grant, may_still):
        return Deny((errors.STALE_APPROVAL(changed="the right of its approver"),), standing_ground("approval"))
    if isinstance(verdict, Allow) and verdict.grant == grant.id:
        return verdict
    return Deny((_stale(verdict, grant, facts),), standing_ground("approval"))


def _stale(verdict: Allow | Hold, grant: Grant, facts: Facts) -> Reason:
    if grant.revoked or facts.now >= grant.expires_at:
        return errors.EXPIRED_APPROVAL(at=iso(grant.expires_at))
    if facts.found is None:
        return errors.STALE_APPROVAL(changed="the verdict")
    names = changed(grant, grant_key(facts.call, facts.found, verdict.ground, verdict.auth_scope))
    return errors.STALE_APPROVAL(changed=" and ".join(names) or "the verdict")


def unspent(grant: Grant) -> Grant:
    """A grant as it was when it was given: whether a use is left is for the store to say."""
    return grant if grant.uses_left is None else dataclasses.replace(grant, uses_left=1)


# After it ran ---------------------------------------------------------------------------------------------------


def recorded(activity: Activity | None, approval: str, *, has_schema: bool) -> Reply:
    """What a caller gets that comes back for a call which was sent already: its outcome, as far as it was kept."""
    if activity is None:
        return Reply("", refusal=errors.SPENT_APPROVAL(approval_id=approval), approval=approval)
    if CALL[activity.status]:
        return Reply(activity.id, refusal=errors.RUNNING(approval_id=approval))
    if activity.status is CallState.INDETERMINATE:
        return Reply(activity.id, refusal=errors.INDETERMINATE())
    result = activity.body.get("result")
    known: Mapping[str, Json] = result if isinstance(result, Mapping) else {}
    if activity.status is CallState.CANCELLED:
        return Reply(activity.id, refusal=errors.CANCELLED_UNDER_WAY())
    whole = _whole_result(known)
    meta = {RECORDED: {"activity_id": activity.id, "approval_id": approval, "status": activity.status.value}}
    if whole is not None:
        given = whole.get("_meta")
        members = {**whole, "_meta": {**(given if isinstance(given, Mapping) else {}), **meta}}
        return Reply(activity.id, answer=Answer(msgspec.json.encode(members)))
    told = _summary(activity, known)
    failed = has_schema or activity.status is not CallState.SUCCESS
    shown = {"content": [{"type": "text", "text": told}], "isError": failed, "_meta": meta}
    return Reply(activity.id, answer=Answer(msgspec.json.encode(shown)))


def _whole_result(result: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """The result as it was, if all of it was kept."""
    content, size = result.get("content"), result.get("size")
    if not isinstance(content, str) or not isinstance(size, int) or size > MAX_CONTENT:
        return None
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None


def _summary(activity: Activity, result: Mapping[str, Json]) -> str:
    kept = result.get("content") or result.get("error") or ""
    head = f"The call has run already and ended with {activity.status.value}; nothing was sent again."
    return f"{head} What was kept of its result: {kept}" if kept else head
