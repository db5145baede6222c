"""What may let calls of a tool pass without an approval: rules and postures, whoever calls, from where, with what.

A call that was tried shows what happens to one caller with some arguments. A rule may be for another caller or for
other arguments, and a workspace may have a posture of its own; a guarantee that is claimed for every call must not be
shown by one that happens to be refused. So this reads the rules instead, and names too many rather than too few: it
does not ask whether a caller or arguments exist that a rule is written for.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from interlock.app.compiled import workspaces_of
from interlock.core.rules import CompiledRule, RuleBook
from interlock.core.safety import POSTURES, Effect, Posture, SafetyClass, effective_posture
from interlock.core.toolbook import ListedTool

if TYPE_CHECKING:
    from interlock.config.load import Config


def passing(config: "Config", rules: RuleBook, listed: ListedTool) -> tuple[str, ...]:
    """The rules and postures by which some call of a tool passes; none when every call is held or denied."""
    found = [_by(config, rules, listed, workspace) for workspace in _reachable(config)]
    return tuple(dict.fromkeys(ground for each in found for ground in each))


def _reachable(config: "Config") -> Iterable[str | None]:
    """Where callers can be: in no workspace only while there is none by default."""
    places = workspaces_of(config)
    return [*sorted(places.names), *([None] if places.default is None else [])]


def _by(config: "Config", rules: RuleBook, listed: ListedTool, workspace: str | None) -> Iterator[str]:
    safety_class = listed.classification.gateway
    posture = _posture(config, listed.tool.server, workspace)
    where = "" if workspace is None else f" in workspace {workspace}"
    for rule in rules.rules:
        if not _may_match(rule, listed, safety_class, workspace):
            continue
        if rule.rule.effect is Effect.ALLOW:
            yield rule.rule.id
        elif rule.rule.effect is Effect.HOLD and posture is Posture.OBSERVE:
            yield f"posture:observe{where}"
        if rule.rule.effect is not None and _is_for_every_call(rule):
            return
    if POSTURES[posture][safety_class] is Effect.ALLOW:
        yield f"posture:{posture.value}{where}"


def _posture(config: "Config", server: str, workspace: str | None) -> Posture:
    settings = config.settings
    of_workspace = next((each.posture for each in settings.workspaces if each.id == workspace), None)
    return effective_posture(settings.posture, of_workspace, settings.servers[server].posture)


def _may_match(rule: CompiledRule, listed: ListedTool, safety_class: SafetyClass, workspace: str | None) -> bool:
    """Whether it could decide some call of this tool, by some caller, with some arguments and some declaration."""
    conditions = rule.rule
    return (
        rule.matches_tool(listed.tool.server, listed.tool.qualified)
        and (not conditions.safety_class or safety_class in conditions.safety_class)
        and (conditions.workspace_id is None or conditions.workspace_id == workspace)
    )


def _is_for_every_call(rule: CompiledRule) -> bool:
    """Whether no rule behind it and no posture is ever asked, of those calls that it could decide."""
    return rule.caller is None and not rule.args and not rule.rule.operation_type
