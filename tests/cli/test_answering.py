"""What an answer made of an approval, in a sentence."""

from interlock.cli.answering import outcome_of
from tests.cli.approvals import approval, resolved


def test_the_outcome_names_the_tool_the_requester_and_the_approval() -> None:
    assert outcome_of(resolved(1, "denied")) == "Denied: up__tool_1 of ci (ap_00010001)."


def test_a_vote_that_is_not_enough_is_no_outcome() -> None:
    voted = approval(1, votes=[{"approver": "alice"}], approvals_needed=3)

    assert outcome_of(voted) == (
        "Your vote for up__tool_1 of ci counts: 1 of 3 are there, and another approver has to agree."
    )
