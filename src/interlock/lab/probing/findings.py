"""What a probe may find: each kind with its code, how grave it is, and what to do about it.

The codes are stable: CI and people name them. A server may rightly say no to arguments that were made up, so an error
alone is never grave; what no honest server does is.
"""

from interlock.lab.model import Severity
from interlock.lab.scan.kinds import Kind

_HIGH, _MEDIUM, _LOW, _INFO = Severity

# How it behaves -------------------------------------------------------------------------------------------------
CRASH = Kind(
    "crash",
    _HIGH,
    "The server went away during a call.",
    "Catch what goes wrong inside the tool and answer with isError; these arguments bring it about.",
)
HANG = Kind(
    "hang",
    _HIGH,
    "A call got no answer in the time that it was given.",
    "Bound what the tool waits for, and answer with isError when that takes too long; --timeout gives it more time.",
)
PROTOCOL = Kind(
    "protocol-error",
    _HIGH,
    "An answer is not what the protocol says an answer to tools/call is.",
    "Answer with an object that has a list `content`, whose members have a `type`; write nothing else to stdout.",
)
ANNOTATION_LIE = Kind(
    "annotation-lie",
    _HIGH,
    "The tool says that it only reads, and what the server holds was another after it was called.",
    "Set readOnlyHint to false, or find what it changes. Until then no rule should believe its annotations.",
)
NOTHING_WORKS = Kind(
    "nothing-works",
    _HIGH,
    "Several tools were called, and not one call gave a good answer.",
    "Look at what they answered: most often a credential, a service behind the server or a setting is missing.",
)
STRAY_OUTPUT = Kind(
    "stray-output",
    _LOW,
    "The server wrote lines to its stdout that are no messages of the protocol.",
    "Write banners and logs to stderr: some clients end the session at the first such line.",
)
OUTPUT_SCHEMA = Kind(
    "output-schema",
    _MEDIUM,
    "An answer does not fit the output schema that the tool itself declares.",
    "Return structuredContent that fits it, or correct outputSchema: clients may refuse such an answer.",
)
ACCEPTS_INVALID = Kind(
    "accepts-invalid",
    _MEDIUM,
    "The tool took arguments that its own input schema forbids, and called that a success.",
    "Check arguments against inputSchema in the server: not every client does.",
)
UNSTABLE = Kind(
    "unstable",
    _MEDIUM,
    "The same call gave two different answers, though the tool is said or presumed to only read.",
    "Give lists an order, or say in the description that answers differ from call to call.",
)
VOLATILE = Kind(
    "volatile",
    _INFO,
    "Answers to the same call differ, but only in times, ids or numbers that grow.",
    "Nothing has to be done; a test of this tool must not pin these values.",
)
OVERSIZE = Kind(
    "oversize",
    _MEDIUM,
    "An answer is larger than a megabyte.",
    "Return less at a time, with a cursor or a limit: a model has to read all of it.",
)
ERROR_ON_VALID = Kind(
    "error-on-valid",
    _LOW,
    "The tool answers with an error to arguments that fit its input schema.",
    "If they are not meant to be allowed, let inputSchema say so; if they are, look at what it answered.",
)
SLOW = Kind(
    "slow",
    _LOW,
    "Of twenty calls of the tool, one or more take longer than a second.",
    "Agents wait for it: answer sooner, or report progress.",
)
NO_ARGUMENTS = Kind(
    "no-arguments",
    _LOW,
    "No arguments could be made for the tool, so it was not called.",
    "Give inputSchema an example or a default, or simplify it: what cannot be made from it, agents get wrong as well.",
)

# What it says of itself -----------------------------------------------------------------------------------------
NO_DESCRIPTION = Kind(
    "description-missing",
    _LOW,
    "The tool has no description, so an agent goes by its name alone.",
    "Say in a sentence or two what it does, and when to use it.",
)
SHORT_DESCRIPTION = Kind(
    "description-short",
    _INFO,
    "The description says hardly more than the name.",
    "Say what it does, what it gives back, and what it changes.",
)
SAME_DESCRIPTION = Kind(
    "description-shared",
    _LOW,
    "Another tool has the same description, so an agent cannot choose between them.",
    "Say of each what sets it apart.",
)
NO_PARAMETER_TEXTS = Kind(
    "parameters-undescribed",
    _INFO,
    "Parameters of the tool have no description.",
    "Give each property of inputSchema a description.",
)
