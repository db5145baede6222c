"""Numbers inside the bounds that a schema sets, counted exactly: a tenth is a tenth here, not the float next to it."""

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from msgspec import Struct

_MAX_DIGITS = 300
_TRIES = 5
_USUAL = Fraction(1)
"""What a number is when nothing speaks against it: a limit of one, the first page, one item."""


class Range(Struct, frozen=True):
    """The numbers from `least` to `most` in steps; None is without bound."""

    least: Fraction | None
    most: Fraction | None
    step: Fraction | None
    open_least: bool = False
    open_most: bool = False


def exact(value: object) -> Fraction | None:
    """A number of a schema, exactly; None for what is no number, or one too large to reckon with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return Fraction(value) if value.bit_length() < _MAX_DIGITS * 3 else None
    return Fraction(Decimal(repr(value))) if math.isfinite(value) else None


def shown(value: Fraction) -> int | float:
    """The number as JSON writes it."""
    return int(value) if value.denominator == 1 else float(value)


def range_of(schema: Mapping[str, Any], *, whole: bool) -> Range:
    """The bounds that a schema sets, in both the older and the newer way of excluding them."""
    least, open_least = _bound(schema, "minimum", "exclusiveMinimum", larger=True)
    most, open_most = _bound(schema, "maximum", "exclusiveMaximum", larger=False)
    step = exact(schema.get("multipleOf"))
    if step is not None and step <= 0:
        step = None
    if whole:
        # Whole multiples of a reduced fraction p/q are the multiples of p.
        step = Fraction(step.numerator) if step is not None else Fraction(1)
    return Range(least, most, step, open_least, open_most)


def _bound(schema: Mapping[str, Any], closed_key: str, open_key: str, *, larger: bool) -> tuple[Fraction | None, bool]:
    closed, beyond = exact(schema.get(closed_key)), exact(schema.get(open_key))
    if schema.get(open_key) is True:
        return closed, True
    if beyond is None or closed is None:
        return (closed, False) if beyond is None else (beyond, True)
    tighter = beyond >= closed if larger else beyond <= closed
    return (beyond, True) if tighter else (closed, False)


def numbers(within: Range, turn: int) -> Iterator[int | float]:
    """Some numbers of the range; another turn begins elsewhere."""
    step = within.step or Fraction(1)
    first, last = ends(within, step)
    if first is not None and last is not None and first > last:
        if within.step is None:
            yield from _between(within, turn)
        return
    for each in range(turn, turn + _TRIES):
        yield shown(_stepped(first, last, step, each))


def ends(within: Range, step: Fraction) -> tuple[Fraction | None, Fraction | None]:
    """The first and the last step inside the range."""
    first = last = None
    if within.least is not None:
        first = math.ceil(within.least / step) * step
        first += step if within.open_least and first == within.least else 0
    if within.most is not None:
        last = math.floor(within.most / step) * step
        last -= step if within.open_most and last == within.most else 0
    return first, last


def _stepped(first: Fraction | None, last: Fraction | None, step: Fraction, turn: int) -> Fraction:
    usual = math.ceil(_USUAL / step) * step
    start = usual if first is None else max(usual, first)
    start = start if last is None else min(start, last)
    if first is not None and last is not None:
        count = (last - first) / step + 1
        return first + ((start - first) / step + turn) % count * step
    return start - turn * step if last is not None else start + turn * step


def _between(within: Range, turn: int) -> Iterator[float | int]:
    if within.least is None or within.most is None or within.least > within.most:
        return
    for each in range(turn, turn + _TRIES):
        part = Fraction(1, 2) if each == 0 else Fraction(1 + each % 97, 99)
        yield shown(within.least + (within.most - within.least) * part)
    yield shown(within.least)
