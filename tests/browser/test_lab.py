"""The page of the lab: what was tried, what was found, and a stranger's text that stays text."""

from collections.abc import Generator

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, expect

from interlock.lab.model import Finding, Severity
from interlock.lab.run import NOTHING_CLEANED_UP, REPORT, Run, RunFolder
from tests.browser.hostile import HOSTILE
from tests.browser.house import House, Reviewer, house, reviewer
from tests.lab.runs import a_run, a_run_that_says


def keep(gateway: House, run: Run) -> RunFolder:
    folder = RunFolder.make(gateway.folder / "data", run.id)
    folder.keep(run)
    return folder


def test_where_nothing_was_tried_the_page_says_how_to(boss: Reviewer) -> None:
    page = boss.open("/lab")

    expect(page.get_by_text("interlock probe -- COMMAND")).to_be_visible()


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    """A gateway whose lab was used: once well, once until the budget was gone, and once the report broke."""
    with house(tmp_path_factory.mktemp("probed")) as running:
        keep(running, replace(a_run(), id="0001"))
        keep(running, replace(a_run(), id="0002", target="other", ended="budget", findings=[], calls=[]))
        (keep(running, replace(a_run(), id="0003")).path / REPORT).write_bytes(b"{")
        yield running


@pytest.fixture
def someone(probed: House, browser: Browser) -> Generator[Reviewer]:
    with reviewer(probed, browser) as coming:
        yield coming.sign_in()
        assert coming.complaints == []


def test_runs_are_listed_with_how_they_ended_and_what_they_found(someone: Reviewer) -> None:
    rows = someone.open("/lab").get_by_role("table").locator("tbody tr")

    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("other")
    expect(rows.nth(0)).to_contain_text("Out of calls")
    expect(rows.nth(0)).to_contain_text("none")
    expect(rows.nth(1)).to_contain_text("Complete")
    expect(rows.nth(1)).to_contain_text("1 high1 medium1 low1 info")


def test_a_report_that_cannot_be_read_is_told(someone: Reviewer) -> None:
    expect(someone.open("/lab").get_by_text("One report cannot be read")).to_be_visible()


def test_a_run_shows_its_plan_its_findings_its_calls_and_its_notes(someone: Reviewer) -> None:
    page = someone.open("/lab")
    page.locator("tbody tr").nth(1).get_by_role("link").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("probe of notes")
    plan = page.get_by_role("region", name="Plan").locator("tbody tr")
    expect(plan).to_have_count(4)
    expect(plan.nth(3)).to_contain_text("Not called")
    expect(plan.nth(3)).to_contain_text("It is destructive.")
    findings = page.locator(".lab-finding")
    expect(findings).to_have_count(4)
    expect(findings.nth(0)).to_contain_text("It gave no answer.")
    expect(findings.nth(0)).to_contain_text("seconds")
    expect(findings.nth(0)).to_contain_text("Fix: Answer each request.")
    expect(page.get_by_text("p50 10 ms, p95 19 ms")).to_be_visible()
    expect(page.get_by_role("region", name="Calls").locator("tbody tr")).to_have_count(24)
    expect(page.get_by_text(NOTHING_CLEANED_UP)).to_be_visible()


def test_a_call_leads_to_its_place_in_the_record(someone: Reviewer) -> None:
    calls = someone.open("/lab/0001").get_by_role("region", name="Calls")

    expect(calls.get_by_role("link").first).to_have_attribute("href", "/activity/act-1")


def test_a_run_that_is_not_there_is_told(someone: Reviewer) -> None:
    page = someone.open("/lab/0009")
    expect(page.get_by_role("alert")).to_contain_text("not found")

    someone.complaints.clear()  # the browser writes down every 404


def test_what_servers_said_is_text_and_nothing_else(someone: Reviewer, probed: House) -> None:
    said = [Finding(each, Severity.HIGH, each, each, each, {each: each}) for each in HOSTILE if len(each) < 10_000]
    keep(probed, replace(a_run_that_says("<img src=x onerror=window.pwned=1>"), id="0000", findings=said))
    page = someone.open("/lab/0000")

    expect(page.locator(".lab-finding")).to_have_count(len(said))
    assert page.evaluate("window.pwned") is None
    assert page.locator("#main :is(script, img, iframe, form, style, base)").count() == 0
    page = someone.open("/lab")
    expect(page.locator("tbody tr")).to_have_count(3)
    assert page.evaluate("window.pwned") is None
