"""The official TypeScript clients, run by node: the first generation, and the second in each of its modes."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tests.clients.script import Address, Outcome, Play, Step, Transcript
from tests.upstream.everything import node

CLIENT = Path(__file__).with_name("client.mjs")


async def play(address: Address, steps: Sequence[Step]) -> Transcript:
    """Let the client of the first generation take these steps. It knows the legacy protocol only."""
    return await _play(None, address, steps)


def second_in(mode: str) -> Play:
    """The client of the second generation that connects in this mode: `legacy`, `auto` or a version of the modern
    protocol."""
    return partial(_play, mode)


async def _play(mode: str | None, address: Address, steps: Sequence[Step]) -> Transcript:
    script = json.dumps({"to": address, "mode": mode, "steps": [asdict(step) for step in steps]})
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(node(), str(CLIENT), script, stdout=pipe, stderr=pipe)
    try:
        said, problem = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, problem.decode()
    transcript = Transcript([Outcome() for _ in steps])
    for line in said.splitlines():
        _note(transcript, json.loads(line))
    return transcript


def _note(transcript: Transcript, line: dict[str, Any]) -> None:
    match line:
        case {"wire": way, "message": message}:
            transcript.wire.append((way, message))
        case {"complaint": complaint}:
            transcript.complaints.append(complaint)
        case {"step": int(number), "progress": report}:
            transcript.outcomes[number].progress.append(report)
        case {"step": int(number), **rest}:
            outcome = transcript.outcomes[number]
            outcome.result, outcome.error = rest.get("result"), rest.get("error")
            outcome.aborted = rest.get("aborted", False)
        case _:
            raise AssertionError(f"the client said {line}")
