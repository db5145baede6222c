"""Hypothesis strategies over small alphabets, so that what is generated meets and collides."""

from functools import cache

from hypothesis import strategies as st

from interlock.core.classify import classify, read_descriptor
from interlock.core.decide import Entry, Facts, GatewayEntry, KnownTool, LabEntry, RunToolEntry
from interlock.core.grants import Grant, GrantKey, GrantScope
from interlock.core.intent import IntentMode, IntentPolicy
from interlock.core.model import (
    Call,
    Caller,
    Declaration,
    HoldTerms,
    Json,
    OperationType,
    Scope,
    Standing,
    Tool,
    Variant,
)
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect, LabPolicy, Posture, RunToolFlags, SafetyClass

# Strategies are built once and kept: building them anew for every example costs more than the examples.
SERVERS = ("github", "db")
WORKSPACES = ("prod", "dev")
CALLERS = ("ci-1", "ci-2", "alice")
DIGESTS = ("d1", "d2")
FINGERPRINTS = ("f1", "f2")
NOW = 1_000

_WORDS = ("get", "list", "create", "add", "delete", "clear", "run", "frob", "user", "git", "reset", "and", "x2")

json_values: st.SearchStrategy[Json] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-200, 200),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


@cache
def tool_names() -> st.SearchStrategy[str]:
    words = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4)
    joined = st.builds(_joined, st.sampled_from(["_", "-", "__", "."]), words)
    return st.one_of(joined, st.text(max_size=12))


def _joined(separator: str, words: list[str]) -> str:
    return separator.join(words)


@cache
def annotations() -> st.SearchStrategy[dict[str, Json]]:
    value: st.SearchStrategy[Json] = st.sampled_from([True, False, True, False, "yes", None, 1])
    return st.dictionaries(
        st.sampled_from(["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]), value, max_size=4
    )


@cache
def descriptors() -> st.SearchStrategy[dict[str, Json]]:
    """Tool descriptors, most of them sane, some of them not."""
    metadata: st.SearchStrategy[Json] = st.one_of(
        st.sampled_from([each.value for each in SafetyClass]), st.sampled_from(["a", "D", "nonsense"]), json_values
    )
    fields: dict[str, st.SearchStrategy[Json]] = {
        "annotations": st.one_of(annotations(), json_values),
        "safety_class": metadata,
        "class": metadata,
        "_meta": st.one_of(st.dictionaries(st.sampled_from(["safety_class", "class"]), metadata), json_values),
        "description": st.text(max_size=8),
    }
    named: st.SearchStrategy[Json] = st.one_of(tool_names(), json_values)
    return st.fixed_dictionaries({"name": named}, optional=fields)


arguments: st.SearchStrategy[dict[str, Json]] = st.dictionaries(
    st.sampled_from(["repo", "amount", "items"]),
    st.one_of(
        st.sampled_from(["acme/x", "evil/x", "150", 50, 150, True, None]),
        st.lists(st.dictionaries(st.just("sql"), st.sampled_from(["drop t", "select"]), max_size=1), max_size=2),
        json_values,
    ),
    max_size=3,
)

_matchers: st.SearchStrategy[tuple[str, Json]] = st.sampled_from(
    [
        ("repo", "acme/*"),
        ("repo", {"not": "acme/*"}),
        ("repo", {"absent": True}),
        ("amount", {"gt": 100}),
        ("amount", ["50", {"lte": 20}]),
        ("items[*].sql", {"matches": "(?i)drop"}),
        ("items", {"contains": 3}),
    ]
)


@cache
def terms() -> st.SearchStrategy[HoldTerms]:
    return st.builds(
        HoldTerms,
        approval_timeout=st.sampled_from([10, 300]),
        approvals_needed=st.sampled_from([1, 2]),
        approvers=st.sampled_from([(), ("humans",)]),
        four_eyes=st.booleans(),
        max_grant=st.sampled_from([0, 900]),
    )


@cache
def _sets(values: type[SafetyClass] | type[OperationType]) -> st.SearchStrategy[frozenset[str]]:
    return st.one_of(st.just(frozenset[str]()), st.frozensets(st.sampled_from(list(values)), max_size=2))


def rules(effects: st.SearchStrategy[Effect | None] | None = None) -> st.SearchStrategy[Rule]:
    return st.builds(
        Rule,
        id=st.text("abcdef", min_size=6, max_size=6),
        effect=st.sampled_from([None, *Effect]) if effects is None else effects,
        workspace_id=st.sampled_from([None, None, *WORKSPACES]),
        server_id=st.sampled_from([None, None, *SERVERS, "g*", "*"]),
        tool_pattern=st.lists(
            st.sampled_from(["github__*", "db__*", "*__delete*", "github__get_x", "github__g?t_[xy]", "db__run*"]),
            max_size=2,
        ).map(tuple),
        safety_class=_sets(SafetyClass),
        operation_type=_sets(OperationType),
        caller=st.sampled_from([None, None, "ci-*", "alice"]),
        args=st.lists(_matchers, max_size=1).map(tuple),
        terms=terms(),
        priority=st.integers(-1, 1),
        auth_scope_id=st.sampled_from([None, None, "s1", "s2"]),
    )


@cache
def rule_lists() -> st.SearchStrategy[list[Rule]]:
    return st.lists(rules(), max_size=6, unique_by=lambda rule: rule.id)


@st.composite
def callers(draw: st.DrawFn) -> Caller:
    scope = Scope(
        servers=draw(st.sampled_from([None, None, ("github",), ("g*", "db"), ()])),
        tools=draw(st.sampled_from([None, None, ("*get*",), ("github:*",)])),
        ceiling=draw(st.sampled_from([None, None, *OperationType])),
        expires_at=draw(st.sampled_from([None, None, NOW - 1, NOW + 5])),
    )
    return Caller(draw(st.sampled_from(CALLERS)), draw(st.sampled_from([None, *WORKSPACES])), scope)


@cache
def entries() -> st.SearchStrategy[Entry]:
    return st.one_of(
        st.builds(
            GatewayEntry,
            posture=st.sampled_from(Posture),
            intent=st.builds(IntentPolicy, mode=st.sampled_from(IntentMode), strict_server_validation=st.booleans()),
        ),
        st.builds(RunToolEntry, st.builds(RunToolFlags, approve=st.booleans(), dangerous=st.booleans())),
        st.builds(
            LabEntry,
            st.builds(LabPolicy, execute_destructive=st.booleans(), strict=st.booleans()),
            unchecked=st.booleans(),
        ),
    )


@st.composite
def known_tools(draw: st.DrawFn) -> KnownTool:
    name = draw(st.one_of(st.sampled_from(["get_x", "delete_x", "run_x", "create_x", "frob"]), tool_names()))
    server = draw(st.sampled_from(SERVERS))
    descriptor = read_descriptor({"name": name, "annotations": draw(annotations())})
    classification = classify(descriptor, trusted=draw(st.booleans()))
    standing = draw(st.sampled_from([Standing.KNOWN, Standing.KNOWN, *Standing]))
    return KnownTool(
        Tool(server, server, name, draw(st.sampled_from(FINGERPRINTS)), descriptor.hints, standing), classification
    )


@st.composite
def grants_for(draw: st.DrawFn, key: GrantKey) -> Grant:
    """Grants that often fit the key, and often miss it by one item."""
    given = GrantKey(
        caller=draw(st.sampled_from([key.caller, key.caller, "alice"])),
        server=draw(st.sampled_from([key.server, key.server, "db"])),
        tool=draw(st.sampled_from([key.tool, key.tool, "other"])),
        fingerprint=draw(st.sampled_from([key.fingerprint, key.fingerprint, "f9"])),
        digest=draw(st.sampled_from([key.digest, key.digest, "d9"])),
        rule_hash=draw(st.sampled_from([key.rule_hash, key.rule_hash, "h9"])),
    )
    return Grant(
        id=draw(st.text("xyz", min_size=4, max_size=4)),
        key=given,
        scope=draw(st.sampled_from(GrantScope)),
        expires_at=draw(st.sampled_from([NOW - 1, NOW, NOW + 3, NOW + 100])),
        uses_left=draw(st.sampled_from([None, 0, 1])),
        revoked=draw(st.sampled_from([False, False, True])),
    )


@st.composite
def facts(draw: st.DrawFn, *, entry: st.SearchStrategy[Entry] | None = None) -> Facts:
    """Facts of every kind; grants are made for the ground that the rules really give."""
    from interlock.core.decide import Waiting, decide, grant_key

    found = draw(st.one_of(st.none(), known_tools(), known_tools(), known_tools()))
    caller = draw(callers())
    call = Call(
        caller=caller,
        server=draw(st.sampled_from(SERVERS)) if found is None else found.tool.server,
        tool="nowhere" if found is None else found.tool.name,
        arguments=draw(arguments),
        digest=draw(st.sampled_from(DIGESTS)),
        variant=draw(st.sampled_from([Variant.DIRECT, Variant.DIRECT, *Variant])),
        declaration=draw(declarations()),
    )
    bare = Facts(
        call=call,
        found=found,
        rules=RuleBook(draw(rule_lists())),
        now=NOW,
        entry=draw(entries() if entry is None else entry),
        hold=draw(terms()),
    )
    verdict = decide(bare)
    grants: list[Grant] = []
    waiting: list[Waiting] = []
    if found is not None:
        key = grant_key(call, found, verdict.ground, getattr(verdict, "auth_scope", None))
        waiting = draw(st.sampled_from([[], [], [Waiting("apr-1", key)]]))
        grants = draw(st.lists(grants_for(key), max_size=3))
    return Facts(
        call=call,
        found=found,
        rules=bare.rules,
        now=NOW,
        entry=bare.entry,
        hold=bare.hold,
        grants=grants,
        suggestion=draw(st.sampled_from(["", " Did you mean 'x'?"])),
        frozen=draw(st.sampled_from([None, None, None, "everything"])),
        argument_problem=draw(st.sampled_from([None, None, None, "path is missing"])),
        waiting=waiting,
        recent_denial=draw(st.sampled_from([None, None, "", "no"])),
        over_rate=draw(st.sampled_from([None, None, None, "60 a minute"])),
        pending_count=draw(st.sampled_from([0, 0, 20])),
        desk_full=draw(st.sampled_from([False, False, False, True])),
    )


@cache
def declarations() -> st.SearchStrategy[Declaration]:
    operation: st.SearchStrategy[Json] = st.one_of(
        st.sampled_from([each.value for each in OperationType]), st.none(), json_values
    )
    return st.one_of(
        st.just(Declaration()),
        st.builds(
            Declaration,
            given=st.just(True),
            operation_type=operation,
            data_sensitivity=st.one_of(st.none(), st.sampled_from(["public", "x"]), json_values),
            reason=st.one_of(st.none(), st.just("because"), st.just("x" * 1001), json_values),
        ),
    )
