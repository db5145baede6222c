"""Who is calling: by token, or as the one local principal."""

import asyncio
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
from interlock.store.protocol import Token
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


async def test_tokens_that_are_made_and_revoked_while_a_store_is_read_are_known_as_they_are_then() -> None:
    made, (new, text) = callers(), mint("new", "agent", ["agent"], CLOCK.now(), 2_000)
    kept, asked, answered = [TOKEN], asyncio.Event(), asyncio.Event()

    async def tokens() -> list[Token]:
        found = list(kept)
        asked.set()
        await answered.wait()
        return found

    async def change() -> None:
        async with made.changes:
            kept[:] = [new]
            made.add(new)
            made.drop(TOKEN.id)

    async with asyncio.TaskGroup() as group:
        group.create_task(made.read(tokens))
        await asked.wait()
        group.create_task(change())
        await asyncio.sleep(0)  # so that it could come first, if nothing kept it from that
        answered.set()

    assert isinstance(made.identify(f"Bearer {text}"), Principal)
    assert isinstance(made.identify(f"Bearer {TEXT}"), Reason)


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
    [
        (["agent"], "agent"),
        (["agent", "agent"], "agent"),
        (["agent", "admin"], "agent"),
        (["approver"], "human"),
        ([], "human"),
    ],
)
def test_whoever_may_call_tools_is_an_agent_by_default(roles: list[str], kind: str) -> None:
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


def test_everybody_who_could_ever_call_has_a_name_that_can_be_stopped() -> None:
    gone, _ = mint("gone", "agent", ["agent"], 0, None)
    known = callers()
    known.add(replace(gone, revoked_at=5))

    assert known.names() == ["ci", "gone", "local", "operator-agent"]


def test_an_expired_token_is_nobody() -> None:
    clock = FakeClock(now=2_000)
    made = Callers(clock, allow_local=True)
    made.replace([TOKEN])

    found = made.identify(f"Bearer {TEXT}")

    assert isinstance(found, Reason)
    assert found.text == "The token has expired."


class Elsewhere:
    """An issuer that knows one token, admits another, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def known(self, text: str) -> Principal | None:
        self.asked.append(text)
        return ALICE if text == "known" else None

    async def admit(self, text: str) -> Principal | Reason:
        self.asked.append(f"admit {text}")
        return ALICE if text == "new" else Reason("Who is that?", Code.UNAUTHENTICATED)

    def again(self, token_id: str) -> Principal | None:
        return {"jwt:1": ALICE, "jwt:2": ROBOT}.get(token_id)

    def may_still_answer(self, name: str) -> bool:
        return name == "jwt:alice"


ALICE = Principal("jwt:alice", "human", frozenset({"auditor"}), None, Scope(), "jwt:1")
ROBOT = Principal("jwt:robot", "agent", frozenset({"agent"}), None, Scope(), "jwt:2")
GONE = Principal("jwt:gone", "human", frozenset({"agent"}), None, Scope(), "jwt:3")


def with_issuer() -> tuple[Callers, Elsewhere]:
    issuer = Elsewhere()
    made = Callers(CLOCK, allow_local=True, outside=issuer)
    made.replace([TOKEN])
    return made, issuer


async def test_a_token_of_the_issuer_is_somebody_once_it_is_known() -> None:
    made, issuer = with_issuer()

    assert made.identify("Bearer known") is ALICE
    assert await made.admit("Bearer known") is ALICE
    assert issuer.asked == ["known", "known"]


async def test_a_new_token_of_the_issuer_is_nobody_until_it_is_admitted() -> None:
    made, _ = with_issuer()
    stranger = await made.admit("Bearer stranger")

    assert isinstance(made.identify("Bearer new"), Reason)
    assert await made.admit("Bearer new") is ALICE
    assert isinstance(stranger, Reason)
    assert stranger.text == "Who is that?"


@pytest.mark.parametrize("header", [f"Bearer {TEXT}", f"Bearer {TEXT}x", "Bearer il_", "Basic known", "known", None])
async def test_tokens_of_ours_and_what_is_none_never_come_near_the_issuer(header: str | None) -> None:
    made, issuer = with_issuer()

    assert await made.admit(header) == made.identify(header)
    assert issuer.asked == []


def test_whoever_came_with_a_token_of_the_issuer_is_never_taken_for_somebody_else_later() -> None:
    made, _ = with_issuer()
    gone = made.again(GONE.as_caller())
    without = callers().again(ALICE.as_caller())

    assert made.again(ALICE.as_caller()) is ALICE
    assert isinstance(gone, Reason)
    assert gone.text == "The token that this call came with has expired, or is not known any more."
    assert isinstance(without, Reason)


def test_a_person_is_whom_the_issuer_calls_one() -> None:
    made, _ = with_issuer()

    assert [made.is_person(each) for each in (ALICE, ROBOT, GONE)] == [True, False, False]
    assert [made.is_person(each.as_caller()) for each in (ALICE, ROBOT)] == [True, False]
    assert not made.is_person(Principal("jwt:alice", "human", frozenset()))
    assert not callers().is_person(ALICE)
    assert not made.is_vouched(Principal("operator", "human", frozenset(), None, Scope(), "0" * 12))


def test_whether_an_approver_of_the_issuer_may_still_answer_is_for_the_issuer_to_say() -> None:
    made, _ = with_issuer()

    assert [made.may_still_answer(name) for name in ("jwt:alice", "jwt:robot")] == [True, False]
    assert not callers().may_still_answer("jwt:alice")


async def test_without_an_issuer_nobody_is_admitted_who_is_not_identified() -> None:
    found = await callers().admit("Bearer new")

    assert isinstance(found, Reason)
    assert found.text == "The token is not valid."


def test_two_tokens_are_never_the_same() -> None:
    made = {mint("ci", "agent", ["agent"], 0, None)[1] for _ in range(100)}

    assert len(made) == 100
