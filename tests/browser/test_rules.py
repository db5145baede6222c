"""The page of the rules: in the order in which they decide, tested on calls that were made, and replayed."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.house import House, Reviewer, house
from tests.running import config_of

CONFIG = """
expose: both
route_rules:
  - {id: scripts-wait, tool_pattern: "sample__run_*", effect: hold, approvals_needed: 2, approvers: [humans]}
  - {id: scripts-run, tool_pattern: "sample__run_*", effect: allow}
  - {id: no-secrets, tool_pattern: "sample__read_note", args: {name: "sec*", depth: {gt: 3}}, effect: deny}
  - {id: no-todo, tool_pattern: "sample__read_note", args: {name: todo}, effect: deny}
"""
CANDIDATE = 'route_rules:\n  - {id: reads-wait, tool_pattern: "sample__list_*", effect: hold}\n'


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    """A gateway at which a read was let pass, and another refused by a rule."""
    with house(tmp_path_factory.mktemp("rules"), CONFIG) as running:
        running.call("sample__list_notes", {}).result(30)
        running.call("sample__read_note", {"name": "todo"}).result(30)
        yield running


def rule(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=name))


def test_rules_stand_in_the_order_in_which_they_decide_with_what_is_wrong_with_them(boss: Reviewer) -> None:
    page = boss.open("/rules")
    expect(page.get_by_role("heading", level=2).first).to_contain_text("no-secrets")

    expect(rule(page, "no-secrets")).to_contain_text(
        "When the tool is like sample__read_note, and the argument name is like sec*, "
        "and the argument depth is more than 3."
    )
    expect(rule(page, "no-secrets")).to_contain_text("Never hit")
    expect(rule(page, "no-todo")).to_contain_text("1 hit, last")
    expect(rule(page, "scripts-run")).to_contain_text("rule 'scripts-wait' says hold for the very same calls")
    expect(page.get_by_role("row", name="posture:guarded 1")).to_be_visible()


def test_a_rule_that_is_copied_as_yaml_is_the_same_rule(boss: Reviewer, tmp_path: Path) -> None:
    page = boss.open("/rules")
    written = {each.id: each for each in config_of(tmp_path, CONFIG).rules}
    for name in written:
        rule(page, name).get_by_text("As YAML").click()
    copied = page.get_by_role("region", name="The rule as YAML").all_inner_texts()

    (tmp_path / "again").mkdir()
    again = config_of(tmp_path / "again", "\n".join(["route_rules:", *copied]))
    assert {each.id: each for each in again.rules} == written


def test_the_rules_are_tested_on_a_call_of_the_record_by_its_address(gateway: House, boss: Reviewer) -> None:
    refused = gateway.rest("GET", "/activity?tool=read_note")["items"][0]
    page = boss.open(f"/rules?call={refused['id']}")

    expect(page.get_by_role("heading", name="What is said of sample:read_note")).to_be_visible()
    expect(page.get_by_text("It would be the same now.")).to_be_visible()
    trace = page.get_by_role("region", name="Gate by gate")
    expect(trace.get_by_role("row", name="rules Deny")).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="no-todo").first).to_be_visible()
    assert boss.violations() == []


def test_the_rules_are_tested_on_a_call_that_is_only_thought_of(gateway: House, boss: Reviewer) -> None:
    before = len(gateway.rest("GET", "/activity")["items"])
    page = boss.open("/rules?view=test")
    page.get_by_label("Tool", exact=True).fill("sample:run_script")
    page.get_by_label("Arguments, as JSON").fill("{")
    page.get_by_role("button", name="Test it").last.click()
    expect(page.get_by_role("alert")).to_contain_text("This is not JSON")
    page.get_by_label("Arguments, as JSON").fill('{"script": "ls"}')
    page.get_by_role("button", name="Test it").last.click()

    found = page.get_by_role("heading", name="What is said of sample:run_script").locator("..").locator("..")
    expect(found).to_contain_text("scripts-wait")
    expect(found).to_contain_text("within 5m, by 2 of humans")
    assert len(gateway.rest("GET", "/activity")["items"]) == before


def test_a_candidate_is_replayed_and_every_change_leads_to_its_call(boss: Reviewer) -> None:
    page = boss.open("/rules?view=replay")
    page.get_by_label("A candidate").fill(CANDIDATE)
    page.get_by_role("button", name="Replay", exact=True).last.click()

    table = page.get_by_role("region", name="Calls that would be decided otherwise")
    expect(table.get_by_role("row", name="sample:list_notes")).to_contain_text("reads-wait")
    expect(page.get_by_text("allow → hold")).to_be_visible()
    assert boss.violations() == []
    page.get_by_label("A candidate").fill("route_rules:\n  - {id: x, efect: hold}\n")
    page.get_by_role("button", name="Replay", exact=True).last.click()
    expect(page.get_by_role("alert")).to_contain_text("2:")
    boss.complaints.clear()  # the browser tells of the refusal, as it should
