"""The definitions that a tool had: when each came, what was done about it, and what differed."""

from typing import Any
from urllib.parse import quote

import pytest
from msgspec import structs

from interlock.core.drift import fingerprint
from interlock.core.lifecycle import CallState
from interlock.store.protocol import Activity, ActivityType
from interlock.web import history
from tests.web.office import HOUR, Office, activity
from tests.web.test_review import CHANGED, LATE, READ, list_anew

URL = "/tools/upper/read_note/history"
BEGAN = "2026-09-21T14:13:20.000000Z"


async def seen(office: Office, *tools: dict[str, Any]) -> None:
    """An hour later the server `up` lists these tools."""
    office.clock.forward(HOUR)
    await list_anew(office, *tools)


async def trusted(office: Office, tool: str) -> None:
    office.clock.forward(HOUR)
    assert (await office.ask("POST", f"/tools/up/{tool}/trust", json={})).status_code == 200


def brief(told: dict[str, Any]) -> list[tuple[str, str, str | None, bool, bool]]:
    return [
        (each["how"], each["fingerprint"][:8], each["trusted_by"], each["listed"], each["reviewed"])
        for each in told["items"]
    ]


async def test_a_tool_that_never_changed_has_the_definition_of_the_baseline(live: Office) -> None:
    assert await live.get(URL, "auditor") == {
        "name": "up:read_note",
        "items": [
            {
                "fingerprint": fingerprint(READ),
                "how": "baseline",
                "seen_at": BEGAN,
                "trusted_at": None,
                "trusted_by": None,
                "listed": True,
                "reviewed": True,
                "compared_with": None,
                "changes": [],
                "complete": True,
            }
        ],
        "complete": True,
        "note": history.NOTE,
    }


async def test_each_change_is_told_newest_first_with_its_fields_and_who_trusted_it(live: Office) -> None:
    await seen(live, CHANGED)
    await trusted(live, "read_note")
    again = {**CHANGED, "title": "Read it"}
    await seen(live, again)
    told = await live.get(URL)
    new, old, first = (fingerprint(each)[:8] for each in (again, CHANGED, READ))

    assert brief(told) == [
        ("changed", new, None, True, False),
        ("changed", old, "the-admin", False, True),
        ("baseline", first, None, False, False),
    ]
    assert told["items"][0]["compared_with"] == fingerprint(CHANGED)
    assert told["items"][0]["changes"] == [
        {"path": "/title", "kind": "changed", "before": '"Read"', "after": '"Read it"'}
    ]
    assert [each["seen_at"][11:13] for each in told["items"]] == ["17", "15", "14"]
    assert told["items"][1]["trusted_at"][11:13] == "16"


async def test_a_tool_that_came_later_begins_when_it_appeared(live: Office) -> None:
    await seen(live, LATE)
    untrusted = await live.get("/tools/up/get_late/history")
    await trusted(live, "get_late")

    assert brief(untrusted) == [("appeared", fingerprint(LATE)[:8], None, True, False)]
    assert brief(await live.get("/tools/up/get_late/history")) == [
        ("appeared", fingerprint(LATE)[:8], "the-admin", True, True)
    ]


async def test_what_came_back_is_told_as_restored(live: Office) -> None:
    await seen(live, CHANGED)
    await seen(live, READ)

    assert [each["how"] for each in (await live.get(URL))["items"]] == ["restored", "changed", "baseline"]


async def test_a_tool_that_is_gone_still_has_its_history(live: Office) -> None:
    await seen(live, LATE)
    await trusted(live, "get_late")
    await seen(live, READ)
    told = await live.get("/tools/up/get_late/history")

    assert brief(told) == [("appeared", fingerprint(LATE)[:8], "the-admin", False, False)]


async def test_a_class_that_was_set_is_no_definition(live: Office) -> None:
    await live.ask("POST", "/tools/up/read_note/override", json={"safety_class": "dangerous"})

    assert [each["how"] for each in (await live.get(URL))["items"]] == ["baseline"]


def told_change(number: int, change: str, **body: Any) -> Activity:
    """A change on record, as one was told long ago."""
    kind: dict[str, Any] = {"type": ActivityType.TOOL_CHANGE, "status": CallState.SUCCESS}
    return structs.replace(activity(number, server="up", tool="old", **kind), body={"change": change, **body})


async def test_trust_in_something_that_was_not_told_of_is_told_itself(live: Office) -> None:
    await live.store.write([told_change(1, "trusted", fingerprint="f1", reviewed=None, by="ann")])
    (only,) = (await live.get("/tools/up/old/history"))["items"]

    assert (only["how"], only["fingerprint"], only["trusted_by"]) == ("trusted", "f1", "ann")


async def test_fields_that_were_left_out_are_said_to_be_missing(live: Office) -> None:
    odd = told_change(1, "changed", fingerprint="f2", reviewed="f1", difference=["?"], more=True)
    await live.store.write([odd])
    newest, first = (await live.get("/tools/up/old/history"))["items"]

    assert (newest["complete"], newest["changes"]) == (False, [])
    assert (first["how"], first["fingerprint"], first["seen_at"]) == ("baseline", "f1", BEGAN)


async def test_there_is_an_end_to_how_much_is_looked_at(live: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_CHANGES", 2)
    changes = [told_change(number, "changed", fingerprint=f"f{number}", reviewed="f0") for number in range(1, 5)]
    await live.store.write(changes)
    told = await live.get("/tools/up/old/history")

    assert ([each["fingerprint"] for each in told["items"]], told["complete"]) == (["f4", "f3"], False)


async def test_a_name_that_ends_like_the_route_is_a_name_when_its_slash_is_encoded(live: Office) -> None:
    odd = {"name": "a/history"}
    assert (await live.get(f"/tools/odd/{quote('a/b', safe='')}/history"))["name"] == "odd:a/b"
    answer = await live.ask("GET", f"/tools/up/{quote(odd['name'], safe='')}")

    assert answer.status_code == 404
    assert "'up:a/history'" in answer.json()["detail"]


async def test_a_tool_that_there_never_was_is_refused(live: Office) -> None:
    assert (await live.ask("GET", "/tools/up/read_not/history")).status_code == 404
