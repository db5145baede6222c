"""What a suite is written from: for each tool made-up arguments, and the answers they got, as far as it was called.

Only tools that the plan executes are called, the same call as often as somebody asks. A tool that is executed once is
called once if a single answer is of use (`once`), and otherwise not at all: the suite itself will call it, and one
effect is enough. Everything goes through the worker, so plan, budget and pace apply.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from interlock.errors import BudgetExhausted, Reason
from interlock.lab.model import Observed
from interlock.lab.plan import Decision, Planned
from interlock.lab.values import examples
from interlock.lab.worker import Worker


class Draft(Struct, frozen=True):
    """One tool, the arguments for it, and what was seen."""

    planned: Planned
    arguments: dict[str, Any] | None = None
    """None where none could be made; then there is a problem."""
    seen: tuple[Observed, ...] = ()
    problem: Reason | None = None
    """Why nothing was seen, or not all that was wanted."""

    @property
    def tool(self) -> str:
        return self.planned.tool.name

    @property
    def is_error(self) -> bool | None:
        """Whether the tool answered with an error; None where it did not always do the same."""
        kinds = {each.result is None or each.result.get("isError") is True for each in self.seen}
        return kinds.pop() if len(kinds) == 1 else None


async def drafts(
    worker: Worker, *, times: int, once: bool, seed: int, told: Callable[[Draft], None] = lambda _: None
) -> list[Draft]:
    """A draft for each tool of the plan, in its order. `told` hears of each as it is done."""
    made: list[Draft] = []
    for planned in worker.plan.values():
        wanted = {Decision.EXECUTE: times, Decision.EXECUTE_ONCE: int(once)}.get(planned.decision, 0)
        made.append(await _draft(worker, planned, wanted, seed))
        told(made[-1])
    return made


async def _draft(worker: Worker, planned: Planned, wanted: int, seed: int) -> Draft:
    found = examples(planned.tool.input_schema, seed=seed)
    if not found.valid:
        return Draft(planned, problem=Reason(f"No arguments could be made: {found.problem}"))
    arguments = found.valid[0].arguments
    if planned.reason is not None:
        return Draft(planned, arguments, problem=planned.reason)
    seen: list[Observed] = []
    for _ in range(wanted):
        try:
            observed = await worker.call(planned.tool.name, dict(arguments))
        except BudgetExhausted as empty:
            return Draft(planned, arguments, tuple(seen), empty.reason)
        if observed.refusal is not None:
            # Whatever it was, asking again would only do it again.
            return Draft(planned, arguments, tuple(seen), observed.refusal)
        seen.append(observed)
    return Draft(planned, arguments, tuple(seen))


def results_of(draft: Draft) -> Sequence[dict[str, Any]]:
    """What the tool answered; a JSON-RPC error is no result."""
    return [each.result for each in draft.seen if each.result is not None]
