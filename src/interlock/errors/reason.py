"""What a sentence of ours is: a value with its code and its fix, made from a text with blanks.

A `Reason` is no exception, because refusing a call is an answer. A blank that nobody fills is an error here and not
half a sentence there.
"""

from dataclasses import dataclass

from interlock.errors.codes import Code


@dataclass(frozen=True, slots=True)
class Reason:
    """One sentence of a verdict. Refusals carry a code and a fix; a plain explanation carries neither."""

    text: str
    code: Code | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A code's sentence and fix, with blanks to fill in."""

    code: Code
    text: str
    fix: str

    def __call__(self, **blanks: object) -> Reason:
        return Reason(self.text.format(**blanks), self.code, self.fix.format(**blanks))
