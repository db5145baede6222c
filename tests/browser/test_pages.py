"""Every page, in both themes, wide and as narrow as a telephone: usable by everybody, and without a complaint."""

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import cache

import pytest
from playwright.sync_api import Browser, expect

from interlock.lab.run import RunFolder
from tests.browser.house import House, Reviewer, Theme, house, reviewer
from tests.lab.runs import a_run

CONFIG = """
expose: both
workspaces: [{id: ws-main, name: Main}]
route_rules:
  - {id: scripts-need-two, tool_pattern: "sample__run_*", effect: hold, approvals_needed: 2, approvers: [humans]}
  - {id: never-secrets, tool_pattern: "sample__read_note", args: {name: "secret*"}, effect: deny}
"""
PAGES = (
    "approvals",
    "overview",
    "activity",
    "servers",
    "tools",
    "rules",
    "agents",
    "lab",
    "audit",
    "settings",
    "api",
)
ALSO = {
    "approvals-history": "/approvals?view=history",
    "tool": "/tools/sample/delete_note",
    "server": "/servers/sample",
    "agent": "/agents/robin",
    "lab-run": "/lab/run-1",
}
"""What lies behind the pages: one tool, one server, one agent, one run."""


SCREENS: list[tuple[int, Theme]] = [(1280, "light"), (320, "dark")]
"""Each page in both themes and both widths; in every combination in `make torture`, for each takes seconds."""
if os.environ.get("HYPOTHESIS_PROFILE") == "torture":
    SCREENS.extend([(1280, "dark"), (320, "light")])


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    """A gateway at which something has happened, and something waits."""
    with house(tmp_path_factory.mktemp("pages"), CONFIG) as running:
        run = a_run()
        RunFolder.make(running.folder / "data", run.id).keep(run)
        running.call("sample__list_notes", {}).result(30)
        running.call("sample__read_note", {"name": "secret"}).result(30)
        running.call("sample__frobnicate", {}, agent="wren")
        running.call("sample__delete_note", {"name": "todo"}, why="it is <b>done</b>; \u202eapproved by boss")
        running.call("sample__run_script", {"script": "echo 1\necho 2", "deep": {"a": [1, None, True]}})
        waiting = running.held(3)
        running.rest("POST", f"/approvals/{waiting[-1]['id']}/approve", {})
        yield running
        running.settle()


@pytest.fixture(scope="module")
def known(gateway: House, browser: Browser) -> Generator[Callable[[int, Theme], Reviewer]]:
    """Reviewers who are signed in, one for each kind of screen."""
    with ExitStack() as stack:

        @cache
        def on(width: int, theme: Theme) -> Reviewer:
            height = 640 if width == 320 else 800
            return stack.enter_context(reviewer(gateway, browser, width, height, theme)).sign_in()

        yield on


@pytest.mark.parametrize(("width", "theme"), SCREENS)
@pytest.mark.parametrize("name", [*PAGES, *ALSO])
def test_a_page_is_usable_by_everybody(
    known: Callable[[int, Theme], Reviewer], name: str, width: int, theme: Theme
) -> None:
    someone = known(width, theme)
    someone.complaints.clear()
    page = someone.open(ALSO.get(name, f"/{name}"))
    expect(page.locator("[aria-busy]")).to_have_count(0)
    someone.picture(f"{name}-{theme}-{width}")

    assert someone.violations() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert someone.complaints == []
