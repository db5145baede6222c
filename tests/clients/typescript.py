"""The official TypeScript client, run by node."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.clients.script import Address, Outcome, Step, Transcript
from tests.upstream.everything import node

CLIENT = Path(__file__).with_name("client.mjs")


async def play(address: Address, steps: Sequence[Step]) -> Transcript:
    """Let the client take these steps."""
    script = json.dumps({"to": address, "steps": [asdict(step) for step in steps]})
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
