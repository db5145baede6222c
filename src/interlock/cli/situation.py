"""Building the facts of a call that nobody makes: for `rule test`, `rule explain` and `run-tool --dry-run`.

Offline there is no server to ask, so a tool here is a name, a class and what the configuration says about it. What that
leaves open is named, not guessed.
"""

from typing import TYPE_CHECKING

from interlock.cli.inputs import known
from interlock.core.canonical import argument_digest
from interlock.core.classify import Classification, classify, read_descriptor
from interlock.core.decide import Entry, Facts, GatewayEntry, KnownTool
from interlock.core.intent import IntentPolicy
from interlock.core.model import Call, Caller, Declaration, JsonObject, OperationType, Tool, Variant
from interlock.core.rules import RuleBook
from interlock.core.safety import SafetyClass, effective_posture

if TYPE_CHECKING:
    from interlock.config.load import Config

OPERATOR_AGENT = "operator-agent"
SAMPLE = "sample"
"""The server that there is when none is configured."""

_VARIANTS = {
    OperationType.READ: Variant.READ,
    OperationType.WRITE: Variant.WRITE,
    OperationType.DESTRUCTIVE: Variant.DESTRUCTIVE,
}


def known_tool(config: "Config", server: str, tool: str, given: SafetyClass | None = None) -> KnownTool:
    """A tool of a configured server, classified by its name unless the operator or the command line says its class."""
    namespaces = namespaces_of(config)
    server = known("server", server_of(config, server), tuple(namespaces))
    override = config.settings.overrides.get(f"{server}:{tool}") if given is None else given
    classification = classify_name(config, tool, override)
    return KnownTool(Tool(server, namespaces[server], tool), classification)


def server_of(config: "Config", name: str) -> str:
    """The id of a server that is named by its id or its namespace."""
    by_namespace = {namespace: server for server, namespace in namespaces_of(config).items()}
    return by_namespace.get(name, name)


def namespaces_of(config: "Config") -> dict[str, str]:
    """The namespace of each server."""
    configured = config.settings.servers
    # Without any there is the bundled sample.
    return {name: server.namespace or name for name, server in configured.items()} or {SAMPLE: SAMPLE}


def classify_name(config: "Config", tool: str, override: SafetyClass | None = None) -> Classification:
    return classify(read_descriptor({"name": tool}), override=override, lexicon=config.lexicon)


def gateway_entry(config: "Config", server: str, workspace: str | None) -> GatewayEntry:
    settings = config.settings
    of_workspace = next((each.posture for each in settings.workspaces if each.id == workspace), None)
    of_server = settings.servers[server].posture if server in settings.servers else None
    posture = effective_posture(settings.posture, of_workspace, of_server)
    declared = settings.intent_declaration
    return GatewayEntry(posture, IntentPolicy(declared.mode, declared.strict_server_validation))


def facts_of(
    config: "Config",
    found: KnownTool,
    entry: Entry,
    caller: Caller,
    arguments: JsonObject,
    operation: OperationType | None = None,
) -> Facts:
    """The facts of a call, as far as they are known offline."""
    variant = Variant.DIRECT if operation is None else _VARIANTS[operation]
    call = Call(
        caller=caller,
        server=found.tool.server,
        tool=found.tool.name,
        arguments=arguments,
        digest=argument_digest(arguments),
        variant=variant,
        declaration=Declaration(given=operation is not None, operation_type=operation),
    )
    return Facts(call=call, found=found, rules=RuleBook(config.rules), now=0, entry=entry, hold=config.hold_terms)


def workspace_of(config: "Config", given: str | None) -> str | None:
    """The workspace named on the command line, else the default one."""
    ids = tuple(each.id for each in config.settings.workspaces)
    if given is not None:
        return known("workspace", given, ids)
    only = ids[0] if len(ids) == 1 else None
    return config.settings.default_workspace or only
