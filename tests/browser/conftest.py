"""One chromium for all tests of the dashboard, one gateway for each module, one profile for each reviewer."""

from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.house import CHROMIUM, SECONDS, House, Reviewer, flags, house, reviewer


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    assert CHROMIUM is not None, "chromium is not installed; `make test` installs it"
    expect.set_options(timeout=SECONDS * 1000)  # the machine may be busy with the other tests
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=flags())
        yield running
        running.close()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    with house(tmp_path_factory.mktemp("house")) as running:
        yield running


@pytest.fixture
def comes(gateway: House, browser: Browser) -> Generator[Callable[..., Reviewer]]:
    """Somebody who comes to look: each call is another person with a browser of their own."""
    with ExitStack() as stack:

        def come(**options: Any) -> Reviewer:
            return stack.enter_context(reviewer(gateway, browser, **options))

        yield come
    gateway.settle()


@pytest.fixture
def boss(comes: Callable[..., Reviewer]) -> Generator[Reviewer]:
    """The operator, signed in. A complaint of the browser fails the test."""
    someone = comes().sign_in()
    yield someone
    assert someone.complaints == []
