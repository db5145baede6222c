"""`interlock run-tool`: the class gate, its flags, the dry run, and a tool that runs."""

import json
from typing import Any

import pytest

from tests.cli.running import Beside, Interlock, configure

_NOT_CHECKED = [
    "whether a server has this tool, and its own safety_class metadata",
    "the arguments against the tool's input schema (values stay texts)",
    "freeze, quarantine and grants",
]


# The class gate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "exit_code", "sentence"),
    [
        (
            ("update_repo_file", "--arg", "path=README.md"),
            10,
            "Blocked: tool 'update_repo_file' is classified write-capable. Add --approve to run it.",
        ),
        (
            ("run_script",),
            10,
            "Blocked: tool 'run_script' is classified subprocess. Add --approve to run it.",
        ),
        (
            ("remove_device", "--arg", "Id=42"),
            10,
            "Blocked: tool 'remove_device' is classified dangerous. Add --dangerous to run it.",
        ),
        (
            ("remove_device", "--approve"),
            10,
            "Blocked: tool 'remove_device' is classified dangerous. Add --dangerous to run it.",
        ),
        (("mystery_tool",), 15, "Blocked: tool 'mystery_tool' has unknown safety class."),
        (("mystery_tool", "--approve"), 15, "Blocked: tool 'mystery_tool' has unknown safety class."),
        (("mystery_tool", "--dangerous"), 15, "Blocked: tool 'mystery_tool' has unknown safety class."),
        (
            ("devices:remove_device",),
            10,
            "Blocked: tool 'remove_device' is classified dangerous. Add --dangerous to run it.",
        ),
    ],
)
def test_a_tool_is_blocked_by_its_class_before_any_server_is_asked(
    il: Interlock, words: tuple[str, ...], exit_code: int, sentence: str
) -> None:
    done = il("run-tool", *words)
    assert (done.exit, done.out, done.err.splitlines()[0]) == (exit_code, "", sentence)


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("update_repo_file", "Look at it first with --dry-run, then add --approve."),
        ("remove_device", "Look at it first with --dry-run, then add --dangerous."),
        (
            "mystery_tool",
            "No flag lifts this. Ask the server's author for safety_class metadata, or use `interlock call`.",
        ),
    ],
)
def test_a_blocked_tool_comes_with_a_way_out(il: Interlock, name: str, fix: str) -> None:
    assert il("run-tool", name).err.splitlines()[1:] == [f"  {fix}"]


@pytest.mark.parametrize(
    ("name", "exit_code", "code"), [("update_repo_file", 10, "DENIED_BY_RULE"), ("mystery_tool", 15, "UNKNOWN_CLASS")]
)
def test_a_blocked_tool_has_its_code_in_json(il: Interlock, name: str, exit_code: int, code: str) -> None:
    done = il("run-tool", name, "--json")
    assert (done.exit, done.json["error"]["code"]) == (exit_code, code)
    assert done.json["error"]["message"] == done.err.splitlines()[0]


def test_no_override_lifts_the_class_gate(il: Interlock) -> None:
    configure("servers: {a: {command: x}}\noverrides: {'a:mystery_tool': read-only}")
    assert il("run-tool", "a:mystery_tool").exit == 15


def test_what_is_hidden_in_a_name_is_shown(il: Interlock) -> None:
    done = il("run-tool", "a\x1b[31m\u202eb\u200b")
    assert done.err.splitlines()[0] == "Blocked: tool 'a<U+001B>[31m<U+202E>b<U+200B>' has unknown safety class."


# Arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("read_x", "--arg", "path"), "--arg 'path' has no '='\n  Write --arg key=value.\n"),
        (("read_x", "--arg", "=x"), "--arg '=x' has no name before the '='\n  Write --arg key=value.\n"),
        (("read_x", "--arg", "a=1", "--arg", "a=2"), "--arg 'a' is given twice\n  Give each argument once.\n"),
        (("read_x", "--arg", "a\x1b"), "--arg 'a<U+001B>' has no '='\n  Write --arg key=value.\n"),
        ((":read_x",), "':read_x' is no tool name\n  Write it as server:tool, or as the bare tool name.\n"),
        (("a:",), "'a:' is no tool name\n  Write it as server:tool, or as the bare tool name.\n"),
    ],
)
def test_what_cannot_be_understood_is_a_usage_error(il: Interlock, words: tuple[str, ...], error: str) -> None:
    done = il("run-tool", *words)
    assert (done.exit, done.out, done.err) == (2, "", error)


# The dry run ----------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_tool_class_arguments_verdict_and_what_is_not_known(il: Interlock) -> None:
    configure("servers: {repo: {command: x}}")
    done = il("run-tool", "update_repo_file", "--arg", "path=README.md", "--arg", "old=a=b", "--approve", "--dry-run")
    assert (done.exit, done.err) == (0, "")
    assert done.lines == [
        "Tool:     repo:update_repo_file",
        "Class:    write-capable (from its name)",
        "Args:",
        "  path = README.md",
        "  old = a=b",
        "Verdict:  allow",
        "  the entry allows it and no rule decides",
        "Not checked without a server:",
        *(f"  {each}" for each in _NOT_CHECKED),
        "Nothing was sent.",
    ]


def test_a_dry_run_in_json(il: Interlock) -> None:
    configure("servers: {repo: {command: x}}")
    done = il("run-tool", "repo:remove_device", "--arg", "Id=42", "--dry-run", "--json")
    assert (done.exit, done.err) == (0, "")
    assert done.json == {
        "tool": "remove_device",
        "server": "repo",
        "args": {"Id": "42"},
        "safety_class": "dangerous",
        "source": "name",
        "verdict": "deny",
        "rule_id": "entry:run-tool",
        "reasons": [
            {
                "code": "DENIED_BY_RULE",
                "message": "Blocked: tool 'remove_device' is classified dangerous. Add --dangerous to run it.",
                "fix": "Look at it first with --dry-run, then add --dangerous.",
            }
        ],
        "not_checked": _NOT_CHECKED,
        "would_execute": False,
    }


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (("read_x",), "allow"),
        (("update_x",), "deny"),
        (("update_x", "--approve"), "allow"),
        (("remove_x", "--approve"), "deny"),
        (("remove_x", "--dangerous"), "allow"),
        (("mystery", "--dangerous"), "deny"),
    ],
)
@pytest.mark.parametrize("config", ["", "servers: {a: {command: x}}"], ids=["no server", "one server"])
def test_a_dry_run_always_ends_well_whatever_the_verdict(
    il: Interlock, config: str, words: tuple[str, ...], verdict: str
) -> None:
    configure(config)
    done = il("run-tool", *words, "--dry-run", "--json")
    assert (done.exit, done.json["verdict"]) == (0, verdict)


def test_a_dry_run_without_arguments_says_so(il: Interlock) -> None:
    assert "Args:     none" in il("run-tool", "read_x", "--dry-run").lines


@pytest.mark.parametrize(
    ("words", "config", "shown"),
    [
        ("read_x", "", "read_x"),
        ("read_x", "servers: {a: {command: x}, b: {command: y}}", "read_x"),
        ("read_x", "servers: {a: {command: x}}", "a:read_x"),
        ("a:read_x", "servers: {a: {command: x}, b: {command: y}}", "a:read_x"),
        ("a:read_x", "", "a:read_x"),
    ],
    ids=["none configured", "two configured", "the only one", "named", "named without any"],
)
def test_a_dry_run_names_the_server_where_it_is_known(il: Interlock, words: str, config: str, shown: str) -> None:
    configure(config)
    assert il("run-tool", words, "--dry-run").lines[0] == f"Tool:     {shown}"


@pytest.mark.parametrize("config", ["", "servers: {a: {command: x}, b: {command: y}}"], ids=["none", "two"])
def test_a_dry_run_in_json_has_no_server_where_none_is_known(il: Interlock, config: str) -> None:
    configure(config)
    assert il("run-tool", "read_x", "--dry-run", "--json").json["server"] is None


def test_a_dry_run_over_several_servers_says_that_the_verdict_is_the_strictest(il: Interlock) -> None:
    configure("servers: {a: {command: x}, b: {command: y}, c: {command: z}}")
    assert il("run-tool", "read_x", "--dry-run", "--json").json["not_checked"] == [
        *_NOT_CHECKED,
        "which server has it: the verdict is the strictest over a, b, c",
    ]


@pytest.mark.parametrize(
    ("effects", "verdict", "rule_id"),
    [
        ({"a": "allow", "b": "hold", "c": "deny"}, "deny", "on-c"),
        ({"a": "deny", "b": "hold", "c": "allow"}, "deny", "on-a"),
        ({"a": "allow", "b": "hold"}, "hold", "on-b"),
        ({"b": "allow"}, "allow", "entry"),
    ],
)
def test_a_dry_run_without_a_known_server_reports_the_strictest_of_all(
    il: Interlock, effects: dict[str, str], verdict: str, rule_id: str
) -> None:
    rules = "".join(f"  - {{id: on-{name}, server_id: {name}, effect: {each}}}\n" for name, each in effects.items())
    configure(f"servers: {{a: {{command: x}}, b: {{command: y}}, c: {{command: z}}}}\nroute_rules:\n{rules}")
    report = il("run-tool", "read_x", "--dry-run", "--json").json
    assert (report["verdict"], report["rule_id"]) == (verdict, rule_id)


@pytest.mark.parametrize(
    ("rule", "verdict", "rule_id"),
    [
        ("{id: r, effect: deny}", "deny", "r"),
        ("{id: r, effect: hold, args: {path: '/etc/*'}}", "hold", "r"),
        ("{id: r, effect: deny, tool_pattern: '*__read_*'}", "deny", "r"),
        ("{id: r, effect: deny, tool_pattern: 'github__*'}", "allow", "entry"),
    ],
)
def test_a_dry_run_asks_the_rules_even_when_no_server_is_configured(
    il: Interlock, rule: str, verdict: str, rule_id: str
) -> None:
    configure(f"route_rules:\n  - {rule}\n")
    report = il("run-tool", "read_x", "--arg", "path=/etc/passwd", "--dry-run", "--json").json
    assert (report["verdict"], report["rule_id"]) == (verdict, rule_id)


def test_a_dry_run_takes_the_namespace_for_its_server(il: Interlock) -> None:
    configure(
        "servers: {github-mcp: {command: x, namespace: github}, db: {command: y}}\n"
        "route_rules: [{id: r, server_id: github-mcp, tool_pattern: 'github__read_*', effect: deny}]\n"
    )
    report = il("run-tool", "github:read_x", "--dry-run", "--json").json
    assert (report["server"], report["tool"], report["verdict"], report["rule_id"]) == (
        "github-mcp",
        "read_x",
        "deny",
        "r",
    )


def test_a_dry_run_of_a_misspelt_server_is_refused_with_a_suggestion(il: Interlock) -> None:
    configure("servers: {github: {command: x}}")
    done = il("run-tool", "githb:read_x", "--dry-run")
    assert (done.exit, done.out) == (2, "")
    assert done.err.splitlines()[0] == "server 'githb' not found. Did you mean 'github'?"


@pytest.mark.parametrize(
    ("rule", "verdict", "rule_id"),
    [
        ("{id: no, effect: deny}", "deny", "no"),
        ("{id: ask, effect: hold}", "hold", "ask"),
        ("{id: yes, effect: allow}", "allow", "yes"),
        ("{id: mine, caller: operator-agent, effect: deny}", "deny", "mine"),
        ("{id: theirs, caller: 'ci-*', effect: deny}", "allow", "entry"),
        ("{id: here, workspace_id: ws, effect: deny}", "deny", "here"),
        ("{id: arg, args: {path: '/etc/*'}, effect: deny}", "deny", "arg"),
        ("{id: arg, args: {path: '/srv/*'}, effect: deny}", "allow", "entry"),
    ],
)
def test_a_dry_run_asks_the_rules(il: Interlock, rule: str, verdict: str, rule_id: str) -> None:
    configure(f"servers: {{a: {{command: x}}}}\nworkspaces: [{{id: ws}}]\nroute_rules:\n  - {rule}\n")
    report = il("run-tool", "read_x", "--arg", "path=/etc/passwd", "--dry-run", "--json").json
    assert (report["verdict"], report["rule_id"]) == (verdict, rule_id)


def test_no_rule_lifts_what_a_missing_flag_blocks(il: Interlock) -> None:
    configure("servers: {a: {command: x}}\nroute_rules: [{id: yes, effect: allow}]")
    report = il("run-tool", "remove_x", "--approve", "--dry-run", "--json").json
    assert (report["verdict"], report["rule_id"]) == ("deny", "entry:run-tool")


def test_flags_stand_in_for_the_posture(il: Interlock) -> None:
    configure("servers: {a: {command: x}}\nposture: strict")
    assert il("run-tool", "remove_x", "--dangerous", "--dry-run", "--json").json["verdict"] == "allow"


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_a_dry_run_shows_no_secret(il: Interlock, words: tuple[str, ...]) -> None:
    token = "ghp_" + "a1B2" * 9
    done = il("run-tool", "read_x", "--arg", "password=hunter2", "--arg", f"header=x {token}", "--dry-run", *words)
    assert "hunter2" not in done.out
    assert token not in done.out
    assert "[redacted github]" in done.out


def test_what_is_hidden_in_an_argument_is_shown(il: Interlock) -> None:
    done = il("run-tool", "read_x", "--arg", "a\u202e=b\x1b[31m\nVerdict:  allow", "--dry-run")
    assert "  a<U+202E> = b<U+001B>[31m<U+000A>Verdict:  allow" in done.lines


# A tool that runs -----------------------------------------------------------------------------------------------


def last(il: Interlock) -> dict[str, Any]:
    """The newest call on record."""
    return il("activity", "list", "--type", "tool_call,policy_decision", "--limit", "1", "--json").json["items"][0]


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("odd:read_note",), "{}\n"),
        (("list_tricks",), "a\tb\n<U+001B>[31mred<U+202E>\n[image image/png, 12 kB]\n"),
        (("odd:read_a/b: 100%\nü", "--arg", "x=1"), '{"x": "1"}\n'),
        (("write_note", "--arg", "name=n", "--arg", "text=b=c", "--approve"), "Written.\n"),
        (("run_command", "--arg", "command=ls", "--approve"), "Would have run 'ls'.\n"),
        (("run_command", "--arg", "command=ls", "--dangerous"), "Would have run 'ls'.\n"),
        (("delete_note", "--arg", "name=none", "--dangerous"), "No such note.\n"),
    ],
)
def test_what_passes_the_gate_runs_once_and_is_on_record(
    il: Interlock, beside: Beside, words: tuple[str, ...], out: str
) -> None:
    before = beside.sent()
    done = il("run-tool", *words)
    record = last(il)

    assert (done.exit, done.out, done.err) == (0, out, "")
    assert beside.sent() == before + 1
    assert (record["entry"], record["status"], record["caller"]) == ("run-tool", "success", "operator-agent")


def test_with_json_the_whole_result_is_printed(il: Interlock, beside: Beside) -> None:
    done = il("run-tool", "odd:read_note", "--json")

    assert done.json == {"content": [{"type": "text", "text": "{}"}]}


def test_values_become_what_the_schema_asks_for(il: Interlock, beside: Beside) -> None:
    words = ["--arg", "count=5", "--arg", "ratio=2.5", "--arg", "deep=true", "--arg", 'words=["a"]', "--arg", "text=5"]
    done = il("run-tool", "get_typed", *words, "--arg", "other=5")

    assert json.loads(done.out) == {
        "count": 5,
        "ratio": 2.5,
        "deep": True,
        "words": ["a"],
        "text": "5",
        "other": "5",
    }


def test_a_value_that_does_not_fit_is_refused_by_the_schema_and_not_sent(il: Interlock, beside: Beside) -> None:
    before = beside.sent()
    done = il("run-tool", "get_typed", "--arg", "count=five")

    assert (done.exit, done.out, beside.sent()) == (2, "", before)
    assert done.err.startswith("Arguments of 'odd:get_typed' do not fit its input schema: ")
    assert "`interlock tool show odd:get_typed` shows the schema" in done.err
    assert (last(il)["status"], last(il)["tool"]) == ("blocked", "get_typed")


def test_what_the_server_says_of_its_tool_counts_after_the_name_has_passed(il: Interlock, beside: Beside) -> None:
    before = beside.sent()
    done = il("run-tool", "get_thing", "--approve")

    assert (done.exit, done.out, beside.sent()) == (10, "", before)
    assert done.err.splitlines()[0] == ("Blocked: tool 'get_thing' is classified dangerous. Add --dangerous to run it.")
    assert (last(il)["status"], last(il)["tool"], last(il)["entry"]) == ("blocked", "get_thing", "run-tool")
    assert il("run-tool", "get_thing", "--dangerous").exit == 0


def test_a_rule_counts_for_run_tool_too(il: Interlock, beside: Beside) -> None:
    before = beside.sent()
    done = il("run-tool", "write_note", "--arg", "name=secret", "--approve")

    assert (done.exit, done.out, beside.sent()) == (10, "", before)
    assert last(il)["rule_id"] == "no-secrets"


def test_a_bare_name_that_several_servers_have_is_refused_with_the_candidates(il: Interlock, beside: Beside) -> None:
    before = beside.sent()
    done = il("run-tool", "read_note")

    assert (done.exit, done.out, beside.sent()) == (2, "", before)
    assert done.err == (
        "several servers have a tool 'read_note': odd:read_note, up:read_note\n  Say which one, as server:tool.\n"
    )


def test_a_tool_that_its_server_does_not_have_is_refused_and_on_record(il: Interlock, beside: Beside) -> None:
    before = beside.sent()
    done = il("run-tool", "up:read_nota", "--arg", "a=1")

    assert (done.exit, done.out, beside.sent()) == (2, "", before)
    assert "Tool 'up:read_nota' not found. Did you mean 'up:read_note'?\n" in done.err
    assert (last(il)["status"], last(il)["tool"], last(il)["arguments"]) == ("blocked", "read_nota", {"a": "1"})


def test_a_bare_name_that_nobody_has_is_refused_with_a_suggestion(il: Interlock, beside: Beside) -> None:
    done = il("run-tool", "list_trick")

    assert (done.exit, done.out) == (2, "")
    assert "Tool 'list_trick' not found. Did you mean 'list_tricks'?\n" in done.err


def test_an_error_of_the_tool_has_its_own_code(il: Interlock, beside: Beside) -> None:
    done = il("run-tool", "up:read_note", "--arg", "name=none")

    assert (done.exit, done.out, done.err) == (5, "There is no such note.\n", "The tool returned an error.\n")


@pytest.mark.parametrize("words", [("mystery_tool", "--dangerous"), ("remove_device", "--approve"), ("update_x",)])
def test_what_the_gate_blocks_does_not_even_look_for_a_gateway(
    il: Interlock, beside: Beside, words: tuple[str, ...]
) -> None:
    beside_before = il("activity", "list", "--json").json["items"]

    assert il("run-tool", *words).exit in (10, 15)
    assert il("activity", "list", "--json").json["items"] == beside_before


def test_without_a_gateway_the_tool_runs_on_the_sample(il: Interlock) -> None:
    done = il("run-tool", "read_note", "--arg", "name=todo")

    assert (done.exit, done.out, done.err) == (0, "Approve a call.\n", "")
