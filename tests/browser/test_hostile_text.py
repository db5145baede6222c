"""Whatever somebody wrote into whatever field: the pages show it, and it does nothing."""

import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import interlock.web
from interlock.clock import SystemClock
from interlock.core.approvals import Approval
from interlock.core.grants import GrantKey
from interlock.core.lifecycle import ApprovalState, CallState
from interlock.core.model import HoldTerms
from interlock.store.folder import DataFolder
from interlock.store.protocol import Activity, ActivityType
from tests.browser.hostile import HOSTILE
from tests.browser.house import House, Reviewer, house
from tests.browser.inert import EACH, NOTHING, SHORT, go, quiet
from tests.stores import store_of

PAGES = Path(interlock.web.__file__).parent / "static" / "pages"


def approval_with(text: str, number: int, now: int) -> Approval:
    """An approval that says this wherever it says anything."""
    short = text[:SHORT] or "-"
    asked: dict[str, Any] = {
        "justification": text,
        "arguments": {short: text, "deep": {"list": [text, {short: 1}]}},
        "request_client_type": short,
        "request_model": short,
        "request_session_id": short,
        "workspace_name": short,
        "class_source": short,
        "auth_scope_id": short,
        "reasons": [{"code": None, "text": short}],
        "intent": {"operation_type": short, "data_sensitivity": short, "reason": text},
        "entry": "gateway",
    }
    return Approval(
        id=f"ap_h{number:03}",
        key=GrantKey(f"{short} ", short, short, "f" * 64, f"{number:064x}", "r" * 64, "subprocess", short),
        tool_name=short,
        rule_id=short,
        terms=HoldTerms(),
        created_at=now + number,
        expires_at=now + 10**12,
        gateway="gw_gone",
        owner=short,
        asked=asked,
    )


def denied(approval: Approval, text: str) -> Approval:
    return replace(
        approval,
        status=ApprovalState.DENIED,
        version=approval.version + 1,
        approver=f"{text[:SHORT]}.",
        approver_type="dashboard",
        approver_session_id=text[:SHORT],
        resolution=text,
        decided_at=approval.created_at + 1,
    )


def activity_with(text: str, number: int, now: int) -> Activity:
    """A call that says this wherever it says anything."""
    short = text[:SHORT] or "-"
    body: dict[str, Any] = {
        "entry": short,
        "request_id": short,
        "client": short,
        "model": short,
        "class_source": short,
        "reasons": [{"code": None, "text": text}],
        "metadata": {"intent": {"operation_type": short, "reason": text}, "tool_variant": short},
        "arguments": {short: text},
        "digest": "d" * 64,
        "result": {"bytes": len(text), "content": [{"type": "text", "text": text}]},
        "timings": {"received": 1},
    }
    return Activity(
        f"act-h{number:03}",
        now + number,
        ActivityType.TOOL_CALL,
        CallState.ERROR,
        body,
        server=short,
        tool=short,
        caller=short,
        session_id=short,
        workspace=short,
        intent_type=short,
        safety_class=short,
        verdict=short,
        rule_id=short,
        approval_id=short,
    )


async def fill(data: Path) -> None:
    clock = SystemClock()
    store = store_of(data, clock)
    await store.start()
    now = clock.now()
    for number, text in enumerate(HOSTILE):
        asked = approval_with(text, number, now)
        told = Activity(f"why-{number}", now, ActivityType.APPROVAL, CallState.HELD, {"change": "created"})
        assert await store.approvals.add_approval(asked, told)
        ended = Activity(f"end-{number}", now, ActivityType.APPROVAL, CallState.DENIED, {"change": "denied"})
        assert await store.approvals.change_approval(denied(asked, text), ended)
        await store.write([activity_with(text, number, now)])
    await store.close()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    folder = tmp_path_factory.mktemp("hostile")
    with DataFolder(folder / "data").hold():
        # In a thread, because the loop of the browser runs in this one.
        ThreadPoolExecutor(1).submit(asyncio.run, fill(folder / "data")).result()
    with house(folder) as running:
        yield running


WHERE = {
    "approvals": "here: reasons, arguments, intents, who asks, who answered and why",
    "activity": "here: calls; in test_hostile_fields: changes of everything, by whom and why",
    "agents": "test_hostile_fields: names, owners, labels and limits of tokens, grants, their dialogs",
    "rules": "test_hostile_fields: conditions, approvers, suggestions, trials, replays; test_hostile_servers: tools",
    "settings": "test_hostile_fields: values, workspaces, credentials, notices, the issuer",
    "lab": "test_hostile_fields: targets, servers, plans, calls, findings, evidence, notes",
    "audit": "test_audit: what a changed database says of its own parts",
    "overview": "test_hostile_fields: stops and why; test_hostile_servers: problems of servers, tools that changed",
    "servers": "test_hostile_servers: problems, logs, tools, the question about trust",
    "tools": "test_hostile_servers: names, texts, schemas, annotations, findings, changes, the form to try one",
    "api": "nothing on it was written by anybody but us; what a route answers is shown by the parts of the others",
}
"""Which fields of which page are filled with them, and in which module."""


def test_there_are_two_hundred_of_them() -> None:
    assert len(set(HOSTILE)) >= 200


def test_no_page_is_forgotten() -> None:
    assert {each.stem.partition("-")[0] for each in PAGES.glob("*.js")} == set(WHERE)


def test_in_the_list_of_approvals_they_do_nothing(boss: Reviewer) -> None:
    for offset in range(0, len(HOSTILE), 50):
        page = boss.open(f"/approvals?view=history&offset={offset}")
        page.locator("tbody tr").first.wait_for()

        assert quiet(page) == NOTHING


def test_in_the_list_of_activities_they_do_nothing(boss: Reviewer) -> None:
    page = boss.open("/activity")
    page.locator("[href^='/activity/'], [role=row]").first.wait_for()
    for _ in range(len(HOSTILE) // 10):
        assert quiet(page) == NOTHING
        page.keyboard.press("PageDown")


def test_one_by_one_they_do_nothing(boss: Reviewer) -> None:
    page = boss.page
    for number in range(0, len(HOSTILE), EACH):
        for page_of, entry in (("approvals", f"ap_h{number:03}"), ("activity", f"act-h{number:03}")):
            go(page, page_of, entry)
            article = page.get_by_role("article").filter(has=page.locator("code.id", has_text=entry))

            # A part that fails leaves the page as it was, so the story of the one before could be taken for it.
            article.locator(":is(#what, #story)").wait_for()
            assert boss.complaints == [], HOSTILE[number][:100]
            assert quiet(page) == NOTHING, HOSTILE[number][:100]
