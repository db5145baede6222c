"""The sentences of a definition, as the reader reads them: folded, with the atoms that the patterns find in each.

What is for machines alone, such as the type of a parameter, is left out; what a model may take for an order is not.
"""

from collections.abc import Iterable

from interlock.core.poison.prose import MOST_SENTENCES, meant
from interlock.core.poison.reader import Read, read
from interlock.core.poison.readings import folded, sentences
from interlock.core.poison.setting import Setting, inside
from interlock.core.poison.texts import Text
from interlock.core.words import word_set

_FOR_MACHINES = word_set("type $schema format name $ref")
_TOO_SHORT = 4


def sentences_of(texts: Iterable[Text], tool: Setting) -> list[Read]:
    """Every sentence, in order, up to a bound."""
    found: list[Read] = []
    for text in texts:
        if text.is_key or text.key in _FOR_MACHINES:
            continue
        setting = inside(text, tool)
        said = (each for each in sentences(folded(text.text)) if len(each) >= _TOO_SHORT)
        found += (
            read(text.where, each, parameter=setting.parameter, own=tool.own_names, atoms=sorted(meant(each, setting)))
            for each in said
        )
        if len(found) >= MOST_SENTENCES:
            break
    return found[:MOST_SENTENCES]
