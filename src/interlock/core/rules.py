"""Route rules: what operators wrote, matched against a call.

A matching deny always wins. Otherwise the matching rule with the highest priority decides, and ties go to the stricter
one. The order of rules in the file never matters, and two rules that tie in everything are told apart by what they
ask, then by id. A `RuleBook` is compiled once per configuration and indexed by server and by the literal beginning of
the tool pattern, so that a thousand rules cost a call little more than ten; which of them can concern the calls of one
caller to one tool is remembered, so that most calls only have to be held against what their agent chose.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby

from msgspec import Struct

from interlock.core.canonical import content_hash
from interlock.core.globs import Glob, compile_glob
from interlock.core.matchers import ArgumentMatcher, Step, compile_matcher, either_of
from interlock.core.model import Ground, HoldTerms, Json, JsonObject, OperationType
from interlock.core.safety import Effect, SafetyClass

MOST_REMEMBERED = 16_384
"""Of how many pairs of a caller and a tool is remembered which rules can concern them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One route rule as written. None and the empty tuple mean "any"."""

    id: str
    effect: Effect | None = None
    workspace_id: str | None = None
    server_id: str | None = None
    tool_pattern: tuple[str, ...] = ()
    safety_class: frozenset[SafetyClass] = frozenset()
    operation_type: frozenset[OperationType] = frozenset()
    caller: str | None = None
    args: tuple[tuple[str, Json], ...] = ()
    terms: HoldTerms = field(default_factory=HoldTerms)
    priority: int = 0
    auth_scope_id: str | None = None

    @property
    def content_hash(self) -> str:
        """Changes whenever anything about the rule does; grants are bound to it."""
        return content_hash(
            {
                "id": self.id,
                "effect": self.effect,
                "workspace_id": self.workspace_id,
                "server_id": self.server_id,
                "tool_pattern": sorted(self.tool_pattern),
                "safety_class": sorted(self.safety_class),
                "operation_type": sorted(self.operation_type),
                "caller": self.caller,
                "args": dict(self.args),
                "approval_timeout": self.terms.approval_timeout,
                "approvals_needed": self.terms.approvals_needed,
                "approvers": sorted(self.terms.approvers),
                "four_eyes": self.terms.four_eyes,
                "max_grant": self.terms.max_grant,
                "priority": self.priority,
                "auth_scope_id": self.auth_scope_id,
            }
        )


class Query(Struct, frozen=True):
    """What a rule is matched against. `tool` is the qualified name `namespace__tool`."""

    server: str
    tool: str
    safety_class: SafetyClass
    operation_type: OperationType
    workspace: str | None
    caller: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule with its patterns compiled. Of the rules that match, the one with the smallest rank decides."""

    rank: int
    rule: Rule
    ground: Ground
    server: Glob | None
    tools: tuple[Glob, ...]
    caller: Glob | None
    args: tuple[ArgumentMatcher, ...]

    @property
    def forbids(self) -> bool:
        """Whether it denies without looking at what an agent can choose."""
        return self.rule.effect is Effect.DENY and self.fits_always

    def matches(self, query: Query) -> bool:
        """Whether every condition of the rule holds."""
        return self.concerns(query.server, query.tool, query.safety_class, query.workspace, query.caller) and self.fits(
            query.operation_type, query.arguments
        )

    def concerns(self, server: str, tool: str, safety_class: SafetyClass, workspace: str | None, caller: str) -> bool:
        """Whether the conditions hold on which an agent has no say from call to call; the cheap ones first."""
        rule = self.rule
        return (
            (not rule.safety_class or safety_class in rule.safety_class)
            and (rule.workspace_id is None or rule.workspace_id == workspace)
            and self.matches_tool(server, tool)
            and (self.caller is None or self.caller.matches(caller))
        )

    def fits(self, operation_type: OperationType, arguments: JsonObject) -> bool:
        """Whether the conditions hold on what an agent says in a call."""
        rule = self.rule
        if rule.operation_type and operation_type not in rule.operation_type:
            return False
        allowing = rule.effect is Effect.ALLOW
        for matcher in self.args:  # noqa: SIM110 - every call comes through here, and a generator costs as much again
            if not matcher.match(arguments, allowing=allowing):
                return False
        return True

    @property
    def fits_always(self) -> bool:
        """Whether there is no condition on what an agent says in a call."""
        return not self.rule.operation_type and not self.args

    def matches_tool(self, server: str, tool: str) -> bool:
        return (self.server is None or self.server.matches(server)) and (
            not self.tools or any(glob.matches(tool) for glob in self.tools)
        )


def compile_rule(rank: int, rule: Rule) -> CompiledRule:
    """Compile one rule; raises BadPattern or BadMatcher."""
    return CompiledRule(
        rank=rank,
        rule=rule,
        ground=Ground(rule.id, rule.content_hash),
        server=None if rule.server_id is None else compile_glob(rule.server_id),
        tools=tuple(compile_glob(qualified_pattern(pattern)) for pattern in rule.tool_pattern),
        caller=None if rule.caller is None else compile_glob(rule.caller),
        args=tuple(compile_matcher(path, wanted) for path, wanted in rule.args),
    )


def qualified_pattern(pattern: str) -> str:
    """A tool pattern in the form that is matched; `github:create_*` is taken for `github__create_*`."""
    namespace, colon, tool = pattern.partition(":")
    return f"{namespace}__{tool}" if colon and "__" not in namespace else pattern


def _precedence(rule: Rule) -> tuple[bool, int, int, int, bool, bool, int, int, str]:
    """Denies first, then by priority, then the stricter effect, then the stricter terms, then the id."""
    effect, terms = rule.effect, rule.terms
    return (
        effect is not Effect.DENY,
        -rule.priority,
        0 if effect is None else -effect.rank,
        -terms.approvals_needed,
        not terms.four_eyes,
        not terms.approvers,
        terms.max_grant,
        terms.approval_timeout,
        rule.id,
    )


class _Shelf:
    """Rules that share a server, findable by the literal beginning of their tool pattern."""

    def __init__(self) -> None:
        self._by_prefix: dict[str, list[CompiledRule]] = {}
        self._lengths: tuple[int, ...] = ()

    def put(self, prefix: str, rule: CompiledRule) -> None:
        self._by_prefix.setdefault(prefix, []).append(rule)
        self._lengths = tuple(sorted({*self._lengths, len(prefix)}))

    def find(self, tool: str) -> Iterator[Sequence[CompiledRule]]:
        for length in self._lengths:
            rules = self._by_prefix.get(tool[:length])
            if rules is not None:
                yield rules


class _Stretch(Struct, frozen=True):
    """Rules that follow each other by rank. If they can be asked together, none of them fits unless that matches."""

    rules: tuple[CompiledRule, ...]
    together: ArgumentMatcher | None = None


def _regex_at(rule: CompiledRule) -> tuple[Step, ...] | None:
    """Where the one regex has to occur that a rule asks for; None when it asks for something else, or lets pass."""
    asks = rule.args[0] if len(rule.args) == 1 and not rule.rule.operation_type else None
    return asks.path if asks is not None and asks.regex is not None and rule.rule.effect is not Effect.ALLOW else None


def _stretch(rules: tuple[CompiledRule, ...]) -> _Stretch:
    return _Stretch(rules, None if _regex_at(rules[0]) is None else either_of([each.args[0] for each in rules]))


class _Index:
    """Some of the rules, in order of rank, shelved by server."""

    def __init__(self, rules: Iterable[CompiledRule]) -> None:
        self._any_server = _Shelf()
        self._by_server: dict[str, _Shelf] = defaultdict(_Shelf)
        self._concerning = lru_cache(MOST_REMEMBERED)(self._find)
        for rule in rules:
            literal = None if rule.server is None else rule.server.literal
            shelf = self._any_server if literal is None else self._by_server[literal]
            # A rule with several patterns stands under each of them; finding it twice does no harm.
            for prefix in {glob.literal_prefix for glob in rule.tools} or {""}:
                shelf.put(prefix, rule)

    def first(self, query: Query) -> CompiledRule | None:
        """The matching rule with the smallest rank."""
        arguments = query.arguments
        for stretch in self._concerning(query.server, query.tool, query.safety_class, query.workspace, query.caller):
            if stretch.together is not None and not stretch.together.match(arguments, allowing=False):
                continue
            for rule in stretch.rules:
                if rule.fits(query.operation_type, arguments):
                    return rule
        return None

    def _find(
        self, server: str, tool: str, safety_class: SafetyClass, workspace: str | None, caller: str
    ) -> Sequence[_Stretch]:
        """The rules that can decide such calls, by rank: behind one that fits always no other has a say."""
        found = {
            each.rank: each
            for rules in self._candidates(server, tool)
            for each in rules
            if each.concerns(server, tool, safety_class, workspace, caller)
        }
        inner = [found[rank] for rank in sorted(found)]
        last = next((at for at, each in enumerate(inner) if each.fits_always), len(inner))
        return tuple(_stretch(tuple(rules)) for _, rules in groupby(inner[: last + 1], key=_regex_at))

    def _candidates(self, server: str, tool: str) -> Iterator[Sequence[CompiledRule]]:
        yield from self._any_server.find(tool)
        shelf = self._by_server.get(server)
        if shelf is not None:
            yield from shelf.find(tool)


def _for_any_call(rule: CompiledRule) -> CompiledRule:
    """A rule without its conditions on what an agent can choose."""
    return replace(rule, rule=replace(rule.rule, operation_type=frozenset()), args=())


class RuleBook:
    """All rules of a configuration, compiled and indexed."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: tuple[CompiledRule, ...] = tuple(
            compile_rule(rank, rule) for rank, rule in enumerate(sorted(rules, key=_precedence))
        )
        self._deciding = _Index(each for each in self.rules if each.rule.effect is not None)
        self._forbidding = _Index(each for each in self.rules if each.forbids)
        scoping = [each for each in self.rules if each.rule.auth_scope_id is not None]
        self._scoping = _Index(scoping) if scoping else None
        self._holding = _Index(_for_any_call(each) for each in self.rules if each.rule.effect is Effect.HOLD)

    def deciding(self, query: Query) -> CompiledRule | None:
        """The rule that decides this call, if any does."""
        return self._deciding.first(query)

    def forbids(self, query: Query) -> bool:
        """Whether calls like this are denied whatever their arguments and whatever is declared."""
        return self._forbidding.first(query) is not None

    def may_hold(self, query: Query) -> bool:
        """Whether a rule holds calls like this with some arguments and some declaration."""
        return self._holding.first(query) is not None

    def auth_scope(self, query: Query) -> str | None:
        """The auth scope that the foremost matching rule with one chooses."""
        found = None if self._scoping is None else self._scoping.first(query)
        return None if found is None else found.rule.auth_scope_id

    def matching(self, query: Query) -> Sequence[CompiledRule]:
        """Every rule that matches, foremost first; for explaining, not for the path of a call."""
        return [rule for rule in self.rules if rule.matches(query)]
