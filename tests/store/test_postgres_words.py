"""Statements and values on their way to PostgreSQL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.store import approval_queries, queries
from interlock.store.postgres_words import held, in_postgres, numbered, plain
from tests.store.approval_examples import approval, why, yes
from tests.store.places import InDatabase, opened


@pytest.mark.parametrize(
    ("sql", "expected"),
    [("a = ? AND b = ?", "a = $1 AND b = $2"), ("a = ?2 AND b = ?1 OR c = ?2", "a = $2 AND b = $1 OR c = $2")],
)
def test_parameters_get_numbers(sql: str, expected: str) -> None:
    assert numbered(sql) == expected


def test_the_time_that_a_statement_is_given_is_that_of_the_database() -> None:
    sql = in_postgres(approval_queries.REVOKE_GRANT, timed=True)

    assert "expires_at > now_micros()" in sql
    assert sql.count("$") == 2


def test_what_both_databases_understand_is_said_in_the_same_words() -> None:
    assert in_postgres(queries.LOG_END) == "SELECT coalesce(max(seq), 0) FROM entry WHERE chain = $1"


@given(st.lists(st.text(st.sampled_from("\0\x1a01a\u00e9"), max_size=6)))
def test_any_text_comes_back_as_it_was_and_no_null_character_goes_out(texts: list[str]) -> None:
    stored = [held(each) for each in texts]

    assert not any("\0" in each for each in stored)
    assert list(plain(stored)) == texts
    assert len(set(stored)) == len(set(texts))


@pytest.mark.parametrize("value", [None, 7, b"\0"])
def test_what_is_no_text_is_left_alone(value: object) -> None:
    assert plain([held(value)]) == (value,)


ODD = ["\0", "\ud800", "\\u0000", "\\\0", "\\\\ud83d", "\U0001f600", "\ud83d\ud83d"]


async def test_whatever_an_agent_says_an_approval_is_answered_and_found_again(database: InDatabase) -> None:
    asked = {"justification": "".join(ODD), "arguments": {each: each for each in ODD}}
    question = approval(asked=asked)
    made = yes(question)
    async with opened(database) as store:
        await store.approvals.add_approval(question, why())
        answered = await store.approvals.change_approval(made.approval, why(1, "approved"), made.grant)
        found = await store.approvals.last_approved(question.key.server, question.key.tool, 2**62, "")

        assert answered
        assert found == made.approval
