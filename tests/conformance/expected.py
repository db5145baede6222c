"""What the conformance suites find although we know it, each with its reason.

An entry is `scenario:check`. It has to be found: what went well must be taken out. Where the protocol of the suite
is that of the server there is none, and none may be added.
"""

from collections.abc import Mapping
from typing import TypeAlias

from tests.conformance.suites import LEGACY, MODERN, OLDEST, Suite

Leg: TypeAlias = tuple[Suite, str]
"""A suite, and the era of the server behind the gateway."""

# What no bridge between the eras can do -------------------------------------------------------------------------

NO_BRIDGE_CAN: Mapping[Leg, Mapping[str, str]] = {
    (MODERN, "legacy"): {
        "input-required-result-basic-elicitation:sep-2322-elicitation-incomplete": (
            "the suite wants the question under a key that is the server's choice, and a legacy question has no key"
        ),
        "input-required-result-multiple-input-requests:sep-2322-multiple-inputs-incomplete": (
            "the suite wants three questions at once, and a legacy server asks one after the other"
        ),
        "input-required-result-ignore-extra-params:sep-2322-ignore-unexpected-params": (
            "the suite answers before it was asked, and a legacy server asks whoever calls it"
        ),
    },
}

# What the gateway does not do -----------------------------------------------------------------------------------

_SAID_ONCE = (
    "a legacy server is told once, for all clients of a caller, that they can be asked; what this one cannot answer is"
    " refused when it is asked, and this tool does not ask"
)
NOT_DONE: Mapping[Leg, Mapping[str, str]] = {
    (MODERN, "legacy"): {
        "server-stateless:sep-2575-server-rejects-undeclared-capability": _SAID_ONCE,
        "server-stateless:sep-2575-missing-capability-http-400": _SAID_ONCE,
        "server-stateless:sep-2575-http-server-no-independent-requests-on-stream": (
            "the client can be asked nothing and the legacy server asks it, so the call ends before its stream"
        ),
    },
}

# The server of the suites by itself -----------------------------------------------------------------------------

_NOT_RESUMED = "streams of the server of the suites cannot be resumed; those of the gateway are not streams here"
_POLLING = {
    "server-sse-polling:server-sse-priming-event": _NOT_RESUMED,
    "server-sse-polling:server-sse-retry-field": _NOT_RESUMED,
}
BY_ITSELF: Mapping[Suite, Mapping[str, str]] = {OLDEST: _POLLING, LEGACY: _POLLING, MODERN: {}}


def excuses(suite: Suite, era: str) -> dict[str, str]:
    """What may go wrong through the gateway, and why."""
    return {**NO_BRIDGE_CAN.get((suite, era), {}), **NOT_DONE.get((suite, era), {})}
