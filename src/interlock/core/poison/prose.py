"""What a text says to a model: its sentences, read plainly and through disguises, held against the rules.

Somebody who writes about attacks quotes them. So in a sentence that mentions examples, or in a tool that looks for
attacks, what stands in quotes does not count as said; it is told as a soft sign, and never left out.
"""

import re
from collections.abc import Iterator

from interlock.core.poison import signs
from interlock.core.poison.atoms import atoms
from interlock.core.poison.readings import folded, joined, sentences, squeezed, unleet
from interlock.core.poison.rules import PAIR, SENTENCE, Rule, holding
from interlock.core.poison.setting import PLAIN, Setting
from interlock.core.poison.signs import Sign, sign
from interlock.core.poison.topics import kinds
from interlock.core.words import word_set

_QUOTED = re.compile(
    r"\"[^\"\n]{1,200}\"|\u201c[^\u201d\n]{1,200}\u201d|\u201e[^\u201c\n]{1,200}\u201c|\u00ab[^\u00bb\n]{1,200}\u00bb"
    r"|`[^`\n]{1,200}`|(?:(?<=\s)|(?<=\()|^)'[^'\n]{2,200}'"
)
_HARMLESS = re.compile(
    r"\b(?:public (?:ssh )?keys?|ssh public keys?|(?:next|prev\w*)?[ _]?page[ _]tokens?|(?:count|many|number of"
    r"|max\w*|of) tokens?"
    r"|token (?:count|limit|usage|budget)s?|tokens? used|cookie (?:banner|consent|policy)\w*|secret santa|foreign"
    r" keys?|primary keys?)\b"
)
"""What sounds like a secret and is none."""
_OTHER_TOOL = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")
_DISGUISED = re.compile(
    r"(?:ignore|disregard|forget|bypass)(?:all|any|of|the|your|my|every|these|those|everything){0,3}(?:previous"
    r"|prior|above|earlier|preceding|system|safety)"
    r"[a-z]{0,10}?(?:instruction|prompt|rule|guideline|directive|message|command)"
)
_LOOKS_FOR_ATTACKS = word_set(
    "detect detector scan scanner inject injection jailbreak redteam red guard moderate moderation phishing waf threat"
    " lint classify virus malware audit attack security"
)
MOST_SENTENCES = 4_000


def said(text: str, where: str, setting: Setting = PLAIN) -> list[Sign]:
    """The signs in what a text says."""
    fold = folded(text)
    found = list(_read(fold, where, setting))
    for reading in (joined(fold), unleet(fold)):
        if reading is not None:
            found += _read(reading, where, setting)
    if not any(each.code == signs.OVERRIDE for each in found) and is_disguised(fold):
        found.append(sign(signs.OVERRIDE, where, text))
    return found


def is_disguised(fold: str) -> bool:
    """Whether a folded text has the plainest of all orders with other things between its letters."""
    return any(_DISGUISED.search(each) for sentence in sentences(fold) for each in squeezed(sentence))


def spoken(text: str, setting: Setting = PLAIN) -> frozenset[str]:
    """The atoms of a whole text."""
    return meant(folded(text), setting)


def _read(fold: str, where: str, setting: Setting) -> Iterator[Sign]:
    if not atoms().found(fold):
        return
    before = frozenset[str]()
    for sentence in sentences(fold)[:MOST_SENTENCES]:
        found = meant(sentence, setting)
        yield from _told(sentence, where, setting, found)
        pair = (each for each in holding(PAIR, before | found) if found)
        yield from (sign(each.code, where, sentence) for each in pair)
        before = found - {"mention"}


def _told(sentence: str, where: str, setting: Setting, found: frozenset[str]) -> Iterator[Sign]:
    rules = list(holding(SENTENCE, found))
    mentions = "mention" in found or bool(setting.words & _LOOKS_FOR_ATTACKS)
    if mentions and any(each.hard for each in rules):
        bare = _QUOTED.sub(" ", sentence)
        still = {each.code for each in holding(SENTENCE, meant(bare, setting)) if each.hard}
    else:
        still = {each.code for each in rules}
    yield from (sign(each.code, where, sentence, hard=_is_hard(each, still)) for each in rules)


def _is_hard(rule: Rule, still: set[str]) -> bool:
    return rule.hard and rule.code in still


def meant(sentence: str, setting: Setting = PLAIN) -> frozenset[str]:
    """The atoms of one folded sentence."""
    text = _HARMLESS.sub(" ", sentence)
    found = atoms().found(text)
    if not found:
        return found
    if any(name not in setting.own_names for name in _OTHER_TOOL.findall(text)):
        found |= {"other-tool"}
    if setting.parameter:
        found |= {"parameter"}
    return found | kinds(found, setting.topics)
