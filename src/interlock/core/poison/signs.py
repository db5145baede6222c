"""A sign of poison: what was seen, how grave it is, and where.

A hard sign keeps a tool away from agents; a soft one is shown to whoever reviews it. The codes are stable, because
baselines, records and the settings of CI name them.
"""

from collections.abc import Iterable

from msgspec import Struct

from interlock.core.hidden import visible

MOST_SIGNS = 40
"""How many signs of one definition are told."""
_EVIDENCE = 160
"""How many characters of a text are shown with its sign."""

HIDDEN_TEXT = "hidden-text"
CONTROL_CHARACTERS = "control-characters"
OVERRIDE = "override-phrase"
ROLE_TAGS = "role-tags"
CLAIMED_APPROVAL = "claimed-approval"
CONCEALMENT = "concealment"
EXFILTRATION = "exfiltration"
SINK = "sink-parameter"
STEERING = "tool-steering"
ENCODED = "encoded-payload"
SHELL = "shell-payload"
MARKUP = "hidden-markup"
OVER_LONG = "over-long"
NOT_READ_WHOLE = "not-read-whole"
NAME_CHARACTERS = "name-characters"
IMITATED_NAME = "imitated-name"
RESERVED_NAME = "reserved-name"
LOOKALIKE_NAMES = "lookalike-names"
SOUNDS_POISONED = "sounds-poisoned"
TOO_DEEP = "too-deep"
REPEATED_KEY = "repeated-key"

CERTAIN = frozenset(
    {
        *(HIDDEN_TEXT, CONTROL_CHARACTERS, ROLE_TAGS, ENCODED, MARKUP),
        *(NAME_CHARACTERS, IMITATED_NAME, RESERVED_NAME, LOOKALIKE_NAMES),
    }
)
"""What is seen in the characters themselves, and needs nobody's judgement of what a sentence means."""

SENTENCES = {
    HIDDEN_TEXT: "it has characters that people do not see",
    CONTROL_CHARACTERS: "it has characters that steer a terminal",
    OVERRIDE: "it tells the model to drop its instructions or to take new ones",
    ROLE_TAGS: "it imitates the marks by which a model tells its own instructions from text",
    CLAIMED_APPROVAL: "it claims that somebody has approved what nobody was asked",
    CONCEALMENT: "it tells the model to keep something from its user",
    EXFILTRATION: "it asks the model to hand over secrets or its conversation",
    SINK: "a parameter asks for secrets or for the conversation",
    STEERING: "it tells the model how to use the tools of others",
    ENCODED: "it has an encoded text that is an instruction or a program",
    SHELL: "it has a shell command that fetches and runs something, or opens or destroys the machine",
    MARKUP: "it has markup that hides text or sends something away",
    OVER_LONG: "it is far longer than a description needs to be",
    NOT_READ_WHOLE: "it is too large to be read whole",
    NAME_CHARACTERS: "its name has characters that names should not have",
    IMITATED_NAME: "its name has letters of another alphabet that look like plain ones",
    RESERVED_NAME: "it has the name of one of the gateway's own tools",
    SOUNDS_POISONED: "it sounds like an order to the model that its user would not give",
    TOO_DEEP: "it is nested too deeply to be read, and may speak to the model there",
    REPEATED_KEY: "it says two things under one name, of which each reader takes another, and may speak to the model",
    LOOKALIKE_NAMES: "its name looks like that of a tool that was there before",
}
"""What each code means, as the end of a sentence about the tool."""


class Sign(Struct, frozen=True):
    """Something that was seen. `where` is a JSON pointer into the definition; `evidence` is safe to show."""

    code: str
    hard: bool
    where: str
    evidence: str = ""

    @property
    def text(self) -> str:
        """A sentence about it, with the words that it was seen in."""
        place = self.where or "the definition"
        seen = f": {self.evidence}" if self.evidence else ""
        return f"{SENTENCES[self.code]} ({place}){seen}"


def sign(code: str, where: str, evidence: str = "", *, hard: bool = True) -> Sign:
    """A sign with its evidence made visible and short."""
    return Sign(code, hard, where, visible(evidence.strip()[:_EVIDENCE]))


def strongest(found: Iterable[Sign]) -> tuple[Sign, ...]:
    """Each code once for each place, hard before soft, and no more than are told."""
    kept: dict[tuple[str, str], Sign] = {}
    for each in sorted(found, key=lambda one: not one.hard):
        kept.setdefault((each.code, each.where), each)
    return tuple(kept.values())[:MOST_SIGNS]
