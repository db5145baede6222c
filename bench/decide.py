"""What one decision costs: 1,000 rules (200 with argument matchers) and 10,000 tools.

Goals: p99 at most 100 µs, flat in the number of tools, and at most 5 times the cost with 10 rules. All figures come
from one run with the rounds interleaved; tools and arguments are drawn at random with a fixed seed.
"""

import gc
import random
import statistics
import sys
import time
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from interlock.core.classify import classify, read_descriptor
from interlock.core.decide import Facts, KnownTool, decide
from interlock.core.model import Call, Caller, Declaration, Json, Tool, Variant
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect, SafetyClass

SERVERS = [f"server-{number}" for number in range(50)]
VERBS = ["get", "list", "create", "update", "delete", "run", "search", "frob"]
SAMPLES = 20_000
P99_GOAL, RATIO_GOAL = 100e-6, 5.0


def tools(count: int) -> list[KnownTool]:
    chosen = random.Random(1)
    made: list[KnownTool] = []
    for number in range(count):
        name, server = f"{chosen.choice(VERBS)}_thing_{number}", chosen.choice(SERVERS)
        classification = classify(read_descriptor({"name": name}))
        made.append(KnownTool(Tool(server, server, name, f"fingerprint-{number}"), classification))
    return made


def rules(count: int) -> list[Rule]:
    """A mix as operators write them: by server and prefix, by class, by caller, a fifth with argument matchers."""
    chosen = random.Random(2)
    return [_rule(number, chosen) for number in range(count)]


def _rule(number: int, chosen: random.Random) -> Rule:
    server, verb = chosen.choice(SERVERS), chosen.choice(VERBS)
    args: tuple[tuple[str, Json], ...] = ()
    if number % 5 == 0:
        args = (("repo", "acme/*"), ("amount", {"gt": 100}), ("items[*].sql", {"matches": r"(?i)\bdrop\b"}))
    shape = number % 10
    return Rule(
        id=f"rule-{number}",
        effect=chosen.choice([Effect.ALLOW, Effect.HOLD, Effect.HOLD, Effect.DENY] if args else [Effect.HOLD]),
        server_id=None if shape == 3 else server,
        tool_pattern=(f"{server}__{verb}_*",) if shape != 7 else (f"*__{verb}_thing_{number}*",),
        safety_class=frozenset({SafetyClass.DANGEROUS}) if shape == 4 else frozenset(),
        workspace_id="prod" if shape == 6 else None,
        caller="ci-*" if shape == 8 else None,
        args=args,
        priority=chosen.randrange(3),
    )


def facts(known: list[KnownTool], book: RuleBook, chosen: random.Random) -> Facts:
    found = chosen.choice(known)
    arguments: dict[str, Json] = {
        "repo": chosen.choice(["acme/x", "other/x"]),
        "amount": chosen.randrange(200),
        "items": [{"sql": "select 1"}, {"sql": chosen.choice(["drop table t", "select 2"])}],
    }
    call = Call(
        caller=Caller(chosen.choice(["ci-7", "alice"]), chosen.choice(["prod", "dev"])),
        server=found.tool.server,
        tool=found.tool.name,
        arguments=arguments,
        digest="0" * 64,
        variant=Variant.WRITE,
        declaration=Declaration(given=True, operation_type="write", reason="because"),
    )
    return Facts(call=call, found=found, rules=book, now=0)


def measure(cases: dict[str, list[Facts]]) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in cases}
    iterators = {name: iter(each) for name, each in cases.items()}
    gc.disable()
    for _ in range(SAMPLES // 100):
        for name, iterator in iterators.items():
            for each in islice(iterator, 100):
                began = time.perf_counter()
                decide(each)
                taken[name].append(time.perf_counter() - began)
    gc.enable()
    return taken


def main() -> None:
    many, few = tools(10_000), tools(100)
    thousand, ten = RuleBook(rules(1_000)), RuleBook(rules(10))
    chosen = random.Random(3)
    cases = {
        "   10 rules, 10,000 tools": [facts(many, ten, chosen) for _ in range(SAMPLES)],
        "1,000 rules,    100 tools": [facts(few, thousand, chosen) for _ in range(SAMPLES)],
        "1,000 rules, 10,000 tools": [facts(many, thousand, chosen) for _ in range(SAMPLES)],
    }
    taken = measure(cases)
    print(f"decide: {SAMPLES} decisions each, interleaved")
    middle: dict[str, float] = {}
    p99 = 0.0
    for name, each in taken.items():
        middle[name] = statistics.median(each)
        p99 = statistics.quantiles(each, n=100)[98]
        print(f"  {name}   median {middle[name] * 1e6:6.1f} µs   p99 {p99 * 1e6:6.1f} µs")
    low, narrow, full = middle.values()
    print(f"  ratio 1,000 : 10 rules {full / low:.2f} (goal {RATIO_GOAL:g}); 10,000 : 100 tools {full / narrow:.2f}")
    reached = p99 <= P99_GOAL and full / low <= RATIO_GOAL
    print(f"  goal {'reached' if reached else 'MISSED'} (p99 at most {P99_GOAL * 1e6:.0f} µs)")


if __name__ == "__main__":
    main()
