"""What finding a tool costs, and how often the right one is found.

`python bench/search.py [FOLDER]` searches 100, 1,000 and 10,000 made-up tools on up to 100 servers, asking for them in
other words than their names. The questions of `tests/data/questions.tsv` are asked over the names and parameters of
real tools; with a folder of saved tools/list answers in JSON files, over those as well, with their descriptions.

Times are processor time of the thread that answers, because nothing here waits, and of each question the best of
three, because others use the machine; the rounds of the sizes are interleaved. Goals: p99 at most 2 ms with 10,000
tools, one server of 100 renewed within 50 ms; hit@1 at least 90 % and hit@5 at least 99 % over made-up tools, hit@5 at
least 90 % over real ones.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.lexicon import from_folder

from interlock.core.decide import in_scope
from interlock.core.model import Caller, JsonObject, Scope, Standing
from interlock.core.toolbook import ListedTool, Listing, ToolBook
from interlock.receive.search import ToolIndex
from tests.receive.catalogues import (
    Made,
    Question,
    book_of,
    hit_rates,
    made_listings,
    made_tools,
    real_listings,
    real_questions,
)

SIZES = (100, 1_000, 10_000)
ASKED, ROUNDS = 2_000, 20
P99_GOAL, UPDATE_GOAL = 2e-3, 50e-3
SCOPED = Caller("scoped", scope=Scope(servers=("north*", "s*"), tools=("*",)))


@dataclass
class Catalogue:
    made: list[Made]
    book: ToolBook
    index: ToolIndex = field(default_factory=ToolIndex)
    filled: float = 0.0
    renewed: list[float] = field(default_factory=list[float])
    found: list[float] = field(default_factory=list[float])
    reached: list[float] = field(default_factory=list[float])


def cost(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def everything(_: ListedTool) -> bool:
    return True


def reachable(each: ListedTool) -> bool:
    """What retrieve_tools asks of each tool that fits. It costs more than finding the tool, and has no goal here."""
    return each.tool.standing is not Standing.CHANGED and in_scope(SCOPED, each.tool.server, each.tool.name)


def filled(count: int) -> Catalogue:
    made = made_tools(count)
    catalogue = Catalogue(made, book_of(made_listings(made)))
    catalogue.filled = cost(lambda: catalogue.index.update(catalogue.book))
    return catalogue


def renew(catalogue: Catalogue, number: int) -> float:
    """One server lists its tools anew, one of them changed and one new."""
    servers = list(catalogue.book.by_server)
    server = servers[number % len(servers)]
    tools = [each.descriptor for each in catalogue.book.by_server[server].values()]
    changed = {**tools[0], "description": f"Now in its version {number}."}
    listing = Listing(server, server, [changed, *tools[1:], {"name": f"brand_new_{number}"}])
    catalogue.book = catalogue.book.with_listing(listing)
    return cost(lambda: catalogue.index.update(catalogue.book))


def measure(catalogues: list[Catalogue]) -> None:
    gc.collect()
    gc.disable()
    share = ASKED // ROUNDS
    for number in range(ROUNDS):
        for each in catalogues:
            each.renewed.append(renew(each, number))
            texts = [each.made[at % len(each.made)].question.text for at in range(number * share, (number + 1) * share)]
            each.found.extend(asked(each.index, texts, everything))
            each.reached.extend(asked(each.index, texts, reachable))
    gc.enable()


def asked(index: ToolIndex, texts: list[str], wanted: Callable[[ListedTool], bool]) -> list[float]:
    return [min(cost(partial(index.find, text, 15, wanted)) for _ in range(3)) for text in texts]


def p99(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=100)[98]


def times() -> bool:
    catalogues = [filled(count) for count in SIZES]
    measure(catalogues)
    print(f"search: {ASKED} questions each, interleaved; times in ms of processor time")
    print("    tools  servers     fill  renew one   find median      p99   for a scoped caller      p99")
    for each in catalogues:
        middle, narrow = statistics.median(each.found), statistics.median(each.reached)
        print(
            f"  {len(each.made):7,}  {len(each.book.by_server):7}  {each.filled * 1e3:7.1f}  "
            f"{statistics.median(each.renewed) * 1e3:9.2f}   {middle * 1e3:11.3f}  {p99(each.found) * 1e3:7.3f}   "
            f"{narrow * 1e3:19.3f}  {p99(each.reached) * 1e3:7.3f}"
        )
    slowest, renewed = p99(catalogues[-1].found), statistics.median(catalogues[-1].renewed)
    reached = slowest <= P99_GOAL and renewed <= UPDATE_GOAL
    print(f"  goal {_word(reached)} (p99 at most {P99_GOAL * 1e3:g} ms, renewing at most {UPDATE_GOAL * 1e3:g} ms)")
    return reached


def quality(folder: Path | None) -> bool:
    made, real = Goal(0.9, 0.99), Goal(0.0, 0.9)
    reached = [
        asked_well(f"{count:,} made-up tools", made_listings(tools), [each.question for each in tools[:2_000]], made)
        for count in (2_000, 10_000)
        if (tools := made_tools(count))
    ]
    reached.append(asked_well("real tools, names and parameters", real_listings(), real_questions(), real))
    if folder is not None:
        reached.append(asked_well(f"real tools of {folder.name}", from_folder(folder), real_questions(), real))
    return all(reached)


@dataclass(frozen=True)
class Goal:
    first: float
    five: float


def asked_well(name: str, listings: dict[str, list[JsonObject]], questions: list[Question], goal: Goal) -> bool:
    index = ToolIndex()
    index.update(book_of(listings))
    first, five = hit_rates(index, questions)
    reached = first >= goal.first and five >= goal.five
    print(f"  {name:34} {len(questions):5} questions   hit@1 {first:6.1%}   hit@5 {five:6.1%}   goal {_word(reached)}")
    return reached


def _word(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def main() -> int:
    reached = [times(), quality(Path(sys.argv[1]) if len(sys.argv) > 1 else None)]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
