"""The description of REST against REST itself: whatever fits it, or does not, from whoever may not, is refused as told.

Schemathesis makes the requests from the description that the gateway gives of itself. No answer is a fault of ours, and
none has a status that the description of its route does not name. That every description also has a `default` is not
enough here: it stands for requests that no client would make, and none of these is one.
"""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi import checks

from interlock.web import PREFIX
from interlock.web.door import SIGN_IN
from interlock.web.routes import ROUTES
from tests.approving import held_config
from tests.running import Running, serving
from tests.talking import NO_TLS

EXAMPLES = 6
"""Requests for each route and credential."""
WHO = ("nobody", "a stranger", "an agent", "the wrong role")


@dataclass
class Door:
    """A gateway, its description, and a credential for each who comes to it."""

    url: str
    document: dict[str, Any]
    tokens: dict[str, str]
    described: Any
    """What schemathesis makes of the description."""

    def route(self, method: str, path: str) -> dict[str, Any]:
        return self.document["paths"][path][method.lower()]

    def headers(self, who: str, roles: list[str]) -> dict[str, str]:
        if who == "nobody":
            return {}
        if who == "the wrong role":
            who = "auditor" if "auditor" not in roles else "agent"
        return {"Authorization": f"Bearer {self.tokens[who.removeprefix('an ').removeprefix('a ')]}"}


@contextmanager
def beside(folder: Path) -> Generator[Running]:
    """A gateway in a thread of its own: schemathesis asks without waiting for anybody's loop."""
    ready, over = threading.Event(), threading.Event()
    found: list[Running] = []

    async def run() -> None:
        async with serving(folder, held_config(folder)) as running:
            found.append(running)
            ready.set()
            await asyncio.get_running_loop().run_in_executor(None, over.wait)

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        assert ready.wait(60)
        yield found[0]
    finally:
        over.set()
        thread.join()


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Generator[Door]:
    with beside(tmp_path_factory.mktemp("door")) as running:
        url = f"http://{running.host}"
        tokens = {"stranger": "il_000000000000_" + "x" * 43, "operator": running.folder.credential() or ""}
        headers = {"Authorization": f"Bearer {tokens['operator']}"}
        for role in ("agent", "auditor"):
            wanted = {"name": role, "kind": "agent", "roles": [role]}
            made = httpx2.post(f"{url}/api/v1/tokens", json=wanted, headers=headers, verify=NO_TLS)
            tokens[role] = made.json()["token"]
        document = httpx2.get(f"{url}/api/v1/openapi.json", headers=headers, verify=NO_TLS).json()
        yield Door(url, document, tokens, cast("Any", schemathesis.openapi.from_dict(document)))


def routes() -> list[tuple[str, str]]:
    return sorted((each.method, PREFIX + each.path.replace(":anything", "")) for each in ROUTES)


def ask_all(door: Door, method: str, path: str, headers: dict[str, str], check: Callable[[Any, Any], None]) -> None:
    """Make requests of one route, and check each answer."""
    operation = door.described[path][method]
    named = {int(status) for status in door.route(method, path)["responses"] if status != "default"}

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        answer = case.call(base_url=door.url, headers=headers)

        assert answer.status_code in named, (case.as_curl_command(), answer.text)
        check(case, answer)

    ask()


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(("method", "path"), routes())
def test_who_may_not_is_refused_as_the_description_says(door: Door, method: str, path: str, who: str) -> None:
    def check(case: Any, answer: Any) -> None:
        # Whoever is not known may sign in; without a code that is refused as well.
        refused = (400, 401, 403) if (method, path, who) == (*SIGN_IN, "nobody") else (401, 403)
        assert answer.status_code in refused, (case.as_curl_command(), answer.text)

    ask_all(door, method, path, door.headers(who, door.route(method, path)["x-roles"]), check)


HARMLESS = [
    ("GET", "/api/v1/approvals"),
    ("GET", "/api/v1/approvals/{approval_id}"),
    ("GET", "/api/v1/approvals/{approval_id}/difference"),
    ("POST", "/api/v1/approvals/{approval_id}/approve"),
    ("POST", "/api/v1/approvals/{approval_id}/deny"),
    ("GET", "/api/v1/approvals/metrics"),
    ("GET", "/api/v1/grants"),
    ("DELETE", "/api/v1/grants/{grant_id}"),
    ("GET", "/api/v1/freezes"),
    ("POST", "/api/v1/freeze"),
    ("POST", "/api/v1/thaw"),
    ("GET", "/api/v1/activity"),
    ("GET", "/api/v1/activity/{activity_id}"),
    ("GET", "/api/v1/tools"),
    ("GET", "/api/v1/tools/{server}/{tool}/history"),
    ("GET", "/api/v1/principals"),
    ("GET", "/api/v1/servers"),
    ("GET", "/api/v1/rules"),
    ("POST", "/api/v1/rules/test"),
    ("POST", "/api/v1/rules/replay"),
    ("GET", "/api/v1/rules/suggestions"),
    ("GET", "/api/v1/settings"),
    ("GET", "/api/v1/tokens"),
]


@pytest.mark.parametrize(("method", "path"), HARMLESS)
def test_who_may_is_answered_as_the_description_says(door: Door, method: str, path: str) -> None:
    def check(case: Any, answer: Any) -> None:
        case.validate_response(answer, checks=[cast("Any", checks).response_schema_conformance])

    ask_all(door, method, path, {"Authorization": f"Bearer {door.tokens['operator']}"}, check)
