"""A reader that has learned what poison sounds like, from thousands of definitions that were written for it.

Patterns find the orders that somebody thought of; whoever words an order in another way walks past them. The reader
weighs every piece of a text instead. It judges twice: each sentence by itself, because one is enough to harm, and the
definition as a whole, because an order may be spread over it. What it says is the sum of both.

The weights are numbers in a file beside this module, made by `make learn`. The reader explains nothing but the sentence
that weighed most, and it is wrong about one honest tool in fifty whose author wrote like a poisoner; how often it is
right about writers that it has not read is in docs/decisions.
"""

import zlib
from array import array
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from math import log, sqrt

import msgspec
from msgspec import Struct

from interlock.core.poison.pieces import KINDS, ROOM, Pieces, pieces_of, together

POISONED = 6.5
"""From this sum on a definition is kept away from agents."""
DOUBTFUL = -5.0
"""Below this sum the reader does not believe what a pattern found in a sentence."""
_WEIGHTS = "weights.bin"
_NONE = -20.0


class Weights(Struct, frozen=True):
    """One judgement: a number for each piece, and what is added. The table is in steps of `step`."""

    step: float
    added: float
    table: Sequence[int]

    def of(self, pieces: Pieces) -> float:
        """How much pieces sound like poison. Each kind counts for one; a piece that occurs twice, for less than two."""
        return self.added + self.step * sum(self._kind(pieces[kind]) for kind in KINDS)

    def _kind(self, pieces: Sequence[int]) -> float:
        if not pieces:
            return 0.0
        counts, table = Counter(pieces), self.table
        weight, squares = float(sum(map(table.__getitem__, counts))), float(len(counts))
        for piece, count in counts.items() if len(counts) < len(pieces) else ():
            if count > 1:
                more = log(count)
                weight += table[piece] * more
                squares += more * (2 + more)
        return weight / sqrt(squares)


class Header(Struct, frozen=True):
    """What stands before the tables: of which corpus they were made, and their steps."""

    corpus: str
    steps: tuple[float, float]
    added: tuple[float, float]


class Read(Struct, frozen=True):
    """One sentence that was read, and where it stands."""

    where: str
    sentence: str
    pieces: Pieces


class Judgement(Struct, frozen=True):
    """How much a definition sounds like poison, and the sentence that does so most."""

    sum: float
    where: str = ""
    sentence: str = ""


def read(where: str, sentence: str, *, parameter: bool, own: frozenset[str], atoms: Sequence[str]) -> Read:
    """A folded sentence, read. `own` are the names of the tool and of its parameters."""
    return Read(where, sentence, pieces_of(sentence, parameter=parameter, own=own, atoms=atoms))


def judge(sentences: Sequence[Read]) -> Judgement:
    """What the reader thinks of a definition of which these are the sentences."""
    if not sentences:
        return Judgement(_NONE)
    whole, single = learned()
    score, worst = max(((single.of(each.pieces), each) for each in sentences), key=lambda pair: pair[0])
    return Judgement(score + whole.of(together([each.pieces for each in sentences])), worst.where, worst.sentence)


@cache
def learned() -> tuple[Weights, Weights]:
    """The weights for whole definitions and for single sentences."""
    header, tables = kept()
    whole, single = (array("b", tables[at : at + ROOM]) for at in (0, ROOM))
    return Weights(header.steps[0], header.added[0], whole), Weights(header.steps[1], header.added[1], single)


def kept() -> tuple[Header, bytes]:
    """What the file of weights says of itself, and the two tables behind it, in which a number is one byte."""
    content = zlib.decompress(files(__package__ or "").joinpath(_WEIGHTS).read_bytes())
    header, _, tables = content.partition(b"\n")
    return msgspec.json.decode(header, type=Header), tables


def written(header: Header, tables: bytes) -> bytes:
    """The content of a file of weights."""
    return zlib.compress(msgspec.json.encode(header) + b"\n" + tables, 9)
