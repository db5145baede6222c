"""The API page: every route, found, linked and described, and those that only read can be tried."""

import re

from playwright.sync_api import expect

from interlock.web import PREFIX
from interlock.web.routes import ROUTES
from tests.browser.house import Reviewer


def test_every_route_of_the_list_is_on_the_page_with_its_roles(boss: Reviewer) -> None:
    page = boss.open("/api")
    expect(page.get_by_role("status").filter(has_text="routes")).to_have_text(f"{len(ROUTES)} of {len(ROUTES)} routes")
    shown = {
        (each.locator(".method").inner_text(), each.locator("summary code").first.inner_text())
        for each in page.locator("details.operation").all()
    }

    assert shown == {(each.method, PREFIX + re.sub(r":\w+}", "}", each.path)) for each in ROUTES}


def test_a_link_leads_to_one_route_and_opens_it(boss: Reviewer) -> None:
    page = boss.open("/api#create_token")
    route = page.locator("#create_token")

    expect(route).to_have_attribute("open", "")
    expect(route.locator("summary").first).to_be_focused()
    expect(route).to_be_in_viewport()
    expect(route.get_by_text("For admin.")).to_be_visible()
    expect(route.get_by_text("WantedToken")).to_be_visible()
    expect(route.get_by_text("Bad Request: BAD_REQUEST.")).to_be_visible()
    expect(route.get_by_role("button", name="Ask")).to_have_count(0)


def test_the_command_of_a_route_names_a_token_but_holds_none(boss: Reviewer) -> None:
    page = boss.open("/api#revoke_token")
    command = page.locator("#revoke_token .command code")

    address = f"{boss.house.address}{PREFIX}/tokens/{{token_id}}"
    expect(command).to_have_text(f"curl -X DELETE -H \"Authorization: Bearer $INTERLOCK_TOKEN\" '{address}'")


def test_searching_by_keyboard_leaves_what_fits_and_stays_in_the_address(boss: Reviewer) -> None:
    page = boss.open("/api")
    expect(page.locator("details.operation").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("delete grant")

    expect(page.locator("details.operation")).to_have_count(1)
    expect(page.locator("#revoke_grant")).to_be_visible()
    assert "q=delete+grant" in page.url


def test_a_route_that_reads_is_tried_and_one_that_never_ends_is_not(boss: Reviewer) -> None:
    page = boss.open("/api#get_session")
    route = page.locator("#get_session")
    route.get_by_role("button", name="Ask").press("Enter")
    expect(route.locator(".tree")).to_contain_text("operator")
    page.goto(f"{boss.house.address}/api#stream_events")

    expect(page.locator("#stream_events").get_by_text("This answer never ends")).to_be_visible()
    expect(page.locator("#stream_events").get_by_role("button", name="Ask")).to_have_count(0)


def test_a_schema_is_followed_into_its_parts_when_it_is_opened(boss: Reviewer) -> None:
    page = boss.open("/api#list_approvals")
    route = page.locator("#list_approvals")
    expect(route.get_by_text("ShownApproval", exact=False).first).to_be_visible()
    route.get_by_text("list of ShownApproval").click()
    expect(route.get_by_text("tool_fingerprint")).to_be_visible()
    route.get_by_text("list of ShownVote").click()

    expect(route.get_by_text("approver", exact=True).last).to_be_visible()
