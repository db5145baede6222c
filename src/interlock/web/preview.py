"""What would become of the tools of a server: how many are of which class, and how many would be let pass or held.

Asked for a server that was just added, and answered by the same decision as every call: that of an agent that is in
scope of everything and sends no arguments. Rules that look at arguments are therefore left out of account.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from interlock.core.canonical import argument_digest
from interlock.core.decide import Facts, decide
from interlock.core.model import Call, Caller, Declaration, Micros, Variant
from interlock.core.policy import Policy
from interlock.core.toolbook import ListedTool

_ANYBODY = "anybody"


@dataclass(frozen=True, slots=True)
class ToolCounts:
    """How many tools there are, by class, and by what would become of a call."""

    total: int
    by_class: dict[str, int]
    by_verdict: dict[str, int]


def tool_counts(tools: Iterable[ListedTool], policy: Policy, workspace: str | None, now: Micros) -> ToolCounts:
    """Count tools by their class and by the verdict on a plain call."""
    listed = list(tools)
    classes = Counter(each.classification.gateway.value for each in listed)
    verdicts = Counter(_verdict(each, policy, workspace, now) for each in listed)
    return ToolCounts(len(listed), dict(classes.most_common()), dict(verdicts.most_common()))


def _verdict(listed: ListedTool, policy: Policy, workspace: str | None, now: Micros) -> str:
    call = Call(
        caller=Caller(_ANYBODY, workspace=workspace),
        server=listed.tool.server,
        tool=listed.tool.name,
        arguments={},
        digest=argument_digest({}),
        variant=Variant.DIRECT,
        declaration=Declaration(given=False),
    )
    facts = Facts(call, listed.known, policy.rules, now, policy.entry_for(call), policy.hold)
    return decide(facts).effect.value
