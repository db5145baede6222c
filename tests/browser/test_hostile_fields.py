"""Whatever was kept of people, grants, stops, rules, settings and runs: the pages show it, and it does nothing."""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from playwright.sync_api import expect

from interlock.store.folder import DataFolder
from tests.browser.hostile import HOSTILE
from tests.browser.hostile_store import config, fill, name_of, yaml_of
from tests.browser.house import SECONDS, House, Reviewer, house
from tests.browser.inert import EACH, NOTHING, go, query_of, quiet, unfolded
from tests.talking import NO_TLS

ALL = len(HOSTILE)
OPENED = range(0, ALL, EACH)
ODD = "<img src=x onerror=window.pwned=1>\u202e\x1b[31m\u200bAPPROVED"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    folder = tmp_path_factory.mktemp("hostile")
    with DataFolder(folder / "data").hold():
        # In a thread, because the loop of the browser runs in this one.
        ThreadPoolExecutor(1).submit(asyncio.run, fill(folder / "data")).result()
    with house(folder, config()) as running:
        yield running


LISTS = {
    "/agents": {"tbody tr": 2 * ALL},
    "/agents?view=grants": {"tbody tr": ALL},
    "/rules": {".card.rule": ALL, ".history li": 100, "tbody tr": ALL},
    "/settings": {"th.mono": 200, ".trouble": ALL},
    "/lab": {"tbody tr": 200},
}
"""What is listed on each page, and how much of it there is at least."""


@pytest.mark.parametrize("address", LISTS)
def test_in_lists_they_do_nothing(boss: Reviewer, address: str) -> None:
    page = boss.open(address)
    for rows, count in LISTS[address].items():
        page.locator(rows).nth(count - 1).wait_for(state="attached")

    assert unfolded(page) == NOTHING


def test_in_the_record_of_changes_they_do_nothing(boss: Reviewer) -> None:
    page = boss.open("/activity?type=all")
    page.locator("[href^='/activity/']").first.wait_for()
    for _ in range(3 * ALL // 20):
        assert quiet(page) == NOTHING
        page.keyboard.press("PageDown")


def test_one_change_by_itself_does_nothing(boss: Reviewer) -> None:
    page = boss.page
    for number in OPENED:
        go(page, "activity", f"chg-h{number:03}")
        page.get_by_role("article").filter(has=page.locator("code.id", has_text=f"chg-h{number:03}")).wait_for()

        assert unfolded(page) == NOTHING, HOSTILE[number][:100]
        assert boss.complaints == [], HOSTILE[number][:100]


def test_one_agent_by_itself_does_nothing(boss: Reviewer) -> None:
    page = boss.page
    for number in OPENED:
        name = name_of(HOSTILE[number])
        go(page, "agents", name)
        page.locator(f'a[href="/activity{query_of(page, caller=name)}"]').wait_for()
        page.get_by_role("region", name="Tokens").wait_for()

        assert unfolded(page) == NOTHING, HOSTILE[number][:100]
        assert boss.complaints == [], HOSTILE[number][:100]


def test_what_the_rules_say_of_one_call_does_nothing(boss: Reviewer) -> None:
    page = boss.page
    for number in OPENED:
        go(page, "rules", query=f"?view=test&call=call-{number:03}")
        page.locator(f"a[href='/activity/call-{number:03}']").wait_for()

        assert quiet(page) == NOTHING, HOSTILE[number][:100]
        assert boss.complaints == [], HOSTILE[number][:100]


def test_one_run_of_the_lab_does_nothing(boss: Reviewer) -> None:
    page = boss.page
    for number in OPENED:
        go(page, "lab", f"h{number:03}")
        expect(page.locator(".lab-finding")).to_have_count(2)

        assert unfolded(page) == NOTHING, HOSTILE[number][:100]
        assert boss.complaints == [], HOSTILE[number][:100]


def test_calls_that_are_decided_anew_do_nothing(boss: Reviewer) -> None:
    page = boss.open("/rules?view=replay")
    page.get_by_role("button", name="Replay", exact=True).last.click()
    page.get_by_role("region", name="Calls that would be decided otherwise").wait_for()

    assert unfolded(page) == NOTHING


def test_faults_of_a_configuration_repeat_them_and_do_nothing(boss: Reviewer) -> None:
    rule = {"id": "odd", "effect": "hold", "tool_pattern": ODD}
    page = boss.open("/rules?view=replay")
    page.get_by_label("A candidate").fill(yaml_of({"route_rules": [rule]}))
    page.get_by_role("button", name="Replay", exact=True).last.click()
    expect(page.locator(".faults").get_by_role("alert")).to_contain_text("bad pattern")

    assert quiet(page) == NOTHING
    boss.complaints.clear()  # the browser writes down every refusal


def test_in_questions_and_forms_they_do_nothing(boss: Reviewer) -> None:
    page = boss.open("/agents?view=grants")
    page.get_by_role("button", name="Revoke all").click()
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_count(20)
    assert quiet(page) == NOTHING

    page = boss.open("/agents/a%E2%80%AEb")
    page.get_by_role("button", name="Stop this one").click()
    assert quiet(page) == NOTHING
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Make a token for it").click()
    workspaces = page.get_by_role("dialog").locator("select[name=workspace_id] option")
    expect(workspaces).to_have_count(ALL + 1)
    assert quiet(page) == NOTHING


PLACES = (("tools", "x"), ("servers",), ("approvals",), ("activity",), ("lab",), ("agents",), ())


def test_in_an_address_they_do_nothing(boss: Reviewer) -> None:
    page = boss.open("/settings")
    for place in PLACES:
        go(page, *place, ODD)

        assert quiet(page) == NOTHING, place
    boss.complaints = [each for each in boss.complaints if "404" not in each]  # the browser writes them down


def test_stops_over_every_page_do_nothing(gateway: House, comes: Callable[..., Reviewer]) -> None:
    names = [name_of(text) for text in HOSTILE if len(text) < 200]
    headers = {"Authorization": f"Bearer {gateway.operator}"}
    with httpx2.Client(base_url=gateway.address, headers=headers, timeout=SECONDS, verify=NO_TLS) as http:
        for name in names:
            assert http.post("/api/v1/freeze", json={"caller": name, "reason": name}).is_success
    someone = comes().sign_in()
    page = someone.open("/overview")
    for rows in (".banner.bad", ".strip li:has(strong)"):
        expect(page.locator(rows)).to_have_count(len(names))

    assert quiet(page) == NOTHING
    assert someone.complaints == []
