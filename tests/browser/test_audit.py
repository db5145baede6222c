"""Audit: the check at a press, how far the log is sealed, what was removed, and a log that somebody changed."""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from interlock.store.folder import DataFolder
from tests.browser.house import House, Reviewer, house, reviewer
from tests.stores import address_of, run_elsewhere, sealed_folder, tamper

SCRIPT = "<img src=x onerror=document.title='owned'>\u202e"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    """A gateway whose log has forty records and four seals from long ago."""
    folder = tmp_path_factory.mktemp("audit")
    with filled(folder) as running:
        yield running


def filled(folder: Path) -> AbstractContextManager[House]:
    with DataFolder(folder / "data").hold():
        # In a thread, because the loop of the browser runs in this one.
        ThreadPoolExecutor(1).submit(asyncio.run, sealed_folder(folder / "data")).result()
    return house(folder)


def verdict(page: Page) -> Locator:
    return page.get_by_role("region", name="The check of the log")


def seals(page: Page) -> Locator:
    return page.get_by_role("region", name="Newest seals").get_by_role("row")


def test_a_log_is_checked_at_a_press_and_the_answer_stays_while_one_looks_elsewhere(boss: Reviewer) -> None:
    page = boss.open("/audit")
    expect(verdict(page).get_by_role("heading")).to_have_text("Not checked yet")
    page.get_by_role("button", name="Verify now").click()

    expect(verdict(page).get_by_role("heading")).to_have_text("The log is intact")
    expect(verdict(page)).to_contain_text("Records 1 to ")
    page.get_by_role("link", name="Tools").click()
    page.keyboard.press("-")
    expect(verdict(page).get_by_role("heading")).to_have_text("The log is intact")
    expect(page.get_by_text("Tamper-evident, not immutable")).to_be_visible()


def test_the_check_is_one_key(boss: Reviewer) -> None:
    page = boss.open("/audit")
    page.keyboard.press("v")

    expect(verdict(page).get_by_role("heading")).to_have_text("The log is intact")
    assert boss.violations() == []
    boss.picture("audit-intact")


def test_sealing_now_adds_a_seal_whose_line_can_be_copied(gateway: House, boss: Reviewer) -> None:
    boss.context.grant_permissions(["clipboard-read", "clipboard-write"])
    gateway.call("sample__list_notes", {}).result(30)
    page = boss.open("/audit")
    page.get_by_role("button", name="Seal now").click()
    expect(page.get_by_text("The log is sealed up to record ")).to_be_visible()
    newest = gateway.rest("GET", "/audit/checkpoints")["items"][0]
    page.get_by_role("button", name=f"Copy the line of the seal on record {newest['seq']}").click()

    expect(seals(page).nth(1)).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == newest["line"]
    assert newest["line"] in (gateway.folder / "data" / "anchor.jsonl").read_text().splitlines()


def test_removing_shows_first_what_would_go_and_takes_a_second_press(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/audit")
    page.get_by_role("button", name="Remove old records…").click()
    page.get_by_role("button", name="Show what would go").click()
    shown = page.get_by_text("would be removed for good.")
    expect(shown).to_contain_text("Records up to ")
    assert boss.violations() == []
    boss.picture("audit-prune")
    assert gateway.rest("GET", "/audit/verify")["pruned"] == 0
    page.get_by_label("Remove what is older than").select_option("365d")
    expect(shown).to_have_count(0)
    page.get_by_role("button", name="Show what would go").click()
    page.get_by_role("button", name="Remove them for good").click()

    expect(page.get_by_text("Removed up to here")).to_be_visible()
    expect(page.get_by_text("a seal says so")).to_be_visible()
    assert gateway.rest("GET", "/audit/verify")["intact"]


def test_whoever_is_no_admin_may_check_and_change_nothing(gateway: House, comes: Callable[..., Reviewer]) -> None:
    ada = comes().sign_in(gateway.token("ada", "auditor"))
    page = ada.open("/audit")
    page.get_by_role("button", name="Verify now").click()

    expect(verdict(page).get_by_role("heading")).to_have_text("The log is intact")
    expect(page.get_by_role("button", name="Seal now")).to_have_count(0)
    expect(page.get_by_role("button", name="Remove old records…")).to_have_count(0)
    assert ada.complaints == []


def test_a_log_that_was_changed_is_told_at_its_record_and_what_was_put_there_does_nothing(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> None:
    folder = tmp_path_factory.mktemp("changed")
    with filled(folder) as running, reviewer(running, browser, 320, 640, "dark") as someone:
        run_elsewhere(folder / "data", f'CREATE VIEW "{SCRIPT}" AS SELECT 1')
        page = someone.sign_in().open("/audit")
        page.get_by_role("button", name="Verify now").click()
        kind = "part" if address_of(folder / "data") == "sqlite" else "table"
        expect(verdict(page)).to_contain_text(f'The {kind} "<img src=x onerror=')
        beside = someone.violations()
        tamper(folder / "data", "UPDATE entry SET text = '{}' WHERE seq = 17")
        page.get_by_role("button", name="Verify again").click()
        expect(verdict(page).get_by_role("heading")).to_have_text("Broken at record 17")
        expect(verdict(page)).to_contain_text("Record 17: it was changed after it was written.")
        someone.picture("audit-broken-dark-320")

        assert (beside, someone.violations(), someone.complaints) == ([], [], [])
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert "owned" not in page.title()
