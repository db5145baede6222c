"""kill -9 while a first listing is written: it is the baseline as a whole or not at all, and never known before."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interlock.clock import SystemClock
from interlock.core.model import Standing
from interlock.core.toolbook import Listing
from interlock.forward.drift import Drift
from interlock.store.protocol import ActivityFilter, ActivityType
from tests.stores import address_of, store_of

KILLS = int(os.environ.get("INTERLOCK_TEST_KILLS", "30")) // 5
TOOLS = [{"name": f"tool-{number}", "description": "x" * 500} for number in range(3_000)]
CHILD = """
import asyncio, json, sys
from pathlib import Path
from interlock.clock import SystemClock
from interlock.core.toolbook import Listing
from interlock.forward.drift import Drift
from interlock.app.gateway import store_in
from interlock.store.folder import DataFolder

async def main():
    store = store_in(DataFolder(Path(sys.argv[1])), sys.argv[2], SystemClock())
    await store.start()
    drift = Drift(store, SystemClock())
    await drift.load()
    tools = json.loads(sys.stdin.readline())
    print("ready", flush=True)
    judged = await drift.listed(Listing("s", "s", tools))
    print(*set(judged.standings.values()), flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def listed_until_killed(folder: Path, seconds: float) -> str:
    """Have another process judge the listing, and kill it so long after it began; what it said of the standings."""
    argv = [sys.executable, "-c", CHILD, str(folder), address_of(folder)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(TOOLS) + "\n")
        child.stdin.flush()
        assert child.stdout.readline() == "ready\n"
        time.sleep(seconds)  # the moment of the kill is what is varied
        child.kill()
        return child.stdout.read().strip()


@pytest.mark.parametrize("attempt", range(KILLS))
async def test_a_listing_that_was_being_written_is_the_baseline_as_a_whole_or_not_at_all(
    tmp_path: Path, attempt: int
) -> None:
    said = listed_until_killed(tmp_path, random.Random(attempt).uniform(0, 0.15))
    store = store_of(tmp_path, SystemClock())
    await store.start()
    baselines = await store.baselines()
    begun = await store.list_activities(ActivityFilter(types=(ActivityType.TOOL_CHANGE,)))
    drift = Drift(store, SystemClock())
    await drift.load()
    again = await drift.listed(Listing("s", "s", [*TOOLS, {"name": "late"}]))
    await store.close()

    assert [len(tools) for tools in baselines.values()] in ([], [len(TOOLS)])
    assert len(begun.items) == len(baselines)
    assert baselines or said == ""
    assert said in ("", Standing.KNOWN)
    assert again.standings is not None
    assert (again.standings["late"] is Standing.NEW) == bool(baselines)
