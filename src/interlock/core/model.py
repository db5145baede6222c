"""The nouns of the product: tool, caller, call, intent, verdict.

Frozen values only, so that what was decided is what is sent and what is recorded. JSON that came from outside stays
JSON (`Json`) until a function of this package has read it; nothing here looks inside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from msgspec import Struct

from interlock.core.safety import Effect, SafetyClass
from interlock.errors import Reason

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]
Micros: TypeAlias = int
"""Microseconds since the epoch: integers survive every database and every hash unchanged."""


class OperationType(StrEnum):
    """What an agent says it is about to do, weakest first."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"

    @property
    def rank(self) -> int:
        return _OPERATION_RANK[self]


_OPERATION_RANK: dict[OperationType, int] = {each: rank for rank, each in enumerate(OperationType)}

OPERATION_OF_CLASS: Mapping[SafetyClass, OperationType] = {
    SafetyClass.READ_ONLY: OperationType.READ,
    SafetyClass.WRITE_CAPABLE: OperationType.WRITE,
    SafetyClass.SUBPROCESS: OperationType.DESTRUCTIVE,
    SafetyClass.DANGEROUS: OperationType.DESTRUCTIVE,
    SafetyClass.UNKNOWN: OperationType.DESTRUCTIVE,
}
"""The operation a class amounts to: the same line that a token's ceiling draws."""


class Variant(StrEnum):
    """The door an agent came through; `direct` is a call by the tool's own name."""

    READ = "call_tool_read"
    WRITE = "call_tool_write"
    DESTRUCTIVE = "call_tool_destructive"
    DIRECT = "direct"


class Sensitivity(StrEnum):
    PUBLIC = "public"
    INTERNAL = "internal"
    PRIVATE = "private"
    UNKNOWN = "unknown"


class Intent(Struct, frozen=True):
    """What the agent declared, after it was read and found well formed."""

    operation_type: OperationType
    data_sensitivity: Sensitivity | None = None
    reason: str = ""


class Declaration(Struct, frozen=True):
    """What the agent sent as its intent, not yet checked. `given` is False when it sent none at all."""

    given: bool = False
    operation_type: Json = None
    data_sensitivity: Json = None
    reason: Json = None


@dataclass(frozen=True, slots=True)
class Hints:
    """A tool's annotations. Absent, true and false are three states; only real JSON booleans are hints."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    malformed: tuple[str, ...] = ()


class Standing(StrEnum):
    """How a tool's definition stands against what was reviewed."""

    KNOWN = "known"
    NEW = "new"
    CHANGED = "changed"
    TWICE = "twice"
    """Its server lists the name more than once, with definitions that differ: nobody knows which one a call is for."""
    POISONED = "poisoned"
    """Its definition has a hard sign of poison, and nobody has trusted exactly this definition."""

    @property
    def is_quarantined(self) -> bool:
        """Whether the tool is neither listed nor callable."""
        return self in (Standing.CHANGED, Standing.TWICE, Standing.POISONED)


class Tool(Struct, frozen=True):
    """A tool of an upstream, as far as a decision needs it."""

    server: str
    namespace: str
    name: str
    fingerprint: str = ""
    hints: Hints = Hints()
    standing: Standing = Standing.KNOWN
    poison: str = ""
    """What is wrong with a poisoned one, in our words and none of its server's."""

    @property
    def qualified(self) -> str:
        """The name that rules match: `namespace__tool`."""
        return f"{self.namespace}__{self.name}"

    @property
    def shown(self) -> str:
        """The name that people and agents are shown: `server:tool`."""
        return f"{self.server}:{self.name}"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the author of a tool or a rule should know."""

    code: str
    text: str


class Scope(Struct, frozen=True):
    """What a caller's token may reach. None means no limit; patterns are globs."""

    servers: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    ceiling: OperationType | None = None
    expires_at: Micros | None = None


class Caller(Struct, frozen=True):
    """Who calls, as we identified it; never as it describes itself."""

    name: str
    workspace: str | None = None
    scope: Scope = Scope()
    token: str | None = None
    """The id of the credential that it came with; None for `local`, which needs none."""
    owner: str | None = None
    """Who answers for it."""
    folder: str | None = None
    """The folder that its process was started in, where that was proven."""
    may_call: bool = True
    """Whether it has the role of an agent. Who has not may answer for others, and calls nothing."""
    may_answer: bool = False
    """Whether it has the role of an approver."""


CALL_METHOD = "tools/call"


class Call(Struct, frozen=True):
    """One call of one tool. `digest` covers the canonical arguments, reserved fields left out.

    Reading a resource, getting a prompt and the like are calls too: `method` is then that of the protocol, and so is
    `tool`, because to rules and records a method is a tool that every server of its kind has.
    """

    caller: Caller
    server: str
    tool: str
    arguments: JsonObject
    digest: str
    variant: Variant = Variant.DIRECT
    declaration: Declaration = Declaration()
    method: str = CALL_METHOD
    approval_id: str | None = None
    """The approval that the caller says this call belongs to."""

    @property
    def shown(self) -> str:
        return f"{self.server}:{self.tool}" if self.server else self.tool


@dataclass(frozen=True, slots=True)
class HoldTerms:
    """The terms under which a held call may be approved. Times are in seconds."""

    approval_timeout: int = 300
    approvals_needed: int = 1
    approvers: tuple[str, ...] = ()
    four_eyes: bool = False
    max_grant: int = 900


class Ground(Struct, frozen=True):
    """What a verdict stands on: a rule, a posture or another standing order, with a hash of its content."""

    id: str
    content_hash: str


class Allow(Struct, frozen=True):
    """The call may go. `grant` is the grant it has to consume first, if it needs one."""

    effect: ClassVar[Effect] = Effect.ALLOW

    reasons: tuple[Reason, ...]
    ground: Ground
    intent: Intent
    grant: str | None = None
    approval: str | None = None
    """The approval that the grant came from."""
    warnings: tuple[Reason, ...] = ()
    auth_scope: str | None = None


class Hold(Struct, frozen=True):
    """The call waits for a second key. `attach_to` is the approval that already waits for this very call."""

    effect: ClassVar[Effect] = Effect.HOLD

    reasons: tuple[Reason, ...]
    ground: Ground
    intent: Intent
    terms: HoldTerms
    attach_to: str | None = None
    warnings: tuple[Reason, ...] = ()
    auth_scope: str | None = None


class Deny(Struct, frozen=True):
    """The call is refused, and nothing is sent."""

    effect: ClassVar[Effect] = Effect.DENY

    reasons: tuple[Reason, ...]
    ground: Ground


Verdict: TypeAlias = Allow | Hold | Deny
