"""The operator's word about tools over REST."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from interlock.core.drift import fingerprint
from interlock.core.safety import SafetyClass
from interlock.core.toolbook import Listing
from interlock.forward.upstream import UpstreamSpec
from interlock.store.protocol import ActivityFilter, ActivityType
from tests.upstream.tools import TOOLS
from tests.web.office import Office, fleet_of, office

READ = next(each for each in TOOLS if each["name"] == "read_note")
CHANGED = {**READ, "annotations": {"readOnlyHint": False}, "title": "Read"}
LATE = {"name": "get_late"}


async def list_anew(live: Office, *tools: dict[str, Any], **in_file: SafetyClass) -> None:
    """Have the server `up` list these tools instead of its own."""
    await live.drift.listed(Listing("up", "upper", tools, overrides=in_file))


async def post(live: Office, path: str, **body: Any) -> httpx2.Response:
    return await live.ask("POST", path, json=body)


async def told(live: Office) -> list[tuple[str | None, Any, str | None]]:
    """What is on record of tools of `up`, but for its baseline: the tool, what became of it, and by whom."""
    page = await live.store.list_activities(ActivityFilter(types=(ActivityType.TOOL_CHANGE,), server="up"))
    return [(each.tool, each.body["change"], each.caller) for each in page.items if each.tool is not None]


# diff -----------------------------------------------------------------------------------------------------------


async def test_a_changed_tool_is_shown_field_by_field(live: Office) -> None:
    await list_anew(live, CHANGED)

    assert await live.get("/tools/upper/read_note/diff", "auditor") == {
        "name": "up:read_note",
        "standing": "changed",
        "fingerprint": fingerprint(CHANGED),
        "reviewed_fingerprint": fingerprint(READ),
        "changes": [
            {"path": "/annotations/readOnlyHint", "kind": "changed", "before": True, "after": False},
            {"path": "/title", "kind": "added", "before": None, "after": "Read"},
        ],
        "complete": True,
        "meanings": [
            {
                "grade": "grave",
                "path": "/annotations/readOnlyHint",
                "text": "It does not say that it only reads: readOnlyHint was true and is false.",
            },
            {"grade": "plain", "path": "/title", "text": "Its title is described in other words."},
        ],
    }


async def test_a_new_tool_is_shown_as_nothing_but_new_fields(live: Office) -> None:
    await list_anew(live, LATE)
    shown = await live.get("/tools/up/get_late/diff")

    assert (shown["standing"], shown["reviewed_fingerprint"]) == ("new", None)
    assert [(each["path"], each["kind"]) for each in shown["changes"]] == [("/name", "added")]


async def test_a_tool_as_it_was_reviewed_has_no_changes(live: Office) -> None:
    shown = await live.get("/tools/up/read_note/diff")

    assert (shown["standing"], shown["changes"]) == ("known", [])


async def test_a_name_that_ends_like_the_route_is_a_name_when_its_slash_is_encoded(live: Office) -> None:
    tool = await live.get(f"/tools/odd/{quote('a/b/diff', safe='')}")
    own = await live.get(f"/tools/odd/{quote('a/b/diff', safe='')}/diff")
    shorter = await live.get(f"/tools/odd/{quote('a/b', safe='')}/diff")

    assert (tool["name"], "definition" in tool) == ("odd:a/b/diff", True)
    assert (own["name"], shorter["name"]) == ("odd:a/b/diff", "odd:a/b")


# trust ----------------------------------------------------------------------------------------------------------


async def test_trust_in_a_tool_is_answered_with_its_name_and_recorded_with_who_gave_it(live: Office) -> None:
    await list_anew(live, CHANGED, LATE)
    answer = await post(live, "/tools/upper/read_note/trust")
    again = await post(live, "/tools/up/read_note/trust")

    assert (answer.json(), again.json()) == ({"trusted": ["up:read_note"]}, {"trusted": []})
    assert (await live.get("/tools/up/read_note/diff"))["standing"] == "known"
    assert (await live.get("/tools/up/get_late/diff"))["standing"] == "new"
    assert ("read_note", "trusted", "the-admin") in await told(live)


async def test_trust_in_a_server_covers_everything_it_lists(live: Office) -> None:
    await list_anew(live, CHANGED, LATE)
    answer = await post(live, "/servers/upper/trust")

    assert answer.json() == {"trusted": ["up:read_note", "up:get_late"]}
    assert (await live.get("/tools/up/get_late/diff"))["standing"] == "known"


async def test_trust_is_refused_when_the_tool_is_no_longer_what_was_looked_at(live: Office) -> None:
    await list_anew(live, CHANGED)
    refused = await post(live, "/tools/up/read_note/trust", fingerprint=fingerprint(READ))
    accepted = await post(live, "/tools/up/read_note/trust", fingerprint=fingerprint(CHANGED))

    assert (refused.status_code, refused.json()["code"]) == (409, "STALE_APPROVAL")
    assert accepted.json() == {"trusted": ["up:read_note"]}


# override -------------------------------------------------------------------------------------------------------


async def test_an_override_is_set_and_removed_and_recorded_with_who_did_it(live: Office) -> None:
    answer = await post(live, "/tools/upper/frobnicate/override", safety_class="read-only")
    kept = await live.store.overrides()
    removed = await post(live, "/tools/up/frobnicate/override", safety_class=None)

    assert (answer.status_code, answer.json()["name"]) == (200, "up:frobnicate")
    assert (answer.json()["override"], removed.json()["override"]) == ("read-only", None)
    assert kept == {"up": {"frobnicate": SafetyClass.READ_ONLY}}
    assert await live.store.overrides() == {}
    assert sorted(await told(live)) == [
        ("frobnicate", "overridden", "the-admin"),
        ("frobnicate", "override removed", "the-admin"),
    ]


async def test_an_override_that_is_removed_from_a_tool_that_is_gone_is_answered_without_a_class(live: Office) -> None:
    await list_anew(live, LATE)
    await post(live, "/tools/up/get_late/override", safety_class="dangerous")
    await list_anew(live)
    answer = await post(live, "/tools/up/get_late/override", safety_class=None)

    assert answer.json() == {"name": "up:get_late", "override": None, "safety_class": None, "class_source": None}


async def test_a_class_of_the_configuration_file_is_not_overridden(live: Office) -> None:
    await list_anew(live, READ, read_note=SafetyClass.DANGEROUS)
    answer = await post(live, "/tools/up/read_note/override", safety_class="read-only")

    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
    assert answer.json()["detail"] == (
        "The class of 'up:read_note' is set in the configuration file, under `overrides`."
    )


# What is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("/tools/up/read_nte/trust", {}, 404, "Tool 'up:read_nte' not found. Did you mean 'up:read_note'?"),
        ("/tools/nobody/zzz/trust", {}, 404, "Tool 'nobody:zzz' not found."),
        ("/tools/up/read_note/trust", {"all": True}, 400, "all: it is not known here; known are fingerprint"),
        ("/servers/upp/trust", {}, 404, "Server 'upp' not found. Did you mean 'up'?"),
        ("/servers/up/trust", {"fingerprint": "f"}, 400, "fingerprint: it is not known here"),
        ("/tools/up/frobnicat/override", {"safety_class": None}, 404, "Tool 'up:frobnicat' not found."),
        ("/tools/up/frobnicate/override", {}, 400, "safety_class: Field required"),
        ("/tools/up/frobnicate/override", {"safety_class": "nice"}, 400, "safety_class: Input should be 'read-only'"),
        ("/tools/up/frobnicate/override", {"safety_class": 1}, 400, "safety_class: Input should be 'read-only'"),
    ],
)
async def test_a_word_that_cannot_be_taken_is_refused_and_changes_nothing(
    live: Office, path: str, body: Any, status: int, detail: str
) -> None:
    answer = await post(live, path, **body)

    assert (answer.status_code, answer.json()["detail"][: len(detail)]) == (status, detail)
    assert await told(live) == []


@pytest.mark.parametrize("path", ["/tools/up/read_nte/diff", "/tools/pu/read_note/diff"])
async def test_the_difference_of_an_unknown_tool_is_answered_with_the_nearest_name(live: Office, path: str) -> None:
    answer = await live.ask("GET", path)

    assert answer.status_code == 404
    assert answer.json()["detail"].endswith("Did you mean 'up:read_note'?")


async def test_a_server_that_has_not_listed_its_tools_cannot_be_trusted(tmp_path: Path) -> None:
    dead = UpstreamSpec("dead", "dead", ("/no/such/program",))
    async with fleet_of(dead) as fleet, office(tmp_path, fleet) as running:
        answer = await post(running, "/servers/dead/trust")

    assert (answer.status_code, answer.json()["code"]) == (502, "UPSTREAM_DOWN")


async def test_without_a_store_no_word_is_taken(live: Office) -> None:
    await list_anew(live, CHANGED)
    await live.token("admin")
    await live.store.close()
    answers = [
        await post(live, "/tools/up/read_note/trust"),
        await post(live, "/servers/up/trust"),
        await post(live, "/tools/up/read_note/override", safety_class="read-only"),
    ]

    assert [(each.status_code, each.json()["code"]) for each in answers] == [(503, "AUDIT_UNAVAILABLE")] * 3
    assert (await live.get("/tools/up/read_note/diff"))["standing"] == "changed"
