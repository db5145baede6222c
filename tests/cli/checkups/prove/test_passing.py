"""What may let a tool pass is found whoever calls, from where and with what."""

from pathlib import Path

import pytest

from interlock.cli.checkups.prove.passing import passing
from interlock.cli.checkups.prove.sandbox import sandbox
from tests.cli.checkups.prove.boxes import user_of
from tests.running import config_of

TOOL = "frobnicate_proof"
TWO = "workspaces: [{id: dev, posture: open}, {id: prod}]\n"
ONE = "workspaces: [{id: prod, posture: guarded}]\nposture: open\n"


def rules(*given: str) -> str:
    return f"route_rules: [{', '.join(f'{{id: r{at}, {each}}}' for at, each in enumerate(given))}]\n"


LATER = "effect: allow, caller: 'ci-*'"


@pytest.mark.parametrize(
    ("text", "grounds"),
    [
        ("", ()),
        ("posture: strict\n", ()),
        ("posture: open\n", ("posture:open",)),
        ("posture: observe\n", ("posture:observe",)),
        (TWO, ("posture:open in workspace dev",)),
        (ONE, ()),
        (rules("effect: allow"), ("r0",)),
        (rules(LATER), ("r0",)),
        (rules("effect: allow, args: {name: x}"), ("r0",)),
        (rules("effect: allow, operation_type: destructive"), ("r0",)),
        (rules("effect: allow, workspace_id: prod") + TWO, ("posture:open in workspace dev", "r0")),
        (rules("effect: allow, safety_class: read-only"), ()),
        (rules("effect: allow, tool_pattern: 'other__*'"), ()),
        (rules("effect: allow, server_id: other") + "servers: {other: {command: x}}\n", ()),
        (rules(LATER, "effect: deny"), ()),
        (rules(LATER, "effect: hold, priority: 1"), ()),
        (rules(LATER, "effect: hold, priority: -1"), ("r0",)),
        (rules(LATER, "effect: hold, priority: 1, caller: somebody"), ("r0",)),
        (rules("effect: hold, safety_class: unknown") + "posture: open\n", ()),
        (rules("effect: hold, safety_class: unknown") + "posture: observe\n", ("posture:observe",)),
        (rules("effect: deny, safety_class: unknown") + "posture: observe\n", ()),
        (rules("priority: 1") + "posture: open\n", ("posture:open",)),
    ],
)
async def test_whatever_lets_an_unknown_tool_pass_is_named(tmp_path: Path, text: str, grounds: tuple[str, ...]) -> None:
    async with sandbox(config_of(tmp_path, text), user_of(tmp_path)) as box:
        found = box.gateway.pipeline.book.find("proof", TOOL)
        assert found is not None

        assert passing(box.config, box.rules, found) == grounds
