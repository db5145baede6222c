"""A gateway in a process of its own, agents that call it, and reviewers who look at it through chromium."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from tests.cli.running import environment
from tests.stores import store_variable
from tests.talking import NO_TLS

SECONDS = 30.0
"""After which something that is waited for has failed."""
CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
PICTURES = Path(__file__).parents[2] / ".tools" / "screenshots"
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
SAMPLE = "expose: both\n"
"""A configuration with nothing but the sample server, every tool in direct reach."""


Theme = Literal["light", "dark"]
Result: TypeAlias = "Future[Any]"


@dataclass
class House:
    """A gateway that runs, with its operator's credential and a few threads for its agents."""

    folder: Path
    address: str
    process: "subprocess.Popen[str]"
    agents: ThreadPoolExecutor
    tokens: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def operator(self) -> str:
        return (self.folder / "data" / "operator.token").read_text().strip()

    def rest(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        """What REST answers, to the operator unless a token is given; a refusal fails the test."""
        headers = {"Authorization": f"Bearer {token or self.operator}"}
        answer = httpx2.request(
            method, f"{self.address}/api/v1{path}", headers=headers, json=body, timeout=SECONDS, verify=NO_TLS
        )
        assert answer.status_code < 300, answer.text
        return answer.json()

    def token(self, name: str, role: str = "agent", **more: Any) -> str:
        """A token of this name, made when it is first asked for."""
        if name not in self.tokens:
            self.tokens[name] = self.rest("POST", "/tokens", {"name": name, "roles": [role], **more})["token"]
        return self.tokens[name]

    def link(self, token: str | None = None) -> str:
        """A link that signs a browser in once."""
        return self.address + self.rest("POST", "/session/link", {}, token)["path"]

    def call(self, tool: str, arguments: Mapping[str, Any], why: str = "it is time", agent: str = "robin") -> Result:
        """A call of an agent, through the official client; its result comes when it is there."""
        token = self.token(agent)
        return self.agents.submit(asyncio.run, _call(self.address, token, tool, {**arguments, "_justification": why}))

    def held(self, count: int) -> list[dict[str, Any]]:
        """What waits for approval, once so much does."""
        found: list[dict[str, Any]] = []
        for _ in range(int(SECONDS * 50)):
            found = self.rest("GET", "/approvals?status=pending&limit=500")["items"]
            if len(found) >= count:
                return found
            time.sleep(0.02)  # the caller is in another process
        raise AssertionError(f"{len(found)} calls are held, not {count}")

    def settle(self) -> None:
        """Deny whatever still waits, so that the next test begins with an empty queue."""
        for each in self.rest("GET", "/approvals?status=pending&limit=500")["items"]:
            with contextlib.suppress(AssertionError):  # it ended by itself meanwhile
                self.rest("POST", f"/approvals/{each['id']}/deny", {})


async def _call(address: str, token: str, tool: str, arguments: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120, verify=NO_TLS) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), mode="2026-07-28") as client,
    ):
        return await client.call_tool(tool, arguments)


@contextlib.contextmanager
def house(folder: Path, config: str = SAMPLE) -> Generator[House]:
    """Run `interlock serve` until the block ends."""
    (folder / "interlock.yaml").write_text(config, encoding="utf-8")
    argv = [sys.executable, "-m", "interlock", "serve", "--data-dir", str(folder / "data"), "--port", "0"]
    env = {**environment(), **store_variable(folder / "data")}
    with (
        subprocess.Popen(argv, cwd=folder, env=env, stderr=subprocess.PIPE, text=True) as process,
        ThreadPoolExecutor(32) as agents,
    ):
        try:
            yield House(folder, _address(process), process, agents)
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait(SECONDS)


def _address(process: "subprocess.Popen[str]") -> str:
    """Where a gateway says that it listens; what it says after that is read and forgotten, so that it never waits."""
    assert process.stderr is not None
    for line in process.stderr:
        if "Dashboard: " in line:
            address = line.split()[1].partition("/login")[0]
            _forget(process)
            return address
    raise AssertionError("the gateway did not start")


def _forget(process: "subprocess.Popen[str]") -> None:
    stderr = process.stderr
    assert stderr is not None
    threading.Thread(target=lambda: [None for _ in stderr], daemon=True).start()


# Reviewers ------------------------------------------------------------------------------------------------------


@dataclass
class Reviewer:
    """Somebody at a browser of their own. What the browser complains about is written down."""

    house: House
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list[str])

    def sign_in(self, token: str | None = None) -> "Reviewer":
        self.page.goto(self.house.link(token))
        self.page.locator("#pages").wait_for(state="attached")  # a narrow page keeps it behind a button
        return self

    def open(self, path: str) -> Page:
        """Go to a page by its address, as a bookmark would."""
        self.page.goto(self.house.address + path)
        self.page.get_by_role("heading", level=1).wait_for()
        return self.page

    def violations(self) -> list[str]:
        """What axe finds on the page as it is now, in a line each."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        wanted = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
        found: dict[str, Any] = self.page.evaluate("wanted => axe.run(document, wanted)", wanted)
        return [f"{each['id']}: {json.dumps(each['nodes'][0]['html'])}" for each in found["violations"]]

    def picture(self, name: str) -> None:
        """Keep what is seen, for people to look at."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")


_REPORT = (
    "addEventListener('securitypolicyviolation', e => console.error(`CSP ${e.violatedDirective} ${e.blockedURI}`))"
)


@contextlib.contextmanager
def reviewer(
    house: House, browser: Browser, width: int = 1280, height: int = 800, theme: Theme = "light"
) -> Generator[Reviewer]:
    """A reviewer with a fresh browser profile."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
    context.set_default_timeout(SECONDS * 1000)
    page = context.new_page()
    found = Reviewer(house, context, page)
    context.add_init_script(_REPORT)

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            found.complaints.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    try:
        yield found
    finally:
        context.close()


def flags() -> list[str]:
    """What chromium is started with: nothing of it reaches out by itself."""
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-gpu")
    return [*quiet, "--no-sandbox"] if os.geteuid() == 0 else [*quiet]
