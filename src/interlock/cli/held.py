"""A call from the command line while it is held: whoever waits at the terminal is told for what, and how it goes on.

The gateway answers a call only when it ends. So while it is under way the approvals that wait are looked at, for one
that is about this very call: same agent, same tool, same arguments.

This module refuses to disturb the call: what cannot be told is not told.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from interlock.cli.gateway import Api
from interlock.cli.render import note
from interlock.cli.watching.card import standing
from interlock.clock import SystemClock
from interlock.core.canonical import argument_digest
from interlock.core.model import Json, JsonObject
from interlock.errors import InterlockError

_PAUSES = (0.3, 0.7, 1.0, 2.0)
_PAUSE = 5.0
"""How many seconds pass between two looks: at first few, because most calls are held at once or not at all."""
_SEARCHED = 100


@dataclass(slots=True)
class Sending:
    """A call on its way. `approval` is the id of the one it waits for, once that is known."""

    server: str
    tool: str
    body: Mapping[str, Json]
    approval: str | None = None

    async def through(self, api: Api) -> Any:
        """Send the call, and tell while it is held. Raises what refused it."""
        refused: InterlockError | None = None
        answer: Any = None
        async with asyncio.TaskGroup() as group:
            telling = group.create_task(self._tell(api))
            try:
                answer = await api.post("tools", self.server, self.tool, "call", body=self.body)
            except InterlockError as failed:
                refused = failed  # carried past the task group, which would wrap it
            telling.cancel()
        if refused is not None:
            raise refused
        return answer

    async def _tell(self, api: Api) -> None:
        with contextlib.suppress(InterlockError):
            waits = await self._found(api)
            self.approval = waits["id"]
            note(f"Held: {waits['tool_name']} waits for approval, {standing(waits, SystemClock().now())}.")
            note(f"  Approve it in another terminal with `interlock approval approve {waits['id']}`.")
            note("  Ctrl-C gives it up.")

    async def _found(self, api: Api) -> Mapping[str, Any]:
        digest = argument_digest(cast("JsonObject", self.body["arguments"]))
        looks = 0
        while True:
            await asyncio.sleep(_PAUSES[looks] if looks < len(_PAUSES) else _PAUSE)
            looks += 1
            items = (await api.get("approvals", status="pending", limit=_SEARCHED))["items"]
            for each in items:
                if each["digest"] == digest and self._is_mine(each):
                    return each

    def _is_mine(self, approval: Mapping[str, Any]) -> bool:
        from interlock.receive.identify import OPERATOR_AGENT

        namespace = approval["tool_name"].removesuffix(f"__{self.tool}")
        on_server = self.server in (approval["downstream_server_id"], namespace)
        return on_server and approval["tool"] == self.tool and approval["requester"] == OPERATOR_AGENT
