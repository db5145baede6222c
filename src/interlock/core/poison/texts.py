"""Every text of a tool's definition, with the place where it stands and what it is there for.

A model reads all of it: names, titles, descriptions, keys, defaults, examples, whatever a server puts under `_meta`. So
all of it is gone through, up to a bound in characters, values and depth. What lies beyond the bound is itself told.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from interlock.core.hidden import visible
from interlock.core.model import Json, JsonObject

MOST_CHARACTERS = 256 * 1024
MOST_VALUES = 20_000
_DEEPEST = 64
_KEY = 80
_PARAMETERS = ("properties", "$defs", "definitions", "patternProperties")


class Text(Struct, frozen=True):
    """One text. `parameter` is the name of the parameter that it belongs to, empty outside of schemas."""

    where: str
    text: str
    key: str = ""
    parameter: str = ""
    is_key: bool = False

    @property
    def is_prose(self) -> bool:
        """Whether it is written to be read, and not a value or a name."""
        return not self.is_key and self.key in ("description", "title")


class Walk:
    """Goes through everything in a definition, keys too, up to a bound."""

    def __init__(self, most_values: int = MOST_VALUES) -> None:
        self.left_out = self.too_deep = False
        self._most_values = most_values
        self._room = MOST_CHARACTERS
        self._values = 0

    def texts(self, descriptor: JsonObject) -> Iterator[Text]:
        """Each text, in the order of the definition."""
        waiting: list[tuple[Text, Json, int]] = [(Text("", ""), descriptor, 0)]
        while waiting:
            at, value, depth = waiting.pop()
            self._values += 1
            self.too_deep = self.too_deep or depth > _DEEPEST
            if self._values > self._most_values or depth > _DEEPEST or self._room <= 0:
                self.left_out = True
            elif isinstance(value, str):
                yield self._taken(at, value)
            elif isinstance(value, Mapping):
                for key in value:
                    child = _below(at, key)
                    yield self._taken(Text(child.where, "", key, child.parameter, is_key=True), key)
                waiting += [(_below(at, key), value[key], depth + 1) for key in reversed(list(value))]
            elif isinstance(value, Sequence):
                members = range(len(value))
                waiting += [(_item(at, number), value[number], depth + 1) for number in reversed(members)]

    def _taken(self, at: Text, text: str) -> Text:
        if len(text) > self._room:
            self.left_out = True
        taken = Text(at.where, text[: max(self._room, 0)], at.key, at.parameter, at.is_key)
        self._room -= len(text)
        return taken


def _below(at: Text, key: str) -> Text:
    shown = key if key.isidentifier() and key.isascii() else visible(key[:_KEY]).replace("~", "~0").replace("/", "~1")
    parameter = key if at.key in _PARAMETERS else at.parameter
    return Text(f"{at.where}/{shown}", "", key, parameter)


def _item(at: Text, number: int) -> Text:
    return Text(f"{at.where}/{number}", "", at.key, at.parameter)
