"""What the operator wrote, as calls meet it: whose posture holds, who waits how long, and what may be held."""

import pytest

from interlock.core.decide import GatewayEntry
from interlock.core.model import Call, Caller, Standing
from interlock.core.policy import Draft, Patience, Policy
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect, Posture
from interlock.core.toolbook import ListedTool, Listing, ToolBook

AGENT = Caller("agent", workspace="prod")


def listed(name: str, standing: Standing = Standing.KNOWN) -> ListedTool:
    found = ToolBook().with_listing(Listing("up", "up", [{"name": name}], standings={name: standing})).find("up", name)
    assert found is not None
    return found


def call(server: str = "up") -> Call:
    return Call(AGENT, server, "get_x", {}, "d")


@pytest.mark.parametrize(
    ("client", "seconds"), [(None, 50.0), ("claude-code", 280.0), ("patient", None), ("unheard-of", 50.0)]
)
def test_a_client_waits_as_long_as_is_known_of_it(client: str | None, seconds: float | None) -> None:
    assert Patience(clients={"claude-code": 280.0, "patient": None}).of(client) == seconds


@pytest.mark.parametrize(
    ("workspaces", "servers", "posture"),
    [
        ({}, {}, Posture.GUARDED),
        ({"prod": Posture.STRICT}, {}, Posture.STRICT),
        ({}, {"up": Posture.OPEN}, Posture.OPEN),
        ({"prod": Posture.STRICT}, {"up": Posture.OPEN}, Posture.STRICT),
        ({"dev": Posture.STRICT}, {"other": Posture.OPEN}, Posture.GUARDED),
    ],
)
def test_the_posture_of_the_workspace_or_the_server_replaces_the_general_one(
    workspaces: dict[str, Posture], servers: dict[str, Posture], posture: Posture
) -> None:
    policy = Policy(postures_of_workspaces=workspaces, postures_of_servers=servers)

    assert policy.entry_for(call()).posture is posture
    assert policy.entry_for(call("elsewhere")).intent is policy.entry.intent


@pytest.mark.parametrize(
    ("tool", "posture", "effect", "may"),
    [
        (listed("get_x"), Posture.GUARDED, None, False),
        (listed("delete_x"), Posture.GUARDED, None, True),
        (listed("delete_x"), Posture.OPEN, None, False),
        (listed("get_x"), Posture.OPEN, Effect.HOLD, True),
        (listed("get_x"), Posture.OBSERVE, Effect.HOLD, False),
        (listed("get_x", Standing.NEW), Posture.OBSERVE, None, True),
    ],
)
def test_what_may_be_held_is_known_from_standing_posture_and_rules(
    tool: ListedTool, posture: Posture, effect: Effect | None, may: bool
) -> None:
    rules = RuleBook([] if effect is None else [Rule("r", effect=effect)])

    assert Policy(rules=rules, entry=GatewayEntry(posture)).may_hold(AGENT, tool) is may


def test_a_draft_is_a_policy_with_names_and_classes_of_its_own() -> None:
    draft = Draft(Policy())

    assert (draft.namespaces, draft.overrides) == ({}, {})
