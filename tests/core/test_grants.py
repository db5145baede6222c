"""When a grant lets a call pass, and when it does not."""

from dataclasses import replace

import pytest

from interlock.core.grants import Grant, GrantKey, GrantScope, changed, covering, covers
from interlock.core.safety import SafetyClass

KEY = GrantKey("ci-1", "github", "create_issue", "f1", "d1", "h1")
GRANT = Grant("g1", KEY, GrantScope.IDENTICAL, expires_at=100)
WRITE = SafetyClass.WRITE_CAPABLE


@pytest.mark.parametrize("scope", GrantScope)
def test_a_grant_covers_the_call_it_was_given_for(scope: GrantScope) -> None:
    assert covers(replace(GRANT, scope=scope), KEY, WRITE, now=99)


@pytest.mark.parametrize("scope", [GrantScope.ONCE, GrantScope.IDENTICAL])
@pytest.mark.parametrize(
    ("key", "word"),
    [
        (replace(KEY, caller="x"), "the caller"),
        (replace(KEY, server="x"), "the server"),
        (replace(KEY, tool="x"), "the tool"),
        (replace(KEY, fingerprint="x"), "the tool's definition"),
        (replace(KEY, digest="x"), "the arguments"),
        (replace(KEY, rule_hash="x"), "the rule"),
        (replace(KEY, auth_scope="x"), "the credentials"),
    ],
)
def test_a_grant_does_not_cover_a_call_that_differs_in_one_thing(scope: GrantScope, key: GrantKey, word: str) -> None:
    grant = replace(GRANT, scope=scope)

    assert not covers(grant, key, WRITE, now=0)
    assert changed(grant, key) == (word,)


def test_a_grant_for_a_tool_covers_other_arguments_and_nothing_else() -> None:
    grant = replace(GRANT, scope=GrantScope.TOOL)

    assert covers(grant, replace(KEY, digest="x"), WRITE, now=0)
    assert not covers(grant, replace(KEY, digest="x", rule_hash="x"), WRITE, now=0)


@pytest.mark.parametrize(
    ("safety_class", "covered"), list(zip(SafetyClass, [True, True, True, False, False], strict=True))
)
def test_a_grant_for_a_tool_never_covers_a_dangerous_or_unknown_one(safety_class: SafetyClass, covered: bool) -> None:
    assert covers(replace(GRANT, scope=GrantScope.TOOL), KEY, safety_class, now=0) is covered


@pytest.mark.parametrize(
    "grant", [replace(GRANT, revoked=True), replace(GRANT, uses_left=0), replace(GRANT, expires_at=50)]
)
def test_a_revoked_used_or_expired_grant_covers_nothing(grant: Grant) -> None:
    assert not covers(grant, KEY, WRITE, now=50)


def test_a_standing_grant_is_used_before_a_one_use_grant_and_then_the_one_that_ends_first() -> None:
    once = replace(GRANT, id="once", uses_left=1, expires_at=10)
    late = replace(GRANT, id="late", expires_at=90)
    soon = replace(GRANT, id="soon", expires_at=20)

    assert covering([once, late, soon], KEY, WRITE, now=0) == soon
    assert covering([once], KEY, WRITE, now=0) == once
    assert covering([once], KEY, WRITE, now=10) is None
