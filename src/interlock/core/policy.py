"""What the operator wrote, in the form in which calls are decided by it.

It holds no state and reads no file: whoever loads a configuration makes one, and the next one replaces it as a whole.
"""

from dataclasses import dataclass, field, replace

from interlock.core.decide import GatewayEntry
from interlock.core.model import Call, HoldTerms
from interlock.core.rates import Limits
from interlock.core.rules import RuleBook
from interlock.core.safety import Posture, effective_posture


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator wrote, compiled: replaced as a whole when the configuration changes."""

    rules: RuleBook = field(default_factory=RuleBook)
    entry: GatewayEntry = field(default_factory=GatewayEntry)
    hold: HoldTerms = field(default_factory=HoldTerms)
    postures_of_workspaces: dict[str, Posture] = field(default_factory=dict[str, Posture])
    postures_of_servers: dict[str, Posture] = field(default_factory=dict[str, Posture])
    limits: Limits = field(default_factory=Limits)

    def entry_for(self, call: Call) -> GatewayEntry:
        """The gateway's entry under the posture that holds for this caller and this server."""
        workspace = self.postures_of_workspaces.get(call.caller.workspace or "")
        server = self.postures_of_servers.get(call.server)
        if workspace is None and server is None:
            return self.entry
        return replace(self.entry, posture=effective_posture(self.entry.posture, workspace, server))
