"""What a proof is: a guarantee in one sentence, a way to try it out, and an honest outcome.

A proof returns its evidence, or raises what kept it from holding. What goes wrong in any other way counts as broken
too: a guarantee that could not be shown is not claimed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from interlock.errors import InterlockError

if TYPE_CHECKING:
    from interlock.cli.checkups.prove.sandbox import Sandbox

SECONDS = 10.0
"""How long one proof may take."""


class State(StrEnum):
    HELD = "held"
    NOT_APPLICABLE = "not applicable"
    BROKEN = "BROKEN"


class Broken(Exception):
    """The guarantee does not hold; the message says what happened instead."""


class NotApplicable(Exception):
    """There is nothing to try it on; the message says why, as it stands after `because`."""


Run: TypeAlias = "Callable[[Sandbox], Awaitable[str]]"
"""Tries a guarantee out; the evidence that it held."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A guarantee, and how it is tried out."""

    name: str
    sentence: str
    run: Run


@dataclass(frozen=True, slots=True)
class Result:
    """What a proof showed. `text` is the evidence, or why there is none."""

    proof: Proof
    state: State
    text: str


async def tried(proof: Proof, sandbox: "Sandbox") -> Result:
    """Try one guarantee out. Never raises for what the gateway does."""
    try:
        async with asyncio.timeout(SECONDS):
            return Result(proof, State.HELD, await proof.run(sandbox))
    except NotApplicable as nothing:
        return Result(proof, State.NOT_APPLICABLE, f"because {nothing}")
    except Broken as broken:
        return Result(proof, State.BROKEN, str(broken))
    except InterlockError as refused:
        return Result(proof, State.BROKEN, f"It could not be shown: {refused.reason.text}")
    except TimeoutError:
        return Result(proof, State.BROKEN, f"It could not be shown within {SECONDS:.0f} seconds.")
    except Exception as failed:  # whatever it was, the guarantee was not shown, and the other proofs go on
        return Result(proof, State.BROKEN, f"It could not be shown: {type(failed).__name__}: {failed}")
