"""The proof of the record over REST: the check, the seals, sealing now, and removing what need not be kept."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock import errors
from interlock.store.audit.anchor import ANCHOR
from interlock.store.folder import DATABASE
from interlock.web.times import iso
from tests.store.audit.logs import call
from tests.stores import log_of, tamper
from tests.web.office import HOUR, NOW, Office, activity, sealer_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def sealed(bare: Office) -> Office:
    """An office whose log has twenty records, and a seal on every fifth."""
    sealer = bare.parts.sealer = sealer_of(bare, bare.folder / ANCHOR)
    await bare.token("admin")
    await bare.token("auditor")
    for number in range(3, 21):
        await bare.store.write([call(number)])
        if number % 5 == 0:
            bare.clock.forward(HOUR)
            await sealer.checkpoint()
    return bare


async def prune(office: Office, **wanted: Any) -> httpx2.Response:
    return await office.ask("POST", "/audit/prune", json=wanted)


async def pruned(office: Office, **wanted: Any) -> dict[str, Any] | None:
    answer = await prune(office, **wanted)
    assert answer.status_code == 200, answer.text
    return answer.json()["pruned"]


# The check ------------------------------------------------------------------------------------------------------


async def test_a_log_that_nobody_touched_is_intact(sealed: Office) -> None:
    found = await sealed.get("/audit/verify", "auditor")

    assert found.pop("chain") == sealed.store.seals.chain
    assert found == {
        "intact": True,
        "records": 20,
        "first": 1,
        "last": 20,
        "checkpoints": 4,
        "sealed": 20,
        "unsealed": 0,
        "pruned": 0,
        "pruned_at": None,
        "anchored": 20,
        "broken": None,
        "beside": [],
        "notes": [],
        "others": [],
    }


async def test_a_record_that_was_changed_is_named_with_the_reason(sealed: Office, tmp_path: Path) -> None:
    tamper(tmp_path, "UPDATE entry SET text = '{}' WHERE seq = 7")
    found = await sealed.get("/audit/verify")

    assert not found["intact"]
    assert found["broken"] == {"seq": 7, "problem": "it was changed after it was written"}


async def test_what_disagrees_beside_the_log_is_told(sealed: Office, tmp_path: Path) -> None:
    tamper(tmp_path, "UPDATE activity SET tool = 'other' WHERE id = 'call-00009'")
    found = await sealed.get("/audit/verify")

    assert (found["intact"], found["broken"]) == (False, None)
    chain = log_of(tmp_path).chain  # where there are several, it is told which
    where = "" if chain is None else f" of the log {chain}"
    assert found["beside"] == [f"The activity call-00009 is listed otherwise than record 9{where} tells of it."]


async def test_what_is_not_sealed_yet_is_counted(sealed: Office) -> None:
    await sealed.store.write([activity(1), activity(2)])

    assert (await sealed.get("/audit/verify"))["unsealed"] == 2


async def test_without_an_anchor_the_check_says_so(sealed: Office, tmp_path: Path) -> None:
    (tmp_path / ANCHOR).unlink()

    assert (await sealed.get("/audit/verify"))["anchored"] is None


@pytest.mark.sqlite("the file is taken away")
async def test_a_database_that_is_gone_is_missed(sealed: Office, tmp_path: Path) -> None:
    (tmp_path / DATABASE).rename(tmp_path / "gone.db")
    found = await sealed.get("/audit/verify")

    assert (found["intact"], found["broken"]["seq"]) == (False, 1)
    assert "the whole log: the anchor has" in found["broken"]["problem"]


@pytest.mark.sqlite("something else lies in the place of the file")
async def test_a_database_that_cannot_be_read_is_told_with_a_way_out(sealed: Office, tmp_path: Path) -> None:
    (tmp_path / DATABASE).rename(tmp_path / "gone.db")
    (tmp_path / DATABASE).mkdir()
    answer = await sealed.ask("GET", "/audit/verify")

    assert (answer.status_code, answer.json()["code"]) == (503, "AUDIT_UNAVAILABLE")
    assert answer.json()["detail"].startswith("The log cannot be checked: ")
    assert answer.json()["fix"]


# Seals ----------------------------------------------------------------------------------------------------------


async def test_seals_are_listed_newest_first_with_the_line_that_the_anchor_has(sealed: Office, tmp_path: Path) -> None:
    listed = await sealed.get("/audit/checkpoints", "auditor")
    anchored = (tmp_path / ANCHOR).read_text().splitlines()

    assert [(each["kind"], each["seq"]) for each in listed["items"]] == [("checkpoint", n) for n in (20, 15, 10, 5)]
    assert [each["line"] for each in listed["items"]] == anchored[::-1]
    assert [each["at"] for each in listed["items"]] == [iso(NOW + hours * HOUR) for hours in (4, 3, 2, 1)]
    assert (listed["end"], listed["anchor"], listed["problem"]) == (20, str(tmp_path / ANCHOR), None)


async def test_whether_the_anchor_lies_beside_the_log_is_told(sealed: Office, tmp_path: Path) -> None:
    here = await sealed.get("/audit/checkpoints")
    sealed.parts.sealer = sealer_of(sealed, tmp_path.parent / "kept")
    there = await sealed.get("/audit/checkpoints")

    assert (here["elsewhere"], there["elsewhere"]) == (False, True)


async def test_the_log_is_sealed_when_that_is_asked_for(sealed: Office) -> None:
    sealed.store.write_soon([activity(1)])
    answer = await sealed.ask("POST", "/audit/checkpoint", json={})
    again = await sealed.ask("POST", "/audit/checkpoint", json={})

    assert (answer.status_code, answer.json()["checkpoint"]["seq"]) == (200, 21)
    assert again.json() == answer.json()
    assert (await sealed.get("/audit/checkpoints"))["items"][0] == answer.json()["checkpoint"]


async def test_a_seal_that_cannot_be_set_is_told_with_a_way_out(sealed: Office, tmp_path: Path) -> None:
    sealed.parts.sealer = sealer_of(sealed, tmp_path / "none" / "anchor")
    await sealed.store.write([activity(1)])
    answers = [await sealed.ask("POST", "/audit/checkpoint", json={}), await prune(sealed, keep_records=1)]

    assert [(each.status_code, each.json()["code"]) for each in answers] == [(503, "AUDIT_UNAVAILABLE")] * 2
    assert all("could not be sealed" in each.json()["detail"] for each in answers)


async def test_where_nothing_seals_every_route_says_so(bare: Office) -> None:
    listed = await bare.get("/audit/checkpoints")
    asked = [await bare.ask("GET", "/audit/verify"), await bare.ask("POST", "/audit/checkpoint", json={})]
    asked += [await prune(bare, keep_records=1)]

    assert (listed["items"], listed["anchor"], listed["elsewhere"], listed["problem"]) == ([], "", False, None)
    assert [(each.status_code, each.json()["code"]) for each in asked] == [(503, "AUDIT_UNAVAILABLE")] * 3
    assert {each.json()["detail"] for each in asked} == {errors.RUN_NOT_SEALED().text}


# Pruning --------------------------------------------------------------------------------------------------------


async def test_a_dry_run_says_what_would_go_and_removes_nothing(sealed: Office) -> None:
    foreseen = await pruned(sealed, keep_records=7, dry_run=True)

    assert foreseen is not None
    assert (foreseen["kind"], foreseen["seq"]) == ("checkpoint", 10)
    assert (await sealed.get("/audit/verify"))["first"] == 1


@pytest.mark.parametrize(
    ("wanted", "upto"),
    [({"keep_records": 7}, 10), ({"older_than": "90m"}, 15), ({"older_than": "3h"}, 5), ({"keep_bytes": 1}, 15)],
)
async def test_what_is_not_to_stay_goes_up_to_a_seal(sealed: Office, wanted: dict[str, Any], upto: int) -> None:
    seal = await pruned(sealed, **wanted)
    found = await sealed.get("/audit/verify")

    assert seal is not None
    assert (seal["kind"], seal["seq"]) == ("pruned", upto)
    assert (found["intact"], found["pruned"], found["first"]) == (True, upto, upto + 1)
    assert found["pruned_at"] == iso(NOW + 4 * HOUR)


async def test_who_removed_something_is_on_record(sealed: Office) -> None:
    await pruned(sealed, keep_records=7)
    (told,) = [each for each in await sealed.store.log_entries(0, 100) if "log_pruned" in each.text]

    assert '"by":"the-admin"' in told.text


async def test_what_was_changed_is_not_removed_and_that_is_told_with_a_way_out(sealed: Office, tmp_path: Path) -> None:
    tamper(tmp_path, "UPDATE entry SET text = '{}' WHERE seq = 7")
    answer = await prune(sealed, keep_records=7)

    assert (answer.status_code, answer.json()["code"]) == (503, "AUDIT_UNAVAILABLE")
    assert "record 7: it was changed after it was written" in answer.json()["detail"]
    assert (await sealed.get("/audit/verify"))["broken"]["seq"] == 7


async def test_nothing_to_remove_is_an_answer(sealed: Office) -> None:
    assert await pruned(sealed, older_than="900d") is None


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"dry_run": True},
        {"older_than": "soon"},
        {"keep_records": 0},
        {"keep_records": "7"},
        {"keep_bytes": -1},
        {"keep": 1},
    ],
)
async def test_what_cannot_be_understood_removes_nothing(sealed: Office, wanted: dict[str, Any]) -> None:
    answer = await prune(sealed, **wanted)

    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
    assert await sealed.store.log_end() == 20


@pytest.mark.parametrize("role", ["auditor", "approver"])
@pytest.mark.parametrize("path", ["/audit/checkpoint", "/audit/prune"])
async def test_only_admins_seal_and_remove(sealed: Office, path: str, role: str) -> None:
    answer = await sealed.ask("POST", path, role, json={"keep_records": 1})

    assert answer.status_code == 403
