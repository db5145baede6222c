"""What the conformance suites find although we know it, each with its reason.

An entry is `scenario:check`. It has to be found: what went well must be taken out. The scenarios in which the protocol
of the suite is that of the server have no entry but for questions, and none may be added to hide a defect.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tests.conformance.suites import LEGACY, MODERN, OLDEST, Suite

Leg: TypeAlias = tuple[Suite, str]
"""A suite, and the era of the server behind the gateway."""

# Until questions cross the gateway ------------------------------------------------------------------------------
# All that fails because a server cannot ask the client anything through the gateway yet. When it can, this whole part
# goes, and with it its line in `excuses`; whatever is then still found needs a reason of its own below.

_NO_QUESTIONS = "questions do not cross the gateway yet"
_ASKED_WHILE_RUNNING = (
    "tools-call-sampling:tools-call-sampling",
    "tools-call-elicitation:tools-call-elicitation",
    "elicitation-sep1034-defaults:elicitation-sep1034-general",
    "elicitation-sep1330-enums:elicitation-sep1330-general",
)
UNTIL_QUESTIONS_CROSS: Mapping[Leg, Sequence[str]] = {
    (OLDEST, "legacy"): _ASKED_WHILE_RUNNING,
    (LEGACY, "legacy"): _ASKED_WHILE_RUNNING,
    (OLDEST, "modern"): _ASKED_WHILE_RUNNING,
    (LEGACY, "modern"): (
        *_ASKED_WHILE_RUNNING,
        # The server's question reaches the client as the result of the tool, which has no content then.
        "tools-call-sampling:wire-schema-valid",
        "tools-call-elicitation:wire-schema-valid",
        "elicitation-sep1034-defaults:wire-schema-valid",
        "elicitation-sep1330-enums:wire-schema-valid",
    ),
    (MODERN, "modern"): (
        # The answers are left out on the way to the server, so that it asks again.
        "input-required-result-basic-elicitation:sep-2322-elicitation-complete",
        "input-required-result-basic-sampling:sep-2322-sampling-complete",
        "input-required-result-basic-list-roots:sep-2322-list-roots-complete",
        "input-required-result-request-state:sep-2322-request-state-complete",
        "input-required-result-multiple-input-requests:sep-2322-multiple-inputs-complete",
        "input-required-result-multi-round:sep-2322-multi-round-r2",
        "input-required-result-tampered-state:sep-2322-reject-tampered-state",
        "input-required-result-ignore-extra-params:sep-2322-ignore-unexpected-params",
        # The server is told that the client can be asked nothing.
        "input-required-result-capability-check:sep-2322-respect-client-capabilities",
    ),
    (MODERN, "legacy"): (
        # The server's question is declined.
        "input-required-result-basic-sampling:sep-2322-sampling-incomplete",
        "input-required-result-basic-list-roots:sep-2322-list-roots-incomplete",
        "input-required-result-request-state:sep-2322-request-state-incomplete",
        "input-required-result-multi-round:sep-2322-multi-round-r1",
        "input-required-result-missing-input-response:sep-2322-missing-response-rerequests",
        "input-required-result-non-tool-request:sep-2322-non-tool-incomplete",
        "input-required-result-result-type:sep-2322-result-type-included",
        "input-required-result-tampered-state:sep-2322-reject-tampered-state",
        "input-required-result-capability-check:sep-2322-respect-client-capabilities",
    ),
}

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

# The server of the suites by itself -----------------------------------------------------------------------------

_NOT_RESUMED = "streams of the server of the suites cannot be resumed; those of the gateway are not streams here"
_POLLING = {
    "server-sse-polling:server-sse-priming-event": _NOT_RESUMED,
    "server-sse-polling:server-sse-retry-field": _NOT_RESUMED,
}
BY_ITSELF: Mapping[Suite, Mapping[str, str]] = {OLDEST: _POLLING, LEGACY: _POLLING, MODERN: {}}


def excuses(suite: Suite, era: str) -> dict[str, str]:
    """What may go wrong through the gateway, and why."""
    return {
        **dict.fromkeys(UNTIL_QUESTIONS_CROSS.get((suite, era), ()), _NO_QUESTIONS),
        **NO_BRIDGE_CAN.get((suite, era), {}),
    }
