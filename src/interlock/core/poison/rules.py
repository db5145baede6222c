"""Which atoms have to meet in one sentence, and what that means.

One weak thing is shown and no more. What is hard is an order to the model together with what it is to hand over, whom
it is to keep it from, or whose tools it is to use how. The rules are a table: each row names atoms that must all be
there (any of those that stand between bars), and atoms in whose presence it does not count.

This module reads no text and knows no tool.
"""

from collections.abc import Iterator

from msgspec import Struct

from interlock.core.poison import signs
from interlock.core.words import word_set


class Rule(Struct, frozen=True):
    """One row of the table."""

    code: str
    hard: bool
    needs: tuple[frozenset[str], ...]
    unless: frozenset[str]

    def holds(self, found: frozenset[str]) -> bool:
        return not (self.unless & found) and all(each & found for each in self.needs)


def _rule(code: str, needs: str, unless: str = "", *, hard: bool = True) -> Rule:
    wanted = tuple(frozenset(each.split("|")) for each in needs.split())
    return Rule(code, hard, wanted, frozenset(unless.split()))


_GIVEN = "refused"
SENTENCE: tuple[Rule, ...] = (
    _rule(signs.OVERRIDE, "override"),
    _rule(signs.OVERRIDE, "reveal"),
    _rule(signs.OVERRIDE, "obey", "not-obey"),
    _rule(signs.OVERRIDE, "persona unbound|consent|waive|conceal"),
    _rule(signs.OVERRIDE, "address secret|path|context|persona|waive|quiet|dest|obey|destroy", _GIVEN),
    _rule(signs.OVERRIDE, "destroy waive|quiet|persona"),
    _rule(signs.OVERRIDE, "remember literal|tamper dest|literal"),
    _rule(signs.OVERRIDE, "persona|address", hard=False),
    _rule(signs.CLAIMED_APPROVAL, "consent"),
    _rule(signs.CLAIMED_APPROVAL, "waive", hard=False),
    _rule(signs.CONCEALMENT, "conceal", "unless"),
    _rule(signs.CONCEALMENT, "conceal", hard=False),
    _rule(signs.CONCEALMENT, "quiet grant"),
    _rule(signs.CONCEALMENT, "quiet", hard=False),
    _rule(signs.EXFILTRATION, "move path", f"{_GIVEN} into-file path-only"),
    _rule(signs.EXFILTRATION, "foreign-move|foreign-read path"),
    _rule(signs.EXFILTRATION, "foreign-move foreign-context"),
    _rule(signs.EXFILTRATION, "context verbatim", _GIVEN),
    _rule(signs.EXFILTRATION, "manipulate secret|path|literal"),
    _rule(signs.EXFILTRATION, "manipulate", hard=False),
    _rule(signs.EXFILTRATION, "read path model", f"{_GIVEN} path-only"),
    _rule(signs.EXFILTRATION, "read move secret theirs|dest|total|place", f"{_GIVEN} into-file"),
    _rule(signs.EXFILTRATION, "read move context", _GIVEN),
    _rule(signs.EXFILTRATION, "move secret dest", _GIVEN),
    _rule(signs.EXFILTRATION, "move secret theirs|total model|place|parameter", f"{_GIVEN} into-file"),
    _rule(signs.EXFILTRATION, "move secret place|model", f"{_GIVEN} into-file mention"),
    _rule(signs.EXFILTRATION, "move context model", f"{_GIVEN} mention"),
    _rule(signs.EXFILTRATION, "path hand-over|place|dest|move|read", f"{_GIVEN} into-file path-only mention"),
    _rule(signs.EXFILTRATION, "move context total|theirs|dest|place", _GIVEN),
    _rule(signs.EXFILTRATION, "steal secret|path|context|own-secret|own-path|own-context", "mention"),
    _rule(signs.EXFILTRATION, "move own-secret|own-path|own-context dest conceal|quiet"),
    _rule(signs.EXFILTRATION, "foreign-move foreign-secret", "foreign-user"),
    _rule(signs.EXFILTRATION, "move secret|path|context", _GIVEN, hard=False),
    _rule(signs.SINK, "parameter context total|theirs", _GIVEN),
    _rule(signs.SINK, "parameter contents path", f"{_GIVEN} path-only"),
    _rule(signs.SINK, "parameter secret|own-secret total theirs", _GIVEN),
    _rule(signs.SINK, "parameter move secret model", _GIVEN),
    _rule(signs.SINK, "parameter move context place", _GIVEN),
    _rule(signs.SINK, "parameter context", hard=False),
    _rule(signs.STEERING, "tamper when used|any-tool"),
    _rule(signs.STEERING, "tamper other-tool when literal|model"),
    _rule(signs.STEERING, "tamper used|other-tool literal"),
    _rule(signs.STEERING, "hand-over payload any-tool when|model|move", _GIVEN),
    _rule(signs.STEERING, "regardless only|move"),
    _rule(signs.STEERING, "first-call secret|path|context|own-secret theirs|total move|read", _GIVEN),
    _rule(signs.STEERING, "any-tool threat only|hand-over|first-call"),
    _rule(signs.STEERING, "first-call", hard=False),
    _rule(signs.STEERING, "slander", hard=False),
    _rule(signs.STEERING, "regardless", hard=False),
)
"""What one sentence says."""

PAIR: tuple[Rule, ...] = (
    _rule(signs.OVERRIDE, "persona obey|consent"),
    _rule(signs.OVERRIDE, "persona waive unbound"),
    _rule(signs.CONCEALMENT, "quiet move|tamper secret|path|context"),
    _rule(signs.CONCEALMENT, "quiet move dest"),
    _rule(signs.EXFILTRATION, "read path move dest|place", f"{_GIVEN} path-only into-file"),
    _rule(signs.OVERRIDE, "persona unbound"),
    _rule(signs.CONCEALMENT, "waive destroy"),
    _rule(signs.EXFILTRATION, "secret read move place", f"{_GIVEN} into-file mention"),
    _rule(signs.STEERING, "slander only|tamper|regardless"),
)
"""What two sentences say that stand side by side."""

ORDERS = word_set(
    "override reveal obey persona unbound consent waive conceal quiet path secret context steal first-call regardless"
    " grant foreign-secret tamper"
)
"""What makes a mark that imitates the model's own instructions more than an odd piece of text."""


def holding(table: tuple[Rule, ...], found: frozenset[str]) -> Iterator[Rule]:
    """The rules of a table that hold for some atoms."""
    return (each for each in table if each.holds(found))
