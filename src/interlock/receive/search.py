"""Finding tools by what they do: BM25 over names, servers, descriptions and parameter names, in memory.

Each server has a shelf of its own, which is replaced when the server lists its tools anew. A shelf never changes after
it was built and all are exchanged in one step, so an update may run in a thread while questions are answered.

A question comes from an agent: it is cut to a length, taken as words, and never read as a query language. This module
does not know who may see what; the caller brings that as `wanted`.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TypeAlias

from interlock.core.stems import asked_stems
from interlock.core.toolbook import ListedTool, ToolBook
from interlock.receive.naming import mentions, spoken
from interlock.receive.wording import Wording, wording_of

MAX_QUERY, MAX_ASKED, MAX_ORDERING = 1_000, 48, 4
_DIGITS = 4
_NOWHERE: Mapping[int, float] = {}

_FEW, _FINDS, _ORDERS = 50, 1 / 8, 1 / 2
"""A word finds tools if few bear it, or at most an eighth of all; the rarest word of a question does in any case. More
common ones only put in order what was found, and what more than half of all tools bear tells nothing, as in BM25's own
measure. This takes the place of a list of stop words, and it bounds the work."""

_NAMED, _NAMED_IN_FULL = 1_000.0, 2_000.0
"""What being named adds. Words cannot reach it: each of at most 48 adds less than the logarithm of all tools."""


@dataclass(frozen=True, slots=True)
class Hit:
    tool: ListedTool
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """The best tools, and how many there are in all."""

    hits: tuple[Hit, ...]
    total: int


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    listed: ListedTool
    shown: str
    wording: Wording


_Scores: TypeAlias = dict[_Entry, float]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The words of a question and what each tells (BM25's idf): those that find tools, those that put them in order."""

    finding: dict[str, float]
    ordering: dict[str, float]


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The tools of one server: in their places, by the words they bear with the weights, and by their spoken names."""

    listing: Mapping[str, ListedTool]
    row: list[_Entry] = field(default_factory=list[_Entry])
    by_word: dict[str, dict[int, float]] = field(default_factory=dict[str, dict[int, float]])
    by_name: dict[str, list[_Entry]] = field(default_factory=dict[str, list[_Entry]])

    def scores(self, asked: _Asked) -> dict[int, float]:
        """What the words asked make of the tools in their places."""
        found: dict[int, float] = {}
        for word, idf in asked.finding.items():
            for place, weight in self.by_word.get(word, _NOWHERE).items():
                found[place] = found.get(place, 0.0) + idf * weight
        for word, idf in asked.ordering.items() if found else ():
            if borne := self.by_word.get(word):
                for place in found:
                    if place in borne:
                        found[place] += idf * borne[place]
        return found


@dataclass(frozen=True, slots=True)
class _State:
    """The shelves of a book, and how many tools bear each word and each name."""

    book: ToolBook = field(default_factory=ToolBook)
    shelves: Mapping[str, _Shelf] = field(default_factory=dict[str, _Shelf])
    words: Mapping[str, int] = field(default_factory=dict[str, int])
    names: Mapping[str, int] = field(default_factory=dict[str, int])


class ToolIndex:
    """The tools of a book, findable. `update` brings it up to date, `find` answers."""

    def __init__(self) -> None:
        self._state = _State()

    def update(self, book: ToolBook) -> None:
        """Take over a book: only servers that listed anew are touched, and only tools that changed are read again."""
        if book is not self._state.book:
            self._state = _renewed(self._state, book)

    def find(self, query: str, limit: int, wanted: Callable[[ListedTool], bool]) -> Found:
        """The wanted tools that fit a question best; first of all those that it names."""
        state, query = self._state, query[:MAX_QUERY]
        asked = _asked(query, state)
        if not asked.finding:
            return Found((), 0)
        scores: _Scores = {}
        for shelf in state.shelves.values():
            for place, score in shelf.scores(asked).items():
                entry = shelf.row[place]
                if wanted(entry.listed):
                    scores[entry] = score
        named = {entry: worth for entry, worth in _named(query, state).items() if wanted(entry.listed)}
        _put_first(named, scores, asked)
        return Found(_best(scores, limit), len(scores))


# Filling the shelves --------------------------------------------------------------------------------------------


def _renewed(before: _State, book: ToolBook) -> _State:
    shelves = {server: _shelf(tools, before.shelves.get(server)) for server, tools in book.by_server.items()}
    gone = [shelf for server, shelf in before.shelves.items() if shelves.get(server) is not shelf]
    come = [shelf for server, shelf in shelves.items() if before.shelves.get(server) is not shelf]
    words = _recounted(before.words, [shelf.by_word for shelf in gone], [shelf.by_word for shelf in come])
    names = _recounted(before.names, [shelf.by_name for shelf in gone], [shelf.by_name for shelf in come])
    return _State(book, shelves, words, names)


def _recounted(
    before: Mapping[str, int], gone: Iterable[Mapping[str, Sized]], come: Iterable[Mapping[str, Sized]]
) -> Mapping[str, int]:
    counts = dict(before)
    for key, found in chain.from_iterable(each.items() for each in come):
        counts[key] = counts.get(key, 0) + len(found)
    for key, found in chain.from_iterable(each.items() for each in gone):
        counts[key] -= len(found)
        if not counts[key]:
            del counts[key]
    return counts


def _shelf(listing: Mapping[str, ListedTool], before: _Shelf | None) -> _Shelf:
    if before is not None and before.listing is listing:
        return before
    known = {entry.listed.tool.name: entry for entry in before.row} if before is not None else {}
    shelf = _Shelf(listing)
    for place, (name, each) in enumerate(listing.items()):
        entry = _entry(each, known.get(name))
        shelf.row.append(entry)
        shelf.by_name.setdefault(spoken(name[:MAX_QUERY]), []).append(entry)
        for word, weight in zip(entry.wording.words, entry.wording.weights, strict=True):
            shelf.by_word.setdefault(word, {})[place] = weight
    return shelf


def _entry(each: ListedTool, before: _Entry | None) -> _Entry:
    if before is not None and _definition(before.listed) == _definition(each):
        return _Entry(each, each.tool.shown, before.wording)
    return _Entry(each, each.tool.shown, wording_of(each))


def _definition(each: ListedTool) -> tuple[str, str]:
    return each.tool.namespace, each.tool.fingerprint


# Answering ------------------------------------------------------------------------------------------------------


def _asked(query: str, state: _State) -> _Asked:
    total = sum([len(shelf.row) for shelf in state.shelves.values()])
    asked = _Asked({}, {})
    known = state.words.__contains__
    words = islice(filter(known, asked_stems(query, known)), MAX_ASKED)
    for count, word in sorted((state.words[word], word) for word in words):
        idf = math.log1p((total - count + 0.5) / (count + 0.5))
        if not asked.finding or count <= max(_FEW, total * _FINDS):
            asked.finding[word] = idf
        elif len(asked.ordering) < MAX_ORDERING and count <= total * _ORDERS:
            asked.ordering[word] = idf
    return asked


def _named(query: str, state: _State) -> _Scores:
    """The tools that a question names, and what that adds."""
    named: _Scores = {}
    said = {name: owners for name, owners in mentions(query).items() if name in state.names}
    for shelf in state.shelves.values() if said else ():
        for name in said.keys() & shelf.by_name.keys():
            for entry in shelf.by_name[name]:
                tool = entry.listed.tool
                in_full = not said[name].isdisjoint((tool.server, tool.namespace))
                named[entry] = _NAMED_IN_FULL if in_full else _NAMED
    return named


def _put_first(named: _Scores, scores: _Scores, asked: _Asked) -> None:
    """Raise the tools that are named above all others.

    A name of one word may be just a word of the question, as `search` is in "search my issues". It is taken for a name
    unless a tool goes by more of the words asked. Otherwise a server would come first in every answer by naming its
    tools `in` and `the`.
    """
    words = asked.finding.keys() | asked.ordering.keys()

    def borne(entry: _Entry) -> int:
        return len(words.intersection(entry.wording.title))

    doubtful = {entry for entry, worth in named.items() if worth == _NAMED and entry.wording.one_word}
    most = max(1, *map(borne, scores)) if doubtful else 0
    for entry, worth in named.items():
        if entry not in doubtful or borne(entry) >= most:
            scores[entry] = scores.get(entry, 0.0) + worth


def _best(scores: _Scores, limit: int) -> tuple[Hit, ...]:
    # Rounding makes equals of what is nearly equal, so those just below the last place are looked at too.
    least = min(heapq.nlargest(limit, scores.values()), default=0.0) - 10**-_DIGITS
    ranked = [(-round(score, _DIGITS), entry.shown, entry.listed) for entry, score in scores.items() if score >= least]
    ranked.sort(key=lambda one: one[:2])
    return tuple(Hit(listed, -score) for score, _, listed in ranked[:limit])
