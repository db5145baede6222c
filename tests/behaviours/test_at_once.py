"""How many calls of one caller are under way at once is counted exactly, whatever comes of them."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2

from tests.behaviours.callers import Doors, Told, told_over_mcp
from tests.behaviours.test_malformed import HEADERS, META, request
from tests.behaviours.test_stdio import until
from tests.running import Running, server_yaml, serving
from tests.upstream.running import events, received, stdio_argv

MOST = 3


def asked(log: Path) -> int:
    return len([each for each in received(log) if each.method == "tools/call"])


async def call(http: httpx2.AsyncClient, running: Running, seconds: float, **headers: str) -> Told:
    params: dict[str, Any] = {"name": "up__slow", "arguments": {"seconds": seconds}, "_meta": META}
    sent = {**HEADERS, "mcp-name": "up__slow", **headers}
    answer = await http.post(running.url, content=request(params=params), headers=sent, timeout=30)
    return told_over_mcp(answer.json())


async def test_one_too_many_is_refused_others_are_not_and_a_place_is_free_again_when_a_client_leaves(
    tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    log = tmp_path / "log"
    text = f"posture: open\nexpose: direct\nlimits: {{in_flight_per_caller: {MOST}}}\nservers:\n"
    async with asyncio.timeout(40), serving(tmp_path, text + server_yaml("up", stdio_argv(log))) as running:
        doors = Doors(http, running)
        body = {"name": "other", "roles": ["agent"]}
        made = await http.post(doors.api("/tokens"), json=body, headers=doors.operator)
        other = {"authorization": f"Bearer {made.json()['token']}"}
        at_once = await asyncio.gather(*(call(http, running, 0.5) for _ in range(MOST + 1)))
        afterwards = await asyncio.gather(*(call(http, running, 0.1) for _ in range(MOST)))

        leaving = [asyncio.ensure_future(call(http, running, 60)) for _ in range(MOST)]
        await until(lambda: asked(log) == 3 * MOST)
        full = await call(http, running, 0)
        of_another = await call(http, running, 0, **other)
        leaving[0].cancel()
        await until(lambda: events(log, "cancelled"))
        # Its place is free when its end is on record, a moment after its server heard of it; the others keep theirs.
        while (freed := await call(http, running, 0))[0] == "RATE_LIMITED":
            pass
        for each in leaving:
            each.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)

    assert sorted(code for code, _ in at_once) == ["RATE_LIMITED", *["ok"] * MOST]
    assert [code for code, _ in afterwards] == ["ok"] * MOST
    assert (full[0], of_another[0], freed[0]) == ("RATE_LIMITED", "ok", "ok")
