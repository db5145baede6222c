"""Which activities are meant. That each filter does what it says is tested with the list."""

import pytest

from interlock.core.lifecycle import CallState
from interlock.web.filters import ActivityFilters, filter_of, words
from interlock.web.problems import Refusal

NOW = 1_790_000_000_000_000


def test_words_may_be_repeated_and_separated_by_commas() -> None:
    assert words("status", ["error, blocked", "denied"], CallState) == (
        CallState.ERROR,
        CallState.BLOCKED,
        CallState.DENIED,
    )


@pytest.mark.parametrize(("field", "value"), [("type", ["x"]), ("status", [""]), ("since", "soon"), ("until", "")])
def test_a_refusal_names_the_field(field: str, value: object) -> None:
    with pytest.raises(Refusal) as refused:
        filter_of(ActivityFilters.model_validate({field: value}), NOW)

    assert refused.value.reason.text.startswith(f"{field}: ")


def test_times_may_be_given_as_how_long_ago() -> None:
    assert filter_of(ActivityFilters(since="2h"), NOW).since == NOW - 2 * 3_600_000_000
