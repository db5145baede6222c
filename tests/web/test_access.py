"""Which roles may use a route."""

import pytest

from interlock.errors import Code
from interlock.receive.identify import ROLES, Principal
from interlock.web.access import ADMINS, READERS, refusal_of


def principal(*roles: str) -> Principal:
    return Principal("somebody", "human", frozenset(roles))


@pytest.mark.parametrize(
    ("allowed", "may"), [(READERS, {"admin", "auditor", "approver"}), (ADMINS, {"admin"})], ids=["read", "admin"]
)
def test_one_fitting_role_is_enough(allowed: frozenset[str], may: set[str]) -> None:
    assert {role for role in ROLES if refusal_of(principal(role), allowed) is None} == may
    assert refusal_of(principal("agent", *may), allowed) is None


def test_without_any_role_nothing_is_allowed() -> None:
    assert refusal_of(principal(), READERS) is not None


def test_the_refusal_names_the_roles_that_would_do() -> None:
    refused = refusal_of(principal("agent"), READERS)

    assert refused is not None
    assert (refused.code, refused.text) == (Code.FORBIDDEN, "This needs the role admin or approver or auditor.")
