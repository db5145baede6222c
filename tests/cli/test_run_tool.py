"""`interlock run-tool`: the class gate, its flags, and the dry run."""

import pytest

from tests.cli.running import Interlock, configure

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


@pytest.mark.parametrize(
    "words",
    [
        ("read_repo_file",),
        ("git_push",),
        ("update_repo_file", "--approve"),
        ("run_script", "--approve"),
        ("update_repo_file", "--dangerous"),
        ("run_script", "--dangerous"),
        ("remove_device", "--dangerous"),
    ],
)
def test_a_tool_that_passes_the_gate_says_that_there_is_no_gateway_to_run_it(
    il: Interlock, words: tuple[str, ...]
) -> None:
    done = il("run-tool", *words)
    assert (done.exit, done.out) == (4, "")
    assert done.err == (
        f"Tool '{words[0]}' passed the gate, but there is no gateway to run it through.\n"
        "  This version decides offline only: add --dry-run to see the whole decision.\n"
    )


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
