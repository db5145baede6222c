"""The tools as operators see them."""

from typing import Any
from urllib.parse import quote

import pytest

from interlock.core.drift import fingerprint
from tests.upstream.tools import TOOLS
from tests.web.office import Office
from tests.web.strange import DESCRIPTORS, NAMES

DELETE = next(each for each in TOOLS if each["name"] == "delete_note")


async def names(live: Office, query: str) -> list[str]:
    listed = await live.get(f"/tools?{query}", "auditor")
    assert listed["total"] == len(listed["items"])
    return [each["name"] for each in listed["items"]]


async def test_a_tool_in_the_list_says_how_it_is_classified_and_called(live: Office) -> None:
    listed = await live.get("/tools")

    assert listed["total"] == len(TOOLS) + len(DESCRIPTORS)
    assert next(each for each in listed["items"] if each["tool"] == "delete_note") == {
        "name": "up:delete_note",
        "server": "up",
        "namespace": "upper",
        "tool": "delete_note",
        "description": "Delete a note.",
        "safety_class": "dangerous",
        "class_source": "name",
        "call_with": "call_tool_destructive",
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
        "standing": "known",
        "fingerprint": fingerprint(DELETE),
        "findings": [],
    }


async def test_servers_stand_in_the_list_by_name_and_their_tools_as_they_list_them(live: Office) -> None:
    listed = [(each["server"], each["tool"]) for each in (await live.get("/tools"))["items"]]

    assert listed == [("odd", each["name"]) for each in DESCRIPTORS] + [("up", each["name"]) for each in TOOLS]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=delete_", ["up:delete_note"]),
        ("q=NOTE%20written%20write", []),
        ("q=Write%20NOTE", ["up:write_note"]),
        ("q=only%20reads", ["up:remove_cache"]),
        ("safety_class=dangerous&q=note", ["up:delete_note"]),
        ("server=upper&safety_class=subprocess&q=command", ["up:run_command"]),
        ("server=up&safety_class=write-capable&q=note", ["up:write_note"]),
        ("server=odd&q=read_", ["odd:read_exactly", "odd:read_refused", "odd:read_failed"]),
        ("server=nobody", []),
    ],
)
async def test_filters_leave_what_fits_all_of_them(live: Office, query: str, found: list[str]) -> None:
    assert await names(live, query) == found


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("safety_class=harmless", "safety_class: Input should be 'read-only', 'write-capable', 'subprocess'"),
        ("class=dangerous", "class: it is not known here; known are server, safety_class, q"),
        ("q=" + "x" * 201, "q: String should have at most 200 characters"),
    ],
)
async def test_a_filter_that_is_wrong_is_refused(live: Office, query: str, problem: str) -> None:
    answer = await live.ask("GET", f"/tools?{query}")

    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(problem)


async def test_one_tool_is_shown_with_all_its_evidence(live: Office) -> None:
    shown: dict[str, Any] = await live.get("/tools/upper/delete_note")

    assert shown["name"] == "up:delete_note"
    assert shown["views"] == {
        "prefix": "dangerous",
        "exec": "Destructive",
        "intent": "call_tool_destructive",
        "gateway": "dangerous",
    }
    assert shown["definition"] == DELETE
    assert (shown["input_schema"], shown["output_schema"]) == (DELETE["inputSchema"], None)
    decisive = next(each for each in shown["evidence"] if each["decided"])
    assert (decisive["source"], decisive["says"]) == ("name", "dangerous")
    assert {each["source"] for each in shown["evidence"]} == {"name", "annotations"}


async def test_a_tool_that_contradicts_itself_has_a_finding(live: Office) -> None:
    found = (await live.get("/tools/up/remove_cache"))["findings"]

    assert found
    assert set(found[0]) == {"code", "text"}


async def test_what_a_server_wrote_wrongly_is_left_out_and_shown_in_its_definition(live: Office) -> None:
    shown = await live.get("/tools/odd/read_exactly")

    assert (shown["description"], shown["annotations"], shown["input_schema"]) == ("", {}, {})
    assert shown["definition"]["description"] == 5


@pytest.mark.parametrize("name", NAMES)
async def test_a_tool_is_found_whatever_its_name_is(live: Office, name: str) -> None:
    assert (await live.get(f"/tools/odd/{quote(name, safe='')}"))["tool"] == name


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/tools/up/delete_nte", "Tool 'up:delete_nte' not found. Did you mean 'up:delete_note'?"),
        ("/tools/pu/delete_note", "Tool 'pu:delete_note' not found. Did you mean 'up:delete_note'?"),
        ("/tools/nobody/zzz", "Tool 'nobody:zzz' not found."),
        ("/tools/up/", "Tool 'up:' not found."),
    ],
)
async def test_an_unknown_tool_is_answered_with_the_nearest_name(live: Office, path: str, detail: str) -> None:
    answer = await live.ask("GET", path)

    assert (answer.status_code, answer.json()["detail"]) == (404, detail)
