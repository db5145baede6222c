"""The kinds of findings of a scan."""

from interlock.lab.model import Severity
from interlock.lab.scan.kinds import ALL, BY_CODE, HIDDEN_TEXT


def test_every_kind_has_a_code_of_its_own_a_sentence_and_a_way_out() -> None:
    assert len(BY_CODE) == len(ALL)
    assert all(each.text.endswith(".") and each.fix.endswith(".") for each in ALL)


def test_a_finding_has_what_its_kind_says_and_what_was_seen() -> None:
    found = HIDDEN_TEXT.found("echo", server="s", path="description")

    assert (found.code, found.severity, found.tool, found.fix) == (
        "hidden-text",
        Severity.HIGH,
        "echo",
        HIDDEN_TEXT.fix,
    )
    assert found.evidence == {"server": "s", "path": "description"}


def test_one_finding_may_be_lighter_than_its_kind() -> None:
    assert HIDDEN_TEXT.found(None, Severity.INFO).severity is Severity.INFO
