"""Settings: what is in force and where it came from, without a secret, and what this browser was asked to do."""

from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from tests.browser.house import House, Reviewer, house

CONFIG = """
posture: strict
servers: {notes: {command: run-notes, args: [--token, hunter2hunter2], env: {KEY: "${env:NO_SUCH_KEY}"}}}
notices: {webhooks: [{url: "http://127.0.0.1:1/T0KENPATH"}]}
"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    with house(tmp_path_factory.mktemp("settings"), CONFIG) as running:
        yield running


def test_each_value_stands_with_where_it_came_from_and_no_secret_does(boss: Reviewer) -> None:
    page = boss.open("/settings?from=set")
    table = page.get_by_role("region", name="The configuration in force")

    expect(table.get_by_role("row", name="posture")).to_contain_text("interlock.yaml:2:10")
    expect(table.get_by_role("row", name="listen.port")).to_contain_text("given at the start")
    expect(table.get_by_role("row", name="servers.notes.args[1]")).to_contain_text("[redacted]")
    expect(table.get_by_role("row", name="servers.notes.env.KEY")).to_contain_text("${env:NO_SUCH_KEY}")
    expect(table.get_by_text("default", exact=True)).to_have_count(0)
    assert "hunter2" not in page.content()
    assert "T0KENPATH" not in page.get_by_role("heading", name="Notices").locator("xpath=../..").inner_html()


def test_what_is_looked_for_stays_in_the_address(boss: Reviewer) -> None:
    page = boss.open("/settings")
    page.get_by_label("Setting or value").fill("answer_after")
    rows = page.get_by_role("region", name="The configuration in force").get_by_role("row")

    expect(rows).to_have_count(2)
    assert "q=answer_after" in page.url
    page.reload()
    expect(rows).to_have_count(2)


def test_how_the_gateway_is_and_who_listens_is_said(boss: Reviewer) -> None:
    page = boss.open("/settings")

    expect(page.get_by_text("0 of 1 servers are ready.")).to_be_visible()
    expect(page.get_by_text("an approver reads the event stream", exact=True)).to_be_visible()


def test_the_theme_is_chosen_here_and_stays_in_this_browser(boss: Reviewer) -> None:
    page = boss.open("/settings")
    page.get_by_role("radio", name="dark").check()
    page.reload()

    expect(page.get_by_role("radio", name="dark")).to_be_checked()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_change_of_the_file_is_seen_without_a_reload(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/settings")
    expect(page.get_by_text("strict", exact=True).first).to_be_visible()
    (gateway.folder / "interlock.yaml").write_text(CONFIG.replace("strict", "observe"), encoding="utf-8")

    expect(page.get_by_text("observe", exact=True).first).to_be_visible()
