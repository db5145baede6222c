"""A process whose disk is full for a while: it records reads before, during and after, and tells what became of them.

The limit on the size of files stands for the disk: what would make one larger fails as it does when there is no room.
Prints one line: how many reads were let pass, how many were refused while there was no room, and whether the first one
that came after it was let pass.
"""

import asyncio
import contextlib
import json
import resource
import sys
from pathlib import Path

from interlock.clock import SystemClock
from interlock.core.lifecycle import CallEvent
from interlock.core.model import Allow, Call, Caller, Ground, Intent, OperationType
from interlock.core.toolbook import Listing, ToolBook
from interlock.errors import Reason
from interlock.kept import Origin, Outcome
from interlock.record import Recorder
from interlock.store.protocol import StoreUnavailable
from interlock.store.sqlite import SqliteStore

REFUSALS = 20
ALLOWED = Allow((Reason("fine"),), Ground("posture:guarded", "h"), Intent(OperationType.READ))


async def read(recorder: Recorder) -> bool:
    """Whether one read was let pass; its outcome is recorded as the pipeline does it."""
    found = ToolBook().with_listing(Listing("s", "s", [{"name": "get_x"}])).find("s", "get_x")
    assert found is not None
    try:
        record = await recorder.ahead(Call(Caller("ci"), "s", "get_x", {}, "d"), found, ALLOWED, Origin("mcp"))
    except StoreUnavailable:
        return False
    # Without its outcome the answer is withheld, but the upstream was reached.
    with contextlib.suppress(StoreUnavailable):
        await recorder.outcome(record, Outcome(CallEvent.SUCCEED, 900, "x" * 900))
    return True


def limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def main(path: Path) -> None:
    store = SqliteStore(path, SystemClock())
    await store.start()
    recorder = Recorder(store, SystemClock())
    passed = sum([await read(recorder) for _ in range(5)])
    await recorder.settled()
    limit(max(file.stat().st_size for file in path.parent.iterdir()) + 20_000)
    refused = 0
    while refused < REFUSALS:
        let = await read(recorder)
        passed, refused = passed + let, refused + (not let)
    limit(resource.RLIM_INFINITY)
    after = await read(recorder)
    recorder.settle()
    await store.close()
    sys.stdout.write(json.dumps({"passed": passed + after, "refused": refused, "after": after}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
