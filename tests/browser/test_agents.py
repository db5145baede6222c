"""Agents and grants: who may act here, tokens that are shown once, and what is taken back."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from tests.browser.house import House, Reviewer

RUN = "sample__run_script"


def granted(gateway: House, agent: str, script: str) -> None:
    """Have a call of an agent approved for more than once."""
    call = gateway.call(RUN, {"script": script}, agent=agent)
    (held,) = gateway.held(1)
    wide = {"digest": held["digest"], "scope": "identical", "duration": "10m"}
    gateway.rest("POST", f"/approvals/{held['id']}/approve", wide)
    call.result(30)


def grants_of(gateway: House, agent: str) -> list[Any]:
    return [each for each in gateway.rest("GET", "/grants")["items"] if each["caller"] == agent]


def test_an_agent_is_listed_with_what_it_has_and_leads_to_what_it_did(gateway: House, boss: Reviewer) -> None:
    granted(gateway, "robin", "ls")
    page = boss.open("/agents?q=robin")
    row = page.get_by_role("row", name="robin")
    expect(row.get_by_role("cell")).to_contain_text(["agent", "operator", "agent", "1", "ago", "0", "1", "1"])
    row.get_by_role("link", name="robin").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("robin")
    for table in ("Live grants", "Last calls", "Its approvals"):
        expect(page.get_by_role("region", name=table)).to_contain_text("sample:run_script")
    expect(page.get_by_role("link", name="All of them")).to_have_attribute("href", "/activity?caller=robin")


def test_a_new_token_works_is_shown_once_and_stays_nowhere(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/agents")
    page.get_by_role("button", name="Make a token").click()
    page.get_by_label("Whose it is").fill("wren")
    page.get_by_text("Owner, workspace and limits").click()
    page.get_by_label("Tools it may reach").fill("list_*, read_*")
    page.get_by_label("The most it may do").select_option("read")
    page.get_by_role("button", name="Make it").click()
    text = page.get_by_role("group", name="The text of the token").inner_text().strip()
    expect(page.get_by_text("It is shown now and never again")).to_be_visible()
    boss.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == text
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_role("dialog")).to_have_count(0)

    everywhere = (
        page.content()
        + page.url
        + page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])")
    )
    assert text.split("_", 2)[2] not in everywhere
    (made,) = [each for each in gateway.rest("GET", "/tokens")["items"] if each["name"] == "wren"]
    assert (made["tools"], made["ceiling"], made["servers"]) == (["list_*", "read_*"], "read", None)
    assert gateway.rest("GET", "/tokens")["items"][-1]["id"] == text.split("_")[1]
    gateway.tokens["wren"] = text
    assert "welcome" in str(gateway.call("sample__list_notes", {}, agent="wren").result(30).content)


def test_a_token_that_may_not_be_made_is_refused_in_the_dialog_with_the_fix(boss: Reviewer) -> None:
    page = boss.open("/agents")
    page.get_by_role("button", name="Make a token").click()
    page.get_by_label("Whose it is").fill("somebody")
    page.get_by_label("auditor").check()
    page.get_by_label("How long it is valid").select_option("12h")
    page.get_by_text("Owner, workspace and limits").click()
    page.get_by_label("Owner (you, if empty)").fill("operater")
    page.get_by_role("button", name="Make it").click()

    expect(page.get_by_role("alert")).to_contain_text("operator")
    expect(page.get_by_label("Whose it is")).to_have_value("somebody")
    expect(page.get_by_label("auditor")).to_be_checked()
    expect(page.get_by_label("How long it is valid")).to_have_value("12h")
    boss.complaints.clear()  # the browser notes every refusal


def test_a_token_is_revoked_after_a_question_and_the_focus_comes_back(gateway: House, boss: Reviewer) -> None:
    gateway.token("finch")
    page = boss.open("/agents/finch")
    revoke = page.get_by_role("region", name="Tokens").get_by_role("button", name="Revoke")
    revoke.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(revoke).to_be_focused()
    revoke.press("Enter")
    page.get_by_role("button", name="Revoke it for good").click()

    expect(page.get_by_role("region", name="Tokens")).to_contain_text("Revoked")
    assert [
        each["revoked_at"] is None for each in gateway.rest("GET", "/tokens")["items"] if each["name"] == "finch"
    ] == [False]


def test_all_grants_are_revoked_after_one_question(gateway: House, boss: Reviewer) -> None:
    for script in ("one", "two"):
        granted(gateway, "heron", script)
    page = boss.open("/agents/heron")
    page.get_by_role("button", name="Revoke all 2").click()
    assert len(grants_of(gateway, "heron")) == 2
    page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()

    expect(page.get_by_text("2 grants are revoked.")).to_be_visible()
    expect(page.get_by_role("region", name="Live grants")).to_have_count(0)
    assert grants_of(gateway, "heron") == []


def test_one_caller_is_stopped_and_said_to_be(gateway: House, boss: Reviewer) -> None:
    gateway.token("magpie")
    page = boss.open("/agents/magpie")
    page.get_by_role("button", name="Stop this one").click()
    page.get_by_label("Why (it is told)").fill("it steals")
    page.get_by_role("button", name="Stop it").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Stopped")
    expect(page.get_by_role("button", name="Stop this one")).to_have_count(0)
    assert [(each["caller"], each["reason"]) for each in gateway.rest("GET", "/freezes")["items"]] == [
        ("magpie", "it steals")
    ]
    gateway.rest("POST", "/thaw", {"caller": "magpie"})


def test_whoever_only_reads_is_offered_nothing_that_changes_something(
    gateway: House, comes: Callable[..., Reviewer]
) -> None:
    granted(gateway, "robin", "pwd")
    reader = comes().sign_in(gateway.token("alma", "auditor", kind="human"))
    for path, seen in (("/agents/robin", "Live grants"), ("/agents?view=grants", "Live grants"), ("/agents", "Agents")):
        page = reader.open(path)
        expect(page.get_by_role("region", name=seen)).to_be_visible()
        expect(page.locator("button.bad, button.good")).to_have_count(0)
        expect(page.get_by_role("button", name="Make a token")).to_have_count(0)
    assert reader.complaints == []
