"""Who is calling: by token, or as the one local principal."""

from dataclasses import replace

import pytest

from interlock.core.model import Caller, Json, OperationType, Scope
from interlock.errors import Code, Reason
from interlock.receive.identify import (
    LOCAL,
    RESERVED_NAMES,
    Callers,
    Principal,
    TokenScope,
    default_kind,
    mint,
    scope_of,
)
from tests.fakes import FakeClock

CLOCK = FakeClock(now=1_000)
TOKEN, TEXT = mint("ci", "agent", ["agent"], CLOCK.now(), 2_000)
SECRET = TEXT.split("_", 2)[2]


def callers(*, allow_local: bool = True) -> Callers:
    made = Callers(CLOCK, allow_local=allow_local)
    made.replace([TOKEN])
    return made


def test_a_token_names_its_principal() -> None:
    found = callers().identify(f"Bearer {TEXT}")

    assert found == Principal("ci", "agent", frozenset({"agent"}), None, Scope(expires_at=2_000), TOKEN.id)


def test_a_token_gives_its_workspace_and_its_limits() -> None:
    limits = TokenScope("alice", "bob", "ws", ("git*",), ("get_*", "up:x"), OperationType.WRITE, "some-model")
    token, text = mint("ci", "agent", ["agent"], 0, 2_000, limits)
    made = callers()
    made.add(token)
    found = made.identify(f"Bearer {text}")

    assert isinstance(found, Principal)
    scope = Scope(("git*",), ("get_*", "up:x"), OperationType.WRITE, expires_at=2_000)
    assert found.as_caller() == Caller("ci", "ws", scope, token.id, "alice")
    assert found.label == "some-model"
    assert scope_of(token) == limits


def test_no_tools_is_not_the_same_as_all_tools() -> None:
    token, _ = mint("ci", "agent", ["agent"], 0, None, TokenScope(tools=()))

    assert (scope_of(token).tools, scope_of(token).servers) == ((), None)


@pytest.mark.parametrize(
    "scope",
    [
        {"ceiling": "sky"},
        {"servers": "up"},
        {"servers": [5]},
        {"tools": ["["]},
        {"tools": ["x" * 1001]},
        {"workspace": 5},
        {"arguments": {"repo": "acme/*"}},
    ],
)
def test_a_token_whose_limits_are_not_understood_is_nobody(scope: dict[str, Json]) -> None:
    made = Callers(CLOCK, allow_local=True)
    made.replace([replace(TOKEN, scope=scope)])

    assert isinstance(made.identify(f"Bearer {TEXT}"), Reason)


@pytest.mark.parametrize(
    ("roles", "kind"),
    [(["agent"], "agent"), (["agent", "agent"], "agent"), (["agent", "admin"], "human"), ([], "human")],
)
def test_whoever_may_only_call_tools_is_an_agent_by_default(roles: list[str], kind: str) -> None:
    assert default_kind(roles) == kind


def test_our_own_names_are_reserved() -> None:
    assert sorted(RESERVED_NAMES) == ["local", "operator", "operator-agent"]


def test_the_secret_is_not_in_what_is_stored() -> None:
    assert SECRET not in repr(TOKEN)
    assert f"il_{TOKEN.id}_{SECRET}" == TEXT


def test_without_a_token_a_caller_on_this_machine_is_local() -> None:
    found = callers().identify(None)

    assert isinstance(found, Principal)
    assert (found.name, found.roles) == (LOCAL, frozenset({"agent"}))


@pytest.mark.parametrize(
    "header",
    [
        "Bearer il_nobody_secret",
        f"Bearer {TEXT}x",
        f"Bearer {TEXT[:-1]}",
        f"Bearer il_{TOKEN.id}_",
        f"Bearer il_{TOKEN.id}_{TOKEN.secret_hash}",
        f"Bearer IL_{TOKEN.id}_{SECRET}",
        f"Bearer il_{TOKEN.id.upper()}x_{SECRET}",
        f"Bearer il__{SECRET}",
        f"Bearer {TEXT}\n{TEXT}",
        "Bearer il_" + "0" * 100_000,
        "Bearer il_",
        "Bearer ",
        "Bearer",
        f"Basic {TEXT}",
        TEXT,
        "",
    ],
)
def test_anything_else_is_nobody(header: str) -> None:
    found = callers().identify(header)

    assert isinstance(found, Reason)
    assert found.code is Code.UNAUTHENTICATED
    assert SECRET not in found.text


def test_where_a_token_is_needed_nobody_is_local() -> None:
    assert isinstance(callers(allow_local=False).identify(None), Reason)


def test_a_revoked_token_is_nobody() -> None:
    made = callers()
    made.replace([replace(TOKEN, revoked_at=1)])

    assert isinstance(made.identify(f"Bearer {TEXT}"), Reason)


def test_a_token_is_known_from_the_moment_it_is_added_until_it_is_dropped() -> None:
    made = Callers(CLOCK, allow_local=True)
    before = made.identify(f"Bearer {TEXT}")
    made.add(TOKEN)
    known = made.identify(f"Bearer {TEXT}")
    made.drop(TOKEN.id)
    made.drop("nothing")

    assert isinstance(before, Reason)
    assert isinstance(known, Principal)
    assert isinstance(made.identify(f"Bearer {TEXT}"), Reason)


def test_a_revoked_token_cannot_be_added() -> None:
    made = Callers(CLOCK, allow_local=True)
    made.add(replace(TOKEN, revoked_at=1))

    assert isinstance(made.identify(f"Bearer {TEXT}"), Reason)


def test_an_expired_token_is_nobody() -> None:
    clock = FakeClock(now=2_000)
    made = Callers(clock, allow_local=True)
    made.replace([TOKEN])

    found = made.identify(f"Bearer {TEXT}")

    assert isinstance(found, Reason)
    assert found.text == "The token has expired."


def test_two_tokens_are_never_the_same() -> None:
    made = {mint("ci", "agent", ["agent"], 0, None)[1] for _ in range(100)}

    assert len(made) == 100
