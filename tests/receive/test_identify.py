"""Who is calling: by token, or as the one local principal."""

from dataclasses import replace

import pytest

from interlock.errors import Code, Reason
from interlock.receive.identify import LOCAL, Callers, Principal, mint
from tests.fakes import FakeClock

CLOCK = FakeClock(now=1_000)
TOKEN, TEXT = mint("ci", "agent", ["agent"], CLOCK.now(), 2_000)


def callers(*, allow_local: bool = True) -> Callers:
    made = Callers(CLOCK, allow_local=allow_local, workspace="ws")
    made.replace([TOKEN])
    return made


def test_a_token_names_its_principal() -> None:
    found = callers().identify(f"Bearer {TEXT}")

    assert isinstance(found, Principal)
    assert (found.name, found.roles, found.as_caller().workspace) == ("ci", frozenset({"agent"}), "ws")
    assert found.as_caller().scope.expires_at == 2_000


def test_the_secret_is_not_in_what_is_stored() -> None:
    assert TEXT.rpartition("_")[2] not in repr(TOKEN)
    assert TEXT.startswith(f"il_{TOKEN.id}_")


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
    assert TEXT.rpartition("_")[2] not in found.text


def test_where_a_token_is_needed_nobody_is_local() -> None:
    assert isinstance(callers(allow_local=False).identify(None), Reason)


def test_a_revoked_token_is_nobody() -> None:
    made = callers()
    made.replace([replace(TOKEN, revoked_at=1)])

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
