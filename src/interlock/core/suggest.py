"""Rules worth writing, from approvals that repeat: what people keep allowing, a rule could allow.

A suggestion is as narrow as what was approved: one caller, one tool, one workspace, and every argument that was always
the same. It is only ever a text for an operator to read; nothing here puts a rule in force.

This module refuses to suggest anything for a tool that is dangerous or unknown, for calls that anybody denied, and for
calls whose arguments held secrets: those are looked at one by one.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from interlock.core.approvals import Approval
from interlock.core.canonical import argument_digest, canonical_text
from interlock.core.lifecycle import ApprovalState
from interlock.core.model import Json, JsonObject, Micros
from interlock.core.safety import SafetyClass

LEAST_APPROVED = 3
"""How often the same has to be approved before a rule is worth its line."""
MOST_SUGGESTED = 100
_ODD = re.compile(r"[*?\[\]]")
"""What a pattern would read as something else."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")
_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A rule as the configuration would have it, and what speaks for it."""

    rule: JsonObject
    approved: int
    approvers: tuple[str, ...]
    last: Micros

    @property
    def yaml(self) -> str:
        """The rule as an entry of `route_rules`. JSON is YAML, so each value is written as JSON."""
        lines = [f"{name}: {json.dumps(value, ensure_ascii=True)}" for name, value in self.rule.items()]
        return "".join(f"{'- ' if at == 0 else '  '}{line}\n" for at, line in enumerate(lines))


def suggestions(
    approvals: Iterable[Approval],
    taken: Collection[str],
    still_held: Callable[[Approval], bool],
    priority_of: Callable[[str], int | None],
) -> list[Suggestion]:
    """What could be allowed, the most often approved first.

    `taken` are the ids of rules that there are; `still_held` says whether such a call would still wait, and
    `priority_of` the priority of a rule that there still is.
    """
    groups: dict[tuple[str | None, ...], list[Approval]] = {}
    for each in approvals:
        key = each.key
        groups.setdefault((key.caller, key.workspace, key.server, key.tool), []).append(each)
    ids, found = set(taken), list[Suggestion]()
    fitting = (approved for group in groups.values() if (approved := _fitting(group)) and still_held(approved[0]))
    for approved in sorted(fitting, key=len, reverse=True)[:MOST_SUGGESTED]:
        made = _suggestion(approved, ids, priority_of(approved[0].rule_id))
        ids.add(str(made.rule["id"]))
        found.append(made)
    return found


def _fitting(group: Sequence[Approval]) -> list[Approval]:
    """The approved calls of a group, the newest first, if a rule may be suggested for it; else nothing."""
    approved = [each for each in group if each.status is ApprovalState.APPROVED]
    denied = any(each.status is ApprovalState.DENIED for each in group)
    if denied or len(approved) < LEAST_APPROVED or not all(map(_is_plain, approved)):
        return []
    return sorted(approved, key=lambda each: each.created_at, reverse=True)


def _is_plain(approval: Approval) -> bool:
    """Whether nothing about an approval forbids a rule: not its class, not its names, not its arguments."""
    key = approval.key
    harmful = SafetyClass(key.safety_class).rank >= SafetyClass.DANGEROUS.rank
    odd = any(map(_ODD.search, (key.caller, key.server, approval.tool_name)))
    return not harmful and not odd and argument_digest(_arguments(approval)) == key.digest


def _arguments(approval: Approval) -> JsonObject:
    arguments = approval.asked.get("arguments")
    return arguments if isinstance(arguments, dict) else {}


def _suggestion(approved: Sequence[Approval], taken: Collection[str], priority: int | None) -> Suggestion:
    newest = approved[0]
    key = newest.key
    rule: dict[str, Json] = {
        "id": _new_id(f"allow-{key.caller}-{key.tool}", taken),
        "workspace_id": key.workspace,
        "server_id": key.server,
        "tool_pattern": newest.tool_name,
        "caller": key.caller,
        "args": _always_the_same(approved),
        "effect": "allow",
        # It has to come before the rule that holds such calls now; a posture gives way to any rule.
        "priority": None if priority is None else priority + 1,
    }
    written = {name: value for name, value in rule.items() if value not in (None, {})}
    approvers = sorted({vote.approver for each in approved for vote in each.votes})
    return Suggestion(written, len(approved), tuple(approvers), max(each.decided_at or 0 for each in approved))


def _always_the_same(approved: Sequence[Approval]) -> dict[str, Json]:
    """The arguments that every one of the calls had, with the value they all had."""
    first, *others = map(_arguments, approved)
    return {
        name: {"equals": value}
        for name, value in first.items()
        if _PLAIN_NAME.fullmatch(name) and all(_same(name, value, other) for other in others)
    }


def _same(name: str, value: Json, other: JsonObject) -> bool:
    return name in other and canonical_text(other[name]) == canonical_text(value)


def _new_id(wanted: str, taken: Collection[str]) -> str:
    plain = _NOT_IN_AN_ID.sub("-", wanted)[:80]
    numbered = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (plain, *numbered) if each not in taken)
