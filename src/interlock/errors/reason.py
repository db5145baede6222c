"""What a sentence of ours is: a value with its code and its fix, made from a text with blanks.

A `Reason` is no exception, because refusing a call is an answer. A blank that nobody fills is an error here and not
half a sentence there.
"""

import re
import shlex
from dataclasses import dataclass
from string import Formatter

from interlock.errors.codes import Code

_TOLD = ("problem", "detail")
"""Blanks that are filled with what somebody else said, as a sentence or not."""


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
        return Reason(filled(self.text, **blanks), self.code, filled(self.fix, **blanks))

    def made(self, reason: Reason) -> bool:
        """Whether a reason is this sentence, however its blanks were filled. Several sentences share a code, and a
        reason that came over REST has no other sign of which one it is."""
        parts = (
            re.escape(said) + ("" if blank is None else ".*") for said, blank, _, _ in Formatter().parse(self.text)
        )
        return reason.code is self.code and re.fullmatch("".join(parts), reason.text, re.DOTALL) is not None


def filled(text: str, **blanks: object) -> str:
    """A text with its blanks filled in. What stands between backquotes is a command that somebody will paste into a
    shell, and names of tools are chosen by servers: there they are quoted. What was told as a sentence
    has one full stop where the text sets another."""
    for name in (each for each in _TOLD if f"{{{each}}}." in text):
        blanks[name] = str(blanks[name]).removesuffix(".")
    said, *rest = text.split("`")
    parts = [said.format(**blanks)]
    if rest:
        words = {name: shlex.quote(str(value)) for name, value in blanks.items()}
        parts += [part.format(**(blanks if at % 2 else words)) for at, part in enumerate(rest)]
    return "`".join(parts)


def sentence(text: str) -> str:
    """What another sentence can follow: a text that ends with one full stop, whether it had one or not."""
    return f"{text.removesuffix('.')}."
