"""Exporting the record: whole or visibly broken, and harmless in a spreadsheet."""

import csv
import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from interlock.store.protocol import ActivityFilter, ActivityPage, StoreUnavailable
from interlock.web import PREFIX
from interlock.web.export import PAGE, cell
from tests.web.office import HOST, Office, activity

MANY = 3 * PAGE + 7


async def exported(office: Office, query: str) -> str:
    answer = await office.ask("GET", f"/activity/export?{query}", "auditor")
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_every_activity_comes_once_as_a_line_of_json_like_it_is_shown(bare: Office) -> None:
    await bare.store.write([activity(number, tool="t") for number in range(MANY)])
    lines = [json.loads(line) for line in (await exported(bare, "tool=t")).splitlines()]

    assert [each["id"] for each in lines] == [f"act-{number:04}" for number in reversed(range(MANY))]
    assert lines[0] == await bare.get(f"/activity/{lines[0]['id']}")


async def test_every_activity_comes_once_as_a_row(bare: Office) -> None:
    await bare.store.write([activity(number, tool="t", body={"arguments": {"a": [1]}}) for number in range(MANY)])
    rows = list(csv.DictReader(io.StringIO(await exported(bare, "format=csv&tool=t"))))

    assert [each["id"] for each in rows] == [f"act-{number:04}" for number in reversed(range(MANY))]
    assert (rows[0]["arguments"], rows[0]["server"], rows[0]["status"]) == ('{"a":[1]}', "", "success")


async def test_an_answer_says_what_it_is_and_how_to_name_it(bare: Office) -> None:
    lines, rows = [await bare.ask("GET", f"/activity/export?format={each}") for each in ("jsonl", "csv")]

    assert lines.headers["content-type"].startswith("application/x-ndjson")
    assert rows.headers["content-type"].startswith("text/csv")
    assert rows.headers["content-disposition"] == 'attachment; filename="activity.csv"'
    assert "content-length" not in rows.headers


async def test_without_any_activity_there_is_a_heading_or_nothing(bare: Office) -> None:
    assert await exported(bare, "tool=none") == ""
    assert (await exported(bare, "tool=none&format=csv")).startswith("id,at,type,status,server,tool,")


@pytest.mark.parametrize("query", ["format=xml", "limit=5", "status=x", "since=soon"])
async def test_a_question_that_makes_no_sense_is_refused_before_anything_is_sent(bare: Office, query: str) -> None:
    assert (await bare.ask("GET", f"/activity/export?{query}")).status_code == 400


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "  @x", "\uff1d1", "=cmd|' /C calc'!A0"]
)
async def test_a_cell_is_never_a_formula(bare: Office, text: str) -> None:
    await bare.store.write([activity(1, tool=text, caller="me", body={"client": text})])
    (row,) = csv.DictReader(io.StringIO(await exported(bare, "format=csv&caller=me"), newline=""))

    assert row["tool"] == row["client"] == "'" + text.replace("\r", "<U+000D>")


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (-5, "-5"), ("a=b", "a=b"), ([-1], "[-1]"), ("", ""), ('a"b,\n', 'a"b,\n')]
)
def test_what_is_no_formula_is_left_as_it_is(value: Any, text: str) -> None:
    assert cell(value) == text


async def test_half_a_character_breaks_neither_form(bare: Office) -> None:
    await bare.store.write([activity(1, caller="me", body={"client": "\ud800"})])

    assert json.loads(await exported(bare, "caller=me"))["client"] == "\ud800"
    assert "<U+D800>" in await exported(bare, "format=csv&caller=me")


async def test_what_steers_a_terminal_is_made_visible_in_rows_and_exact_in_lines(bare: Office) -> None:
    hostile = "a\x1b[2Jb\x07c\u202ed\x9b1m\x7f\u200b"
    await bare.store.write(
        [activity(1, caller="me", tool=hostile, body={"client": hostile, "arguments": {"a": hostile}})]
    )
    rows, lines = await exported(bare, "format=csv&caller=me"), await exported(bare, "caller=me")
    (row,) = csv.DictReader(io.StringIO(rows, newline=""))

    assert row["tool"] == row["client"] == "a<U+001B>[2Jb<U+0007>c<U+202E>d<U+009B>1m<U+007F><U+200B>"
    assert all(each.isprintable() or each in "\r\n" for each in rows)
    assert json.loads(lines)["client"] == json.loads(lines)["arguments"]["a"] == hostile


# Not whole ------------------------------------------------------------------------------------------------------


Listing = Callable[[ActivityFilter], Awaitable[ActivityPage]]


def failing(listed: Listing) -> Listing:
    """What a store lists whose disk fails after the first page."""

    async def list_activities(wanted: ActivityFilter) -> ActivityPage:
        if wanted.cursor is not None:
            raise StoreUnavailable("disk I/O error")
        return await listed(wanted)

    return list_activities


async def raw(office: Office, form: str, token: str) -> list[dict[str, Any]]:
    """All that the application says, message by message."""
    said: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": f"{PREFIX}/activity/export",
        "raw_path": f"{PREFIX}/activity/export".encode(),
        "query_string": f"format={form}&tool=t".encode(),
        "root_path": "",
        "headers": [(b"host", HOST.encode()), (b"authorization", f"Bearer {token}".encode())],
    }
    await office.app(scope, receive, send)
    return said


@pytest.mark.parametrize("form", ["jsonl", "csv"])
async def test_an_export_that_fails_on_the_way_does_not_end_as_if_it_were_whole(
    bare: Office, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    await bare.store.write([activity(number, tool="t") for number in range(MANY)])
    monkeypatch.setattr(bare.store, "list_activities", failing(bare.store.list_activities))
    said = await raw(bare, form, await bare.token("auditor"))
    lines = b"".join(each.get("body", b"") for each in said).decode().splitlines()

    assert all(each["more_body"] for each in said[1:])
    assert len(lines) == PAGE + 1
    assert form == "csv" or json.loads(lines[-1])["error"]["code"] == "AUDIT_UNAVAILABLE"


async def test_a_token_that_is_revoked_on_the_way_gets_no_further_page(
    bare: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bare.store.write([activity(number, tool="t") for number in range(MANY)])
    text = await bare.issue("leaver", "auditor")
    monkeypatch.setattr(bare.store, "list_activities", _revoking(bare, text, bare.store.list_activities))
    said = await raw(bare, "jsonl", text)

    assert b"".join(each.get("body", b"") for each in said).count(b"\n") == PAGE


def _revoking(office: Office, text: str, listed: Listing) -> Listing:
    async def list_activities(wanted: ActivityFilter) -> ActivityPage:
        if wanted.cursor is not None:
            await office.ask("DELETE", f"/tokens/{text.split('_')[1]}")
        return await listed(wanted)

    return list_activities


async def test_an_export_reads_no_more_than_a_page_ahead_of_its_reader(bare: Office) -> None:
    await bare.store.write([activity(number, tool="t") for number in range(MANY)])
    said = await raw(bare, "jsonl", await bare.token("auditor"))

    assert [each.get("body", b"").count(b"\n") for each in said[1:]] == [PAGE, PAGE, PAGE, 7, 0]
