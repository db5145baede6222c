"""Whether what is kept is what the log tells, by values alone. What a database makes of it is tested with each."""

from typing import Any

from interlock.core.approvals import shown
from interlock.store.approval_rows import approval_row
from interlock.store.audit.told import agrees, told_of
from interlock.store.rows import json_text, record_of
from tests.store.approval_examples import approval
from tests.store.audit.logs import call

KEPT = (0, 1, 2, 4, 7, 8, 9, 10, 11, 13, 14)
"""Where the columns that make an approval stand in its row."""


def row(**changed: str) -> tuple[Any, ...]:
    asked = approval(1)
    whole = approval_row(asked)
    told = shown(asked) | changed
    return (*(whole[each] for each in KEPT), whole[12], whole[3], whole[5], whole[6], json_text(told))


def test_an_approval_agrees_with_what_is_told_of_it_and_with_nothing_else() -> None:
    assert agrees(*row())
    assert not agrees(*row(requester="mallory"))
    assert not agrees(*row()[:-1], "no JSON")


def test_what_is_told_of_a_row_of_the_list_is_its_text() -> None:
    record = record_of(call(1))

    assert told_of(record.row) == record.text.encode()
    assert told_of(record.row[:-1]) is None
