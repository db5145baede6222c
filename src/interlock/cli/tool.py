"""`interlock tool`: which tools there are, what a tool is and why we think so, and the operator's word about it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from interlock import errors
from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.inputs import bad, load_config, read_tools, server_and_tool, split_tool
from interlock.cli.lookup import find_server, find_tool, note_servers_down
from interlock.cli.render import counted, note, print_json, print_lines, print_table
from interlock.cli.situation import server_of
from interlock.core.classify import Classification, Descriptor, classify, classify_listing, read_descriptor
from interlock.core.model import Json
from interlock.core.safety import SafetyClass
from interlock.errors import Exit, InterlockError

_CLASSES = [each.value for each in SafetyClass]
_KNOWN, _POISONED = "known", "poisoned"
_TWICE = "twice"
_NONE = "none"
_SHORT = 60


# list -----------------------------------------------------------------------------------------------------------


def _list_options(parser: Options) -> None:
    parser.add_argument("query", nargs="?", metavar="QUERY", help="words of the name or the description")
    parser.add_argument("--server", metavar="S", help="only the tools of one server")
    parser.add_argument("--class", dest="safety_class", choices=_CLASSES, help="only the tools of one class")
    add_json(parser)


def _list(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        server = await find_server(api, values.server)
        answer = await api.get("tools", server=server, safety_class=values.safety_class, q=values.query)
        if values.json:
            print_json(answer)
        elif answer["items"]:
            _print_list(answer["items"])
        else:
            note("No tool fits.")
        await note_servers_down(api)
        return Exit.OK

    return through_gateway(values, work, servers=True)


_COLUMNS = {
    "TOOL": "name",
    "STANDING": "standing",
    "CLASS": "safety_class",
    "BECAUSE OF": "class_source",
    "CALL WITH": "call_with",
    "DESCRIPTION": "description",
}


def _print_list(tools: Sequence[Mapping[str, Any]]) -> None:
    """The table. How tools stand is in it only when one of them is not known."""
    unusual = any(each["standing"] != _KNOWN for each in tools)
    columns = {heading: field for heading, field in _COLUMNS.items() if unusual or field != "standing"}
    shown = ({**each, "description": _short(each["description"])} for each in tools)
    print_table(tuple(columns), ([each[field] for field in columns.values()] for each in shown))


def _short(text: str) -> str:
    first = text.strip().partition("\n")[0].strip()
    return first if len(first) <= _SHORT else f"{first[: _SHORT - 1]}…"


# show -----------------------------------------------------------------------------------------------------------


def _show_options(parser: Options) -> None:
    parser.add_argument("tool", metavar="TOOL", help="the tool: server:tool, or a bare name that only one server has")
    add_json(parser)


def _show(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        found = await find_tool(api, values.tool)
        if isinstance(found.detail, InterlockError):
            await note_servers_down(api)
            raise found.detail
        if values.json:
            print_json(dict(found.detail))
        else:
            print_lines(_detail_lines(found.detail))
        return Exit.OK

    return through_gateway(values, work, servers=True)


def _detail_lines(tool: Mapping[str, Any]) -> Iterable[str]:
    yield f"{tool['name']} is {tool['safety_class']}, because of its {tool['class_source']}:"
    for one in tool["evidence"]:
        yield f"  {'*' if one['decided'] else ' '} {one['source']}: {one['says']} ({one['detail']})"
    yield f"Call with:  {tool['call_with']}"
    yield f"Views:      {', '.join(f'{name} {says}' for name, says in tool['views'].items())}"
    yield f"Standing:   {tool['standing']}, fingerprint {tool['fingerprint']}"
    yield from _block("Findings", [f"{one['text']} [{one['code']}]" for one in tool["findings"]])
    yield from _block("Description", tool["description"].splitlines())
    yield from _block("Annotations", [f"{name} = {json.dumps(said)}" for name, said in tool["annotations"].items()])
    yield from _block("Input schema", _json_lines(tool["input_schema"]))
    yield from _block("Output schema", _json_lines(tool["output_schema"]))


def _json_lines(value: Any) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False).split("\n") if value else []


def _block(title: str, lines: Iterable[str]) -> Iterable[str]:
    """A titled block; without lines, nothing."""
    listed = list(lines)
    if listed:
        yield f"{title}:"
        yield from (f"  {line}" for line in listed)


# diff and trust -------------------------------------------------------------------------------------------------


def _diff_options(parser: Options) -> None:
    parser.add_argument("tool", metavar="SERVER[:TOOL]", help="one tool, or all of a server that are not as reviewed")
    add_json(parser)


def _diff(values: Values) -> Exit:
    server, tool = _server_or_tool(values.tool)

    async def work(api: Api) -> Exit:
        if tool is not None:
            found = [await _difference(api, server, tool)]
        else:
            differing = await _differing(api, await find_server(api, server))
            found = [await _difference(api, each["server"], each["tool"]) for each in differing]
        if values.json:
            print_json(found[0] if tool is not None else {"items": found, "total": len(found)})
        else:
            print_lines(line for each in found for line in _difference_lines(each))
        if not found:
            note(f"Everything that '{server}' lists is as it was reviewed.")
            await note_servers_down(api)
        return Exit.OK

    return through_gateway(values, work, servers=True)


async def _differing(api: Api, server: str | None) -> list[Mapping[str, Any]]:
    """The tools of a server that are not as they were reviewed."""
    listed = (await api.get("tools", server=server))["items"]
    return [each for each in listed if each["standing"] != _KNOWN]


async def _difference(api: Api, server: str, tool: str) -> Mapping[str, Any]:
    try:
        found = await api.get("tools", server, tool, "diff")
        # Beside what was reviewed the meanings of what changed tell it; without that, only the findings do.
        if found["standing"] == _POISONED and found["reviewed_fingerprint"] is None:
            return {**found, "findings": (await api.get("tools", server, tool))["findings"]}
    except InterlockError:
        await note_servers_down(api)
        raise
    return found


_STANDINGS = {
    _KNOWN: "is as it was reviewed.",
    "new": "is new: nobody has reviewed it. It says:",
    "changed": "changed after it was reviewed:",
    _TWICE: "is listed more than once, with definitions that differ:",
    "poisoned": "has signs of poison, and nobody has trusted it. Beside what was reviewed:",
}


def _difference_lines(tool: Mapping[str, Any]) -> Iterable[str]:
    yield f"{tool['name']} {_STANDINGS[tool['standing']]}"
    yield from (f"  [{each['code']}] {each['text']}" for each in tool.get("findings", ()))
    yield from (f"  [{each['grade']}] {each['text']}" for each in tool["meanings"])
    for each in tool["changes"]:
        yield f"  {each['path']}"
        if each["kind"] != "added":
            yield f"    - {json.dumps(each['before'], ensure_ascii=False)}"
        if each["kind"] != "removed":
            yield f"    + {json.dumps(each['after'], ensure_ascii=False)}"
    if not tool["complete"]:
        yield "  and more"


def _trust_options(parser: Options) -> None:
    parser.add_argument("tool", metavar="SERVER[:TOOL]", help="one tool, or with --all everything that a server lists")
    parser.add_argument("--all", action="store_true", help="trust all tools of the server as they are listed now")
    parser.add_argument("--poisoned", action="store_true", help="trust this one tool in spite of its signs of poison")
    add_json(parser)


def _trust(values: Values) -> Exit:
    server, tool = _server_or_tool(values.tool)
    if tool is None and not values.all:
        raise bad(f"'{server}' names a whole server", f"Name one tool as {server}:TOOL, or add --all.")
    if tool is not None and values.all:
        raise bad("--all is for a whole server", f"Leave --all out, or say `{server} --all`.")
    if tool is None and values.poisoned:
        raise bad("--poisoned is for one tool", f"Name it as {server}:TOOL.")

    async def work(api: Api) -> Exit:
        passed_over = tool is None and await _pass_over(api, server)
        if tool is None:
            answer = await _trust_all(api, server, values)
        else:
            answer = await _trust_one(api, server, tool, values)
        if values.json:
            print_json(answer)
        elif answer["trusted"]:
            print_lines(answer["trusted"])
            note(f"{counted(len(answer['trusted']), 'tool')} trusted.")
        elif passed_over:
            note("Nothing else is left to trust.")
        else:
            note("Nothing is left to trust: it is as it was reviewed.")
        return Exit.OK

    return through_gateway(values, work, servers=True)


async def _trust_one(api: Api, server: str, tool: str, values: Values) -> Any:
    # What is shown is what is trusted: if the server lists something else by then, nothing is.
    shown = await _difference(api, server, tool)
    if shown["standing"] != _KNOWN and (not values.json or shown["standing"] == _POISONED):
        for line in _difference_lines(shown):
            note(line)
    if shown["standing"] == _POISONED and not values.poisoned:
        raise InterlockError(errors.NOT_TRUSTED_IN_PASSING(tool=shown["name"]))
    return await api.post("tools", server, tool, "trust", body={"fingerprint": shown["fingerprint"]})


async def _pass_over(api: Api, server: str) -> bool:
    """Tell which tools of a server are not trusted together with the others; whether there are any."""
    unsettled = await _differing(api, server)
    for each in unsettled:
        if each["standing"] == _TWICE:
            note(errors.LISTED_TWICE(tool=each["name"]).text)
        elif each["standing"] == _POISONED:
            note(f"{each['name']} has signs of poison and is not trusted in passing: see `interlock tool show`.")
    return any(each["standing"] in (_TWICE, _POISONED) for each in unsettled)


async def _trust_all(api: Api, server: str, values: Values) -> Any:
    differing = [each for each in await _differing(api, server) if each["standing"] not in (_TWICE, _POISONED)]
    if not differing:  # the gateway knows why: all is as it was reviewed, the server is down, or there is none
        return await api.post("servers", server, "trust", body={})
    answers = [await _trust_one(api, each["server"], each["tool"], values) for each in differing]
    return {"trusted": [name for each in answers for name in each["trusted"]]}


def _server_or_tool(name: str) -> tuple[str, str | None]:
    server, tool = split_tool(name)
    return (tool, None) if server is None else (server, tool)


# override -------------------------------------------------------------------------------------------------------


def _override_options(parser: Options) -> None:
    parser.add_argument("tool", metavar="SERVER:TOOL", help="the tool")
    parser.add_argument(
        "safety_class",
        metavar="CLASS",
        choices=[*_CLASSES, _NONE],
        help=f"{', '.join(_CLASSES)}; {_NONE} lets the evidence speak again",
    )
    add_json(parser)


def _override(values: Values) -> Exit:
    server, tool = server_and_tool(values.tool)
    body: dict[str, Json] = {"safety_class": None if values.safety_class == _NONE else values.safety_class}

    async def work(api: Api) -> Exit:
        answer = await api.post("tools", server, tool, "override", body=body)
        if values.json:
            print_json(answer)
        elif answer["safety_class"] is None:
            note(f"{answer['name']} has no override any more.")
        else:
            note(f"{answer['name']} is {answer['safety_class']} now, because of its {answer['class_source']}.")
        return Exit.OK

    return through_gateway(values, work, servers=True)


# classify -------------------------------------------------------------------------------------------------------


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
        "list",
        "List the tools of all servers, with their classes.",
        _list_options,
        _list,
        (
            "interlock tool list",
            "interlock tool list note --server sample",
            "interlock tool list --class dangerous --json",
        ),
    ),
    Verb(
        "show",
        "Show one tool: its class with the evidence, its findings, its schema, and how to call it.",
        _show_options,
        _show,
        ("interlock tool show sample:delete_note", "interlock tool show delete_note --json"),
    ),
    Verb(
        "diff",
        "Show what changed since a tool was reviewed, field by field.",
        _diff_options,
        _diff,
        ("interlock tool diff github:create_issue", "interlock tool diff github --json"),
    ),
    Verb(
        "trust",
        "Take a tool as it is listed now for reviewed, after showing what changed.",
        _trust_options,
        _trust,
        ("interlock tool trust github:create_issue", "interlock tool trust github --all"),
    ),
    Verb(
        "override",
        "Set the class of a tool for good, whatever its name and its server say.",
        _override_options,
        _override,
        ("interlock tool override github:frobnicate read-only", "interlock tool override github:frobnicate none"),
    ),
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
