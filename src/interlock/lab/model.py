"""The words of the lab: what a server has, what was seen of it, what is wrong with it, and what a run amounts to.

A run is kept as JSON and read by people, by CI and by the dashboard, so these types are also its format. Everything in
them that a server wrote is the text of a stranger; whoever shows it has to treat it so.
"""

from enum import StrEnum
from typing import Any, Protocol, cast

from msgspec import Struct, field

from interlock.core.safety import ExecClass, SafetyClass
from interlock.errors import Reason


class Severity(StrEnum):
    """How much a finding matters, most first; the order of definition is the order."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        return tuple(Severity).index(self)


class Finding(Struct, frozen=True):
    """Something that whoever writes or adopts a server should know. `evidence` is what was seen."""

    code: str
    severity: Severity
    text: str
    tool: str | None = None
    fix: str = ""
    evidence: dict[str, Any] = field(default_factory=dict[str, Any])


class LabTool(Struct, frozen=True):
    """A tool as its server lists it, with the two readings that the lab looks at."""

    name: str
    descriptor: dict[str, Any]
    exec_class: ExecClass
    gateway_class: SafetyClass
    others: tuple[dict[str, Any], ...] = ()
    """What else its server lists under this name."""

    @property
    def descriptors(self) -> tuple[dict[str, Any], ...]:
        """All that its server lists under this name."""
        return (self.descriptor, *self.others)

    @property
    def needs_task(self) -> bool:
        """Whether it says that it can be called as a task of protocol 2025-11-25 and in no other way."""
        execution = self.descriptor.get("execution")
        return isinstance(execution, dict) and cast("dict[str, Any]", execution).get("taskSupport") == "required"

    @property
    def input_schema(self) -> dict[str, Any]:
        found = self.descriptor.get("inputSchema")
        return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


class Observed(Struct, frozen=True):
    """One call and what came of it: exactly one of result, error and refusal is there."""

    tool: str
    arguments: dict[str, Any]
    milliseconds: float
    result: dict[str, Any] | None = None
    """What the tool answered; `isError` inside it is the tool's own word."""
    error: dict[str, Any] | None = None
    """A JSON-RPC error: the server answered that it would not."""
    refusal: Reason | None = None
    """The gateway gave no answer of the server: it refused, or the server crashed, hung or spoke no protocol."""
    size: int = 0
    """Bytes of the result as JSON."""
    activity: str | None = None
    """The id of the call in the activity log."""


class Workbench(Protocol):
    """A server on the bench, reached through the gateway: every call is decided about and recorded like any other."""

    server: str
    is_http: bool

    async def tools(self) -> list[LabTool]:
        """The tools that the server lists now."""
        ...

    async def call(self, tool: str, arguments: dict[str, Any], *, unchecked: bool = False) -> Observed:
        """Call a tool. `unchecked` sends arguments that do not fit the input schema, to see what the server does."""
        ...
