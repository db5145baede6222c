"""Callers by hand at each door of a gateway, and what they are told: that it went well, or why it was refused."""

from dataclasses import dataclass
from typing import Any

import httpx2

from tests.asking import Legacy, Modern
from tests.running import Running

OK = ("ok", "")
Told = tuple[str, str]


def told_over_mcp(answer: dict[str, Any]) -> Told:
    """What a tool call over MCP came to."""
    result = answer.get("result")
    if result is None:
        return ("error", answer["error"]["message"])
    said: dict[str, Any] = result.get("structuredContent") or {}
    return (said["code"], said["message"]) if result.get("isError") and "code" in said else OK


def told_over_rest(answer: httpx2.Response) -> Told:
    """What a request over REST came to."""
    return OK if answer.status_code < 300 else (answer.json()["code"], answer.json()["detail"])


@dataclass
class Doors:
    """The three doors through which a tool can be called."""

    http: httpx2.AsyncClient
    running: Running

    @property
    def operator(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.running.folder.credential()}"}

    def api(self, path: str) -> str:
        return f"http://{self.running.host}/api/v1{path}"

    async def modern(self, tool: str, arguments: dict[str, Any]) -> Told:
        return told_over_mcp(await Modern(self.http, self.running, {}).call(arguments, tool=tool))

    async def legacy(self, tool: str, arguments: dict[str, Any]) -> Told:
        client = Legacy(self.http, self.running)
        await client.open({})
        params = {"name": f"up__{tool}", "arguments": arguments}
        answer = await client.post({"id": 1, "method": "tools/call", "params": params})
        (line,) = [each for each in answer.text.splitlines() if each.startswith("data: {")] or [f"data: {answer.text}"]
        return told_over_mcp(httpx2.Response(200, text=line.removeprefix("data: ")).json())

    async def rest(self, tool: str, arguments: dict[str, Any]) -> Told:
        body = {"arguments": arguments}
        answer = await self.http.post(self.api(f"/tools/up/{tool}/call"), json=body, headers=self.operator)
        return told_over_rest(answer)
