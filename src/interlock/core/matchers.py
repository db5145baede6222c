"""Argument matchers: what a rule asks of the arguments of a call.

Arguments come from agents, so a matcher must be total: any JSON of any shape gets an answer, in linear time. There
are three answers, because "the value is a list where a text was expected" is neither yes nor no. A rule that restricts
takes *cannot tell* for a match and a rule that allows does not, so that odd shapes never slip through either way. For
the same reason `items[*]` means any element in a rule that restricts, and every element in a rule that allows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias, TypeGuard

from interlock.core.globs import BadPattern, compile_glob, compile_regex
from interlock.core.model import Json, JsonObject


class Match(Enum):
    """The three answers of a matcher."""

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot tell"


Test: TypeAlias = Callable[[Json], Match]
Step: TypeAlias = str | int | Literal[True]
"""One step of a path: a key, an index, or True for every element."""


class BadMatcher(ValueError):
    """A matcher or path that cannot be compiled; the message says why."""


def _answer(yes: bool) -> Match:
    return Match.YES if yes else Match.NO


# Paths ----------------------------------------------------------------------------------------------------------


def parse_path(text: str) -> tuple[Step, ...]:
    """Parse `repo`, `a.b`, `items[*].sql`, `items[0]` or `["odd.key"].x`."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        if text[at] == "[":
            step, at = _bracket(text, at)
        else:
            end = min((found for mark in ".[" if (found := text.find(mark, at)) >= 0), default=len(text))
            step, at = text[at:end], end
        if step == "":
            raise BadMatcher(f"path '{text}' has an empty step")
        steps.append(step)
        if at < len(text) and text[at] == ".":
            at += 1
            if at == len(text):
                raise BadMatcher(f"path '{text}' ends with a dot")
    if not steps:
        raise BadMatcher("the path is empty")
    return tuple(steps)


def _bracket(text: str, at: int) -> tuple[Step, int]:
    if text.startswith('["', at):
        end = text.find('"]', at + 2)
        if end > 0:
            return text[at + 2 : end], end + 2
    else:
        end = text.find("]", at)
        inside = text[at + 1 : end] if end > 0 else ""
        if inside == "*":
            return True, end + 1
        if inside.isdecimal():
            return int(inside), end + 1
    raise BadMatcher(f"path '{text}': " + 'write [*], [0] or ["key"] in brackets')


def _values_at(value: Json, path: tuple[Step, ...]) -> Sequence[Json]:
    """Every value that a path leads to; none where it leads nowhere."""
    values = _values_after(value, path[0])
    for step in path[1:]:
        values = [found for each in values for found in _values_after(each, step)]
    return values


def _values_after(value: Json, step: Step) -> Sequence[Json]:
    if isinstance(step, str):
        return (value[step],) if isinstance(value, Mapping) and step in value else ()
    if not _is_list(value):
        return ()
    if step is True:
        return value
    return (value[step],) if step < len(value) else ()


# Tests of one value ---------------------------------------------------------------------------------------------


def same(left: Json, right: Json) -> bool:
    """JSON equality: true is not 1, but 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if _is_list(left) and _is_list(right):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _text_of(value: Json) -> str | None:
    """The text that a glob or regex is held against, of what is none itself; None for what has no one text."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float() if not _is_huge(value):
            return repr(value)
        case _:
            return None


def _is_huge(value: float) -> bool:
    """Python refuses to write out integers of several thousand digits."""
    return isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER * 4


def _on_text(matches: Callable[[str], bool]) -> Test:
    def test(value: Json) -> Match:
        if value is None:
            return Match.NO
        text = value if isinstance(value, str) else _text_of(value)
        return Match.CANNOT_TELL if text is None else _answer(matches(text))

    return test


def _glob(pattern: Json) -> Test:
    return _on_text(compile_glob(_wanted(pattern, str, "a glob")).matches)


def _regex(pattern: Json) -> Test:
    return _on_text(compile_regex(_wanted(pattern, str, "a regex")))


def _equals(wanted: Json) -> Test:
    return lambda value: _answer(same(value, wanted))


def _in(wanted: Json) -> Test:
    if not _is_list(wanted):
        raise BadMatcher("'in' wants a list")
    return lambda value: _answer(any(same(value, each) for each in wanted))


def _contains(wanted: Json) -> Test:
    def test(value: Json) -> Match:
        if isinstance(value, str):
            return _answer(isinstance(wanted, str) and wanted in value)
        if _is_list(value):
            return _answer(any(same(each, wanted) for each in value))
        return Match.NO if value is None else Match.CANNOT_TELL

    return test


def _not(wanted: Json) -> Test:
    inner = compile_test(wanted)
    flipped = {Match.YES: Match.NO, Match.NO: Match.YES, Match.CANNOT_TELL: Match.CANNOT_TELL}
    return lambda value: flipped[inner(value)]


def _number_of(value: Json) -> float | int | None:
    """A number, also one written as text: a server may well read "150" as 150."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER:
        try:
            number = float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return None


_LONGEST_NUMBER = 400


def _compare(name: str, holds: Callable[[float, float], bool]) -> Callable[[Json], Test]:
    def build(limit: Json) -> Test:
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            raise BadMatcher(f"'{name}' wants a number")

        def test(value: Json) -> Match:
            if value is None:
                return Match.NO
            number = _number_of(value)
            return Match.CANNOT_TELL if number is None else _answer(holds(number, limit))

        return test

    return build


def _wanted(value: Json, kind: type[str], what: str) -> str:
    if not isinstance(value, kind):
        raise BadMatcher(f"{what} must be a text")
    return value


_OPERATORS: Mapping[str, Callable[[Json], Test]] = {
    "equals": _equals,
    "not": _not,
    "in": _in,
    "glob": _glob,
    "matches": _regex,
    "contains": _contains,
    "gt": _compare("gt", lambda value, limit: value > limit),
    "gte": _compare("gte", lambda value, limit: value >= limit),
    "lt": _compare("lt", lambda value, limit: value < limit),
    "lte": _compare("lte", lambda value, limit: value <= limit),
}
OPERATOR_NAMES: tuple[str, ...] = (*_OPERATORS, "absent")


def compile_test(wanted: Json) -> Test:
    """Compile what stands beside a path: a glob, a list of any-of, or an object of operators that must all hold."""
    if isinstance(wanted, str):
        return _glob(wanted)
    if _is_list(wanted):
        return _any_of([compile_test(each) for each in wanted])
    if isinstance(wanted, Mapping):
        if not wanted:
            raise BadMatcher("the matcher is empty")
        return _all_of([_operator(name)(operand) for name, operand in wanted.items()])
    return _equals(wanted)


def _operator(name: str) -> Callable[[Json], Test]:
    if name not in _OPERATORS:
        raise BadMatcher(f"unknown operator '{name}'; known are {', '.join(OPERATOR_NAMES)}")
    return _OPERATORS[name]


def _all_of(tests: Sequence[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda value: _weakest([test(value) for test in tests])


def _any_of(tests: Sequence[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda value: _strongest([test(value) for test in tests])


def _weakest(answers: Sequence[Match]) -> Match:
    for answer in (Match.NO, Match.CANNOT_TELL):
        if answer in answers:
            return answer
    return Match.YES


def _strongest(answers: Sequence[Match]) -> Match:
    for answer in (Match.YES, Match.CANNOT_TELL):
        if answer in answers:
            return answer
    return Match.NO


# Matchers of a call ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArgumentMatcher:
    """One line under a rule's `args`, compiled."""

    path: tuple[Step, ...]
    test: Test
    wants_absent: bool = False
    regex: str | None = None
    """What has to occur in the argument, where that is all that is asked."""

    def match(self, arguments: JsonObject, *, allowing: bool) -> bool:
        """Whether the arguments match; `allowing` says that the rule would let the call pass."""
        values = _values_at(arguments, self.path)
        if not values:
            return self.wants_absent
        if self.wants_absent:
            return False
        answers = [self.test(value) for value in values]
        return answers.count(Match.YES) == len(answers) if allowing else answers.count(Match.NO) < len(answers)


def compile_matcher(path: str, wanted: Json) -> ArgumentMatcher:
    """Compile one line under `args`, or raise BadMatcher with what is wrong with it."""
    steps = parse_path(path)
    if isinstance(wanted, Mapping) and "absent" in wanted:
        absent = wanted["absent"]
        if len(wanted) > 1 or not isinstance(absent, bool):
            raise BadMatcher("'absent' is true or false and stands alone; to ask for a value, leave it out")
        return ArgumentMatcher(steps, lambda _: Match.YES, wants_absent=absent)
    try:
        return ArgumentMatcher(steps, compile_test(wanted), regex=_lone_regex(wanted))
    except BadPattern as problem:
        raise BadMatcher(str(problem)) from None


def _lone_regex(wanted: Json) -> str | None:
    regex = wanted.get("matches") if isinstance(wanted, Mapping) and len(wanted) == 1 else None
    return regex if isinstance(regex, str) else None


def either_of(matchers: Sequence[ArgumentMatcher]) -> ArgumentMatcher | None:
    """One matcher in place of several that ask for one regex each, all at the same path: in a rule that restricts it
    matches when one of them does. None when they cannot be asked as one.

    To ask the library costs more than the look itself, so ten of them cost a call hardly more than one.
    """
    regexes = [each.regex for each in matchers if each.regex is not None]
    # What is quoted to its end would take the others for text.
    if len(regexes) < max(2, len(matchers)) or any("\\Q" in regex for regex in regexes):
        return None
    try:
        return ArgumentMatcher(matchers[0].path, _regex("|".join(f"(?:{regex})" for regex in regexes)))
    except BadPattern:  # too long together
        return None
