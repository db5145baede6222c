"""The proofs about the record hold on a sound gateway, and see what is not noticed, kept too long or not kept."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.app.gateway import running_gateway
from interlock.core.lifecycle import CallState
from interlock.record import RecordWait
from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.verify import Verification
from interlock.store.folder import DATABASE
from interlock.store.protocol import Activity, ActivityType, StoreUnavailable
from interlock.store.sqlite import SqliteStore
from tests.cli.checkups.prove.boxes import DENIES, tried_on, unchanged, user_of
from tests.running import config_of
from tests.store.audit.logs import call
from tests.stores import tamper


@pytest.mark.parametrize("name", ["tampering", "no-secrets", "no-record"])
async def test_it_holds_on_a_sound_gateway(tmp_path: Path, name: str) -> None:
    result = await tried_on(tmp_path, name)

    assert result.state == "held", result.text


async def test_a_check_that_sees_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Verification, "intact", property(lambda self: True))

    assert (await tried_on(tmp_path, "tampering")).state == "BROKEN"


async def test_a_check_that_cries_wolf_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Verification, "intact", property(lambda self: False))
    result = await tried_on(tmp_path, "tampering")

    assert (result.state, "nobody touched" in result.text) == ("BROKEN", True)


async def test_a_record_that_keeps_secrets_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("interlock.kept.redact", "interlock.store.rows.redact"):
        monkeypatch.setattr(place, unchanged)
    result = await tried_on(tmp_path, "no-secrets")

    assert (result.state, "interlock.db" in result.text) == ("BROKEN", True)


async def test_a_gateway_that_goes_on_without_its_record_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = SqliteStore.write

    def careless(self: SqliteStore, activities: Sequence[Activity]) -> asyncio.Future[bool]:
        async def written() -> bool:
            with contextlib.suppress(StoreUnavailable):
                await write(self, activities)
            return True

        return asyncio.ensure_future(written())

    monkeypatch.setattr(SqliteStore, "write", careless)
    result = await tried_on(tmp_path, "no-record")

    assert (result.state, "could not be written" in result.text) == ("BROKEN", True)


async def test_where_reads_wait_too_one_is_tried(tmp_path: Path) -> None:
    result = await tried_on(tmp_path, "no-record", f"record: {{wait: all}}\n{DENIES}")

    assert (result.state, "proof:list_proofs, proof:update_proof: AUDIT_UNAVAILABLE" in result.text) == ("held", True)


async def test_a_read_that_goes_out_although_reads_are_to_wait_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def writes(wait: str) -> RecordWait:
        return RecordWait.WRITES

    monkeypatch.setattr("interlock.app.gateway.RecordWait", writes)
    result = await tried_on(tmp_path, "no-record", f"record: {{wait: all}}\n{DENIES}")

    assert (result.state, "could not be written" in result.text) == ("BROKEN", True)


async def test_secrets_are_looked_for_after_calls_that_pass_wait_and_are_denied(tmp_path: Path) -> None:
    result = await tried_on(tmp_path, "no-secrets", DENIES)

    assert all(f"proof:{each}" in result.text for each in ("update_proof", "frobnicate_proof", "run_proof"))


async def test_where_all_that_is_allowed_reads_the_record_need_not_come_first(tmp_path: Path) -> None:
    text = "route_rules: [{id: ask, safety_class: [write-capable], effect: hold}]\n"

    assert (await tried_on(tmp_path, "no-record", text)).state == "not applicable"


# The user's own log ---------------------------------------------------------------------------------------------


async def written(folder: Path, *more: Activity) -> Path:
    """The data folder of a user whose log has what a first start writes into it, and more."""
    with user_of(folder).hold() as hold:
        async with running_gateway(config_of(folder), hold, servers=False) as gateway:
            await gateway.store.write(more)
    return user_of(folder).path


async def test_without_a_log_there_is_none_to_check(tmp_path: Path) -> None:
    assert (await tried_on(tmp_path, "own-log")).text == "because there is no log in your data folder yet"


async def test_the_own_log_verifies(tmp_path: Path) -> None:
    await written(tmp_path)
    result = await tried_on(tmp_path, "own-log")

    assert (result.state, "of your own log" in result.text) == ("held", True)


async def test_an_own_log_that_was_changed_is_found(tmp_path: Path) -> None:
    tamper(await written(tmp_path), "UPDATE entry SET text = text || ' ' WHERE seq = 1")
    result = await tried_on(tmp_path, "own-log")

    assert (result.state, result.text.startswith("Record 1 of your own log")) == ("BROKEN", True)


@pytest.mark.sqlite("the file is taken away")
async def test_an_own_log_that_is_gone_is_missed_by_its_anchor(tmp_path: Path) -> None:
    (await written(tmp_path) / DATABASE).unlink()
    result = await tried_on(tmp_path, "own-log")

    assert (result.state, "and so is the whole log: the anchor has" in result.text) == ("BROKEN", True)


async def test_seals_that_were_taken_out_of_the_own_log_are_missed(tmp_path: Path) -> None:
    await written(tmp_path)
    folder = await written(tmp_path, *(call(number) for number in range(3)))
    tamper(folder, "DELETE FROM seal WHERE seq = (SELECT min(seq) FROM seal)")
    result = await tried_on(tmp_path, "own-log")

    assert (result.state, "the anchor has its seal, which was taken out of the log" in result.text) == ("BROKEN", True)


@pytest.mark.sqlite("the file is no database")
async def test_an_own_log_that_cannot_be_read_is_said_to_be(tmp_path: Path) -> None:
    user_of(tmp_path).path.mkdir()
    user_of(tmp_path).database.write_bytes(b"no database at all")
    result = await tried_on(tmp_path, "own-log")

    assert (result.state, "could not be read" in result.text) == ("BROKEN", True)


SEALS = "DELETE FROM seal"
"""Whoever can write to the database can do that, and has no key for new ones."""


async def test_an_own_log_without_a_seal_is_never_said_to_hold(tmp_path: Path) -> None:
    tamper(await written(tmp_path), SEALS)
    (user_of(tmp_path).path / ANCHOR).unlink()
    result = await tried_on(tmp_path, "own-log")

    assert result.state != "held", result.text


async def test_an_own_log_without_an_anchor_is_not_said_to_hold(tmp_path: Path) -> None:
    await written(tmp_path)
    (user_of(tmp_path).path / ANCHOR).unlink()
    result = await tried_on(tmp_path, "own-log")

    assert result.state != "held", result.text


async def test_an_own_log_with_an_anchor_that_holds_nothing_is_not_said_to_hold(tmp_path: Path) -> None:
    await written(tmp_path)
    (user_of(tmp_path).path / ANCHOR).write_text("no seal\n")
    result = await tried_on(tmp_path, "own-log")

    assert result.state != "held", result.text


async def test_an_own_log_of_which_only_the_end_was_looked_at_is_not_said_to_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await written(tmp_path, Activity("a", 1, ActivityType.SYSTEM, CallState.SUCCESS, {}))
    monkeypatch.setattr("interlock.cli.checkups.prove.ledger.NEWEST", 1)
    result = await tried_on(tmp_path, "own-log")

    assert (result.state, "too long to be checked here" in result.text) == ("not applicable", True)
