"""`interlock tool`: which tools there are, what a tool is, and why."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Beside, Interlock, configure
from tests.running import server_yaml

_HEADING = ["TOOL", "GATEWAY", "BECAUSE", "OF", "PREFIX", "EXEC", "CALL", "WITH"]


def save(*tools: dict[str, Any]) -> None:
    Path("tools.json").write_text(json.dumps({"tools": tools}), encoding="utf-8")


def test_names_are_classified_in_all_views_with_the_evidence_below(il: Interlock) -> None:
    done = il("tool", "classify", "delete_file", "frobnicate")
    assert (done.exit, done.err) == (0, "")
    assert [line.split() for line in done.lines[:3]] == [
        _HEADING,
        ["delete_file", "dangerous", "name", "dangerous", "Destructive", "call_tool_destructive"],
        ["frobnicate", "unknown", "name", "unknown", "ReadOnlyPresumed", "call_tool_write"],
    ]
    assert done.lines[3:] == [
        "",
        "delete_file: dangerous",
        "  * name: dangerous ('delete')",
        "",
        "frobnicate: unknown",
        "  * name: unknown (no word of the name says what it does)",
    ]


def test_json_gives_every_view_the_source_and_the_evidence(il: Interlock) -> None:
    done = il("tool", "classify", "delete_file", "--json")
    assert (done.exit, done.err) == (0, "")
    assert done.json == [
        {
            "name": "delete_file",
            "views": {
                "prefix": "dangerous",
                "exec": "Destructive",
                "intent": "call_tool_write",
                "gateway": "dangerous",
            },
            "source": "name",
            "call_with": "call_tool_destructive",
            "evidence": [{"source": "name", "says": "dangerous", "detail": "'delete'", "decided": True}],
            "findings": [],
        }
    ]


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("read_file", "read-only"),
        ("git_push", "read-only"),
        ("update_repo_file", "write-capable"),
        ("new_thing", "write-capable"),
        ("remove_device", "dangerous"),
        ("validate_config", "subprocess"),
        ("mystery_tool", "unknown"),
        ("READ_FILE", "read-only"),
        ("github:read_file", "read-only"),
    ],
)
def test_the_prefix_view_is_the_promised_table(il: Interlock, name: str, prefix: str) -> None:
    assert il("tool", "classify", name, "--json").json[0]["views"]["prefix"] == prefix


def test_an_override_of_the_file_replaces_everything(il: Interlock) -> None:
    configure("servers: {github: {command: x}}\noverrides: {'github:frobnicate': read-only}")
    (tool,) = il("tool", "classify", "github:frobnicate", "--json").json
    assert (tool["views"]["gateway"], tool["source"]) == ("read-only", "override")
    assert [(one["source"], one["says"], one["decided"]) for one in tool["evidence"]] == [
        ("override", "read-only", True),
        ("name", "unknown", False),
    ]


def test_an_override_counts_only_for_the_server_it_names(il: Interlock) -> None:
    configure("servers: {github: {command: x}}\noverrides: {'github:frobnicate': read-only}")
    rows = il("tool", "classify", "frobnicate", "gitlab:frobnicate", "--json").json
    assert [tool["views"]["gateway"] for tool in rows] == ["unknown", "unknown"]


def test_the_words_of_the_file_count(il: Interlock) -> None:
    configure("lexicon: {dangerous: [yeet]}")
    assert il("tool", "classify", "yeet_file", "--json").json[0]["views"]["gateway"] == "dangerous"


def test_a_saved_listing_is_a_table_and_its_findings(il: Interlock) -> None:
    save(
        {"name": "read_file"},
        {"name": "wipe_disk", "annotations": {"readOnlyHint": True, "destructiveHint": True}},
        {"name": "get_x", "annotations": {"readOnlyHint": "yes"}},
    )
    done = il("tool", "classify", "--from", "tools.json")
    assert (done.exit, done.err) == (0, "")
    assert [line.split() for line in done.lines[:4]] == [
        _HEADING,
        ["read_file", "read-only", "name", "read-only", "ReadOnlyPresumed", "call_tool_write"],
        ["wipe_disk", "dangerous", "name", "unknown", "ReadOnly", "call_tool_destructive"],
        ["get_x", "read-only", "name", "read-only", "ReadOnlyPresumed", "call_tool_write"],
    ]
    assert done.lines[4:] == [
        "",
        "Findings:",
        "  wipe_disk: readOnlyHint and destructiveHint are both true; it counts as dangerous [contradictory-hints]",
        "  get_x: readOnlyHint is the str 'yes', so no hint that would lower the class counts [malformed-annotations]",
    ]


def test_a_saved_listing_without_findings_is_only_a_table(il: Interlock) -> None:
    save({"name": "read_file"})
    assert len(il("tool", "classify", "--from", "tools.json").lines) == 2


def test_the_product_prefix_of_a_listing_is_seen(il: Interlock) -> None:
    save({"name": "slack_list"}, {"name": "slack_post_message"}, {"name": "slack_delete_message"})
    rows = il("tool", "classify", "--from", "tools.json", "--json").json
    assert [tool["views"]["gateway"] for tool in rows] == ["read-only", "write-capable", "dangerous"]


@pytest.mark.parametrize(
    ("tool", "untrusted", "trusted"),
    [
        ({"annotations": {"readOnlyHint": True}}, "unknown", "read-only"),
        ({"annotations": {"destructiveHint": True}}, "unknown", "dangerous"),
        ({"_meta": {"safety_class": "read-only"}}, "unknown", "read-only"),
        ({"class": "c"}, "unknown", "write-capable"),
    ],
)
def test_only_a_trusted_server_is_taken_at_its_word(
    il: Interlock, tool: dict[str, Any], untrusted: str, trusted: str
) -> None:
    save({"name": "frobnicate", **tool})
    before = il("tool", "classify", "--from", "tools.json", "--json").json
    after = il("tool", "classify", "--from", "tools.json", "--trusted", "--json").json
    assert (before[0]["views"]["gateway"], after[0]["views"]["gateway"]) == (untrusted, trusted)


def test_what_is_hidden_in_names_and_annotations_is_shown(il: Interlock) -> None:
    save({"name": "read_\x1b[31m\u202efile\u200b\n", "annotations": {"title": ["\x1b[2J"]}, "class": "\u2066z"})
    done = il("tool", "classify", "--from", "tools.json")
    assert done.lines[1].startswith("read_<U+001B>[31m<U+202E>file<U+200B><U+000A>  ")
    assert not set("\x1b\u202e\u200b\u2066") & set(done.out)


def test_json_escapes_what_is_hidden(il: Interlock) -> None:
    save({"name": "read_\x1b\u202e"})
    done = il("tool", "classify", "--from", "tools.json", "--json")
    assert '"name": "read_\\u001b\\u202e"' in done.out
    assert done.json[0]["name"] == "read_\x1b\u202e"


@pytest.mark.parametrize("words", [(), ("delete_file", "--from", "tools.json")])
def test_names_or_a_file_but_not_both_and_not_neither(il: Interlock, words: tuple[str, ...]) -> None:
    done = il("tool", "classify", *words)
    assert (done.exit, done.out, done.err) == (
        2,
        "",
        "give tool names or --from, one of the two\n  interlock tool classify delete_file\n",
    )


def test_a_file_that_cannot_be_read_ends_with_a_usage_error(il: Interlock) -> None:
    done = il("tool", "classify", "--from", "none.json", "--json")
    assert done.exit == 2
    assert done.json["error"] == {
        "code": "BAD_REQUEST",
        "message": "none.json: cannot be read: No such file or directory",
        "fix": "Check the path; `-` reads stdin.",
    }


# list -----------------------------------------------------------------------------------------------------------


def test_the_tools_of_all_servers_are_a_table(il: Interlock, beside: Beside) -> None:
    done = il("tool", "list")
    rows = {line.split("  ")[0].strip(): line for line in done.lines[1:]}

    assert done.exit == 0
    assert done.lines[0].split() == "TOOL STANDING CLASS BECAUSE OF CALL WITH DESCRIPTION".split()
    assert rows["up:delete_note"].split()[1:5] == ["known", "dangerous", "annotations", "call_tool_destructive"]
    assert rows["up:read_note"].split()[1:5] == ["known", "read-only", "annotations", "call_tool_read"]
    assert rows["odd:list_signs"].split()[1] == "poisoned"
    assert rows["odd:list_signs"].endswith("<U+001B>[2Jcleared")
    assert "odd:read_a/b: 100%<U+000A>ü" in done.out


def test_servers_whose_tools_are_missing_are_told_on_stderr(il: Interlock, beside: Beside) -> None:
    assert il("tool", "list").err.startswith("Server 'down' is down: ")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("typed",), ["odd:get_typed"]),
        (("SAYS types",), ["odd:get_typed"]),
        (("--server", "odd", "note"), ["odd:read_note"]),
        (("--class", "unknown", "--server", "up"), ["up:frobnicate"]),
        (("--server", "odd", "--class", "dangerous"), ["odd:get_thing"]),
        (("--server", "down"), []),
    ],
)
def test_a_list_can_be_narrowed(il: Interlock, beside: Beside, words: tuple[str, ...], names: list[str]) -> None:
    found = il("tool", "list", "--json", *words).json

    assert [each["name"] for each in found["items"]][: len(names) or None] == names
    assert found["total"] == len(found["items"])


def test_where_no_tool_fits_it_says_so(il: Interlock, beside: Beside) -> None:
    done = il("tool", "list", "zzzz")

    assert (done.exit, done.out, done.err.splitlines()[0]) == (0, "", "No tool fits.")


def test_a_long_description_is_cut_in_the_table_and_whole_in_json(il: Interlock, tmp_path: Path) -> None:
    code = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    tools = [{'name': 'get_x', 'description': 'w' * 100, 'inputSchema': {}}]\n"
        "    said = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'tools': tools,\n"
        "            'serverInfo': {'name': 'x', 'version': '1'}}\n"
        "    known = m['method'] in ('initialize', 'tools/list')\n"
        "    body = {'result': said} if known else {'error': {'code': -32601, 'message': 'no'}}\n"
        "    if 'id' in m: print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], **body}), flush=True)\n"
    )
    (tmp_path / "server.py").write_text(code)
    configure("servers:\n" + server_yaml("x", [sys.executable, str(tmp_path / "server.py")]))

    assert il("tool", "list").lines[1].endswith("  " + "w" * 59 + "…")
    assert il("tool", "list", "--json").json["items"][0]["description"] == "w" * 100


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--server", "upp"), "server 'upp' not found. Did you mean 'up'?\n"),
        (("--class", "nice"), "argument --class: invalid choice: 'nice'"),
        (("x" * 201,), "q: "),
    ],
)
def test_a_list_of_what_cannot_be_is_a_usage_error(
    il: Interlock, beside: Beside, words: tuple[str, ...], error: str
) -> None:
    done = il("tool", "list", *words)

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith(error)


# show -----------------------------------------------------------------------------------------------------------


def test_a_tool_is_shown_with_its_evidence_findings_and_schema(il: Interlock, beside: Beside) -> None:
    done = il("tool", "show", "odd:list_signs")

    assert (done.exit, done.err) == (0, "")
    assert done.lines[0] == "odd:list_signs is read-only, because of its name:"
    assert done.lines[1].startswith("  * name: read-only (")
    assert "Call with:  call_tool_write" in done.lines
    assert "Views:      prefix read-only, exec ReadOnlyPresumed, intent call_tool_write, gateway read-only" in (
        done.lines
    )
    at = done.lines.index("Description:")
    assert done.lines[at + 1 : at + 5] == [
        "  <U+001B>[2Jcleared",
        "  <U+202E>second line",
        "Annotations:",
        '  readOnlyHint = "yes"',
    ]
    assert done.lines[at + 5 :] == ["Input schema:", "  {", '    "type": "object"', "  }"]
    findings = done.lines[done.lines.index("Findings:") : at]
    assert any("readOnlyHint" in line for line in findings)
    assert any(line.endswith("[hidden-text]") for line in findings)


def test_a_bare_name_is_enough_if_only_one_server_has_it(il: Interlock, beside: Beside) -> None:
    assert il("tool", "show", "get_typed").lines[0].startswith("odd:get_typed is ")


def test_in_json_a_tool_is_what_rest_says(il: Interlock, beside: Beside) -> None:
    shown = il("tool", "show", "up:structured", "--json").json

    assert shown["name"] == "up:structured"
    assert shown["output_schema"]["required"] == ["sum"]
    assert shown["definition"]["annotations"] == {"readOnlyHint": True}


def test_a_tool_whose_name_needs_care_in_a_path_is_shown(il: Interlock, beside: Beside) -> None:
    done = il("tool", "show", "odd:read_a/b: 100%\nü")

    assert done.exit == 0
    assert done.lines[0].startswith("odd:read_a/b: 100%<U+000A>ü is ")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("up:read_nota", "Tool 'up:read_nota' not found. Did you mean 'up:read_note'?"),
        ("read_note", "several servers have a tool 'read_note': odd:read_note, up:read_note"),
        ("zzz", "Tool 'zzz' not found."),
        ("up:", "'up:' is no tool name"),
    ],
)
def test_a_tool_that_is_not_there_is_a_usage_error(il: Interlock, beside: Beside, name: str, error: str) -> None:
    done = il("tool", "show", name)

    assert (done.exit, done.out) == (2, "")
    assert error in done.err.splitlines()
