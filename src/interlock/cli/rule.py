"""`interlock rule`: what the rules would say, why, and what is wrong with them.

Test, explain and lint work offline, from the configuration; replay and suggest ask the gateway, which has the record.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from interlock.cli import replay, suggest
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.inputs import load_config, parse_object, server_and_tool
from interlock.cli.render import counted, print_json, print_lines, print_table
from interlock.cli.situation import facts_of, gateway_entry, known_tool, namespaces_of, workspace_of
from interlock.core.canonical import canonical_text
from interlock.core.decide import KnownTool
from interlock.core.lint import lint
from interlock.core.model import Caller, Hold, Json, OperationType
from interlock.core.rules import CompiledRule, RuleBook
from interlock.core.safety import POSTURES, Posture, SafetyClass
from interlock.core.trial import Trial, asked_for, trial_as_json, try_out
from interlock.errors import Exit

if TYPE_CHECKING:
    from interlock.config.load import Config

_CLASSES = [each.value for each in SafetyClass]
_OPERATIONS = [each.value for each in OperationType]


# test -----------------------------------------------------------------------------------------------------------


def _test_options(parser: Options) -> None:
    parser.add_argument("--tool", required=True, metavar="S:T", help="the tool, as server:tool")
    parser.add_argument("--args-json", default="{}", metavar="J", help="the call's arguments as a JSON object")
    parser.add_argument("--workspace", metavar="W", help="the caller's workspace (default: the default workspace)")
    parser.add_argument("--caller", default="agent", metavar="C", help="the caller's name (default: agent)")
    parser.add_argument("--operation-type", choices=_OPERATIONS, help="what the agent declares (default: by class)")
    parser.add_argument("--class", dest="safety_class", choices=_CLASSES, help="the class (default: by name)")
    add_json(parser)


def _test(values: Values) -> Exit:
    config = load_config(values)
    server, tool = server_and_tool(values.tool)
    given = None if values.safety_class is None else SafetyClass(values.safety_class)
    found = known_tool(config, server, tool, given)
    operation = None if values.operation_type is None else OperationType(values.operation_type)
    caller = Caller(values.caller, workspace_of(config, values.workspace))
    arguments = parse_object(values.args_json, "--args-json")
    entry = gateway_entry(config, found.tool.server, caller.workspace)
    facts = facts_of(config, found, entry, caller, arguments, operation)
    trial = try_out(facts, found, "given" if given else None)
    if values.json:
        print_json(trial_as_json(trial))
    else:
        print_lines(_test_lines(trial))
    return Exit.OK


def _test_lines(trial: Trial) -> Iterable[str]:
    verdict, caller = trial.verdict, trial.facts.call.caller
    safety_class = trial.found.classification.gateway
    yield f"{trial.found.tool.shown}: {verdict.effect}"
    yield f"  because:   {verdict.reasons[0].text}"
    for reason in verdict.reasons[1:]:
        yield f"             {reason.text}"
    yield f"  decided by {verdict.ground.id}"
    yield f"  class      {safety_class} (from {trial.source}), declared {trial.declared}"
    yield f"  caller     {caller.name} in workspace {caller.workspace or 'none'}, posture {trial.posture}"
    if isinstance(verdict, Hold):
        yield f"  approval   {asked_for(verdict.terms)}"
    yield f"  matching   {', '.join(each.rule.id for each in trial.matching) or 'no rule'}"


# explain --------------------------------------------------------------------------------------------------------


def _explain_options(parser: Options) -> None:
    parser.add_argument("tool", metavar="TOOL", help="the tool, as server:tool")
    parser.add_argument("--workspace", metavar="W", help="the caller's workspace (default: the default workspace)")
    add_json(parser)


def _explain(values: Values) -> Exit:
    config = load_config(values)
    server, tool = server_and_tool(values.tool)
    found = known_tool(config, server, tool)
    workspace = workspace_of(config, values.workspace)
    entry = gateway_entry(config, found.tool.server, workspace)
    rules = [each for each in RuleBook(config.rules).rules if _can_decide(each, found, workspace)]
    if values.json:
        print_json(_explain_json(found, entry.posture.value, rules))
    else:
        print_lines(_explain_lines(found, entry.posture.value, rules))
    return Exit.OK


def _can_decide(compiled: CompiledRule, found: KnownTool, workspace: str | None) -> bool:
    """Whether a rule could decide some call of this tool in this workspace."""
    rule = compiled.rule
    return (
        rule.effect is not None
        and compiled.matches_tool(found.tool.server, found.tool.qualified)
        and (not rule.safety_class or found.classification.gateway in rule.safety_class)
        and rule.workspace_id in (None, workspace)
    )


def _explain_json(found: KnownTool, posture: str, rules: Sequence[CompiledRule]) -> Json:
    each = found.classification
    return {
        "tool": found.tool.shown,
        "safety_class": each.gateway,
        "class_source": each.source,
        "evidence": [
            {"source": one.source, "says": one.says, "detail": one.detail, "decided": one.decided}
            for one in each.evidence
        ],
        "rules": [
            {"id": one.rule.id, "effect": one.rule.effect, "priority": one.rule.priority, "when": _conditions(one)}
            for one in rules
        ],
        "posture": posture,
        "posture_says": _posture_says(posture, each.gateway),
    }


def _posture_says(posture: str, safety_class: SafetyClass) -> str:
    return next(table[safety_class].value for name, table in POSTURES.items() if name.value == posture)


def _explain_lines(found: KnownTool, posture: str, rules: Sequence[CompiledRule]) -> Iterable[str]:
    each = found.classification
    yield f"{found.tool.shown} is {each.gateway}, because of its {each.source}:"
    for one in each.evidence:
        yield f"  {'*' if one.decided else ' '} {one.source}: {one.says} ({one.detail})"
    yield ""
    if rules:
        yield "The first of these rules that matches a call decides it:"
        for rank, one in enumerate(rules, start=1):
            when = "; ".join(_conditions(one)) or "always"
            yield f"  {rank}. {one.rule.effect} by '{one.rule.id}' (priority {one.rule.priority}), when {when}"
    else:
        yield "No rule is about this tool."
    yield f"Otherwise posture {posture} says {_posture_says(posture, each.gateway)}."
    if posture == Posture.OBSERVE:
        yield "Posture observe lets held calls pass and records that they would have been held."


def _conditions(compiled: CompiledRule) -> list[str]:
    """What a rule asks of a call beyond tool, class and workspace."""
    rule = compiled.rule
    asked = {
        "operation": ", ".join(sorted(rule.operation_type)),
        "caller": rule.caller or "",
    }
    arguments = [f"argument {path} matches {canonical_text(wanted)}" for path, wanted in rule.args]
    return [f"{name} is {value}" for name, value in asked.items() if value] + arguments


# lint -----------------------------------------------------------------------------------------------------------


def _lint(values: Values) -> Exit:
    config = load_config(values)
    found = lint(RuleBook(config.rules), namespaces_of(config), reachable_workspaces(config))
    written = [rule.id for rule in config.settings.route_rules]
    in_order = sorted(found, key=lambda each: written.index(each.rule_id))
    rows = [
        (each.rule_id, each.finding.code, each.finding.text, config.origin(("route_rules", at, "id")))
        for each in in_order
        for at in (written.index(each.rule_id),)
    ]
    if values.json:
        print_json([{"rule_id": rule, "code": code, "text": text, "at": at} for rule, code, text, at in rows])
    elif rows:
        print_table(("RULE", "FINDING", "WHAT IS WRONG", "AT"), rows)
    else:
        print_lines([f"No findings in {counted(len(config.rules), 'rule')}."])
    return Exit.FINDINGS if rows else Exit.OK


def reachable_workspaces(config: "Config") -> list[str]:
    """The workspaces that a caller can be in without a token that names one."""
    default = workspace_of(config, None)
    return [each.id for each in config.settings.workspaces if each.path is not None or each.id == default]


VERBS = (
    Verb(
        "test",
        "Say what would happen to a call: verdict, reasons, deciding rule. Calls nothing.",
        _test_options,
        _test,
        (
            "interlock rule test --tool github:create_issue",
            'interlock rule test --tool db:run_sql --args-json \'{"sql": "drop table users"}\' --workspace ws-prod',
            "interlock rule test --tool github:frobnicate --class read-only --json",
        ),
    ),
    Verb(
        "explain",
        "Explain a tool: its class with the evidence, the rules about it in order, the posture.",
        _explain_options,
        _explain,
        ("interlock rule explain github:delete_repo",),
    ),
    Verb(
        "lint",
        "Find rules that can never decide: shadowed, contradictory, never matching. Exit 20 when there are any.",
        add_json,
        _lint,
        ("interlock rule lint", "interlock rule lint --json"),
    ),
    replay.VERB,
    suggest.VERB,
)
