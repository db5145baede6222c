"""A proof has one of three outcomes, whatever happens while it runs."""

import asyncio
from typing import cast

import pytest

from interlock import errors
from interlock.cli.checkups.prove import proof
from interlock.cli.checkups.prove.proof import Broken, NotApplicable, Proof, Result, tried
from interlock.cli.checkups.prove.sandbox import Sandbox
from interlock.errors import InterlockError

BOX = cast("Sandbox", None)
"""None of these looks at it."""


async def outcome(raised: BaseException | None) -> Result:
    async def run(box: Sandbox) -> str:
        if raised is not None:
            raise raised
        return "seen"

    return await tried(Proof("a", "It holds.", run), BOX)


@pytest.mark.parametrize(
    ("raised", "state", "text"),
    [
        (None, "held", "seen"),
        (NotApplicable("nothing is there"), "not applicable", "because nothing is there"),
        (Broken("It leaked."), "BROKEN", "It leaked."),
        (TimeoutError(), "BROKEN", "It could not be shown within 10 seconds."),
        (ValueError("odd"), "BROKEN", "It could not be shown: ValueError: odd"),
    ],
)
async def test_what_a_proof_shows(raised: BaseException | None, state: str, text: str) -> None:
    result = await outcome(raised)

    assert (result.state, result.text) == (state, text)


async def test_a_refusal_on_the_way_is_told_with_its_reason() -> None:
    refused = InterlockError(errors.REST_NEEDS_TOKEN())

    assert (await outcome(refused)).text == f"It could not be shown: {refused.reason.text}"


async def test_a_proof_that_never_ends_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "SECONDS", 0.01)

    async def hang(box: Sandbox) -> str:
        await asyncio.Event().wait()
        return ""

    assert (await tried(Proof("a", "It holds.", hang), BOX)).state == "BROKEN"
