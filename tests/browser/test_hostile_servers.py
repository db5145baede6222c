"""Whatever servers say of themselves and of their tools, or write to stderr: the pages show it, and it does nothing.

The name, the version and the instructions that a server declares stand on no page but on that of a run of the lab.
"""

import contextlib
import json
import shlex
import threading
import time
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.hostile import HOSTILE
from tests.browser.house import SECONDS, House, Reviewer, house
from tests.browser.inert import EACH, NOTHING, go, query_of, quiet, unfolded
from tests.running import server_yaml
from tests.upstream.running import list_other_tools, stdio_argv

ALL = len(HOSTILE)
OPENED = range(0, ALL, EACH)
NAME = 200
"""Longer names of tools make addresses that no gateway takes."""
PROPERTY = 2_000


def names() -> list[str]:
    return [text[:NAME] or "-" for text in HOSTILE]


def tool(name: str, text: str) -> dict[str, Any]:
    """A tool that says this wherever it says anything."""
    short = text[:PROPERTY]
    properties = {
        short: {"type": "string", "description": short, "default": short, "pattern": short},
        "choice": {"enum": [short, 1, None], "description": short, "default": short},
        "number": {"type": "integer", "description": short, "default": short, "format": short},
        "list": {"type": "array", "items": {"title": short}, "default": [short]},
        "constructor": {"type": short, "title": short},
    }
    return {
        "name": name,
        "title": short,
        "description": text,
        "inputSchema": {"type": "object", "title": short, "properties": properties, "required": [short, "number"]},
        "outputSchema": {"type": "object", "properties": {short: {"type": "string", "description": short}}},
        "annotations": {"title": short, "readOnlyHint": short, "destructiveHint": False, short: short},
        "_meta": {short: short, "safety": short},
    }


def first_tools() -> list[dict[str, Any]]:
    return [tool(name, text) for name, text in zip(names(), HOSTILE, strict=True)]


def later_tools() -> list[dict[str, Any]]:
    """Every second tool says what another one said, and some are new. All of it must fit into one message."""
    turned = [text[:PROPERTY] for text in (*HOSTILE[1:], HOSTILE[0])]
    changed = [tool(name, (turned if at % 2 else HOSTILE)[at]) for at, name in enumerate(names())]
    return [*changed, *(tool(f"new {name}", "") for name in names()[::10])]


class _Refuses(BaseHTTPRequestHandler):
    """Answers whatever it is asked with an error, whose words are those of the number in its address."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        error = {"code": -32000, "message": HOSTILE[int(self.path.strip("/"))]}
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "error": error}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def refusing() -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refuses) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join(SECONDS)


def loud(argv: list[str], said: Path) -> list[str]:
    """The command line of a program that says something on its stderr before it begins."""
    return ["sh", "-c", f"cat {shlex.quote(str(said))} >&2; exec {shlex.join(argv)}"]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    folder = tmp_path_factory.mktemp("hostile")
    log, tools, said = folder / "log", folder / "tools.json", folder / "said"
    tools.write_text(json.dumps(first_tools()), encoding="utf-8")
    said.write_text("\n".join(text[:PROPERTY].replace("\n", " ") for text in HOSTILE) + "\n", encoding="utf-8")
    with refusing() as address:
        refused = "".join(f"  h{number:03}: {{url: '{address}/{number}'}}\n" for number in OPENED)
        evil = server_yaml("evil", loud(stdio_argv(log, tools=tools), said))
        with house(folder, f"servers:\n{evil}{refused}") as running:
            lists(running, ALL)
            list_other_tools(log, tools, later_tools())
            lists(running, len(later_tools()))
            yield running


def lists(gateway: House, count: int) -> None:
    """Wait until so many tools are listed."""
    for _ in range(int(SECONDS * 20)):
        if len(gateway.rest("GET", "/tools")["items"]) == count:
            return
        time.sleep(0.05)  # the server is another process
    raise AssertionError(f"there are not {count} tools")


# In lists -------------------------------------------------------------------------------------------------------


def test_in_the_catalogue_they_do_nothing(boss: Reviewer) -> None:
    page = boss.open("/tools")
    expect(page.get_by_text(f"{len(later_tools())} tools", exact=True)).to_be_visible()
    page.get_by_role("list", name="Tools").focus()
    for _ in range(len(later_tools()) // 5):
        assert quiet(page) == NOTHING
        page.keyboard.press("PageDown")


def test_on_the_page_of_a_server_its_tools_and_its_log_do_nothing(boss: Reviewer) -> None:
    page = boss.open("/servers/evil")
    expect(page.get_by_role("region", name="Its tools").locator("tbody tr")).to_have_count(100)
    page.get_by_role("region", name="Log").locator("div").nth(ALL - 1).wait_for(state="attached")
    assert unfolded(page) == NOTHING

    page.get_by_role("button", name="Trust its tools…").click()
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_count(50)
    assert quiet(page) == NOTHING


@pytest.mark.parametrize("address", ["/servers", "/overview", "/activity?type=all"])
def test_where_servers_and_changes_are_listed_they_do_nothing(boss: Reviewer, address: str) -> None:
    page = boss.open(address)
    page.locator("[href^='/servers/h'], [href^='/activity/']").first.wait_for()

    assert unfolded(page) == NOTHING


def test_where_a_rule_is_tested_the_tools_on_offer_do_nothing(boss: Reviewer) -> None:
    page = boss.open("/rules?view=test")
    page.get_by_label("Tool").fill("evil:a")
    page.locator("datalist option").first.wait_for(state="attached")

    assert quiet(page) == NOTHING


# One by one -----------------------------------------------------------------------------------------------------


def test_one_server_that_is_down_does_nothing(boss: Reviewer) -> None:
    page = boss.page
    for number in OPENED:
        go(page, "servers", f"h{number:03}")
        page.locator(".said", has_text="initialize was refused").first.wait_for()  # it is tried again meanwhile

        assert quiet(page) == NOTHING, HOSTILE[number][:100]
        assert boss.complaints == [], HOSTILE[number][:100]


@pytest.mark.parametrize("view", ["", "definition", "try"])
def test_one_tool_by_itself_does_nothing(boss: Reviewer, view: str) -> None:
    page = boss.page
    for number in OPENED:
        name = names()[(number + number // EACH % 2) % ALL]  # every second of them changed
        go(page, "tools", "evil", name, query=f"?view={view}" if view else "")
        calls = query_of(page, server="evil", tool=name)
        page.locator(f'.tool-head a[href="/activity{calls}"]').wait_for()

        assert unfolded(page) == NOTHING, name
        assert page.locator("[aria-invalid=true]").count() == 0, name  # nothing was typed yet
        assert boss.complaints == [], name


def test_what_would_be_sent_unseen_is_shown_beside_its_field(boss: Reviewer) -> None:
    page = boss.page
    go(page, "tools", "evil", "a\u202eb", query="?view=try")

    expect(page.get_by_text("With what is not seen in it").first).to_be_visible()
