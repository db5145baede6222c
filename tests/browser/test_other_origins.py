"""Pages of other origins in a browser that is signed in: they change nothing, and read not one byte.

Another port of the same address is the same site, so the browser sends the cookie along: what holds there is ours.
Under another name it is another site, and the cookie stays at home.
"""

import json
import re
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, Request, Response

from interlock.web import PREFIX
from interlock.web.door import SIGN_IN
from interlock.web.routes import ROUTES, Route
from tests.browser.house import SECONDS, House, Reviewer, reviewer
from tests.talking import NO_TLS

WRITING = [each for each in ROUTES if each.method != "GET" and (each.method, PREFIX + each.path) != SIGN_IN]
READING = [each for each in ROUTES if each.method == "GET"]
REFUSED = {401, 403, 404, 405}


class _Elsewhere(BaseHTTPRequestHandler):
    """A page with nothing on it; what it does is done by the test, in its name."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body>")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def elsewhere() -> Generator[int]:
    """The port of a server that is not ours."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server.server_port
        server.shutdown()
        serving.join()


@dataclass
class Scene:
    """Somebody who is signed in, looks at another page, and has much to lose."""

    gateway: House
    boss: Reviewer
    page: Page
    paths: dict[str, str]
    before: Any
    answers: list[Response]
    asked: list[Request]

    def does(self, script: str, *routes: Route) -> Any:
        """What the other page gets by a script that is given the addresses of these routes."""
        addresses = [self.gateway.address + addressed(each, self.paths) for each in routes]
        return self.page.evaluate(f"async (addresses) => {{ {TOOLS} {script} }}", addresses)

    def statuses(self) -> set[int]:
        """How REST answered what the other page made the browser ask."""
        return {each.status for each in self.answers if PREFIX in each.url}

    def changed(self) -> bool:
        return state_of(self.gateway) != self.before


def addressed(route: Route, names: dict[str, str]) -> str:
    """The path of a route, about something that there is."""
    return PREFIX + re.sub(r"{(\w+)(:\w+)?}", lambda found: names.get(found[1], "x"), route.path)


def state_of(gateway: House) -> Any:
    """Everything that could have been changed, and the whole log."""
    lists = ("approvals?limit=500", "grants", "tokens", "freezes", "servers", "tools", "activity?limit=500")
    return json.loads(json.dumps([gateway.rest("GET", f"/{each}") for each in lists]))


@pytest.fixture(scope="module")
def visitor(gateway: House, browser: Browser) -> Generator[Reviewer]:
    """The operator in a browser that stays signed in from one scene to the next."""
    with reviewer(gateway, browser) as someone:
        yield someone.sign_in()


@pytest.fixture(params=["127.0.0.1", "localhost"], ids=["another-port", "another-name"])
def scene(request: pytest.FixtureRequest, gateway: House, visitor: Reviewer, elsewhere: int) -> Generator[Scene]:
    """A call waits, a grant is alive, and the operator, signed in, goes to a page of somebody else."""
    own = request.node.name  # each scene makes calls of its own: what was answered before is not asked again
    first = gateway.call("sample__run_script", {"script": own})
    given = gateway.held(1)[0]
    wide = {"digest": given["digest"], "scope": "identical", "duration": "10m"}
    gateway.rest("POST", f"/approvals/{given['id']}/approve", wide)
    first.result(SECONDS)
    gateway.call("sample__delete_note", {"name": own})
    names = {
        "approval_id": gateway.held(1)[0]["id"],
        "grant_id": gateway.rest("GET", "/grants")["items"][0]["id"],
        "token_id": gateway.rest("GET", "/tokens")["items"][-1]["id"],
        "activity_id": gateway.rest("GET", "/activity")["items"][0]["id"],
        "server": "sample",
        "tool": "delete_note",
    }
    answers: list[Response] = []
    asked: list[Request] = []

    def answered(response: Response) -> None:
        answers.append(response)

    def sent(request: Request) -> None:
        asked.append(request)

    page, context = visitor.page, visitor.context
    page.goto(f"http://{request.param}:{elsewhere}/")
    assert context.request.get(f"{gateway.address}{PREFIX}/session").status == 200  # else there is nothing to lose
    context.on("response", answered)
    context.on("request", sent)
    yield Scene(gateway, visitor, page, names, state_of(gateway), answers, asked)
    page.goto("about:blank")  # so that nothing of this scene goes on in the next
    context.remove_listener("response", answered)
    context.remove_listener("request", sent)
    gateway.settle()


TOOLS = """
  const within = (promise) => Promise.race([promise, new Promise(done => setTimeout(done, 3000, 'late'))]);
  const element = (name, members) => Object.assign(document.createElement(name), members);
  const loads = (node, where = document.body) => within(new Promise(done => {
    node.onload = () => done('loaded');
    node.onerror = () => done('failed');
    where.append(node);
  }));
  const form = async (action, enctype, fields) => {
    const frame = element('iframe', { name: 'f' + Math.random() });
    document.body.append(frame);
    const form = element('form', { action, enctype, method: 'post', target: frame.name });
    for (const [name, value] of Object.entries(fields)) form.append(element('input', { name, value }));
    document.body.append(form);
    const done = within(new Promise(done => (frame.onload = done)));
    form.submit();
    await done;
    try { return frame.contentDocument?.body.innerText || ''; } catch { return ''; }
  };
"""
"""What the other page works with."""

JSON_INSIDE = """{'{"reason": "x", "name": "evil", "roles": ["admin"], "ignored': '": 1}'}"""
"""The oldest trick: a form whose text is JSON."""


@pytest.mark.parametrize(
    ("enctype", "fields"),
    [
        ("application/x-www-form-urlencoded", "{name: 'evil', roles: 'admin', reason: 'x'}"),
        ("multipart/form-data", "{name: 'evil', roles: 'admin', reason: 'x'}"),
        ("text/plain", JSON_INSIDE),
    ],
    ids=["urlencoded", "multipart", "json-in-text"],
)
def test_a_form_changes_nothing(scene: Scene, enctype: str, fields: str) -> None:
    script = f"return Promise.all(addresses.map(each => form(each, '{enctype}', {fields})))"
    posts = [each for each in WRITING if each.method == "POST"]

    assert set(scene.does(script, *posts)) == {""}
    assert scene.statuses() <= REFUSED
    assert len(scene.answers) >= len(posts)
    assert not scene.changed()


@pytest.mark.parametrize("mode", ["no-cors", "cors"])
def test_a_fetch_changes_nothing_and_reads_nothing(scene: Scene, mode: str) -> None:
    script = """
      const ask = (address, method, type) => within(fetch(address, {
        method, mode: '%s', credentials: 'include',
        headers: type && {'content-type': type}, body: type && '{"reason": "x"}',
      }).then(answer => answer.text(), () => ''));
      const posts = addresses.flatMap(each => ['text/plain', 'application/json'].map(type => ask(each, 'POST', type)));
      const others = addresses.flatMap(each => ['GET', 'DELETE'].map(method => ask(each, method)));
      return Promise.all([...posts, ...others]);
    """
    endless = [each for each in READING if each.answer is None]

    assert set(scene.does(script % mode, *WRITING, *(each for each in READING if each not in endless))) == {""}
    assert scene.statuses() <= REFUSED
    assert len(scene.asked) > len(WRITING)
    assert not scene.changed()


def test_a_beacon_changes_nothing(scene: Scene) -> None:
    script = """
      for (const each of addresses) {
        navigator.sendBeacon(each, '{}');
        try { navigator.sendBeacon(each, new Blob(['{}'], {type: 'application/json'})); } catch {}
      }
      await within(fetch(addresses[0], {mode: 'no-cors'}).catch(() => ''));
    """
    scene.does(script, *WRITING)

    assert scene.statuses() <= REFUSED
    assert not scene.changed()


def test_no_element_loads_what_rest_answers(scene: Scene) -> None:
    script = """
      const made = addresses.flatMap(each => [
        loads(element('img', { src: each })), loads(element('script', { src: each })),
        loads(element('link', { rel: 'stylesheet', href: each }), document.head),
        loads(element('link', { rel: 'preload', as: 'fetch', href: each }), document.head),
        loads(element('video', { src: each })),
      ]);
      return (await Promise.all(made)).filter(each => each === 'loaded');
    """
    finite = [each for each in READING if each.answer is not None]

    assert scene.does(script, *finite, *WRITING) == []
    assert scene.statuses() <= REFUSED
    assert not scene.changed()


def test_the_stream_is_not_heard(scene: Scene) -> None:
    script = """
      return Promise.all(addresses.map(each => within(new Promise(done => {
        const source = new EventSource(each, { withCredentials: true });
        source.onopen = source.onmessage = () => done('heard');
        source.onerror = () => { source.close(); done('refused'); };
      }))));
    """
    streams = [each for each in READING if "text/event-stream" in each.media]

    assert set(scene.does(script, *streams)) == {"refused"}
    assert scene.statuses() <= REFUSED


def test_a_frame_shows_neither_a_page_nor_an_answer(scene: Scene) -> None:
    script = """
      const seen = async (address) => {
        const frame = element('iframe', { src: address });
        await loads(frame);
        try { return frame.contentWindow.document.body.innerText; } catch { return ''; }
      };
      const pages = ['/', '/approvals', '/agents', '/login'].map(each => new URL(each, addresses[0]).href);
      return Promise.all([...pages, ...addresses].map(seen));
    """
    finite = [each for each in READING if each.answer is not None]

    assert set(scene.does(script, *finite)) == {""}
    assert scene.statuses() <= REFUSED
    # A page that is refused as a frame is an error of the browser; only refusals of REST stand in one, unreadable.
    ours = [each.url for each in scene.page.frames if each.url.startswith(scene.gateway.address)]
    assert [each for each in ours if PREFIX not in each] == []


def test_a_window_that_is_opened_is_not_in_the_hands_of_whoever_opened_it(scene: Scene) -> None:
    address = f"{scene.gateway.address}/approvals"
    with scene.boss.context.expect_page() as opened:
        scene.page.evaluate("address => { globalThis.held = window.open(address); }", address)
    opened.value.get_by_role("heading", level=1).wait_for()

    assert opened.value.evaluate("window.opener") is None
    assert scene.page.evaluate("() => { try { return held.document.title; } catch { return ''; } }") in ("", None)
    assert scene.page.evaluate("() => { try { return held.closed; } catch { return true; } }") is True
    opened.value.close()


def test_going_to_an_address_that_writes_changes_nothing(scene: Scene) -> None:
    start = scene.page.url
    for each in WRITING:
        address = scene.gateway.address + addressed(each, scene.paths)
        with scene.page.expect_navigation(url=address):
            scene.page.evaluate("address => { location.href = address; }", address)
        scene.page.goto(start)

    assert scene.statuses() <= REFUSED
    assert not scene.changed()


def test_the_cookie_goes_to_another_port_and_is_refused_there_by_us(scene: Scene) -> None:
    """What the tests above rest on: the same site brings the cookie, another does not."""
    same_site, address = "127.0.0.1" in scene.page.url, f"{scene.gateway.address}{PREFIX}/session"
    with scene.page.expect_navigation(url=address) as gone:
        scene.page.evaluate("address => { location.href = address; }", address)

    assert gone.value.status == (403 if same_site else 401)


# Without a browser ----------------------------------------------------------------------------------------------


@dataclass
class Stolen:
    """The cookie of somebody who is signed in, the second secret, and what belongs to another browser."""

    gateway: House
    cookie: dict[str, str]
    csrf: str
    other_csrf: str
    http: httpx2.Client

    def ask(self, route: Route, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        address = self.gateway.address + addressed(route, {})
        body: dict[str, str] | None = {} if route.method == "POST" else None
        return self.http.request(route.method, address, headers={**self.cookie, **named}, json=body)


@pytest.fixture
def http() -> Generator[httpx2.Client]:
    with httpx2.Client(timeout=SECONDS, verify=NO_TLS) as client:
        yield client


@pytest.fixture
def stolen(gateway: House, comes: Callable[..., Reviewer], http: httpx2.Client) -> Stolen:
    boss, other = comes().sign_in(), comes().sign_in()
    (cookie,) = boss.context.cookies([f"{gateway.address}{PREFIX}/"])
    own, others = (each.page.evaluate("localStorage['interlock.csrf']") for each in (boss, other))
    return Stolen(gateway, {"Cookie": f"{cookie.get('name')}={cookie.get('value')}"}, own, others, http)


def test_a_stolen_cookie_changes_nothing_on_any_route(stolen: Stolen) -> None:
    before = state_of(stolen.gateway)
    tries: list[dict[str, str]] = [
        {},
        {"x_csrf_token": "x" * 43},
        {"x_csrf_token": stolen.other_csrf},
        {"x_csrf_token": stolen.csrf, "origin": "http://127.0.0.1:1"},
        {"x_csrf_token": stolen.csrf, "origin": "null"},
        {"x_csrf_token": stolen.csrf, "sec_fetch_site": "same-site"},
    ]
    found = {(each.serve.__name__, stolen.ask(each, **headers).status_code) for each in WRITING for headers in tries}

    assert found == {(each.serve.__name__, 403) for each in WRITING}
    assert state_of(stolen.gateway) == before


def test_another_origin_cannot_sign_a_browser_in(stolen: Stolen) -> None:
    sign_in = next(each for each in ROUTES if (each.method, PREFIX + each.path) == SIGN_IN)
    code = stolen.gateway.link().partition("#")[2]
    address = f"{stolen.gateway.address}{PREFIX}{sign_in.path}"
    refused = httpx2.post(address, headers={"Origin": "http://127.0.0.1:1"}, json={"code": code}, verify=NO_TLS)
    as_text = httpx2.post(
        address, headers={"Content-Type": "text/plain"}, content=json.dumps({"code": code}), verify=NO_TLS
    )

    assert (refused.status_code, as_text.status_code) == (403, 400)
    assert not refused.cookies
    assert not as_text.cookies


def test_a_cookie_is_worth_nothing_after_its_browser_signed_out(stolen: Stolen) -> None:
    signing_out = next(each for each in WRITING if each.serve.__name__ == "sign_out")
    assert stolen.ask(signing_out, x_csrf_token=stolen.csrf).status_code == 200

    assert {stolen.ask(each, x_csrf_token=stolen.csrf).status_code for each in (*WRITING, *READING)} == {401}


def test_a_cookie_is_worth_nothing_after_its_token_was_revoked(
    gateway: House, comes: Callable[..., Reviewer], http: httpx2.Client
) -> None:
    text = gateway.rest("POST", "/tokens", {"name": "guest", "roles": ["admin"], "kind": "human"})["token"]
    guest = comes().sign_in(text)
    (cookie,) = guest.context.cookies([f"{gateway.address}{PREFIX}/"])
    csrf = guest.page.evaluate("localStorage['interlock.csrf']")
    stolen = Stolen(gateway, {"Cookie": f"{cookie.get('name')}={cookie.get('value')}"}, csrf, "", http)
    assert stolen.ask(next(each for each in READING if each.path == "/session")).status_code == 200
    gateway.rest("DELETE", f"/tokens/{text.split('_')[1]}")

    assert {stolen.ask(each, x_csrf_token=csrf).status_code for each in (*WRITING, *READING)} == {401}
