"""What the words of a tool weigh: those of its name most, then its server, its description and its parameters.

Tools are described by upstreams, so everything here is cut to a length before it is looked at, and what is not of the
expected kind counts as absent. A weight depends on the tool alone and not on average lengths, so that a server cannot
move the tools of another one by writing much.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from interlock.core.model import Json
from interlock.core.stems import name_stems, prose_stems
from interlock.core.toolbook import ListedTool

MAX_NAME, MAX_DESCRIPTION, MAX_WORDS = 200, 4_000, 300
MAX_NODES, MAX_PARAMETERS = 1_000, 100

_SATURATION = 1.2
"""BM25's k1: how soon a word that is repeated stops counting more."""


_FINENESS = 1_000
_STEPS = tuple(step / _FINENESS for step in range(_FINENESS + 1))
"""Weights are rounded, so that a million of them share a thousand numbers in memory."""


@dataclass(frozen=True, slots=True)
class _Part:
    """How much a part of a tool counts, the number of words it usually has, and how much its length matters."""

    weight: float
    usual: int
    slope: float

    def share(self, length: int) -> float:
        """What one occurrence of a word counts in a part of this length: BM25's b, with a usual length for average."""
        return self.weight / (1 - self.slope + self.slope * length / self.usual)


_NAME = _Part(weight=3.0, usual=3, slope=0.5)
_SERVER = _Part(weight=1.0, usual=1, slope=0.3)
_DESCRIPTION = _Part(weight=1.0, usual=30, slope=0.6)
_PARAMETERS = _Part(weight=0.6, usual=6, slope=0.6)


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a tool with their weights, each below 1, and those of its name and server by themselves."""

    words: tuple[str, ...]
    weights: tuple[float, ...]
    title: tuple[str, ...]
    one_word: bool


def wording_of(each: ListedTool) -> Wording:
    """Read a tool's words."""
    server = list(dict.fromkeys(name_stems(f"{each.tool.server} {each.tool.namespace}"[:MAX_NAME])))
    name = name_stems(each.tool.name[:MAX_NAME])
    # All tools of `slack` may begin with `slack_`: what the server says already tells no tool from another.
    own = [word for word in name if word not in server] or name
    parts = (
        (_NAME, own),
        (_SERVER, server),
        (_DESCRIPTION, _described(each.descriptor.get("description"))),
        (_PARAMETERS, _parameters(each.descriptor.get("inputSchema"))),
    )
    counts: dict[str, float] = {}
    for part, words in parts:
        share = part.share(len(words))
        # Each word once: a server must not climb by repeating itself.
        for word in dict.fromkeys(words):
            counts[word] = counts.get(word, 0.0) + share
    weights = tuple(_STEPS[round(_FINENESS * count / (count + _SATURATION))] for count in counts.values())
    return Wording(tuple(counts), weights, (*server, *name), len(name) == 1)


def _described(description: Json) -> list[str]:
    return prose_stems(description[:MAX_DESCRIPTION])[:MAX_WORDS] if isinstance(description, str) else []


def _parameters(schema: Json) -> list[str]:
    """The stems of the parameter names, nested ones too, the outer ones first."""
    names: dict[str, None] = {}
    for node in _nodes(schema):
        properties = node.get("properties")
        if isinstance(properties, Mapping):
            names.update((name[:MAX_NAME], None) for name in islice(properties, MAX_PARAMETERS))
        if len(names) >= MAX_PARAMETERS:
            break
    return [word for name in islice(names, MAX_PARAMETERS) for word in name_stems(name)][:MAX_WORDS]


def _nodes(schema: Json) -> Iterator[Mapping[str, Json]]:
    """The objects inside a schema, level by level; a loop and not a recursion, because a schema may be of any depth."""
    level: list[Json] = [schema]
    seen = 0
    while level:
        below: list[Json] = []
        for node in level[: MAX_NODES - seen]:
            seen += 1
            if isinstance(node, Mapping):
                yield node
                below.extend(_inner(node))
            elif isinstance(node, Sequence) and not isinstance(node, str):
                below.extend(node)
        level = below


def _inner(node: Mapping[str, Json]) -> Iterator[Json]:
    """What lies inside a schema. The names of its parameters are no keywords, so one of them may be `properties`."""
    properties = node.get("properties")
    others = (value for key, value in node.items() if key != "properties")
    return chain(properties.values(), others) if isinstance(properties, Mapping) else others
