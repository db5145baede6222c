"""Catalogues to search: made-up tools with a question for each, and the tools of real servers with sixty questions.

The made-up ones come from a seed. Their inflected forms are written out here rather than computed, so that the stemmer
is not tested against itself. Of the real ones only names and parameters are kept here; descriptions are other people's.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from interlock.core.model import JsonObject
from interlock.core.toolbook import Listing, ToolBook
from interlock.receive.search import ToolIndex

_FOLDER = Path(__file__).parent.parent / "data"
_VERBS = [
    tuple(line.split())
    for line in """
        create creates creating created | delete deletes deleting deleted | list lists listing listed
        get gets getting got | update updates updating updated | search searches searching searched
        send sends sending sent | move moves moving moved | archive archives archiving archived
        export exports exporting exported | approve approves approving approved | cancel cancels cancelling cancelled
        copy copies copying copied | assign assigns assigning assigned | publish publishes publishing published
        restore restores restoring restored | merge merges merging merged | tag tags tagging tagged
        lock locks locking locked | rename renames renaming renamed""".replace("\n", "|").split("|")
    if line.strip()
]
_OBJECTS = [
    tuple(pair.strip().split("/"))
    for pair in """
        issue/issues, pull request/pull requests, repository/repositories, invoice/invoices, customer/customers,
        file/files, directory/directories, message/messages, channel/channels, event/events,
        calendar event/calendar events, database/databases, table/tables, query/queries, deployment/deployments,
        container/containers, image/images, policy/policies, user/users, group/groups, role/roles, ticket/tickets,
        comment/comments, label/labels, branch/branches, commit/commits, workflow/workflows, pipeline/pipelines,
        secret/secrets, certificate/certificates, domain/domains, payment/payments, subscription/subscriptions,
        refund/refunds, order/orders, shipment/shipments, contact/contacts, campaign/campaigns, report/reports,
        dashboard/dashboards, alert/alerts, metric/metrics, log stream/log streams, bucket/buckets, queue/queues,
        topic/topics, function/functions, snapshot/snapshots, backup/backups, address/addresses, category/categories,
        note/notes, task/tasks, release/releases, webhook/webhooks, box/boxes, index/indexes""".split(",")
]
_PRODUCTS = [
    first + second
    for first, second in product(
        ("north", "blue", "cloud", "river", "stone", "bright", "swift", "iron", "maple", "lumen"),
        ("desk", "base", "pay", "hub", "ware", "grid", "mail", "forge", "track", "vault"),
    )
]
_ASIDES = """
    Returns a JSON object with the result. | Results are paginated; pass the cursor of the last page to go on.
    Requires an authenticated user with access to the workspace. | The identifier can be found in the URL.
    Use this when the user asks for it explicitly. | Set the limit to at most 100 entries for each page.
    Optional filters narrow the result by owner, project, state or date. | This operation is idempotent.
    Fails if it does not exist or if you do not have the permission. | Timestamps are given in UTC.
    Supports a dry run that reports what would be done. | Calls are limited to 60 for each minute and organization.
    Do not use this for bulk operations. | Custom fields are returned as they were entered.""".replace("\n", "|")
_SENTENCES = [each.strip() for each in _ASIDES.split("|") if each.strip()]
_PARAMETERS = "id owner project limit cursor filter state dry_run fields sortBy workspaceId createdAfter".split()
_QUESTIONS = (
    "{ing} {many} in {product}",
    "please {base} the {one} on {product}",
    "{product} {many} {ed}",
    "I want some {many} {ed} in {product}",
    "how can I {base} this {one} with {product}?",
    "the {one} that we have at {product} should be {ed}",
    "help me with {ing} {product} {many}",
)


@dataclass(frozen=True)
class Question:
    """What somebody asks, and the tool that answers it."""

    text: str
    server: str
    tool: str

    @property
    def answer(self) -> str:
        return f"{self.server}:{self.tool}"


@dataclass(frozen=True)
class Made:
    """One made-up tool, and a question that it answers."""

    server: str
    descriptor: JsonObject
    question: Question


def made_tools(count: int, seed: int = 7) -> list[Made]:
    """That many different tools; the first ones are the same for every count."""
    chosen = random.Random(seed)
    return list(islice(_made(chosen), count))


def _made(chosen: random.Random) -> Iterator[Made]:
    seen: set[tuple[int, int, int]] = set()
    while True:
        key = (chosen.randrange(len(_PRODUCTS)), chosen.randrange(len(_VERBS)), chosen.randrange(len(_OBJECTS)))
        if key not in seen:
            seen.add(key)
            yield _tool(_PRODUCTS[key[0]], _VERBS[key[1]], _OBJECTS[key[2]], chosen)


def _tool(server: str, verb: tuple[str, ...], thing: tuple[str, ...], chosen: random.Random) -> Made:
    base, does, ing, ed = verb
    one, many = thing
    deed = chosen.choice([f"{does} {one}", f"{does} {many}", f"{base} a single {one}", f"{does} one of the {many}"])
    asides = " ".join(chosen.sample(_SENTENCES, chosen.randrange(1, 6)))
    parameters = {f"{one.replace(' ', '_')}_id", *chosen.sample(_PARAMETERS, chosen.randrange(1, 6))}
    text = chosen.choice(_QUESTIONS).format(base=base, ing=ing, ed=ed, one=one, many=many, product=server.title())
    name = _name([*([server] if chosen.random() < 0.3 else []), base, *one.split()], chosen)
    descriptor: JsonObject = {
        "name": name,
        "description": f"{deed.capitalize()} in {server.title()}. {asides}",
        "inputSchema": {"type": "object", "properties": {each: {"type": "string"} for each in sorted(parameters)}},
    }
    return Made(server, descriptor, Question(text, server, name))


def _name(words: list[str], chosen: random.Random) -> str:
    """Names as servers write them: mostly snake_case, some camelCase, a few kebab-case."""
    style = chosen.random()
    if style < 0.55:
        return "_".join(words)
    return words[0] + "".join(map(str.title, words[1:])) if style < 0.85 else "-".join(words)


def book_of(listings: Mapping[str, Sequence[JsonObject]]) -> ToolBook:
    """A book of these tools by server."""
    book = ToolBook()
    for server, tools in listings.items():
        book = book.with_listing(Listing(server, server, tools))
    return book


def made_listings(made: Sequence[Made]) -> dict[str, list[JsonObject]]:
    listed: dict[str, list[JsonObject]] = {}
    for each in made:
        listed.setdefault(each.server, []).append(each.descriptor)
    return listed


def real_listings() -> dict[str, list[JsonObject]]:
    """The tools of real servers: names and parameters, nothing else."""
    listed: dict[str, list[JsonObject]] = {}
    for server, tool, parameters in _rows("real_parameters.tsv"):
        schema: JsonObject = {"type": "object", "properties": {name: {} for name in parameters.split()}}
        listed.setdefault(server, []).append({"name": tool, "inputSchema": schema})
    return listed


def real_questions() -> list[Question]:
    return [Question(text, server, tool) for text, server, tool in _rows("questions.tsv")]


def _rows(file: str) -> list[list[str]]:
    lines = (_FOLDER / file).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def hit_rates(index: ToolIndex, asked: Sequence[Question]) -> tuple[float, float]:
    """The shares of questions whose answer comes first, and among the first five."""
    ranked = [[hit.tool.tool.shown for hit in index.find(each.text, 5, lambda _: True).hits] for each in asked]
    pairs = list(zip(asked, ranked, strict=True))
    first = sum(shown[:1] == [each.answer] for each, shown in pairs)
    return first / len(pairs), sum(each.answer in shown for each, shown in pairs) / len(pairs)
