"""The official Python client, in each of its modes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
from mcp.client import Client, Transport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import BaseModel

from tests.clients.script import PAUSE, Address, Message, Outcome, Play, Step, Transcript


def client_in(mode: str) -> Play:
    """The client that connects in this mode: `legacy`, `auto` or a version of the modern protocol."""
    return partial(_play, mode)


async def _play(mode: str, address: Address, steps: Sequence[Step]) -> Transcript:
    transcript = Transcript([])
    async with Client(_watched(_open(address), transcript), mode=mode) as client:
        for step in steps:
            transcript.outcomes.append(await _take(client, step))
    return transcript


async def _take(client: Client, step: Step) -> Outcome:
    if step.do == "list":
        return Outcome(result=await _list(client, set(step.until)))
    outcome = Outcome()
    with anyio.CancelScope() as scope:

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            outcome.progress.append({"progress": progress, "total": total})
            if step.abort:
                scope.cancel()

        try:
            outcome.result = _plain(await _ask(client, step, listen if step.progress else None))
        except MCPError as refused:
            outcome.error = {"code": refused.code, "message": refused.message, "data": refused.data}
    outcome.aborted = scope.cancelled_caught
    return outcome


async def _ask(client: Client, step: Step, listener: ProgressFnT | None) -> BaseModel:
    match step.do:
        case "resources":
            return await client.list_resources()
        case "read":
            return await client.read_resource(step.name)
        case "prompts":
            return await client.list_prompts()
        case "prompt":
            return await client.get_prompt(step.name, step.arguments)
        case _:
            return await client.call_tool(step.name, step.arguments, progress_callback=listener)


async def _list(client: Client, wanted: set[str]) -> Message:
    while True:
        listed = await client.list_tools()
        if wanted <= {tool.name for tool in listed.tools}:
            return _plain(listed)
        await anyio.sleep(PAUSE)


def _plain(model: BaseModel) -> Message:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


# The wire -------------------------------------------------------------------------------------------------------


def _open(address: Address) -> Transport:
    if isinstance(address, str):
        return streamable_http_client(address)
    return stdio_client(StdioServerParameters(command=address[0], args=list(address[1:])))


@asynccontextmanager
async def _watched(transport: Transport, transcript: Transcript) -> AsyncGenerator[Any]:
    """The transport, with every message noted on its way."""
    async with transport as (read, write):
        yield _Reading(read, transcript), _Writing(write, transcript)


class _Stream:
    """One direction of a transport."""

    def __init__(self, stream: Any, transcript: Transcript) -> None:
        self._stream, self._transcript = stream, transcript

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> "_Stream":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> bool | None:
        return await self._stream.__aexit__(*failure)


class _Reading(_Stream):
    def __aiter__(self) -> "_Reading":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        item = await self._stream.__anext__()
        if isinstance(item, SessionMessage):
            self._transcript.wire.append(("in", _plain(item.message)))
        else:
            self._transcript.complaints.append(repr(item))
        return item


class _Writing(_Stream):
    async def send(self, item: SessionMessage) -> None:
        self._transcript.wire.append(("out", _plain(item.message)))
        await self._stream.send(item)
