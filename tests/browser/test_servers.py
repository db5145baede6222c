"""The page of the servers: what happens to one is seen at once, and what an admin does about one is asked once more."""

import json
import re
import sys
from collections.abc import Callable, Generator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.house import House, Reviewer, house

PYTHON = sys.executable
LOUD = f'printf "began as $$ \\342\\200\\256hello\\n" >&2; exec "{PYTHON}" -m interlock.lab.sample'
"""Says its process and something that turns text around, then serves."""
CONFIG = f"""
servers:
  notes: {{command: '{PYTHON}', args: [-m, interlock.lab.sample]}}
  loud: {{command: sh, args: [-c, {json.dumps(LOUD)}]}}
  lost: {{command: /nowhere/at-all}}
"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    with house(tmp_path_factory.mktemp("servers"), CONFIG) as running:
        yield running


def card(page: Page, server: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=server, exact=True))


def add(page: Page, server: str, command: str) -> None:
    page.get_by_role("button", name="Add a server").click()
    page.get_by_label("Its id").fill(server)
    page.get_by_label("Command line").fill(command)
    page.get_by_role("button", name="Start it and look").click()


def test_a_server_says_how_it_is_and_what_to_do_about_it(boss: Reviewer) -> None:
    page = boss.open("/servers")

    expect(card(page, "notes")).to_contain_text("Ready")
    expect(card(page, "notes").get_by_role("link", name="Dangerous 1")).to_be_visible()
    expect(card(page, "lost")).to_contain_text("/nowhere/at-all cannot be started")
    expect(card(page, "lost")).to_contain_text("Check the command, its path and its permissions")


def test_what_happens_to_a_server_is_seen_without_asking(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/servers")
    expect(card(page, "notes")).to_contain_text("Ready")
    gateway.rest("POST", "/servers/notes/disable")
    expect(card(page, "notes")).to_contain_text("Disabled")
    gateway.rest("POST", "/servers/notes/enable")
    expect(card(page, "notes")).to_contain_text("Ready")


def test_a_server_is_added_only_after_one_saw_what_would_be_held(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/servers")
    add(page, "more-notes", f"'{PYTHON}' -m interlock.lab.sample")
    expect(page.get_by_text("6 tools: 3 would run at once, 3 would wait for approval.")).to_be_visible()
    page.get_by_role("button", name="Remove it again").click()
    expect(page.get_by_text("more-notes was removed again.")).to_be_visible()
    assert "more-notes" not in [each["id"] for each in gateway.rest("GET", "/servers")["items"]]

    page.get_by_label("Its id").fill("more-notes")
    page.get_by_label("Command line").fill(f"{PYTHON} -m interlock.lab.sample")
    page.get_by_role("button", name="Start it and look").click()
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_role("heading", level=1, name="more-notes")).to_be_visible()
    page.get_by_role("button", name="Remove…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("more-notes was removed.")).to_be_visible()
    expect(card(page, "more-notes")).to_have_count(0)


def test_a_server_is_disabled_only_after_one_more_question(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/servers/notes")
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_role("dialog")).to_contain_text("Its tools disappear for agents")
    page.keyboard.press("Escape")
    assert gateway.rest("GET", "/servers/notes")["enabled"]
    page.get_by_role("button", name="Disable").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    page.get_by_role("button", name="Enable").click()
    expect(page.get_by_text("notes is switched on.")).to_be_visible()
    assert gateway.rest("GET", "/servers/notes")["enabled"]


def test_a_log_is_followed_and_shows_what_would_not_be_seen(gateway: House, boss: Reviewer) -> None:
    page = boss.open("/servers/loud")
    log = page.get_by_role("region", name="Log")
    expect(log).to_have_text(re.compile(r"^began as \d+ U\+202Ehello$"))
    before = log.inner_text()
    gateway.rest("POST", "/servers/loud/restart")
    expect(log).not_to_have_text(before)
    expect(log).to_contain_text("began as")


def test_an_auditor_sees_servers_and_no_buttons(gateway: House, comes: Callable[..., Reviewer]) -> None:
    someone = comes().sign_in(gateway.token("ada", "auditor"))
    page = someone.open("/servers/notes")
    expect(page.get_by_role("heading", name="How it is doing")).to_be_visible()
    assert not page.get_by_role("button", name="Restart").is_visible()
    page.goto(f"{gateway.address}/servers?view=add")
    expect(card(page, "notes")).to_be_visible()
    assert not page.get_by_label("Its id").is_visible()
