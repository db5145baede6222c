"""The files of the dashboard: what is served, how, and that the modules of others are what their makers published."""

import hashlib
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from interlock.web.dashboard import PAGES, POLICY, Dashboard

STATIC = Path(__file__).parents[2] / "src" / "interlock" / "web" / "static"
VENDOR = STATIC / "vendor"
LOCK: list[dict[str, str]] = json.loads((VENDOR / "lock.json").read_text())
PACKAGES = Path(__file__).parents[2] / "node_modules"


@pytest.fixture
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    dashboard = Dashboard()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if dashboard.has(scope):
            await dashboard.send(scope, send)
        else:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize("path", ["/", *(f"/{page}" for page in PAGES), "/approvals/ap_1", "/tools/a/b%2Fc"])
async def test_every_page_is_the_same_document(http: httpx2.AsyncClient, path: str) -> None:
    answer = await http.get(path)

    assert (answer.status_code, answer.text) == (200, (STATIC / "index.html").read_text())


async def test_nothing_is_loaded_or_run_that_is_not_ours(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/")

    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/",
        "/assets",
        "/assets/../dashboard.py",
        "/assets/%2e%2e/dashboard.py",
        "/assets//etc/passwd",
        "/assets/vendor",
        "/assets/vendor/preact.LICENSE",
        "/index.html",
        "/app.js",
        "/nothing",
    ],
)
async def test_what_is_not_among_the_files_is_not_served(http: httpx2.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_files_are_only_read(http: httpx2.AsyncClient, method: str) -> None:
    assert (await http.request(method, "/")).status_code == 404


async def test_a_file_that_the_browser_has_is_not_sent_again(http: httpx2.AsyncClient) -> None:
    first = await http.get("/assets/app.js")
    again = await http.get("/assets/app.js", headers={"If-None-Match": first.headers["etag"]})

    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")


async def test_a_question_about_a_file_is_answered_without_it(http: httpx2.AsyncClient) -> None:
    answer = await http.head("/assets/app.js")

    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) == len((STATIC / "app.js").read_bytes())


def test_a_file_that_is_not_there_cannot_be_sent() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    sending = Dashboard().send({"path": "/nothing", "method": "GET", "headers": []}, send)
    with pytest.raises(LookupError):
        sending.send(None)
    assert sent == []


# What others made -----------------------------------------------------------------------------------------------


def test_every_vendored_file_is_locked_and_nothing_else_is() -> None:
    assert {each["file"] for each in LOCK} == {each.name for each in VENDOR.iterdir()} - {"lock.json"}


@pytest.mark.parametrize("entry", LOCK, ids=lambda each: each["file"])
def test_a_vendored_file_is_what_its_maker_published(entry: dict[str, str]) -> None:
    package = PACKAGES / entry["name"]
    stated: dict[str, Any] = json.loads((package / "package.json").read_text())

    assert hashlib.sha256((VENDOR / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
    assert (VENDOR / entry["file"]).read_bytes() == (package / entry["path"]).read_bytes()
    assert (entry["version"], entry["licence"]) == (stated["version"], stated["license"])


def test_every_package_comes_with_its_licence() -> None:
    licensed = {each["name"] for each in LOCK if each["path"] == "LICENSE"}

    assert licensed == {each["name"] for each in LOCK}


async def test_only_the_names_of_imports_differ_in_what_is_sent(http: httpx2.AsyncClient) -> None:
    for entry in LOCK:
        if not entry["file"].endswith(".mjs"):
            continue
        kept = (VENDOR / entry["file"]).read_text()
        sent = (await http.get(f"/assets/vendor/{entry['file']}")).text

        assert re.sub(r'from"[^"]*"', "", sent) == re.sub(r'from"[^"]*"', "", kept)
        assert all(name.startswith("./") for name in re.findall(r'from"([^"]*)"', sent))


async def test_every_import_leads_to_a_file(http: httpx2.AsyncClient) -> None:
    """Of our own modules too: a browser does not say which of them a misspelt one was in."""
    for file in STATIC.rglob("*js"):
        path = f"/assets/{file.relative_to(STATIC)}"
        sent = await http.get(path)
        for name in re.findall(r'(?:from|import) ?"(\.[^"]*)"', sent.text):
            assert (await http.get(str(httpx2.URL("http://127.0.0.1" + path).join(name).path))).status_code == 200, name


OWN = [each for each in STATIC.rglob("*.js") if "vendor" not in each.parts]
MARKUP = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "dangerously")


@pytest.mark.parametrize("file", OWN, ids=lambda each: each.name)
def test_our_own_modules_never_make_markup_of_text(file: Path) -> None:
    text = file.read_text(encoding="utf-8")

    assert [word for word in MARKUP if word in text] == []


@pytest.mark.parametrize("file", OWN, ids=lambda each: each.name)
def test_in_our_own_tables_nothing_is_found_that_is_not_written_there(file: Path) -> None:
    # A plain object also answers for `constructor` and `toString`, which somebody may have given as a name.
    tables = re.findall(r"(?m)^(?:export )?const ([A-Z_]+) = \{(?!\s*__proto__: null)", file.read_text("utf-8"))

    assert tables == []
