"""Approvals: what is asked, who may answer, and what an answer makes of it.

An approval is a value with a version; an answer makes the next one of it, and the store takes that only if nobody was
faster. Nothing here forwards, waits or writes. What an approval becomes is a grant, and only a grant lets a call pass.

INVARIANT: nobody answers for a call of its own, under whatever name; one deny denies; a vote that is missing is no
transition.
"""

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from interlock import errors
from interlock.core.grants import Grant, GrantKey, GrantScope
from interlock.core.lifecycle import ApprovalEvent, ApprovalState, next_approval_state
from interlock.core.lineage import Lineage, same_eyes
from interlock.core.model import HoldTerms, Json, JsonObject, Micros
from interlock.core.safety import SafetyClass
from interlock.core.times import iso
from interlock.errors import Reason

SECOND = 1_000_000
HUMANS, AGENTS = "humans", "agents"
"""Words in `approvers` that stand for a kind of principal."""
_WIDTH = {scope: at for at, scope in enumerate((GrantScope.ONCE, GrantScope.IDENTICAL, GrantScope.TOOL))}


class ApproverType(StrEnum):
    """The door through which an approval was resolved."""

    MCP_AGENT = "mcp_agent"
    DASHBOARD = "dashboard"
    CLI = "cli"
    SYSTEM = "system"


class Approver(Struct, frozen=True):
    """Who answers, as we identified it."""

    name: str
    type: ApproverType
    owner: str | None = None
    session_id: str | None = None
    person: bool = False
    """Whether it is a person by the word of persons, or of the issuer that we trust."""


class Wish(Struct, frozen=True):
    """How widely an approver gives its word. No duration means as long as may be."""

    scope: GrantScope = GrantScope.ONCE
    seconds: int | None = None


class Vote(Struct, frozen=True):
    approver: str
    at: Micros
    scope: GrantScope = GrantScope.ONCE
    seconds: int | None = None
    resolution: str = ""


class Approval(Struct, frozen=True):
    """One question to reviewers, and what became of it. `version` counts its changes.

    `asked` is everything that reviewers are shown of the call, redacted; nothing is ever decided by it.
    """

    id: str
    key: GrantKey
    tool_name: str
    rule_id: str
    terms: HoldTerms
    created_at: Micros
    expires_at: Micros
    gateway: str
    """Which run of which gateway waits with it."""
    owner: str | None = None
    asked: JsonObject = {}
    status: ApprovalState = ApprovalState.PENDING
    version: int = 0
    votes: tuple[Vote, ...] = ()
    answered: bool = False
    """Whether the caller was told to come again: then nobody has to be there for it to stay open."""
    approver: str | None = None
    approver_session_id: str | None = None
    approver_type: ApproverType | None = None
    resolution: str = ""
    decided_at: Micros | None = None

    @property
    def requester(self) -> str:
        return self.key.caller


class Answered(Struct, frozen=True):
    """What an answer makes of an approval, and the grant that it becomes, if it was the last word that was needed."""

    approval: Approval
    grant: Grant | None = None


def shown(approval: Approval) -> dict[str, Json]:
    """An approval as reviewers and the record see it; times are in microseconds."""
    key, terms = approval.key, approval.terms
    return {
        **approval.asked,
        "id": approval.id,
        "status": approval.status.value,
        "requester": approval.requester,
        "owner": approval.owner,
        "workspace_id": key.workspace,
        "tool_name": approval.tool_name,
        "downstream_server_id": key.server,
        "tool": key.tool,
        "safety_class": key.safety_class,
        "tool_fingerprint": key.fingerprint,
        "digest": key.digest,
        "route_rule_id": approval.rule_id,
        "timeout_sec": terms.approval_timeout,
        "approvals_needed": terms.approvals_needed,
        "approvers": list(terms.approvers),
        "four_eyes": terms.four_eyes,
        "max_grant_sec": terms.max_grant,
        "votes": [{"approver": each.approver, "at": each.at, "scope": each.scope.value} for each in approval.votes],
        "approver": approval.approver,
        "approver_session_id": approval.approver_session_id,
        "approver_type": approval.approver_type,
        "resolution": approval.resolution,
        "created_at": approval.created_at,
        "decided_at": approval.decided_at,
        "expires_at": approval.expires_at,
    }


def shown_approval(approval: Approval) -> dict[str, Json]:
    """The same with times that people can read: as every door shows it."""
    votes: list[Json] = [
        {"approver": each.approver, "at": iso(each.at), "scope": each.scope.value} for each in approval.votes
    ]
    return {
        **shown(approval),
        "votes": votes,
        "created_at": iso(approval.created_at),
        "decided_at": None if approval.decided_at is None else iso(approval.decided_at),
        "expires_at": iso(approval.expires_at),
    }


# Who may answer -------------------------------------------------------------------------------------------------


def refusal_to(approver: Approver, approval: Approval, lineage: Lineage) -> Reason | None:
    """Why this approver may not answer; None when it may. That it has the role of one was looked at before."""
    if lineage.are_kin(approver.name, approval.requester):
        return errors.SELF_APPROVAL()
    if approval.terms.four_eyes and _are_two_of(approver, approval.owner):
        return errors.OWN_AGENT()
    wanted = approval.terms.approvers
    kind = HUMANS if approver.person else AGENTS
    # Somebody who is named like a kind is not of that kind because of it.
    named = approver.name in wanted and approver.name not in (HUMANS, AGENTS)
    if wanted and not named and kind not in wanted:
        return errors.NOT_AMONG_APPROVERS(approvers=", ".join(wanted))
    return None


def _are_two_of(approver: Approver, owner: str | None) -> bool:
    """Whether an approver's eyes are those of the requester's owner: its own, or those of an agent of its."""
    if owner is None:
        return False
    return same_eyes(approver.name, owner) or (not approver.person and same_eyes(owner, approver.owner))


# Answers --------------------------------------------------------------------------------------------------------


def approved(
    approval: Approval,
    approver: Approver,
    wish: Wish,
    resolution: str,
    now: Micros,
    may_still: Callable[[str], bool] = lambda name: True,
    use_within: int = 900,
) -> Answered | Reason:
    """What an approval becomes with one yes more, or why it cannot be. A yes whose giver may not give it any more
    (`may_still`) does not count."""
    if approval.status is not ApprovalState.PENDING:
        return resolved_before(approval)
    problem = _too_wide(approval, wish)
    if problem is not None:
        return errors.GRANT_TOO_WIDE(problem=problem)
    votes = tuple(each for each in approval.votes if may_still(each.approver))
    needed = approval.terms.approvals_needed
    if any(each.approver == approver.name for each in votes):
        return errors.ALREADY_VOTED(votes=len(votes), needed=needed)
    votes = (*votes, Vote(approver.name, now, wish.scope, wish.seconds, resolution))
    voted = replace(approval, votes=votes, version=approval.version + 1)
    if len(votes) < needed:
        return Answered(voted)
    final = _resolved(voted, ApprovalEvent.APPROVE, now, resolution, approver)
    return Answered(final, _grant(final, now, use_within))


def by_several_hands(answered: Answered | Reason, approver: Approver, lineage: Lineage) -> Answered | Reason:
    """The same, unless kin of the approver said yes before: where several have to agree, one hand under two names is
    not several."""
    if isinstance(answered, Reason):
        return answered
    approval = answered.approval
    others = [each.approver for each in approval.votes if each.approver != approver.name]
    if any(lineage.are_kin(approver.name, each) for each in others):
        return errors.KIN_VOTED(votes=len(others), needed=approval.terms.approvals_needed)
    return answered


def denied(approval: Approval, approver: Approver, resolution: str, now: Micros) -> Answered | Reason:
    """What an approval becomes with a no."""
    if approval.status is not ApprovalState.PENDING:
        return resolved_before(approval)
    once_more = replace(approval, version=approval.version + 1)
    return Answered(_resolved(once_more, ApprovalEvent.DENY, now, resolution, approver))


def ended(approval: Approval, event: ApprovalEvent, resolution: str, now: Micros) -> Approval:
    """What a pending approval becomes when nobody answers: its time is over, or nobody waits for it any more."""
    return _resolved(replace(approval, version=approval.version + 1), event, now, resolution, None)


def resolved_before(approval: Approval) -> Reason:
    """Somebody else was faster; says who."""
    approver = approval.approver or ApproverType.SYSTEM.value
    return errors.ALREADY_RESOLVED(status=approval.status.value, approver=approver)


def _resolved(
    approval: Approval, event: ApprovalEvent, now: Micros, resolution: str, approver: Approver | None
) -> Approval:
    state = next_approval_state(approval.status, event)
    assert state is not None  # noqa: S101 - only pending approvals get here, and from there each event leads on
    return replace(
        approval,
        status=state,
        decided_at=now,
        resolution=resolution,
        approver=None if approver is None else approver.name,
        approver_session_id=None if approver is None else approver.session_id,
        approver_type=ApproverType.SYSTEM if approver is None else approver.type,
    )


# What an answer gives -------------------------------------------------------------------------------------------


def _too_wide(approval: Approval, wish: Wish) -> str | None:
    """What is wrong with a wish, as half a sentence."""
    most = approval.terms.max_grant
    if wish.scope is GrantScope.ONCE:
        return None if wish.seconds is None else "a duration goes with the scopes identical and tool only"
    if most == 0:
        return "only this one call may be approved"
    if wish.seconds is not None and not 0 < wish.seconds <= most:
        return f"it may last for 1 to {most} seconds"
    if wish.scope is GrantScope.TOOL and SafetyClass(approval.key.safety_class).rank >= SafetyClass.DANGEROUS.rank:
        return f"a tool that is {approval.key.safety_class} is approved call by call"
    return None


def _grant(approval: Approval, now: Micros, use_within: int) -> Grant:
    """The grant of an approval: as wide, and for as long, as all who voted for it agree."""
    scope = min((each.scope for each in approval.votes), key=_WIDTH.__getitem__)
    seconds = min(_seconds(each, approval.terms.max_grant) for each in approval.votes)
    once = scope is GrantScope.ONCE
    return Grant(
        id=f"gr_{approval.id.removeprefix('ap_')}",
        key=approval.key,
        scope=scope,
        expires_at=now + SECOND * (use_within if once else seconds),
        uses_left=1 if once else None,
        approval=approval.id,
        given_by=tuple(each.approver for each in approval.votes),
        created_at=now,
    )


def _seconds(vote: Vote, most: int) -> int:
    return most if vote.seconds is None else vote.seconds


def withheld(grant: Grant, may_still: Callable[[str], bool]) -> bool:
    """Whether somebody whose word a grant is may not give it any more."""
    return not all(map(may_still, grant.given_by))
