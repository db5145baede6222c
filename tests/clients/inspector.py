"""The Inspector's command line. It connects anew for each step, so it takes several of them at the same time."""

import asyncio
import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.clients.script import Address, Outcome, Play, Step, Transcript
from tests.upstream.others import PACKAGES, newer_node

CLI = PACKAGES / "@modelcontextprotocol" / "inspector" / "clients" / "cli" / "build" / "index.js"
AT_A_TIME = 4
TOOL_FAILED = 5
"""How it exits when the result of a tool says that it failed."""

_METHODS = {
    "list": "tools/list",
    "call": "tools/call",
    "resources": "resources/list",
    "read": "resources/read",
    "prompts": "prompts/list",
    "prompt": "prompts/get",
}


def inspector_in(era: str, home: Path) -> Play:
    """The Inspector that speaks this era: `legacy`, `modern` or `auto`. What it keeps, it keeps in this folder."""
    return partial(_play, era, home)


async def _play(era: str, home: Path, address: Address, steps: Sequence[Step]) -> Transcript:
    assert isinstance(address, str)
    given = ["--transport", "http", "--server-url", address, "--protocol-era", era, "--format", "json"]
    turns = asyncio.Semaphore(AT_A_TIME)

    async def take(step: Step) -> Outcome:
        async with turns:
            return await _run(home, [*given, "--stored-auth-only", "--method", _METHODS[step.do], *_words(step)])

    return Transcript(list(await asyncio.gather(*map(take, steps))))


def _words(step: Step) -> list[str]:
    match step.do:
        case "call":
            return ["--tool-name", step.name, "--tool-args-json", json.dumps(step.arguments)]
        case "read":
            return ["--uri", step.name]
        case "prompt":
            pairs = [f"{name}={value}" for name, value in step.arguments.items()]
            return ["--prompt-name", step.name, *(["--prompt-args", *pairs] if pairs else [])]
        case _:
            return []


async def _run(home: Path, words: list[str]) -> Outcome:
    pipe, environment = asyncio.subprocess.PIPE, {**os.environ, "HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        newer_node(), str(CLI), *words, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment
    )
    try:
        said, problem = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode in (0, TOOL_FAILED):
        return Outcome(result=json.loads(said)["result"])
    return Outcome(error={"message": problem.decode()})
