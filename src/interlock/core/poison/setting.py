"""What has to be known of a tool to read its texts.

A tool that is called `rotate_password` may speak of passwords; the weather may not. So what a text says is held against
the names of the tool and of the parameter that it belongs to.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from interlock.core.model import JsonObject
from interlock.core.poison.texts import Text
from interlock.core.poison.topics import declared
from interlock.core.words import words_of


class Setting(Struct, frozen=True):
    """The words of a tool's names, the topics that are its own, and the names that are."""

    words: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    parameter: bool = False
    own_names: frozenset[str] = frozenset()


PLAIN = Setting()
"""A text of which nothing is known."""


def setting_of(descriptor: JsonObject) -> Setting:
    """The setting of a whole definition."""
    name, schema = descriptor.get("name"), descriptor.get("inputSchema")
    name = name if isinstance(name, str) else ""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    own = frozenset(each.lower() for each in (name, *(properties if isinstance(properties, Mapping) else ())))
    words = frozenset(words_of(name))
    return Setting(words, declared(words), parameter=False, own_names=own)


def inside(text: Text, tool: Setting) -> Setting:
    """The setting of one text of a definition."""
    if not text.parameter:
        return tool
    words = tool.words | frozenset(words_of(text.parameter))
    return replace(tool, words=words, topics=declared(words), parameter=not text.is_key)
