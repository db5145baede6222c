"""`interlock open`: a link that signs a browser in once, printed, and opened where there is a browser."""

import stat
from pathlib import Path

import httpx2
import pytest

from tests.cli.running import Beside, Interlock
from tests.talking import NO_TLS


def code_in(link: str) -> str:
    return link.strip().partition("#")[2]


def test_the_link_that_is_printed_signs_the_operator_in(
    il: Interlock, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    done = il("open")
    address = f"http://{beside.running.host}"
    answer = httpx2.post(f"{address}/api/v1/session", json={"code": code_in(done.out)}, verify=NO_TLS)

    assert done.exit == 0
    assert done.out.startswith(f"{address}/login#")
    assert done.err == "The link signs one browser in, once, within 10m. Open it yourself.\n"
    assert answer.json()["name"] == "operator"


def test_the_link_comes_as_json(il: Interlock, beside: Beside) -> None:
    found = il("open", "--json").json

    assert found["url"].startswith(f"http://{beside.running.host}/login#")
    assert found["expires_at"].endswith("Z")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in which a browser writes down what it is asked to open."""
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setattr("webbrowser._tryorder", None)
    monkeypatch.setenv("BROWSER", str(browser))
    return seen


@pytest.mark.usefixtures("beside")
def test_the_link_is_opened_where_there_is_a_browser(il: Interlock, opened: Path) -> None:
    done = il("open")

    assert opened.read_text() == done.out
    assert done.err == "The link signs one browser in, once, within 10m.\n"


@pytest.mark.usefixtures("beside")
def test_on_demand_it_is_only_printed(il: Interlock, opened: Path) -> None:
    il("open", "--print")

    assert not opened.exists()


def test_without_a_gateway_it_says_how_to_start_one(il: Interlock, tmp_path: Path) -> None:
    done = il("open", "--data-dir", str(tmp_path / "data"))

    assert (done.exit, done.out) == (4, "")
    assert "interlock serve" in done.err
