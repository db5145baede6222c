"""A server on the bench of the lab, reached over the REST face of a gateway, whichever process that runs in.

So every call of the lab passes the one path and stands in its log. What the gateway refuses, and what becomes of a
server that crashes or hangs, comes back as part of what was observed: for the lab that is a result too.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from interlock import errors
from interlock.cli.gateway import Api, Refused, Unreadable
from interlock.clock import Clock, SystemClock
from interlock.core.health import LeftOut
from interlock.core.safety import ExecClass, LabPolicy, SafetyClass
from interlock.errors import Reason
from interlock.lab.model import LabTool, Observed
from interlock.receive.identify import OPERATOR, OPERATOR_AGENT

_LOOK = 0.1
RECOVERY = 15.0
"""How many seconds a server may take to be there again after it crashed."""


async def _no_freeze() -> Reason | None:
    return None


class RestBench:
    """One server behind a gateway."""

    def __init__(
        self,
        api: Api,
        server: str,
        policy: LabPolicy,
        *,
        is_http: bool,
        ours: bool,
        guard: Callable[[], Awaitable[Reason | None]] = _no_freeze,
        clock: Clock | None = None,
    ) -> None:
        """`ours` says that nobody else uses this gateway, so that the server may be started anew; `guard` is asked
        before every call, and says why there is to be none."""
        self.server = server
        self.is_http = is_http
        self.calls = 0
        self._api = api
        self._policy = policy
        self._ours = ours
        self._guard = guard
        self._clock = clock or SystemClock()
        self._stray_before = 0

    async def tools(self) -> list[LabTool]:
        listed = (await self._api.get("tools", server=self.server))["items"]
        return [_tool(await self._api.get("tools", self.server, each["tool"])) for each in listed]

    async def left_out(self) -> list[LeftOut]:
        """What the server lists and the gateway does not take."""
        return [LeftOut(each["why"], each["count"], each["first"]) for each in (await self.state())["left_out"]]

    async def stray(self) -> int:
        return self._stray_before + (await self.state())["stray_lines"]

    async def call(self, tool: str, arguments: dict[str, Any], *, unchecked: bool = False) -> Observed:
        if (stopped := await self._guard()) is not None:
            return Observed(tool, arguments, 0.0, refusal=stopped)
        body = {
            "entry": "lab",
            "arguments": arguments,
            "execute_destructive": self._policy.execute_destructive,
            "strict": self._policy.strict,
            "unchecked": unchecked,
        }
        self.calls += 1
        began = self._clock.ticks()
        try:
            said = await self._api.post("tools", self.server, tool, "call", body=body)
        except Refused as refused:
            took = (self._clock.ticks() - began) / 1000
            return Observed(tool, arguments, took, refusal=refused.reason, activity=refused.problem.get("activity_id"))
        except Unreadable:
            problem = "it is nested too deeply, or holds a number that is too long, to be read"
            refusal = errors.OUT_OF_PROTOCOL(server=self.server, problem=problem)
            return Observed(tool, arguments, (self._clock.ticks() - began) / 1000, refusal=refusal)
        took = (self._clock.ticks() - began) / 1000
        result, error = said.get("result"), said.get("error")
        return Observed(tool, arguments, took, result, error, size=_size(result), activity=said["activity_id"])

    async def recovered(self, *, hung: bool = False) -> bool:
        """Wait until the server is there again; whether it is. One that hangs is started anew where that disturbs
        nobody else."""
        if hung and self._ours:
            self._stray_before = await self.stray()  # a new one is counted from nothing
            await self._api.post("servers", self.server, "restart", body={})
        for _ in range(int(RECOVERY / _LOOK)):
            if (await self.state())["health"] == "ready":
                return True
            await asyncio.sleep(_LOOK)
        return False

    async def state(self) -> dict[str, Any]:
        """How the server is doing."""
        return await self._api.get("servers", self.server)


def _size(result: dict[str, Any] | None) -> int:
    if result is None:
        return 0
    # Not by msgspec: half a character, which a server can send as an escape, would be an error there.
    return len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _tool(detail: dict[str, Any]) -> LabTool:
    return LabTool(
        detail["tool"],
        detail["definition"],
        ExecClass(detail["views"]["exec"]),
        SafetyClass(detail["views"]["gateway"]),
        tuple(detail["other_definitions"]),
    )


_CALLERS = (OPERATOR, OPERATOR_AGENT)
"""Who orders the calls of the lab, and as whom they are made."""


async def frozen(api: Api, server: str) -> Reason | None:
    """Why nothing is to be called, if a gateway stands still as a whole, for a server of this id, or for whoever the
    lab calls as."""
    for each in (await api.get("freezes"))["items"]:
        if each["kind"] == "all" or each["server"] == server or each["caller"] in _CALLERS:
            return errors.FROZEN(what=each["reason"] or _stopped(each))
    return None


def _stopped(freeze: dict[str, Any]) -> str:
    name = freeze["server"] or freeze["caller"]
    return f"{freeze['kind']} '{name}'" if name else "the gateway of this user stands still"
