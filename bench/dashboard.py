"""How long a person waits for the dashboard: 500 calls wait, 200,000 are on record.

Each figure is the time from a press of a key, or a click, until the page shows what it led to, as the browser itself
measures it: from the event to the second frame after it, in which it is on the screen. The same is measured on an empty
page in the same run, so that the machine's own slowness can be told from ours.

    python bench/dashboard.py
"""

import asyncio
import statistics
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from interlock.clock import SystemClock
from interlock.core.approvals import Approval
from interlock.core.grants import GrantKey
from interlock.core.lifecycle import CallState
from interlock.core.model import HoldTerms
from interlock.store.folder import DataFolder
from interlock.store.protocol import Activity, ActivityType
from interlock.store.sqlite import SqliteStore
from tests.browser.house import CHROMIUM, House, flags, house, reviewer

PENDING = 500
RECORDED = 200_000
GOAL_MS = 200
TURNS = 30
HOUR = 3_600_000_000

_FRAMES = """(does) => new Promise((done) => {
  const start = performance.now();
  const target = document.activeElement || document.body;
  target.dispatchEvent(new KeyboardEvent('keydown', { key: does, bubbles: true, cancelable: true }));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
})"""


async def fill(data: Path) -> None:
    clock = SystemClock()
    store = SqliteStore(data / "interlock.db", clock)
    await store.start()
    now = clock.now()
    for number in range(PENDING):
        told = Activity(f"why-{number}", now, ActivityType.APPROVAL, CallState.HELD, {"change": "created"})
        await store.approvals.add_approval(_question(number, now), told)
        # Whoever was told to come again is still expected after a restart.
        await store.approvals.mark_answered(f"ap_{number:06}")
    for first in range(0, RECORDED, 2_000):
        await store.write([_call(number, now) for number in range(first, first + 2_000)])
    await store.close()


def _question(number: int, now: int) -> Approval:
    return Approval(
        id=f"ap_{number:06}",
        key=GrantKey(
            f"agent-{number % 20}", "up", "delete_it", "f" * 64, f"{number:064x}", "r" * 64, "dangerous", None
        ),
        tool_name="up__delete_it",
        rule_id="posture:guarded",
        terms=HoldTerms(approval_timeout=3600),
        created_at=now + number,
        expires_at=now + HOUR,
        gateway="gw_gone",
        owner="operator",
        asked={"justification": "because " * 20, "arguments": {"path": f"/srv/{number}", "options": {"force": True}}},
    )


def _call(number: int, now: int) -> Activity:
    body = {"entry": "gateway", "arguments": {"n": number}, "digest": "d" * 64, "timings": {"total": 1.5}}
    kind = ActivityType.TOOL_CALL if number % 10 else ActivityType.POLICY_DECISION
    return Activity(
        f"act-{number:08}",
        now - (RECORDED - number) * 100_000,
        kind,
        CallState.SUCCESS if number % 10 else CallState.BLOCKED,
        body,
        server=f"server-{number % 7}",
        tool=f"tool_{number % 40}",
        caller=f"agent-{number % 20}",
        safety_class=("read-only", "write-capable", "dangerous")[number % 3],
        verdict="allow" if number % 10 else "deny",
    )


def presses(page: Page, key: str) -> list[float]:
    return [float(page.evaluate(_FRAMES, key)) for _ in range(TURNS)]


def until(page: Page, act: Callable[[], object], shown: Callable[[], object]) -> float:
    """Milliseconds from an act to what it shows, with the way through the gateway and the driver of the browser."""
    start = float(page.evaluate("Date.now()"))
    act()
    shown()
    return float(page.evaluate("Date.now()")) - start


def _moved(page: Page, before: str) -> None:
    page.wait_for_url(lambda url: url != before)


def tell(what: str, times: list[float], goal: int | None = GOAL_MS) -> None:
    ordered = sorted(times)
    p95 = ordered[max(0, int(len(ordered) * 0.95) - 1)]
    verdict = "" if goal is None else ("  ok" if p95 < goal else f"  MISSED (goal {goal} ms)")
    print(f"{what:<52} median {statistics.median(ordered):6.0f} ms   p95 {p95:6.0f} ms{verdict}")


def measure(page: Page, running: House) -> None:
    page.goto(running.address + "/settings")
    page.get_by_role("heading", level=1).wait_for()
    tell("a key that does nothing, on a page with little", presses(page, "F9"), None)

    opened = until(page, lambda: page.goto(running.address + "/approvals"), page.get_by_role("article").wait_for)
    tell(f"open the queue with {PENDING} waiting, all of it", [opened], None)
    tell("next in the queue (j)", presses(page, "j"))
    tell("previous in the queue (k)", presses(page, "k"))
    denials: list[float] = []
    for _ in range(10):
        page.keyboard.press("d")
        page.get_by_label("Why not?").wait_for()
        denials.append(until(page, lambda: page.keyboard.press("Enter"), partial(_moved, page, page.url)))
    tell("deny, until the next is shown (through the gateway)", denials)

    opened = until(page, lambda: page.goto(running.address + "/activity"), page.locator("text=agent-").first.wait_for)
    tell(f"open the table with {RECORDED:,} on record, all of it", [opened], None)
    tell("next in the table (j)", presses(page, "j"))
    filters = [
        until(
            page,
            lambda name=name: page.get_by_label("Status").select_option(name),
            page.locator("text=agent-").first.wait_for,
        )
        for name in ("blocked", "success") * 5
    ]
    tell("another filter, until its first rows (through the gateway)", filters)


@contextmanager
def full_house(folder: Path) -> Generator[House]:
    with DataFolder(folder / "data").hold():
        asyncio.run(fill(folder / "data"))
    with house(folder) as running:
        yield running


def main() -> int:
    with tempfile.TemporaryDirectory() as name, full_house(Path(name)) as running, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags())
        with reviewer(running, browser) as someone:
            measure(someone.sign_in().page, running)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
