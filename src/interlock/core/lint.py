"""What is wrong with a set of rules although each of them is well formed.

A rule that can never decide is worse than none: its author believes in it. Everything reported here is certain from
the rules alone; a rule that merely was never hit so far is for the replay over recorded activity to tell.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from interlock.core.canonical import canonical_text
from interlock.core.globs import Glob
from interlock.core.model import Finding
from interlock.core.rules import CompiledRule, RuleBook
from interlock.core.safety import Effect


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A finding about one rule."""

    rule_id: str
    finding: Finding


def lint(book: RuleBook, namespaces: Mapping[str, str], reachable_workspaces: Sequence[str]) -> tuple[RuleFinding, ...]:
    """Every certain fault. `namespaces` maps server ids to their namespaces."""
    return tuple(
        RuleFinding(rule.rule.id, finding)
        for rule in book.rules
        for finding in _findings(rule, book, namespaces, reachable_workspaces)
    )


def _findings(
    rule: CompiledRule, book: RuleBook, namespaces: Mapping[str, str], workspaces: Sequence[str]
) -> Iterator[Finding]:
    if rule.rule.effect is None and rule.rule.auth_scope_id is None:
        yield Finding("decides-nothing", "it has neither an effect nor requires_approval: true")
    if rule.rule.workspace_id is not None and rule.rule.workspace_id not in workspaces:
        yield Finding(
            "unreachable-workspace",
            f"workspace '{rule.rule.workspace_id}' has no path and is no default: only a token can put a caller there",
        )
    if namespaces and rule.tools and not any(_can_match(glob, rule, namespaces) for glob in rule.tools):
        yield Finding(
            "never-matches",
            f"no tool of a configured server can have a name like {_patterns(rule)}; names are namespace__tool",
        )
    if rule.rule.effect is not None:
        yield from _against_others(rule, book)


def _against_others(rule: CompiledRule, book: RuleBook) -> Iterator[Finding]:
    for other in book.rules:
        if other is rule or other.rule.effect is None or not _covers(other, rule):
            continue
        tied = other.rule.priority == rule.rule.priority and _covers(rule, other)
        if tied and other.rule.effect is not rule.rule.effect:
            yield Finding("contradictory", f"rule '{other.rule.id}' says {other.rule.effect} for the very same calls")
        elif other.rank < rule.rank:
            yield Finding("shadowed", f"rule '{other.rule.id}' decides every call that it could decide")


def _patterns(rule: CompiledRule) -> str:
    return ", ".join(f"'{glob.pattern}'" for glob in rule.tools)


def _can_match(glob: Glob, rule: CompiledRule, namespaces: Mapping[str, str]) -> bool:
    """Whether some tool name under some namespace that the rule can meet begins like the pattern."""
    for server, namespace in namespaces.items():
        if rule.server is not None and not rule.server.matches(server):
            continue
        start, prefix = f"{namespace}__", glob.literal_prefix
        if start.startswith(prefix) or prefix.startswith(start):
            return True
    return False


# Covering: every call that `narrow` matches, `wide` matches too. When in doubt, no. -------------------------------


def _covers(wide: CompiledRule, narrow: CompiledRule) -> bool:
    one, other = wide.rule, narrow.rule
    return (
        (one.workspace_id is None or one.workspace_id == other.workspace_id)
        and _set_covers(one.safety_class, other.safety_class)
        and _set_covers(one.operation_type, other.operation_type)
        and _glob_covers(wide.server, narrow.server)
        and _glob_covers(wide.caller, narrow.caller)
        and _globs_cover(wide.tools, narrow.tools)
        and _arguments_cover(wide, narrow)
    )


def _set_covers(wide: frozenset[str], narrow: frozenset[str]) -> bool:
    return not wide or (bool(narrow) and narrow <= wide)


def _glob_covers(wide: Glob | None, narrow: Glob | None) -> bool:
    if wide is None or wide.pattern == "*":
        return True
    if narrow is None:
        return False
    if narrow.literal is not None:
        return wide.matches(narrow.literal)
    begins = wide.pattern == f"{wide.literal_prefix}*" and narrow.literal_prefix.startswith(wide.literal_prefix)
    return begins or wide.pattern == narrow.pattern


def _globs_cover(wide: Sequence[Glob], narrow: Sequence[Glob]) -> bool:
    if not narrow:
        return not wide or any(_glob_covers(each, None) for each in wide)
    return not wide or all(any(_glob_covers(each, one) for each in wide) for one in narrow)


def _arguments_cover(wide: CompiledRule, narrow: CompiledRule) -> bool:
    asked = {(path, canonical_text(wanted)) for path, wanted in wide.rule.args}
    # An allowing rule reads odd arguments more narrowly than a restricting one, see matchers.
    allowing = [rule.rule.effect is Effect.ALLOW for rule in (wide, narrow)]
    same_reading = allowing[0] == allowing[1] or not asked
    return same_reading and asked <= {(path, canonical_text(wanted)) for path, wanted in narrow.rule.args}
