"""The sandbox: a whole gateway on a copy of the configuration, in a folder of its own, with nobody's servers behind it.

It is reached through its own doors and without a socket: agents come to `/mcp` with tokens of their own, reviewers and
the operator to REST, as they would. Whatever ends the proofs, the folder is gone with them.

This module refuses to write into the user's folder, and to reach anything but what it started itself.
"""

import asyncio
import contextlib
import itertools
import json
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from interlock.cli.checkups.prove.copy import KEYS, Copy, copy_of
from interlock.cli.checkups.prove.issuing import published
from interlock.cli.checkups.prove.proof import Broken, NotApplicable
from interlock.cli.checkups.prove.stand_in import StandIn, door, serving
from interlock.cli.gateway import Api, Refused
from interlock.cli.loading import load_module
from interlock.core.model import OPERATION_OF_CLASS, Json
from interlock.core.safety import SafetyClass
from interlock.lab.values.examples import examples
from interlock.receive.reach import Ask, OwnReach
from interlock.store.folder import DataFolder

if TYPE_CHECKING:
    from interlock.app.gateway import Gateway
    from interlock.config.load import Config
    from interlock.core.rules import RuleBook

PREFIX = "interlock-prove-"
START_SECONDS = 10.0
MOST_TOOLS = 100
"""How many tools of the user's servers are tried out."""
PROVER = "prover"
_MODERN = "2026-07-28"
_META = "io.modelcontextprotocol/"
_HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": _MODERN,
    "mcp-method": "tools/call",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A tool, arguments for it, and what the user's policy says of that call."""

    server: str
    tool: str
    arguments: Mapping[str, Json]
    other: Mapping[str, Json] | None
    """Other arguments that fit, if any were found."""
    safety_class: SafetyClass
    verdict: str
    ground: str
    codes: tuple[str | None, ...] = ()
    """Of the reasons for the verdict."""

    @property
    def shown(self) -> str:
        return f"{self.server}:{self.tool}"


@dataclass(frozen=True, slots=True)
class Saw:
    """What an agent was answered: the code of a refusal or of an HTTP error, or nothing when it ran."""

    code: str | None
    approval: str | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """A caller with a token of its own, at the door for agents."""

    reach: OwnReach
    name: str
    id: str
    token: str

    async def call(
        self, target: Target, arguments: Mapping[str, Json] | None = None, approval: str | None = None
    ) -> Saw:
        """Call a tool, with the declaration that fits its class."""
        operation = OPERATION_OF_CLASS[target.safety_class]
        given: dict[str, Json] = {**(target.arguments if arguments is None else arguments)}
        given |= {} if approval is None else {"_approval_id": approval}
        intent = {"operation_type": operation, "data_sensitivity": "internal", "reason": "to prove a guarantee"}
        wanted = {"name": target.shown, "args": given, "intent": intent}
        return await self._call(f"call_tool_{operation}", wanted)

    async def _call(self, name: str, arguments: Mapping[str, object]) -> Saw:
        meta: dict[str, object] = {f"{_META}protocolVersion": _MODERN, f"{_META}clientCapabilities": {}}
        params = {"name": name, "arguments": arguments, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        headers = {**_HEADERS, "mcp-name": name, "authorization": f"Bearer {self.token}"}
        async with self.reach.ask(Ask("POST", "/mcp", headers, body)) as response:
            if response.status != 200:
                return Saw(str(response.status))
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                answer: Any = [json.loads(each) async for each in response.events()][-1]
            else:
                answer = json.loads(await response.whole())
        return _seen(answer)


def _seen(answer: Mapping[str, Any]) -> Saw:
    if "error" in answer:
        return Saw(str(answer["error"].get("code")))
    result: Mapping[str, Any] = answer["result"]
    # A server of ours says nothing structured: a code is the gateway's, also that of a call that only waits.
    told: Mapping[str, Any] = result.get("structuredContent") or {}
    if result.get("isError") or "code" in told:
        return Saw(str(told.get("code", "an error")), told.get("approval_id"))
    return Saw(None)


@dataclass
class Sandbox:
    """A gateway that runs for the proofs."""

    gateway: "Gateway"
    config: "Config"
    data: DataFolder
    reach: OwnReach
    api: Api
    stand_ins: Mapping[str, StandIn]
    own: Mapping[str, tuple[str, ...]]
    """The servers that are ours, and the user's that each is like."""
    user: DataFolder
    """The folder of the user, for looking only."""
    user_config: "Config"
    key: Ed25519PrivateKey
    """Of the issuer, if one is configured."""
    notes: tuple[str, ...] = ()
    targets: Sequence[Target] = ()
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    # Who is there -------------------------------------------------------------------------------------------------

    async def agent(self, *roles: str, **scope: Json) -> Agent:
        """An agent that nobody has seen before, so that no limit is used up by another proof."""
        return await self.agent_of(self.api, f"{PROVER}-{next(self._numbers)}", *(roles or ("agent",)), **scope)

    async def agent_of(self, maker: Api, name: str, *roles: str, **scope: Json) -> Agent:
        """An agent whose token somebody makes."""
        body: dict[str, Json] = {"name": name, "roles": list(roles), "kind": "agent", **scope}
        made = await maker.post("tokens", body=body)
        return Agent(self.reach, name, made["id"], made["token"])

    def as_(self, token: str) -> Api:
        """REST, asked by whoever has this token."""
        return Api(self.reach, token)

    async def status(self, method: str, target: str, **headers: str) -> int:
        """The HTTP status of a bare request."""
        async with self.reach.ask(Ask(method, target, headers)) as response:
            return response.status

    # What happened ------------------------------------------------------------------------------------------------

    def sends(self) -> int:
        """How many calls have arrived at any server."""
        return sum(len(each.calls) for each in self.stand_ins.values())

    # What there is to try -------------------------------------------------------------------------------------------

    def pick(self, *verdicts: str, above_read: bool = False, two: bool = False) -> Target | None:
        """A call with one of these verdicts: the first of the user's own, else one of ours. `two`: with other
        arguments that fit too."""
        fitting = (
            each
            for each in self.targets
            if each.verdict in verdicts
            and not (above_read and each.safety_class is SafetyClass.READ_ONLY)
            and not (two and each.other is None)
        )
        return next(fitting, None)

    def held(self, *, two: bool = False) -> Target:
        """A call that waits for approval here."""
        found = self.pick("hold", two=two)
        if found is None:
            raise NotApplicable(f"no call that was tried is held{' with several arguments' if two else ''}")
        return found

    @property
    def rules(self) -> "RuleBook":
        """The user's rules."""
        return self.gateway.pipeline.policy.rules

    def trusts(self, server: str) -> bool:
        """Whether the user believes what a server says of its tools."""
        return self.config.settings.servers[server].trusted

    async def survey(self) -> None:
        """Find out what the user's policy says of each tool, without calling any."""
        listed = list(self.gateway.pipeline.book)
        users = [each for each in listed if each.tool.server not in self.own]
        ours = [each for each in listed if each.tool.server in self.own]
        found: list[Target] = []
        for each in (*users[:MOST_TOOLS], *ours):
            first, *more = await asyncio.to_thread(_fitting, each.descriptor.get("inputSchema")) or [{}]
            target = await self.judged(each.tool.server, each.tool.name, each.classification.gateway, first)
            found.append(replace(target, other=next(iter(more), None)))
        self.targets = found

    async def judged(self, server: str, tool: str, safety_class: SafetyClass, arguments: Mapping[str, Json]) -> Target:
        """A call, and what the user's policy says of it."""
        operation = OPERATION_OF_CLASS[safety_class]
        body: dict[str, Json] = {
            "tool": f"{server}:{tool}",
            "args": arguments,
            "caller": PROVER,
            "operation_type": operation,
        }
        said = await self.api.post("rules", "test", body=body)
        codes = tuple(each["code"] for each in said["reasons"])
        return Target(server, tool, arguments, None, safety_class, said["verdict"], said["rule_id"], codes)

    # Approvals ------------------------------------------------------------------------------------------------------

    async def ask(self, agent: Agent, target: Target) -> str:
        """Have a call held; the approval that it waits for."""
        saw = await agent.call(target)
        if saw.code is None:
            raise Broken(f"{target.shown} is to be held by {target.ground}, and it ran.")
        if saw.approval is None:
            raise NotApplicable(f"a call of {target.shown} is refused with {saw.code} before anybody is asked")
        return saw.approval

    async def approve(self, approval: str) -> None:
        """Have it approved by as many as are needed of those who may."""
        wanted = await self.api.get("approvals", approval)
        async for voter in self._voters(wanted):
            with contextlib.suppress(Refused):  # this one may not; the next may
                answered = await voter.post("approvals", approval, "approve", body={})
                if answered["status"] == "approved":
                    return
        raise NotApplicable("nobody in the sandbox may approve what these rules hold")

    async def _voters(self, approval: Mapping[str, Any]) -> AsyncGenerator[Api]:
        yield self.api
        names = [*approval["approvers"], *(f"reviewer-{at}" for at in range(approval["approvals_needed"] + 1))]
        for name in names:
            with contextlib.suppress(Refused):  # a name that no token of ours can have
                number = next(self._numbers)
                kind = "agent" if name == "agents" else "human"
                body: dict[str, Json] = {"name": name, "roles": ["approver"], "kind": kind, "label": str(number)}
                yield self.as_((await self.api.post("tokens", body=body))["token"])


def _fitting(schema: object) -> list[dict[str, Any]]:
    """Arguments that fit a schema, as many as are found."""
    found = [each.arguments for each in examples(schema).valid]
    return [each for at, each in enumerate(found) if each not in found[:at]]


@contextlib.asynccontextmanager
async def sandbox(config: "Config", user: DataFolder) -> AsyncGenerator[Sandbox]:
    """Run the sandbox until the block ends. Nothing is left of it then."""
    load_module("interlock.app.listening")
    load_module("interlock.app.agents")
    # INVARIANT: the folder is made for its owner alone, and removed whatever happens.
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, door() as (listener, address):
        copied = copy_of(config, user, address)
        stand_ins = {server: StandIn(server, tools) for server, tools in copied.tools.items()}
        key = Ed25519PrivateKey.generate()
        documents = {KEYS: published(key)}
        async with serving(stand_ins, listener, documents), _running(Path(name), copied, stand_ins, key) as made:
            made.user, made.user_config, made.notes = user, config, copied.notes
            await made.survey()
            await made.api.get("approvals", status="pending")  # so that the gateway knows that somebody looks
            yield made


@contextlib.asynccontextmanager
async def _running(
    folder: Path, copied: Copy, stand_ins: Mapping[str, StandIn], key: Ed25519PrivateKey
) -> AsyncGenerator[Sandbox]:
    from interlock.app.gateway import running_gateway
    from interlock.app.listening import asgi

    data = DataFolder(folder / "data")
    listen = copied.config.settings.listen
    with data.hold() as hold:
        # Without the variables of the user: nothing in the copy refers to any.
        async with running_gateway(copied.config, hold, environ={}) as gateway:
            await gateway.fleet.settled(START_SECONDS)
            reach = OwnReach(asgi(gateway), f"{_host(listen.host)}:{listen.port}")
            api = Api(reach, data.credential() or "")
            yield Sandbox(gateway, copied.config, data, reach, api, stand_ins, copied.own, data, copied.config, key)


def _host(host: str) -> str:
    """The host as it stands in a header."""
    return f"[{host}]" if ":" in host else host
