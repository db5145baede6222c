"""The agent of the demo: a real MCP client with a token of its own, and a script in place of a model.

It reaches the gateway over loopback like any agent, and sees what any agent would see. What it saw is told in one line
each. This module refuses to know more than its client was told.
"""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from interlock.cli.demo.stage import SERVER
from interlock.core.model import Json

DELETED = "todo"


@dataclass(frozen=True, slots=True)
class Step:
    """One call: what the agent is up to, in words, and as it calls."""

    told: str
    variant: str
    """By which tool it calls: call_tool_read, _write or _destructive."""
    tool: str
    arguments: Mapping[str, Json]
    declared: str = ""
    """What its intent says it does, if that is something else."""
    reason: str = ""


STEPS = (
    Step("It reads a note", "read", "read_note", {"name": "welcome"}),
    Step("It writes a note", "write", "write_note", {"name": "plan", "text": "Tidy up."}),
    Step("It comes to read, and means to delete", "read", "delete_note", {"name": "plan"}, declared="destructive"),
    Step("It writes where a rule says no", "write", "write_note", {"name": "secret-plan", "text": "Hide."}),
    Step("It calls a tool that does not exist", "read", "raed_note", {"name": "welcome"}),
)
HELD = Step("It deletes a note", "destructive", "delete_note", {"name": DELETED}, reason="It is done.")


@dataclass(frozen=True, slots=True)
class Saw:
    """What came back: the code of a refusal, or None, and the text."""

    code: str | None
    text: str


class Agent:
    """The client, once it is connected."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def take(self, step: Step) -> Saw:
        """Make one call and wait for its answer, however long that takes."""
        intent: dict[str, Json] = {"operation_type": step.declared or step.variant, "data_sensitivity": "internal"}
        if step.reason:
            intent["reason"] = step.reason
        given: dict[str, Any] = {"name": f"{SERVER}:{step.tool}", "args": dict(step.arguments), "intent": intent}
        result = await self._client.call_tool(f"call_tool_{step.variant}", given)
        texts = [each.text for each in result.content if each.type == "text"]
        lines = [line for text in texts for line in text.splitlines() if line]
        told = cast("object", result.structured_content)
        refusal = cast("Mapping[str, Any]", told if result.is_error and isinstance(told, dict) else {})
        return Saw(refusal.get("code"), " · ".join(lines))


@contextlib.asynccontextmanager
async def connected(address: str, token: str) -> AsyncGenerator[Agent]:
    """An agent at the gateway, who it is by its token."""
    headers = {"authorization": f"Bearer {token}"}
    # Nothing of the surroundings, such as a proxy, may stand between the agent and the gateway.
    async with (
        httpx2.AsyncClient(headers=headers, timeout=None, trust_env=False) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):
        yield Agent(client)
