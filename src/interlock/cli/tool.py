"""`interlock tool`: what a tool is, and why we think so."""

from collections.abc import Iterable

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.inputs import bad, load_config, read_tools, split_tool
from interlock.cli.render import print_json, print_lines, print_table
from interlock.cli.situation import server_of
from interlock.core.classify import Classification, Descriptor, classify, classify_listing, read_descriptor
from interlock.core.model import Json
from interlock.errors import Exit


def _classify_options(parser: Options) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="a tool name, or server:tool")
    parser.add_argument("--from", dest="source", metavar="TOOLS.json", help="a saved tools/list; `-` reads stdin")
    parser.add_argument("--trusted", action="store_true", help="take the server's annotations at their word")
    add_json(parser)


def _classify(values: Values) -> Exit:
    if bool(values.names) == (values.source is not None):
        raise bad("give tool names or --from, one of the two", "interlock tool classify delete_file")
    rows = _from_file(values) if values.source is not None else _from_names(values)
    if values.json:
        print_json([as_json(name, each) for name, each in rows])
    else:
        _print_table(rows)
        if values.names:
            print_lines(_evidence_lines(rows))
        print_lines(_finding_lines(rows))
    return Exit.OK


def _from_names(values: Values) -> list[tuple[str, Classification]]:
    config = load_config(values)
    rows: list[tuple[str, Classification]] = []
    for name in values.names:
        server, tool = split_tool(name)
        override = None if server is None else config.settings.overrides.get(f"{server_of(config, server)}:{tool}")
        descriptor = read_descriptor({"name": tool})
        rows.append((name, classify(descriptor, trusted=values.trusted, override=override, lexicon=config.lexicon)))
    return rows


def _from_file(values: Values) -> list[tuple[str, Classification]]:
    tools = read_tools(values.source)
    lexicon = load_config(values).lexicon
    listing: Iterable[tuple[Descriptor, Classification]] = classify_listing(
        tools, trusted=values.trusted, lexicon=lexicon
    )
    return [(descriptor.name, each) for descriptor, each in listing]


def as_json(name: str, each: Classification) -> dict[str, Json]:
    return {
        "name": name,
        "views": {
            "prefix": each.prefix,
            "exec": each.exec,
            "intent": each.intent,
            "gateway": each.gateway,
        },
        "source": each.source,
        "call_with": each.call_with,
        "evidence": [
            {"source": one.source, "says": one.says, "detail": one.detail, "decided": one.decided}
            for one in each.evidence
        ],
        "findings": [{"code": one.code, "text": one.text} for one in each.findings],
    }


def _print_table(rows: list[tuple[str, Classification]]) -> None:
    print_table(
        ("TOOL", "GATEWAY", "BECAUSE OF", "PREFIX", "EXEC", "CALL WITH"),
        ((name, each.gateway, each.source, each.prefix, each.exec, each.call_with) for name, each in rows),
    )


def _evidence_lines(rows: list[tuple[str, Classification]]) -> Iterable[str]:
    for name, each in rows:
        yield ""
        yield f"{name}: {each.gateway}"
        for one in each.evidence:
            yield f"  {'*' if one.decided else ' '} {one.source}: {one.says} ({one.detail})"


def _finding_lines(rows: list[tuple[str, Classification]]) -> Iterable[str]:
    found = [(name, one) for name, each in rows for one in each.findings]
    if found:
        yield ""
        yield "Findings:"
    for name, one in found:
        yield f"  {name}: {one.text} [{one.code}]"


VERBS = (
    Verb(
        "classify",
        "Classify tools by name, or a saved tools/list, in all four views.",
        _classify_options,
        _classify,
        (
            "interlock tool classify delete_file frobnicate",
            "interlock tool classify --from tools.json",
            "interlock tool classify --from tools.json --trusted --json",
        ),
    ),
)
