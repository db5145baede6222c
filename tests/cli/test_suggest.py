"""`interlock rule suggest`: rules as text that can be pasted, or the reason why there is none."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from interlock.approve.room import room_in
from interlock.core.approvals import Approver, ApproverType, Wish
from interlock.core.canonical import argument_digest
from interlock.core.redact import KnownSecrets
from tests.cli.running import Beside, Interlock, configure, work_in
from tests.fakes import FakeClock
from tests.stores import clocked_store_of
from tests.web.office import NOW
from tests.web.questions import question


async def approve_thrice(folder: Path) -> None:
    """Have the same call approved three times, on the record of a gateway that does not run."""
    clock = FakeClock(NOW + 10_000_000)
    store = clocked_store_of(folder, clock)
    await store.start()
    room = room_in(store, clock, KnownSecrets)
    for number in (1, 2, 3):
        made = question(number, asked={"arguments": {"repo": "acme"}}, workspace=None)
        key = replace(made.key, digest=argument_digest({"repo": "acme"}), rule_hash=str(number))
        await room.register.add(structs.replace(made, key=key))
        await room.approvers.approve(made.id, Approver("boss", ApproverType.CLI, person=True), Wish(), "", None)
    await store.close()


def test_a_rule_is_printed_as_it_could_be_pasted(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure("servers: {up: {command: prog, namespace: upper}}")
    data = tmp_path / "record"
    data.mkdir(mode=0o700)
    asyncio.run(approve_thrice(data))
    work_in(data, monkeypatch)
    done = il("rule", "suggest", "--since", "2026-01-01")

    assert done.exit == 0
    assert done.lines == [
        "# approved 3 times by boss, last 2026-09-21 14:13:30Z",
        '- id: "allow-ci-run_it"',
        '  server_id: "up"',
        '  tool_pattern: "upper__run_it"',
        '  caller: "ci"',
        '  args: {"repo": {"equals": "acme"}}',
        '  effect: "allow"',
    ]
    assert done.err.startswith("Put what you agree with under route_rules")


def test_where_nothing_repeats_it_says_so(il: Interlock, beside: Beside) -> None:
    done = il("rule", "suggest")

    assert (done.exit, done.out) == (0, "")
    assert done.err.startswith("Nothing is approved so often")


def test_scripts_get_a_list(il: Interlock, beside: Beside) -> None:
    done = il("rule", "suggest", "--since", "7d", "--json")

    assert (done.exit, done.json["items"], done.json["complete"]) == (0, [], True)


def test_a_time_that_makes_no_sense_is_a_usage_error(il: Interlock, beside: Beside) -> None:
    assert il("rule", "suggest", "--since", "soon").exit == 2
