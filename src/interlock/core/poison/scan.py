"""The scan: everything that is wrong with what one tool says of itself, as signs.

Pure and bounded: the same definition has the same signs, and a definition of any size is read up to a bound. The signs
are no proof. Somebody who knows these rules can write around them, so what passes here is still only the word of its
server; what does not pass is kept away from agents until a person has read it.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from interlock.core.model import JsonObject
from interlock.core.poison import signs
from interlock.core.poison.encoded import inner_texts, turned
from interlock.core.poison.hidden_text import Hidden, HiddenKind, hidden_in
from interlock.core.poison.markup import marks
from interlock.core.poison.names import name_signs
from interlock.core.poison.prose import said, spoken
from interlock.core.poison.reader import DOUBTFUL, POISONED, Judgement, judge
from interlock.core.poison.readings import folded
from interlock.core.poison.sentences import sentences_of
from interlock.core.poison.setting import Setting, inside, setting_of
from interlock.core.poison.shell import commands, runs_commands
from interlock.core.poison.signs import Sign, sign, strongest
from interlock.core.poison.texts import Text, Walk

_LONG = 8_000
"""From how many characters on a description is over-long."""
_TOO_SHORT = 12
"""Shorter texts in plain letters say nothing to a model."""
_ENCODED_ORDER = 4.0
"""From which sum on the reader takes a text for an order that was encoded."""


def scan(descriptor: JsonObject) -> tuple[Sign, ...]:
    """The signs of one tool's definition, the hard ones first."""
    name = descriptor.get("name")
    walk = Walk()
    found = list(name_signs(name)) if isinstance(name, str) else []
    tool = setting_of(descriptor)
    texts = {(each.text, each.parameter, each.is_key): each for each in walk.texts(descriptor)}.values()
    judgement = judge(sentences_of(texts, tool))
    for text in texts:
        seen = signs_of(text, tool)
        found += seen if text.is_key else (believed(each, judgement) for each in seen)
    if judgement.sum >= POISONED and not any(each.hard for each in found):
        found.append(sign(signs.SOUNDS_POISONED, judgement.where, judgement.sentence))
    if walk.left_out:
        found.append(sign(signs.NOT_READ_WHOLE, "", hard=False))
    return strongest(found)


def believed(found: Sign, judgement: Judgement) -> Sign:
    """A sign that a pattern found in prose is soft if the reader does not think that there is anything in it."""
    return found if found.code in signs.CERTAIN or judgement.sum >= DOUBTFUL else replace(found, hard=False)


def signs_of(text: Text, tool: Setting) -> Iterator[Sign]:
    """The signs of one text of a definition."""
    if len(text.text) < _TOO_SHORT and text.text.isascii() and text.text.isprintable():
        return
    yield from _unseen(text)
    if text.key == "description" and len(text.text) > _LONG:
        yield sign(signs.OVER_LONG, text.where, f"{len(text.text)} characters", hard=False)
    setting = inside(text, tool)
    plain = text.text if " " in text.text else text.text.replace("_", " ").replace("-", " ")
    yield from said(plain, text.where, setting)
    if not text.is_key:
        yield from marks(text.text, text.where, setting)
        yield from shell_signs(text.text, text.where, setting, is_prose=text.is_prose)
        yield from encoded_signs(text.text, text.where, setting)


# Characters -----------------------------------------------------------------------------------------------------


def _unseen(text: Text) -> Iterator[Sign]:
    hidden = hidden_in(text.text)
    if hidden is None:
        return
    if HiddenKind.CONTROL in hidden.kinds:
        steers = "\x1b" in text.text or "\x9b" in text.text or "\x08" in text.text or text.key == "name"
        yield sign(signs.CONTROL_CHARACTERS, text.where, hidden.excerpt, hard=steers)
    if set(hidden.kinds) - {HiddenKind.CONTROL}:
        yield sign(signs.HIDDEN_TEXT, text.where, hidden.says or hidden.excerpt, hard=not _slipped_in(hidden, text))


def _slipped_in(hidden: Hidden, text: Text) -> bool:
    """Whether it is what slips in when somebody copies a text: one or two, of no width or of a font, in prose."""
    kinds = set(hidden.kinds) - {HiddenKind.CONTROL}
    few = len(kinds) == 1 and kinds <= {HiddenKind.ZERO_WIDTH, HiddenKind.PRIVATE} and hidden.count <= 2
    return few and text.is_prose and not hidden.inside_word


# Programs and encodings -----------------------------------------------------------------------------------------


def shell_signs(text: str, where: str, setting: Setting, *, is_prose: bool = True) -> Iterator[Sign]:
    """The signs in the shell commands of a text."""
    found = commands(folded(text))
    if found is None:
        return
    line, worst = found
    around = spoken(line)
    harmless = "refused" in around or ("mention" in around and is_prose) or (not worst and runs_commands(setting.words))
    yield sign(signs.SHELL, where, line, hard=not harmless)


def encoded_signs(text: str, where: str, setting: Setting) -> Iterator[Sign]:
    """The signs in what is encoded in a text."""
    for inner in inner_texts(text):
        if _is_hard(inner, setting) or commands(folded(inner)) is not None or _is_order(inner, setting):
            yield sign(signs.ENCODED, where, inner)
    for inner in turned(text) if folded(text).isascii() else ():
        if _is_hard(inner, setting):
            yield sign(signs.ENCODED, where, inner)


def _is_order(inner: str, setting: Setting) -> bool:
    """Whether the reader takes it for an order: who writes honestly has no reason to encode what he says."""
    return judge(sentences_of([Text("", inner)], setting)).sum >= _ENCODED_ORDER


def _is_hard(text: str, setting: Setting) -> bool:
    return any(each.hard for each in said(text, "", setting))
