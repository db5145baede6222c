"""What an answer made of an approval, in a sentence."""

import pytest

from interlock.cli.answering import is_beyond_once, outcome_of
from tests.cli.approvals import approval, resolved


def test_the_outcome_names_the_tool_the_requester_and_the_approval() -> None:
    assert outcome_of(resolved(1, "denied")) == "Denied: up__tool_1 of ci (ap_00010001)."


def test_a_vote_that_is_not_enough_is_no_outcome() -> None:
    voted = approval(1, votes=[{"approver": "alice"}], approvals_needed=3)

    assert outcome_of(voted) == (
        "Your vote for up__tool_1 of ci counts: 1 of 3 are there, and another approver has to agree."
    )


@pytest.mark.parametrize(
    ("status", "given", "beyond"),
    [
        ("approved", ["once"], False),
        ("approved", ["identical"], True),
        ("approved", ["tool", "identical"], True),
        ("approved", ["tool", "once"], False),
        ("approved", [], False),
        ("denied", ["tool"], False),
        ("pending", ["tool"], False),
    ],
)
def test_more_calls_pass_by_what_everybody_gave_more_widely(status: str, given: list[str], beyond: bool) -> None:
    assert is_beyond_once(approval(1, status=status, votes=[{"scope": each} for each in given])) is beyond
