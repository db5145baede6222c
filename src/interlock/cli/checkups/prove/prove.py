"""Running the proofs and telling what they showed.

The order is that of the list; the one that takes the store away comes last. Told is what happened, also when there was
nothing to try a guarantee on: a configuration that allows everything has fewer guarantees, and this says so.
"""

import asyncio
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from interlock.cli.checkups.prove import doors, issuer, keys, ledger, path
from interlock.cli.checkups.prove.proof import Proof, Result, State, tried
from interlock.cli.checkups.prove.sandbox import sandbox
from interlock.cli.lab.progress import steps
from interlock.cli.render import counted, note, print_json, print_table
from interlock.core.model import Json
from interlock.errors import Exit
from interlock.store.folder import DataFolder

if TYPE_CHECKING:
    from interlock.config.load import Config

PROOFS: tuple[Proof, ...] = (*path.PROOFS, *keys.PROOFS, *doors.PROOFS, *issuer.PROOFS, *ledger.PROOFS)


def prove(config: "Config", folder: DataFolder, *, as_json: bool) -> Exit:
    """Try every guarantee out in a sandbox, and say what was found."""
    try:
        results, notes = asyncio.run(_until_told(config, folder))
    except asyncio.CancelledError:
        note("Interrupted; nothing is left of the sandbox.")
        return Exit.INTERRUPTED
    broken = [each for each in results if each.state is State.BROKEN]
    if as_json:
        told = [_as_json(each) for each in results]
        print_json({"proofs": list[Json](told), "broken": len(broken), "notes": list[Json](notes)})
    else:
        rows = ((each.proof.name, each.state.value, each.proof.sentence, each.text) for each in results)
        print_table(("PROOF", "STATE", "GUARANTEE", "WHAT WAS SEEN"), rows)
        for each in notes:
            note(each)
        note(_summary(results))
    return Exit.FINDINGS if broken else Exit.OK


async def _until_told(config: "Config", folder: DataFolder) -> tuple[list[Result], tuple[str, ...]]:
    """Run the proofs to the end, or until a signal comes: then the sandbox is removed first."""
    loop, running = asyncio.get_running_loop(), asyncio.current_task()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(each, lambda: running is None or running.cancelling() or running.cancel())
    async with sandbox(config, folder) as box:
        with steps(len(PROOFS)) as step:
            results: list[Result] = []
            for proof in PROOFS:
                results.append(await tried(proof, box))
                step(proof.name)
        return results, box.notes


def _as_json(result: Result) -> dict[str, Json]:
    proof = result.proof
    return {"proof": proof.name, "state": result.state, "guarantee": proof.sentence, "evidence": result.text}


def _summary(results: Sequence[Result]) -> str:
    counts = {state: sum(each.state is state for each in results) for state in State}
    told = f"{counted(counts[State.HELD], 'guarantee')} held, {counts[State.NOT_APPLICABLE]} not applicable"
    return f"{told}, {counts[State.BROKEN]} BROKEN. The sandbox is removed."
