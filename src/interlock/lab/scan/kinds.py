"""What a scan may find: each kind with its code, how grave it is, and what to do about it.

The codes are stable: baselines and the settings of CI name them.
"""

from msgspec import Struct

from interlock.core.health import LeftOut
from interlock.core.poison import signs
from interlock.core.poison.signs import SENTENCES
from interlock.core.safety import SafetyClass
from interlock.lab.model import Finding, Severity


class Kind(Struct, frozen=True):
    """A kind of finding. `text` may name what its evidence holds."""

    code: str
    severity: Severity
    text: str
    fix: str

    def found(self, tool: str | None, severity: Severity | None = None, /, **evidence: str | list[str]) -> Finding:
        """A finding of this kind; `severity` where this one is graver or lighter than most."""
        return Finding(self.code, severity or self.severity, self.text, tool, self.fix, dict(evidence))


_HIGH, _MEDIUM, _LOW, _INFO = Severity

HIDDEN_TEXT = Kind(
    "hidden-text",
    _HIGH,
    "A text that models read has characters that people do not see.",
    "Read what is hidden there. Do not use the server until its author has explained or removed it.",
)
CONTROL_CHARACTERS = Kind(
    "control-characters",
    _MEDIUM,
    "A text has characters that steer a terminal.",
    "Remove them; only line breaks and tabs have a use in a description.",
)
RESERVED_NAME = Kind(
    "reserved-name",
    _HIGH,
    "The tool has the name of one of Interlock's own tools.",
    "Rename it, and ask why it is called so: an agent could take it for the gateway.",
)
IMITATED_NAME = Kind(
    "imitated-name",
    _HIGH,
    "The name has letters of another alphabet that look like plain ones.",
    "Write it in plain letters. Until then a rule or a person may take it for another tool.",
)
LOOKALIKE_NAMES = Kind(
    "lookalike-names",
    _HIGH,
    "Two tools have names that are hard to tell apart and are not the same.",
    "Rename one of them, or leave out the server that came later.",
)
SHADOWED_NAME = Kind(
    "shadowed-name",
    _MEDIUM,
    "Tools of several servers have the same name, so an agent may call the wrong one.",
    "Keep the servers apart by workspaces, or call tools by server:tool; leave out a server that you did not expect.",
)
NAME_TWICE = Kind(
    "name-listed-twice",
    _MEDIUM,
    "The server lists two tools of the same name.",
    "Give each tool a name of its own.",
)
ODD_NAME = Kind(
    "name-characters",
    _MEDIUM,
    "The name has characters outside ASCII, so its words say nothing about it.",
    "Use letters, digits, `_`, `-` and `.` in names.",
)
NO_ANNOTATIONS = Kind(
    "unannotated",
    _INFO,
    "The tool does not say whether it reads or writes.",
    "Add annotations with readOnlyHint, and with destructiveHint where it writes.",
)
DESTRUCTIVE_UNSAID = Kind(
    "destructive-unsaid",
    _LOW,
    "By its name the tool destroys something, and its annotations leave destructiveHint out.",
    "Declare destructiveHint.",
)
DESTRUCTIVE_DENIED = Kind(
    "destructive-denied",
    _MEDIUM,
    "By its name the tool destroys something, and its annotations say that it does not.",
    "Declare destructiveHint: true, or give the tool a name that fits.",
)
CONTRADICTORY_HINTS = Kind(
    "contradictory-hints",
    _HIGH,
    "readOnlyHint and destructiveHint are both true. A client that looks at the first runs it without asking.",
    "Keep the one that is true.",
)
HINT_BELOW_NAME = Kind(
    "hint-below-name",
    _LOW,
    "readOnlyHint is true, but the name says that the tool does more than read.",
    "Check what it does; then correct the hint or the name.",
)
MALFORMED_ANNOTATIONS = Kind(
    "malformed-annotations",
    _MEDIUM,
    "The annotations are not of the types that the protocol has, so those that would make calls easier do not count.",
    "Send annotations as an object of JSON booleans, and title as a text.",
)
UNRECOGNISED_METADATA = Kind(
    "unrecognised-metadata",
    _LOW,
    "A safety class in the metadata is none that is known, so it is ignored.",
    "Use read-only, write-capable, subprocess, dangerous or unknown.",
)
TOOL_LEFT_OUT = Kind(
    "tool-left-out",
    _HIGH,
    "The server lists tools that the gateway does not take, so nobody could look at them here.",
    "Ask the author why they are as they are: what was not read may hide anything, and other clients may take it.",
)
NOT_READ_WHOLE = Kind(
    "not-read-whole",
    _MEDIUM,
    "The definition is too large or too deeply nested to be read whole.",
    "Ask why a tool needs that much; what was not read may hide anything.",
)

_BY_NAME = {SafetyClass.DANGEROUS: _MEDIUM, SafetyClass.SUBPROCESS: _LOW}


def unannotated(tool: str, by_name: SafetyClass, /, **evidence: str) -> Finding:
    """A tool without annotations: the graver, the more its name promises."""
    return NO_ANNOTATIONS.found(tool, _BY_NAME.get(by_name), **evidence)


def left_out(server: str, given: LeftOut) -> Finding:
    """Tools that are in the list of a server and were not taken."""
    told = {"why": given.why, "tools": str(given.count or ""), "first": given.first}
    return TOOL_LEFT_OUT.found(None, server=server, **{name: text for name, text in told.items() if text})


POISON = tuple(
    Kind(
        code,
        _HIGH,
        f"{SENTENCES[code][0].upper()}{SENTENCES[code][1:]}.",
        "Read the text. Do not use the server until its author has explained or removed it.",
    )
    for code in (
        *(signs.OVERRIDE, signs.ROLE_TAGS, signs.CLAIMED_APPROVAL, signs.CONCEALMENT, signs.EXFILTRATION, signs.SINK),
        *(signs.STEERING, signs.ENCODED, signs.SHELL, signs.MARKUP),
    )
)
"""What texts say to the model, or hide in marks and encodings; a soft sign is a light finding."""

ALL = (
    *POISON,
    *(HIDDEN_TEXT, CONTROL_CHARACTERS, RESERVED_NAME, IMITATED_NAME, LOOKALIKE_NAMES, SHADOWED_NAME, NAME_TWICE),
    *(ODD_NAME, NO_ANNOTATIONS, DESTRUCTIVE_UNSAID, DESTRUCTIVE_DENIED, CONTRADICTORY_HINTS, HINT_BELOW_NAME),
    *(MALFORMED_ANNOTATIONS, UNRECOGNISED_METADATA, TOOL_LEFT_OUT, NOT_READ_WHOLE),
)
BY_CODE = {each.code: each for each in ALL}
