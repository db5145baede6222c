"""Approvals over REST: what waits for a second key, and the answers of those who turn it.

Who answers is the principal behind the credential and nothing that the request says: a member of a body that is not
known is refused, and no header is looked at. Whether that principal may answer this one is not decided here but by the
approvers, for all doors alike. What is shown of a call was said by an agent; whoever shows it has to treat it as the
text of a stranger.
"""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Body, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.approve.approvers import Refused
from interlock.core.approvals import SECOND, Approval, Approver, ApproverType, Wish, shown_approval
from interlock.core.grants import GrantScope
from interlock.core.lifecycle import ApprovalState, CallState
from interlock.core.model import Json
from interlock.core.redact import KnownSecrets, redact_text
from interlock.core.safety import SafetyClass
from interlock.receive.desk_tools import MAX_RESOLUTION
from interlock.receive.identify import Principal
from interlock.store.approvals import ApprovalFilter
from interlock.store.protocol import StoreUnavailable
from interlock.web import access, times
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts, Who, browser_of, parts_of, principal_of
from interlock.web.problems import Refusal, Winner
from interlock.web.review import Overridden, overridden

MAX_PAGE = 500
MAX_OFFSET = 2**53


@dataclass(frozen=True, slots=True)
class ShownVote:
    """One yes, and how widely it was given."""

    approver: str
    at: str
    scope: str


@dataclass(frozen=True, slots=True)
class ShownApproval:
    """One question to approvers, and what became of it.

    `justification`, `arguments`, `intent` and what begins with `request_` are the word of the requester: for display,
    and never for identity. `approver` is null while nobody has answered, and when the system ended it.
    """

    id: str
    status: str
    requester: str
    owner: str | None
    workspace_id: str | None
    tool_name: str
    downstream_server_id: str
    tool: str
    safety_class: str
    tool_fingerprint: str
    digest: str
    route_rule_id: str
    timeout_sec: int
    approvals_needed: int
    approvers: list[str]
    four_eyes: bool
    max_grant_sec: int
    votes: list[ShownVote]
    approver: str | None
    approver_session_id: str | None
    approver_type: str | None
    resolution: str
    created_at: str
    decided_at: str | None
    expires_at: str
    request_session_id: str | None = None
    request_client_type: str | None = None
    request_model: str | None = None
    workspace_name: str | None = None
    auth_scope_id: str | None = None
    justification: str | None = None
    arguments: dict[str, Any] | None = None
    arguments_kept: bool | None = None
    """False when they were too long to be kept: then `arguments` tells how long, and the first names."""
    class_source: str | None = None
    reasons: list[dict[str, Any]] | None = None
    intent: dict[str, Any] | None = None
    entry: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalList:
    """Approvals, newest first. `total` counts all that fit."""

    items: list[ShownApproval]
    total: int


@dataclass(frozen=True, slots=True)
class Classified:
    """The class that a tool has now, and the approval, which still waits to be answered."""

    approval: ShownApproval
    override: Overridden


class ApprovalQuery(BaseModel):
    """Which approvals; all of it must fit."""

    model_config = ConfigDict(extra="forbid")

    status: ApprovalState | None = None
    workspace_id: str | None = None
    session_id: str | None = Field(default=None, description="The `request_session_id` of the requester.")
    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    offset: int = Field(default=0, ge=0, le=MAX_OFFSET)


class WantedApproval(BaseModel):
    """A yes, to this one call unless `scope` says more."""

    model_config = ConfigDict(extra="forbid", strict=True)

    resolution: str = Field(default="", max_length=MAX_RESOLUTION, description="What the record is told.")
    scope: GrantScope = Field(default=GrantScope.ONCE, strict=False)
    duration: str | None = Field(
        default=None, description="How long the scopes identical and tool hold: 15m. By default as long as may be."
    )
    digest: str | None = Field(default=None, description="Refuse if the approval is not about these arguments.")


class WantedDenial(BaseModel):
    """A no."""

    model_config = ConfigDict(extra="forbid", strict=True)

    resolution: str = Field(default="", max_length=MAX_RESOLUTION, description="What the requester is told.")


class WantedClass(BaseModel):
    """The class of the tool that an approval is about, for good."""

    model_config = ConfigDict(extra="forbid", strict=True)

    safety_class: SafetyClass = Field(strict=False)
    resolution: str = Field(default="", max_length=MAX_RESOLUTION, description="What the record is told.")


def _approver(request: Request) -> Approver:
    """Who answers, as the door identified it. INVARIANT: nothing of the request but its credential goes into it."""
    who, browser, here = principal_of(request), browser_of(request), parts_of(request)
    door = ApproverType.CLI if browser is None else ApproverType.DASHBOARD
    session = None if browser is None else browser.id
    return Approver(who.name, door, who.owner, session, person=here.callers.is_person(who))


By = Annotated[Approver, Depends(_approver)]
_YES, _NO = WantedApproval(), WantedDenial()


async def list_approvals(query: Annotated[ApprovalQuery, Query()], here: Here, who: Who) -> Response:
    """List approvals, newest first."""
    _look(who, here)
    wanted = ApprovalFilter(query.status, query.workspace_id, query.session_id, limit=query.limit, offset=query.offset)
    page = await here.store.approvals.list_approvals(wanted)
    return json_answer({"items": [shown_approval(each) for each in page.items], "total": page.total})


async def get_approval(approval_id: str, here: Here, who: Who) -> Response:
    """Show one approval."""
    _look(who, here)
    return json_answer(shown_approval(await found_approval(approval_id, here)))


async def approve(approval_id: str, here: Here, by: By, wanted: Annotated[WantedApproval, Body()] = _YES) -> Response:
    """Approve a call of another principal. A yes that is not enough yet leaves it pending and is among the votes."""
    wish = Wish(wanted.scope, _seconds(wanted.duration))
    async with _refusals():
        done = await here.room.approvers.approve(approval_id, by, wish, wanted.resolution, wanted.digest)
    return json_answer(shown_approval(done))


async def deny(approval_id: str, here: Here, by: By, wanted: Annotated[WantedDenial, Body()] = _NO) -> Response:
    """Deny a call of another principal. One no is enough."""
    async with _refusals():
        done = await here.room.approvers.deny(approval_id, by, wanted.resolution)
    return json_answer(shown_approval(done))


async def classify(approval_id: str, wanted: WantedClass, here: Here, who: Who) -> Response:
    """Set the class of the tool for good, so that calls like this are decided otherwise from now on.

    The approval itself is not answered by it: it waits on, and an approval given under the old class does not fit.
    """
    approval = await found_approval(approval_id, here)
    override = await overridden(approval.key.server, approval.key.tool, wanted.safety_class, here, who)
    told = redact_text(wanted.resolution, KnownSecrets(here.hidden))
    body: dict[str, Json] = {"change": "classified", "safety_class": wanted.safety_class.value, "resolution": told}
    with contextlib.suppress(StoreUnavailable):  # the class counts, and is on record as a change of the tool already
        await here.room.register.note(approval, who.name, {**body, "by": who.name}, CallState.SUCCESS)
    return json_answer({"approval": shown_approval(approval), "override": override})


async def found_approval(approval_id: str, here: Parts) -> Approval:
    """The approval of this id."""
    found = await here.store.approvals.get_approval(approval_id)
    if found is None:
        raise Refusal(errors.NOT_FOUND(what="Approval", suggestion=""))
    return found


def _look(who: Principal, here: Parts) -> None:
    """An approver that looks at what waits is one that listens."""
    if access.refusal_of(who, access.APPROVERS) is None:
        here.audience.seen()


def _seconds(duration: str | None) -> int | None:
    try:
        return None if duration is None else times.duration_of(duration) // SECOND
    except ValueError as bad:
        raise Refusal(errors.BAD_FIELDS(problems=f"duration: {bad}")) from None


@contextlib.asynccontextmanager
async def _refusals() -> AsyncGenerator[None]:
    try:
        yield
    except Refused as refused:
        raise Refusal(refused.reason, winner=_winner(refused)) from None


def _winner(refused: Refused) -> Winner | None:
    """Who was faster, where that is why an answer was not taken."""
    approval = refused.approval
    if approval is None or refused.reason.code is not errors.Code.ALREADY_RESOLVED or approval.decided_at is None:
        return None
    return Winner(approval.status, approval.approver, approval.approver_type, times.iso(approval.decided_at))
