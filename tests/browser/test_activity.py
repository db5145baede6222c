"""The record: it grows by itself, stands still while somebody reads, and tells the story of each call."""

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.house import SECONDS, House, Reviewer
from tests.talking import NO_TLS

PAGE = 100
"""How many rows are fetched first."""


def make(gateway: House, tool: str = "list_notes", count: int = 1, **body: Any) -> None:
    """Calls of the operator's agent, each of which is over when the next one begins."""
    with httpx2.Client(headers={"Authorization": f"Bearer {gateway.operator}"}, timeout=SECONDS, verify=NO_TLS) as http:
        for _ in range(count):
            http.post(f"{gateway.address}/api/v1/tools/sample/{tool}/call", json=body).raise_for_status()


def rows(page: Page) -> Locator:
    return page.locator(".records-box [role=row]")


def shown(page: Page, count: str) -> None:
    expect(page.get_by_text(re.compile(rf"^{count} shown"))).to_be_visible()


@pytest.fixture(scope="module", autouse=True)
def past(gateway: House) -> None:
    """There is more on record than is fetched at once; the oldest call is the only one of its tool."""
    make(gateway, "read_note", arguments={"name": "welcome"})
    make(gateway, count=PAGE + 20)


def test_a_call_appears_at_the_top_by_itself(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/activity")
    shown(page, str(PAGE))
    gateway.call("sample__read_note", {"name": "todo"}, agent="wren").result(30)

    expect(rows(page).first).to_contain_text("sample:read_note")
    expect(rows(page).first).to_contain_text("wren")
    expect(rows(page).first).to_contain_text("Success")


def test_while_it_is_paused_new_calls_are_counted_and_come_when_they_are_asked_for(
    gateway: House, boss: Reviewer
) -> None:
    page = boss.open("/activity")
    shown(page, str(PAGE))
    page.keyboard.press("p")
    make(gateway, "write_note", count=3, arguments={"name": "x", "text": "y"})

    fresh = page.get_by_role("button", name="3 new: show")
    expect(fresh).to_be_visible()
    shown(page, str(PAGE))
    expect(rows(page).first).not_to_contain_text("write_note")
    fresh.click()
    shown(page, str(PAGE + 3))
    expect(rows(page).first).to_contain_text("write_note")
    page.keyboard.press("p")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_a_list_that_is_scrolled_down_stands_still_and_has_the_past_to_its_end(gateway: House, boss: Reviewer) -> None:
    total = len(gateway.rest("GET", "/activity?type=tool_call,policy_decision&limit=500")["items"])
    page = boss.open("/activity")
    box = page.locator(".records-box")
    shown(page, str(PAGE))
    box.evaluate("box => { box.scrollTop = box.scrollHeight; }")
    shown(page, str(total))
    box.evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(rows(page).last).to_contain_text("sample:read_note")
    make(gateway)

    expect(page.get_by_role("button", name="1 new: show")).to_be_visible()
    shown(page, str(total))
    page.get_by_role("button", name="1 new: show").click()
    shown(page, str(total + 1))
    assert box.evaluate("box => box.scrollTop") == 0


def test_a_filter_stands_in_the_address_and_holds_for_what_comes(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/activity")
    page.keyboard.press("/")
    expect(page.get_by_label("Type")).to_be_focused()
    page.get_by_label("Tool", exact=True).fill("read_note")
    page.get_by_label("Tool", exact=True).press("Enter")
    expect(page).to_have_url(re.compile(r"\?tool=read_note$"))
    expect(rows(page).filter(has_text="list_notes")).to_have_count(0)
    expect(rows(page)).not_to_have_count(0)  # they come in one go
    known = rows(page).count()
    make(gateway)
    make(gateway, "read_note", arguments={"name": "todo"})

    expect(rows(page)).to_have_count(known + 1)
    expect(rows(page).filter(has_text="list_notes")).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Tool", exact=True)).to_have_value("read_note")
    expect(rows(page)).to_have_count(known + 1)
    page.get_by_role("button", name="Clear").click()
    expect(page).to_have_url(re.compile(r"/activity$"))
    shown(page, str(PAGE))


def test_a_held_call_is_opened_by_keyboard_and_tells_its_story_stage_by_stage(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/activity?tool=delete_note")
    call = gateway.call("sample__delete_note", {"name": "todo"}, why="it is done")
    (held,) = gateway.held(1)
    gateway.rest("POST", f"/approvals/{held['id']}/approve", {"digest": held["digest"], "resolution": "go ahead"})
    call.result(30)
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    story = page.get_by_role("article")
    stages = story.locator(".timeline > li")
    names = ["Received", "Classified", "Intent", "Rule", "Held", "Decided", "Recorded", "Forwarded", "Result"]
    expect(stages.locator(".name")).to_have_text(names)
    expect(stages.nth(5)).to_contain_text("Approved by operator: go ahead")
    for place in (5, 6, 7):
        expect(stages.nth(place).locator(".when")).to_contain_text(re.compile(r"\+[\d.]+ m?s"))
    expect(story.get_by_role("link", name=held["id"][-8:])).to_have_attribute("href", f"/approvals/{held['id']}")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"/activity\?tool=delete_note$"))
    expect(story).to_have_count(0)


def test_the_command_to_copy_means_the_same_call_whatever_is_in_it(gateway: House, boss: Reviewer) -> None:
    arguments = {"name": "'; touch pwned; '$(touch pwned)", "text": '\u202eevil\n\u2028 \U0001f600 \\ " `id` !x'}
    reason = "it's $(touch pwned) \u202e na\u00efve \U0001f600 \\'"
    intent = {"operation_type": "write", "data_sensitivity": "internal", "reason": reason}
    make(gateway, "write_note", arguments=arguments, variant="write", intent=intent)
    (found,) = gateway.rest("GET", "/activity?tool=write_note&limit=1")["items"]
    page = boss.open(f"/activity/{found['id']}")
    page.get_by_text("See the commands").click()
    command, curl = page.locator("pre.again").all_text_contents()

    assert words_of("interlock", command.strip(), gateway.folder) == [
        *("call", "tool-write", "--tool-name", "sample:write_note", "--json_args"),
        json.dumps(arguments, separators=(",", ":")),
        *("--reason", reason, "--sensitivity", "internal"),
    ]
    sent = words_of("curl", curl.strip(), gateway.folder)
    assert "Authorization: Bearer " in sent
    assert json.loads(sent[-1]) == {"arguments": arguments, "entry": "call", "variant": "write", "intent": intent}
    assert not (gateway.folder / "pwned").exists()


def words_of(program: str, command: str, folder: Path) -> list[str]:
    """The words that a shell makes of a command of this program."""
    script = f"{program}() {{ printf '%s\\0' \"$@\"; }}\n{command}"
    argv = [shutil.which("bash") or "bash", "-c", script]
    said = subprocess.run(argv, cwd=folder, check=True, capture_output=True, env={"LC_ALL": "C.UTF-8"})
    return said.stdout.decode().removesuffix("\0").split("\0")


def test_an_export_has_every_row_of_the_filter_and_says_how_many(gateway: House, boss: Reviewer) -> None:
    wanted = gateway.rest("GET", "/activity?tool=list_notes&limit=500")["items"]
    page = boss.open("/activity?tool=list_notes")
    with page.expect_download() as lines:
        page.get_by_role("button", name="Export JSONL").click()
    expect(page.get_by_text(f"{len(wanted)} rows saved as activity.jsonl.")).to_be_visible()
    with page.expect_download() as table:
        page.get_by_role("button", name="Export CSV").click()
    expect(page.get_by_text(f"{len(wanted)} rows saved as activity.csv.")).to_be_visible()

    ids = [each["id"] for each in wanted]
    assert [json.loads(line)["id"] for line in lines.value.path().read_text().splitlines()] == ids
    with table.value.path().open(newline="") as file:
        assert [each["id"] for each in csv.DictReader(file)] == ids


def test_an_export_that_breaks_off_saves_nothing_and_says_so(boss: Reviewer) -> None:
    page = boss.open("/activity")
    page.route("**/activity/export*", lambda route: route.abort())
    page.get_by_role("button", name="Export JSONL").click()

    expect(page.get_by_text("The export broke off, so nothing was saved.")).to_be_visible()
    boss.complaints.clear()  # the browser complains about the network, as it should


def test_changes_are_told_as_sentences_as_they_happen(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/activity?type=all")
    expect(rows(page).first).to_be_visible()
    gateway.rest("POST", "/freeze", {"server": "sample", "reason": "a leak"})
    expect(rows(page).first).to_contain_text("operator stopped")
    expect(rows(page).first).to_contain_text("a leak")
    gateway.rest("POST", "/thaw", {"server": "sample"})
    expect(rows(page).first).to_contain_text("go on")
    gateway.token("magpie")

    # The stream does not tell of tokens: the page looks by itself.
    expect(rows(page).first).to_contain_text("operator created a token for magpie (agent)", timeout=SECONDS * 1000)
    rows(page).first.click()
    heading = page.get_by_role("article").get_by_role("heading", level=2)
    expect(heading).to_have_text("operator created a token for magpie (agent)")
    assert boss.violations() == []
