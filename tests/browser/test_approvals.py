"""The queue: a held call appears, is answered by keyboard, and the agent gets its result."""

import signal
from collections.abc import Callable

import httpx2
from playwright.sync_api import Route, expect

from tests.browser.house import House, Reviewer
from tests.talking import NO_TLS

DELETE = "sample__delete_note"
RUN = "sample__run_script"


def text_of(result: object) -> str:
    return str(getattr(result, "content")[0].text)  # noqa: B009 - the result is of one of several types


def press(someone: Reviewer, button: str) -> None:
    """Press `a` as soon as it counts, which the button shows."""
    expect(someone.page.get_by_role("button", name=button)).to_be_enabled()
    someone.page.keyboard.press("a")


def test_a_link_signs_in_once_and_never_again(gateway: House, comes: Callable[..., Reviewer]) -> None:
    link = gateway.link()
    first, second = comes(), comes()
    first.page.goto(link)
    expect(first.page.get_by_role("heading", name="Approvals")).to_be_visible()
    second.page.goto(link)

    expect(second.page.get_by_text("This link was used before, or its time is over.")).to_be_visible()
    expect(second.page.get_by_text("interlock open", exact=True)).to_be_visible()
    assert "#" not in first.page.url
    assert second.context.cookies() == []


def test_a_held_call_appears_by_itself_and_is_approved_by_keyboard(gateway: House, boss: Reviewer) -> None:
    expect(boss.page.get_by_text("Nothing waits.")).to_be_visible()
    call = gateway.call(RUN, {"script": "ls"}, why="to see what is there")
    row = boss.page.get_by_role("option")
    expect(row).to_have_count(1)
    expect(boss.page).to_have_title("(1) Approvals · Interlock")
    expect(boss.page.get_by_role("article")).to_contain_text("to see what is there")
    press(boss, "Approve once")

    assert text_of(call.result(30)) == "pretended to run 2 characters"
    expect(boss.page.get_by_text("Approved: sample__run_script")).to_be_visible()
    approval = gateway.rest("GET", "/approvals?limit=1")["items"][0]
    assert (approval["approver"], approval["approver_type"]) == ("operator", "dashboard")
    assert approval["approver_session_id"] is not None


def test_what_is_dangerous_is_approved_by_a_second_press(gateway: House, boss: Reviewer) -> None:
    call = gateway.call(DELETE, {"name": "todo"})
    press(boss, "Approve once")
    expect(boss.page.get_by_role("button", name="Press again to approve")).to_be_visible()
    assert gateway.held(1)[0]["status"] == "pending"
    press(boss, "Press again to approve")

    assert text_of(call.result(30)) == "deleted todo"


def test_a_call_is_denied_by_keyboard_with_a_reason_that_the_agent_is_told(gateway: House, boss: Reviewer) -> None:
    call = gateway.call(DELETE, {"name": "welcome"})
    expect(boss.page.get_by_role("article")).to_be_visible()
    boss.page.keyboard.press("d")
    boss.page.keyboard.type("not that one")
    boss.page.keyboard.press("Enter")

    assert text_of(call.result(30)).startswith("Tool call denied. Reason: not that one\n")
    expect(boss.page.get_by_text("Denied: sample__delete_note")).to_be_visible()


def test_an_approval_that_comes_before_the_queue_does_not_vanish_with_it(gateway: House, boss: Reviewer) -> None:
    answered = gateway.rest("GET", "/approvals?limit=1")["items"][0]

    queue, late = "**/api/v1/approvals?status=pending*", list[Route]()
    boss.page.route(queue, lambda route: late.append(route))
    with boss.page.expect_request(queue):
        boss.page.goto(f"{gateway.address}/approvals/{answered['id']}")
    boss.page.get_by_role("article").wait_for()
    boss.page.route(queue, lambda route: route.continue_())  # the later handler is asked first
    with boss.page.expect_response(queue):
        for each in late:
            each.continue_()
    boss.page.evaluate("() => new Promise(requestAnimationFrame)")

    expect(boss.page.get_by_role("article")).to_contain_text(answered["tool_name"])


def test_of_two_reviewers_the_slower_is_told_who_was_faster(gateway: House, comes: Callable[..., Reviewer]) -> None:
    other = gateway.token("alice", "approver", kind="human")
    fast, slow = comes().sign_in(other), comes().sign_in()
    call = gateway.call(RUN, {"script": "x"})
    for each in (fast, slow):
        expect(each.page.get_by_role("button", name="Approve once")).to_be_enabled()
    late: list[Route] = []
    slow.page.route("**/approve", lambda route: late.append(route))
    with slow.page.expect_request("**/approve"):
        slow.page.keyboard.press("a")
    fast.page.keyboard.press("a")
    expect(slow.page.get_by_role("article")).to_contain_text("by alice")
    late[0].continue_()

    assert text_of(call.result(30)) == "pretended to run 1 characters"
    expect(slow.page.get_by_text("approval already resolved")).to_be_visible()
    expect(slow.page.get_by_role("article")).to_contain_text("by alice (dashboard)")
    assert not slow.page.get_by_role("button", name="Approve once").is_visible()


def test_while_the_gateway_is_not_heard_nothing_can_be_answered(gateway: House, comes: Callable[..., Reviewer]) -> None:
    boss = comes()
    boss.page.clock.install()
    boss.sign_in()
    call = gateway.call(RUN, {"script": "y"})
    approve = boss.page.get_by_role("button", name="Approve once")
    expect(approve).to_be_enabled()
    gateway.process.send_signal(signal.SIGSTOP)
    boss.page.clock.fast_forward(26_000)

    expect(boss.page.get_by_text("Not connected.")).to_be_visible()
    expect(approve).to_be_disabled()
    boss.page.keyboard.press("a")
    gateway.process.send_signal(signal.SIGCONT)
    expect(approve).to_be_enabled()
    assert len(gateway.held(1)) == 1
    boss.page.keyboard.press("a")
    assert text_of(call.result(30)) == "pretended to run 1 characters"


def test_a_cookie_without_the_second_secret_changes_nothing(gateway: House, boss: Reviewer) -> None:
    gateway.call(DELETE, {"name": "another"})
    (held,) = gateway.held(1)
    (cookie,) = boss.context.cookies([f"{gateway.address}/api/v1/"])
    stolen = {"Cookie": f"{cookie.get('name')}={cookie.get('value')}"}
    answer = httpx2.post(
        f"{gateway.address}/api/v1/approvals/{held['id']}/approve", headers=stolen, json={}, verify=NO_TLS
    )

    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert gateway.held(1)[0]["status"] == "pending"
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")


def test_whose_token_is_revoked_is_signed_out_by_the_next_thing_that_happens(
    gateway: House, comes: Callable[..., Reviewer]
) -> None:
    token = gateway.token("leaver", "approver", kind="human")
    leaver = comes().sign_in(token)
    expect(leaver.page.get_by_text("Nothing waits.")).to_be_visible()
    gateway.rest("DELETE", f"/tokens/{token.split('_')[1]}")
    gateway.call("sample__list_notes", {}).result(30)

    expect(leaver.page.get_by_text("This browser is not signed in.")).to_be_visible()


def test_a_key_that_is_held_down_approves_nothing_but_what_is_shown(gateway: House, boss: Reviewer) -> None:
    calls = [gateway.call(RUN, {"script": "z" * number}) for number in range(3, 6)]
    expect(boss.page.get_by_role("option")).to_have_count(3)
    button = boss.page.get_by_role("button", name="Approve once")
    expect(button).to_be_enabled()
    boss.page.keyboard.down("a")
    expect(boss.page.get_by_role("option")).to_have_count(2)
    expect(button).to_be_enabled()
    with boss.page.expect_request("**/activity?*"):  # what the next one that is looked at asks for
        for _ in range(5):
            boss.page.keyboard.down("a")  # without having been let go: a repetition
        boss.page.keyboard.up("a")
        boss.page.keyboard.press("j")

    assert len(gateway.held(2)) == 2
    assert sum(each.done() for each in calls) <= 1


def test_a_double_click_approves_nothing_that_is_dangerous(gateway: House, boss: Reviewer) -> None:
    gateway.call(DELETE, {"name": "twice"})
    button = boss.page.get_by_role("button", name="Approve once")
    expect(button).to_be_enabled()
    button.dblclick()

    expect(boss.page.get_by_role("button", name="Press again to approve")).to_be_enabled()
    assert gateway.held(1)[0]["status"] == "pending"


def test_a_number_is_shown_as_the_call_carries_it(gateway: House, boss: Reviewer) -> None:
    gateway.call(RUN, {"id": 9007199254740993, "amount": 12345678901234567891, "small": 7})
    tree = boss.page.locator(".tree").first

    expect(tree).to_contain_text("9007199254740993")
    expect(tree).to_contain_text("12345678901234567891")


def test_arguments_cannot_pretend_to_be_too_long_to_be_shown(gateway: House, boss: Reviewer) -> None:
    gateway.call(RUN, {"kept": False, "bytes": 70_000, "keys": ["path"], "path": "/etc/passwd"})

    expect(boss.page.locator(".tree").first).to_contain_text("/etc/passwd")
    expect(boss.page.get_by_text("too long to be kept")).to_have_count(0)


def test_any_number_of_pages_can_be_open(gateway: House, boss: Reviewer) -> None:
    pages = [boss.context.new_page() for _ in range(8)]
    for page in pages:
        page.goto(f"{gateway.address}/approvals")
        expect(page.get_by_text("Nothing waits.")).to_be_visible()
    call = gateway.call(RUN, {"script": "seen by all"})
    for page in pages:
        expect(page.get_by_role("option")).to_have_count(1)
    boss.page.close()  # it was the one that listened for all of them
    expect(pages[0].get_by_role("button", name="Approve once")).to_be_enabled()
    pages[0].keyboard.press("a")

    assert text_of(call.result(30)) == "pretended to run 11 characters"
    for page in pages[1:]:
        expect(page.get_by_role("option")).to_have_count(0)


def test_signing_out_in_one_page_signs_out_the_others(gateway: House, comes: Callable[..., Reviewer]) -> None:
    someone = comes().sign_in()
    other = someone.context.new_page()
    other.goto(f"{gateway.address}/settings")
    expect(other.get_by_role("heading", name="Settings")).to_be_visible()
    someone.page.get_by_text("operator", exact=True).first.click()
    someone.page.get_by_role("button", name="Sign out").click()

    for page in (someone.page, other):
        expect(page.get_by_text("This browser is not signed in.")).to_be_visible()
