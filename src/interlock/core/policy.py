"""What the operator wrote, in the form in which calls are decided by it.

It holds no state and reads no file: whoever loads a configuration makes one, and the next one replaces it as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from interlock.core.decide import GatewayEntry
from interlock.core.model import OPERATION_OF_CLASS, Call, Caller, HoldTerms, Standing
from interlock.core.rates import Limits
from interlock.core.rules import Query, RuleBook
from interlock.core.safety import POSTURES, Effect, Posture, SafetyClass, effective_posture
from interlock.core.toolbook import ListedTool


@dataclass(frozen=True, slots=True)
class Patience:
    """How long callers wait for an answer, and how much of that there may be. Times are in seconds.

    After `answer_after`, or what `clients` has for the client, a caller is told to come again; None means never.
    """

    answer_after: float | None = 50.0
    clients: Mapping[str, float | None] = field(default_factory=lambda: {"claude-code": 280.0})
    use_within: int = 900
    max_pending: int = 20
    elicit: bool = False
    """Whether a client that can be asked is asked for its reason, instead of being told to call again with one."""

    def of(self, client: str | None) -> float | None:
        """How long this client waits."""
        return self.answer_after if client is None else self.clients.get(client, self.answer_after)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator wrote, compiled: replaced as a whole when the configuration changes."""

    rules: RuleBook = field(default_factory=RuleBook)
    entry: GatewayEntry = field(default_factory=GatewayEntry)
    hold: HoldTerms = field(default_factory=HoldTerms)
    postures_of_workspaces: dict[str, Posture] = field(default_factory=dict[str, Posture])
    postures_of_servers: dict[str, Posture] = field(default_factory=dict[str, Posture])
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    workspaces: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of workspaces, by id."""
    withhold: bool = False
    """Whether a result with a hard sign of poison is withheld, and not only labelled."""

    def entry_for(self, call: Call) -> GatewayEntry:
        """The gateway's entry under the posture that holds for this caller and this server."""
        return self._entry(call.caller, call.server)

    def may_hold(self, caller: Caller, listed: ListedTool) -> bool:
        """Whether some call of this tool by this caller would wait for an approval."""
        tool, safety_class = listed.tool, listed.classification.gateway
        if tool.standing is Standing.NEW:
            return True
        posture = self._entry(caller, tool.server).posture
        if posture is Posture.OBSERVE:
            return False
        operation = OPERATION_OF_CLASS[safety_class]
        query = Query(tool.server, tool.qualified, safety_class, operation, caller.workspace, caller.name, {})
        return POSTURES[posture][safety_class] is Effect.HOLD or self.rules.may_hold(query)

    def _entry(self, caller: Caller, server_id: str) -> GatewayEntry:
        workspace = self.postures_of_workspaces.get(caller.workspace or "")
        server = self.postures_of_servers.get(server_id)
        if workspace is None and server is None:
            return self.entry
        return replace(self.entry, posture=effective_posture(self.entry.posture, workspace, server))


@dataclass(frozen=True, slots=True)
class Draft:
    """A policy that is not in force, and what goes with it: the namespaces of servers, and classes that are set."""

    policy: Policy
    namespaces: Mapping[str, str] = field(default_factory=dict[str, str])
    overrides: Mapping[str, Mapping[str, SafetyClass]] = field(default_factory=dict[str, Mapping[str, SafetyClass]])
