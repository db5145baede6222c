"""The proofs about the path hold on a sound gateway, and see each hole that is made into it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.approve.freezer import Freezer
from interlock.core.decide import Facts, standing_ground
from interlock.core.model import Allow, Intent, OperationType
from interlock.store.protocol import Activity
from interlock.store.sqlite import SqliteStore
from tests.cli.checkups.prove.boxes import DENIES, nothing, tried_on

NAMES = ("denied", "out-of-reach", "held", "recorded-ahead", "frozen", "changed-tool", "added-tool", "unknown-tool")
DECIDED = tuple(each for each in NAMES if each not in ("recorded-ahead", "frozen"))
OPEN = "posture: open\n"
NONE = "route_rules: [{id: none, tool_pattern: '*', effect: deny}]\n"
DROPS = "route_rules: [{id: no-drops, tool_pattern: '*', args: {sql: {matches: drop}}, effect: deny}]\n"
TRUSTED_AND_OPEN = "servers: {b: {command: x, trusted: true, posture: open}}\n"


@pytest.mark.parametrize("name", NAMES)
async def test_it_holds_on_a_sound_gateway(tmp_path: Path, name: str) -> None:
    result = await tried_on(tmp_path, name)

    assert (result.state, bool(result.text)) == ("held", True), result.text


def allow(facts: Facts) -> Allow:
    return Allow((), standing_ground("test"), Intent(OperationType.DESTRUCTIVE))


@pytest.mark.parametrize("name", DECIDED)
async def test_a_gateway_that_lets_everything_pass_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("interlock.pipeline.decide", allow)
    result = await tried_on(tmp_path, name)

    assert result.state == "BROKEN", result.text


async def test_a_stop_that_nobody_heeds_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Freezer, "of", nothing)

    assert (await tried_on(tmp_path, "frozen")).state == "BROKEN"


async def test_a_record_that_comes_after_the_call_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(self: SqliteStore, activities: Sequence[Activity]) -> asyncio.Future[bool]:
        written = asyncio.get_running_loop().create_future()
        written.set_result(True)
        return written

    monkeypatch.setattr(SqliteStore, "write", late)
    result = await tried_on(tmp_path, "recorded-ahead")

    assert result.state == "BROKEN"
    assert "before its record was on disk" in result.text


@pytest.mark.parametrize(
    ("name", "text", "because"),
    [
        ("denied", OPEN, "because no call that was tried is denied by a rule or a posture"),
        ("denied", DROPS, "because no call that was tried is denied by a rule or a posture; no call here met no-drops"),
        ("held", OPEN, "because no call that was tried is held"),
        ("held", TRUSTED_AND_OPEN, "because no call that was tried is held"),
        ("unknown-tool", OPEN, "because posture:open may let proof:frobnicate_proof pass"),
        ("unknown-tool", "posture: observe\n", "because posture:observe may let proof:frobnicate_proof pass"),
        ("unknown-tool", TRUSTED_AND_OPEN, "because posture:open may let b:frobnicate_proof, proof:frobnicate_proof"),
        ("unknown-tool", "lexicon: {write-capable: [frobnicate]}\n", "because no tool, frobnicate_proof"),
        (
            "added-tool",
            TRUSTED_AND_OPEN,
            "because what a trusted server adds counts at once (b): on a server like b it",
        ),
        ("added-tool", NONE, "because none denies a tool like that anyway"),
        ("out-of-reach", NONE, "because everything is denied"),
        ("frozen", NONE, "because everything is denied"),
        ("changed-tool", NONE, "because everything is"),
    ],
)
async def test_a_configuration_without_the_guarantee_is_told_why(
    tmp_path: Path, name: str, text: str, because: str
) -> None:
    result = await tried_on(tmp_path, name, text)

    assert result.state == "not applicable"
    assert result.text.startswith(because)


async def test_what_a_rule_denies_is_counted(tmp_path: Path) -> None:
    assert (await tried_on(tmp_path, "denied", DENIES)).text == "1 call that no-run denies: nothing sent."


async def test_what_a_posture_denies_is_tried_where_no_rule_denies_anything(tmp_path: Path) -> None:
    result = await tried_on(tmp_path, "denied", "posture: strict\n")

    assert (result.state, result.text) == ("held", "1 call that posture:strict denies: nothing sent.")


async def test_a_rule_that_no_call_meets_is_said_not_to_be_tried(tmp_path: Path) -> None:
    result = await tried_on(tmp_path, "denied", f"posture: strict\n{DROPS}")

    assert result.text.endswith("Not tried, because no call here met it: no-drops.")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("added-tool", "on a server like a it got PENDING, nothing sent; on a server like b it ran"),
        ("unknown-tool", "pass; a:frobnicate_proof got PENDING, nothing sent"),
    ],
)
async def test_one_server_without_the_guarantee_is_enough_and_the_others_are_tried(
    tmp_path: Path, name: str, text: str
) -> None:
    result = await tried_on(tmp_path, name, TRUSTED_AND_OPEN.replace("{b:", "{a: {command: x}, b:"))

    assert result.state == "not applicable"
    assert result.text.endswith(text)


async def test_a_hole_on_one_server_is_found_whatever_another_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.pipeline.decide", allow)
    text = TRUSTED_AND_OPEN.replace("{b:", "{a: {command: x}, b:")

    assert {(await tried_on(tmp_path, each, text)).state for each in ("added-tool", "unknown-tool")} == {"BROKEN"}


async def test_a_changed_tool_is_tried_on_trusted_servers_too(tmp_path: Path) -> None:
    result = await tried_on(tmp_path, "changed-tool", TRUSTED_AND_OPEN.replace("{b:", "{a: {command: x}, b:"))

    assert result.state == "held"
    assert all(f"{each}:list_proofs" in result.text for each in ("a", "proof", "proof-2"))
