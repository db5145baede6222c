"""Who may answer for a call, and what an answer makes of it."""

from dataclasses import replace as with_terms
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.core.approvals import (
    SECOND,
    Answered,
    Approval,
    Approver,
    ApproverType,
    Vote,
    Wish,
    approved,
    by_several_hands,
    denied,
    ended,
    refusal_to,
    resolved_before,
    shown,
    shown_approval,
    withheld,
)
from interlock.core.grants import Grant, GrantKey, GrantScope
from interlock.core.lifecycle import ApprovalEvent, ApprovalState
from interlock.core.lineage import Lineage, Minted
from interlock.core.model import HoldTerms
from interlock.errors import Code, Reason

NOW = 1_000 * SECOND
KEY = GrantKey("agent", "up", "run_job", "f1", "d1", "h1", "subprocess", "prod")
TERMS = HoldTerms(approval_timeout=300, max_grant=60)
APPROVAL = Approval("ap_1", KEY, "up__run_job", "rule-1", TERMS, NOW, NOW + 300 * SECOND, "gw_1", owner="olga")
BOB = Approver("bob", ApproverType.CLI, session_id="s-1", person=True)
CAROL = Approver("carol", ApproverType.DASHBOARD, person=True)
ONCE = Wish()


def under(**terms: Any) -> Approval:
    return replace(APPROVAL, terms=with_terms(TERMS, **terms))


def answered(found: Answered | Reason) -> Answered:
    assert isinstance(found, Answered)
    return found


def granted(found: Answered | Reason) -> Grant:
    grant = answered(found).grant
    assert grant is not None
    return grant


def code(found: Answered | Reason | None) -> Code | None:
    assert isinstance(found, Reason)
    return found.code


# Who may answer ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["agent", "child", "parent", "sibling"])
def test_nobody_answers_for_a_call_of_its_own_under_any_name(name: str) -> None:
    minted = [
        Minted("agent", "agent", "parent"),
        Minted("child", "human", "agent"),
        Minted("sibling", "agent", "parent"),
    ]
    approver = Approver(name, ApproverType.MCP_AGENT)

    assert (
        code(refusal_to(approver, APPROVAL, Lineage([Minted("parent", "agent", None), *minted]))) is Code.SELF_APPROVAL
    )


def test_the_owner_of_an_agent_may_answer_for_it_unless_four_eyes_are_wanted() -> None:
    olga = Approver("olga", ApproverType.CLI, person=True)
    of_olga = Approver("helper", ApproverType.MCP_AGENT, owner="olga")

    assert refusal_to(olga, APPROVAL, Lineage()) is None
    assert refusal_to(of_olga, APPROVAL, Lineage()) is None
    assert code(refusal_to(olga, under(four_eyes=True), Lineage())) is Code.SELF_APPROVAL
    told = refusal_to(of_olga, under(four_eyes=True), Lineage())
    assert code(told) is Code.SELF_APPROVAL
    assert told is not None
    assert "four eyes" in told.fix, "whoever did not ask for the call itself is told why it counts as its own"
    assert refusal_to(BOB, under(four_eyes=True), Lineage()) is None
    assert refusal_to(Approver("bob", ApproverType.CLI), replace(under(four_eyes=True), owner=None), Lineage()) is None


@pytest.mark.parametrize(("owner", "name"), [("olga", "jwt:olga"), ("jwt:olga", "jwt:olga"), ("jwt:olga", "olga")])
def test_an_owner_whom_an_issuer_names_has_the_same_eyes_under_either_name(owner: str, name: str) -> None:
    asked = replace(under(four_eyes=True), owner=owner)
    olga = Approver(name, ApproverType.CLI, person=True)
    of_olga = Approver("helper", ApproverType.MCP_AGENT, owner=name)

    assert code(refusal_to(olga, asked, Lineage())) is Code.SELF_APPROVAL
    assert code(refusal_to(of_olga, asked, Lineage())) is Code.SELF_APPROVAL
    assert refusal_to(olga, replace(asked, owner="paul"), Lineage()) is None


@pytest.mark.parametrize(
    ("wanted", "name", "person", "may"),
    [
        ((), "anybody", False, True),
        (("humans",), "bob", True, True),
        (("humans",), "robot", False, False),
        (("agents",), "robot", False, True),
        (("agents",), "bob", True, False),
        (("bob",), "bob", True, True),
        (("bob",), "carol", True, False),
        (("bob", "agents"), "robot", False, True),
        # A name is chosen by whoever makes the token; what it stands for in the rules is not.
        (("humans",), "humans", False, False),
        (("agents",), "agents", True, False),
        (("agents",), "humans", False, True),
    ],
)
def test_the_terms_say_who_may_answer(wanted: tuple[str, ...], name: str, person: bool, may: bool) -> None:
    refusal = refusal_to(Approver(name, ApproverType.CLI, person=person), under(approvers=wanted), Lineage())

    assert (refusal is None) is may
    assert refusal is None or refusal.code is Code.FORBIDDEN


# Yes and no -------------------------------------------------------------------------------------------------------


def test_one_yes_approves_and_becomes_a_grant_for_one_use() -> None:
    found = answered(approved(APPROVAL, BOB, ONCE, "fine", NOW + 5, use_within=900))
    approval = found.approval

    assert (approval.status, approval.version, approval.decided_at) == (ApprovalState.APPROVED, 1, NOW + 5)
    assert (approval.approver, approval.approver_session_id, approval.approver_type) == ("bob", "s-1", ApproverType.CLI)
    assert approval.resolution == "fine"
    assert found.grant == Grant(
        id="gr_1",
        key=KEY,
        scope=GrantScope.ONCE,
        expires_at=NOW + 5 + 900 * SECOND,
        uses_left=1,
        approval="ap_1",
        given_by=("bob",),
        created_at=NOW + 5,
    )


def test_a_vote_that_is_not_the_last_is_no_transition() -> None:
    first = answered(approved(under(approvals_needed=2), BOB, ONCE, "one", NOW))
    again = approved(first.approval, BOB, ONCE, "two", NOW)
    second = answered(approved(first.approval, CAROL, ONCE, "two", NOW))

    assert (first.approval.status, first.grant, len(first.approval.votes)) == (ApprovalState.PENDING, None, 1)
    assert first.approval.decided_at is None
    assert code(again) is Code.ALREADY_RESOLVED
    assert (second.approval.status, second.approval.version) == (ApprovalState.APPROVED, 2)
    assert granted(second).given_by == ("bob", "carol")


def test_the_vote_of_somebody_who_may_not_vote_any_more_does_not_count() -> None:
    first = answered(approved(under(approvals_needed=2), BOB, ONCE, "", NOW)).approval
    second = answered(approved(first, CAROL, ONCE, "", NOW, may_still=lambda name: name != "bob"))

    assert second.grant is None
    assert [each.approver for each in second.approval.votes] == ["carol"]


def test_one_no_denies_whatever_was_said_before() -> None:
    first = answered(approved(under(approvals_needed=3), BOB, ONCE, "", NOW)).approval
    found = answered(denied(first, CAROL, "no", NOW + 1))

    assert (found.approval.status, found.grant) == (ApprovalState.DENIED, None)
    assert (found.approval.approver, found.approval.resolution) == ("carol", "no")


@pytest.mark.parametrize(
    ("event", "state"),
    [(ApprovalEvent.EXPIRE, ApprovalState.TIMEOUT), (ApprovalEvent.CANCEL, ApprovalState.CANCELLED)],
)
def test_what_nobody_answers_is_ended_by_the_system(event: ApprovalEvent, state: ApprovalState) -> None:
    found = ended(APPROVAL, event, "why", NOW)

    assert (found.status, found.approver, found.approver_type) == (state, None, ApproverType.SYSTEM)
    assert (found.resolution, found.version, found.decided_at) == ("why", 1, NOW)


@pytest.mark.parametrize("state", [each for each in ApprovalState if each is not ApprovalState.PENDING])
def test_what_is_resolved_stays_so_and_says_by_whom(state: ApprovalState) -> None:
    over = replace(APPROVAL, status=state, approver="carol")

    assert code(approved(over, BOB, ONCE, "", NOW)) is Code.ALREADY_RESOLVED
    assert code(denied(over, BOB, "", NOW)) is Code.ALREADY_RESOLVED
    assert resolved_before(over).fix == f"It was {state.value} by carol; nothing is left to answer."
    assert "by system" in resolved_before(replace(over, approver=None)).fix


# How wide ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "max_grant", "safety_class", "problem"),
    [
        (Wish(GrantScope.ONCE, 5), 60, "subprocess", "a duration goes with"),
        (Wish(GrantScope.IDENTICAL), 0, "subprocess", "only this one call"),
        (Wish(GrantScope.IDENTICAL, 61), 60, "subprocess", "1 to 60 seconds"),
        (Wish(GrantScope.IDENTICAL, 0), 60, "subprocess", "1 to 60 seconds"),
        (Wish(GrantScope.TOOL, 5), 60, "dangerous", "call by call"),
        (Wish(GrantScope.TOOL), 60, "unknown", "call by call"),
    ],
)
def test_an_approver_gives_no_more_than_the_terms_allow(
    wish: Wish, max_grant: int, safety_class: str, problem: str
) -> None:
    asked = replace(under(max_grant=max_grant), key=with_terms(KEY, safety_class=safety_class))
    found = approved(asked, BOB, wish, "", NOW)

    assert code(found) is Code.BAD_REQUEST
    assert isinstance(found, Reason)
    assert problem in found.text


@pytest.mark.parametrize(
    ("wish", "safety_class", "seconds"),
    [
        (Wish(GrantScope.IDENTICAL), "dangerous", 60),
        (Wish(GrantScope.IDENTICAL, 60), "subprocess", 60),
        (Wish(GrantScope.TOOL, 1), "subprocess", 1),
    ],
)
def test_a_wider_grant_has_no_count_and_lasts_as_long_as_was_wished(
    wish: Wish, safety_class: str, seconds: int
) -> None:
    grant = granted(approved(replace(APPROVAL, key=with_terms(KEY, safety_class=safety_class)), BOB, wish, "", NOW))

    assert (grant.scope, grant.uses_left, grant.expires_at) == (wish.scope, None, NOW + seconds * SECOND)


_wishes = st.builds(Wish, st.sampled_from([GrantScope.IDENTICAL, GrantScope.TOOL]), st.none() | st.integers(1, 60))


@given(st.lists(st.just(ONCE) | _wishes, min_size=1, max_size=4))
def test_a_grant_is_as_wide_as_all_who_voted_for_it_agree(wishes: list[Wish]) -> None:
    found = Answered(under(approvals_needed=len(wishes)))
    for number, wish in enumerate(wishes):
        found = answered(
            approved(found.approval, Approver(f"p{number}", ApproverType.CLI), wish, "", NOW, use_within=5)
        )
    grant = granted(found)
    order = [GrantScope.ONCE, GrantScope.IDENTICAL, GrantScope.TOOL]
    longest = (
        5 if grant.scope is GrantScope.ONCE else min(60 if each.seconds is None else each.seconds for each in wishes)
    )

    assert order.index(grant.scope) == min(order.index(each.scope) for each in wishes)
    assert grant.expires_at == NOW + longest * SECOND


def test_a_grant_is_withheld_when_one_of_those_whose_word_it_is_may_not_give_it_any_more() -> None:
    grant = Grant("g", KEY, GrantScope.ONCE, NOW, given_by=("bob", "carol"))

    assert not withheld(grant, lambda name: True)
    assert withheld(grant, lambda name: name != "carol")


# What is shown ----------------------------------------------------------------------------------------------------


def test_what_was_asked_never_hides_what_we_know() -> None:
    forged: dict[str, Any] = {"status": "approved", "requester": "somebody", "justification": "please"}
    voted = replace(APPROVAL, asked=forged, votes=(Vote("bob", NOW, resolution="not shown"),))
    told = shown(voted)

    assert (told["status"], told["requester"], told["justification"]) == ("pending", "agent", "please")
    assert told["votes"] == [{"approver": "bob", "at": NOW, "scope": "once"}]
    assert (told["digest"], told["tool_fingerprint"], told["workspace_id"]) == ("d1", "f1", "prod")


def test_times_are_shown_so_that_people_can_read_them() -> None:
    vote = Vote("bob", NOW, GrantScope.ONCE)
    told = shown_approval(replace(APPROVAL, votes=(vote,)))

    assert told["votes"] == [{"approver": "bob", "at": "1970-01-01T00:16:40.000000Z", "scope": "once"}]
    assert (told["created_at"], told["expires_at"]) == ("1970-01-01T00:16:40.000000Z", "1970-01-01T00:21:40.000000Z")


def test_where_several_have_to_agree_kin_are_one_hand() -> None:
    voted = replace(under(approvals_needed=2), votes=(Vote("bob", NOW, GrantScope.ONCE),))
    made = Lineage(
        [Minted("operator", "human", None), Minted("bob", "agent", "operator"), Minted("kid", "agent", "bob")]
    )
    said = Answered(voted, None)

    assert code(by_several_hands(said, Approver("kid", ApproverType.MCP_AGENT), made)) is Code.SELF_APPROVAL
    assert by_several_hands(said, CAROL, made) is said
    assert by_several_hands(said, BOB, made) is said, "one's own vote is no second hand"


def test_what_was_refused_stays_refused_whoever_agreed_before() -> None:
    refused = refusal_to(Approver("agent", ApproverType.MCP_AGENT), APPROVAL, Lineage([]))
    assert isinstance(refused, Reason)

    assert by_several_hands(refused, CAROL, Lineage([])) is refused
