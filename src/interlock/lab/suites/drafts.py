"""What a suite is written from: for each tool made-up arguments, and the answers they got, as far as it was called.

Only tools that the plan executes are called, the same call as often as somebody asks. A tool that is executed once is
called once if a single answer is of use (`once`), and otherwise not at all: the suite itself will call it, and one
effect is enough. It is called after the first round of the others, so that what it changes in their answers is seen to
change. Everything goes through the worker, so plan, budget and pace apply.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from interlock.errors import BudgetExhausted, Reason
from interlock.lab.model import Observed
from interlock.lab.plan import Decision, Planned
from interlock.lab.suites.matchers import said_by_tool
from interlock.lab.values.examples import examples
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
    worker: Worker, *, times: int, once: bool, seed: int, told: Callable[[str], None] = lambda _: None
) -> list[Draft]:
    """A draft for each tool of the plan, in its order. `told` hears of each call that is done."""
    made = {name: _begun(planned, seed) for name, planned in worker.plan.items()}
    for name in rounds(worker.plan.values(), times=times, once=once):
        if made[name].problem is None:
            made[name] = await _observed(worker, made[name])
        told(name)
    return list(made.values())


def rounds(plan: Iterable[Planned], *, times: int, once: bool) -> list[str]:
    """The names of the tools to call, in the order of the calls."""
    decided = [(each.decision, each.tool.name) for each in plan]
    reading = [name for decision, name in decided if decision is Decision.EXECUTE]
    changing = [name for decision, name in decided if decision is Decision.EXECUTE_ONCE]
    return reading + (changing if once else []) + reading * (times - 1)


def _begun(planned: Planned, seed: int) -> Draft:
    found = examples(planned.tool.input_schema, seed=seed)
    if not found.valid:
        return Draft(planned, problem=Reason(f"No arguments could be made: {found.problem}"))
    return Draft(planned, found.valid[0].arguments, problem=planned.reason)


async def _observed(worker: Worker, draft: Draft) -> Draft:
    """The draft after one more call."""
    try:
        observed = await worker.call(draft.tool, dict(draft.arguments or {}))
    except BudgetExhausted as empty:
        return replace(draft, problem=empty.reason)
    if observed.refusal is not None:
        # Whatever it was, asking again would only do it again.
        return replace(draft, problem=observed.refusal)
    return replace(draft, seen=(*draft.seen, observed))


def results_of(draft: Draft) -> Sequence[dict[str, Any]]:
    """What the tool answered; a JSON-RPC error is no result."""
    return [said_by_tool(each.result) for each in draft.seen if each.result is not None]
