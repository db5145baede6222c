"""`interlock rule`: test, explain, lint."""

import pytest

from tests.cli.running import Interlock, configure

_CONFIG = """\
servers:
  github-mcp: {command: x, namespace: github}
  db: {command: y, posture: open}
workspaces: [{id: ws-prod, path: /srv, posture: strict}, {id: ws-dev, path: /dev}]
default_workspace: ws-dev
overrides: {"github-mcp:frobnicate": read-only}
lexicon: {dangerous: [yeet]}
route_rules:
  - id: issues
    server_id: github-mcp
    tool_pattern: "github__create_*"
    effect: hold
    approvals_needed: 2
    approvers: [ann, humans]
    approval_timeout: 60
  - {id: no-drop, args: {sql: "*drop*"}, effect: deny}
  - {id: prod, workspace_id: ws-prod, effect: hold, priority: 5, args: {repo: "acme/*"}}
  - {id: ci, caller: "ci-*", safety_class: dangerous, operation_type: destructive, effect: allow}
  - {id: reads, operation_type: read, tool_pattern: "github:peek*", effect: deny}
"""


# test -----------------------------------------------------------------------------------------------------------


def test_a_held_call_is_explained_with_the_terms_of_its_approval(il: Interlock) -> None:
    configure(_CONFIG)
    done = il("rule", "test", "--tool", "github-mcp:create_issue")
    assert (done.exit, done.err) == (0, "")
    assert done.lines == [
        "github-mcp:create_issue: hold",
        "  because:   rule 'issues' says hold",
        "  decided by issues",
        "  class      write-capable (from name), declared write",
        "  caller     agent in workspace ws-dev, posture guarded",
        "  approval   2 by ann, humans, within 60 s",
        "  matching   issues",
    ]


def test_a_call_that_no_rule_decides_is_decided_by_the_posture(il: Interlock) -> None:
    configure("servers: {a: {command: x}}")
    assert il("rule", "test", "--tool", "a:delete_x").lines == [
        "a:delete_x: hold",
        "  because:   no rule decides; posture guarded says hold for dangerous tools",
        "  decided by posture:guarded",
        "  class      dangerous (from name), declared destructive",
        "  caller     agent in workspace none, posture guarded",
        "  approval   1 by anyone with the approver role, within 300 s",
        "  matching   no rule",
    ]


def test_every_reason_of_a_verdict_is_shown(il: Interlock) -> None:
    configure("servers: {a: {command: x}}\nposture: observe\nroute_rules: [{id: ask, effect: hold}]")
    assert il("rule", "test", "--tool", "a:get_x").lines[:3] == [
        "a:get_x: allow",
        "  because:   rule 'ask' says hold",
        "             posture observe lets it pass; it would have been held",
    ]


def test_the_answer_in_json(il: Interlock) -> None:
    configure(_CONFIG)
    done = il(
        *("rule", "test", "--tool", "github-mcp:create_issue", "--args-json", '{"repo": "acme/x"}'),
        *("--workspace", "ws-prod", "--caller", "bob", "--operation-type", "write", "--class", "dangerous", "--json"),
    )
    assert (done.exit, done.err) == (0, "")
    assert done.json == {
        "tool": "github-mcp:create_issue",
        "verdict": "hold",
        "rule_id": "prod",
        "reasons": [{"code": None, "message": "rule 'prod' says hold", "fix": ""}],
        "safety_class": "dangerous",
        "class_source": "given",
        "operation_type": "write",
        "workspace": "ws-prod",
        "caller": "bob",
        "posture": "strict",
        "matching_rules": ["prod", "issues"],
        "approval": {
            "approval_timeout": 300,
            "approvals_needed": 1,
            "approvers": [],
            "four_eyes": False,
            "max_grant": 900,
        },
        "trace": done.json["trace"],
    }
    assert done.json["trace"][-2:] == [
        {"step": "rules", "outcome": "hold", "text": "rule 'prod' says hold"},
        {
            "step": "second key",
            "outcome": "hold",
            "text": "it waits for 1 by anyone with the approver role, within 300 s",
        },
    ]


@pytest.mark.parametrize(
    ("options", "verdict", "rule_id"),
    [
        (("--args-json", '{"sql": "drop table users"}'), "deny", "no-drop"),
        (("--args-json", '{"sql": "select 1"}'), "allow", "posture:guarded"),
        (("--workspace", "ws-prod"), "hold", "posture:strict"),
        (("--workspace", "ws-prod", "--args-json", '{"repo": "acme/x"}'), "hold", "prod"),
        (("--class", "unknown", "--workspace", "ws-prod"), "deny", "posture:strict"),
        (("--class", "dangerous"), "hold", "posture:guarded"),
        (("--class", "dangerous", "--caller", "ci-7"), "allow", "ci"),
        (("--class", "dangerous", "--caller", "ci-7", "--operation-type", "destructive"), "allow", "ci"),
        (("--class", "dangerous", "--caller", "ci-7", "--operation-type", "write"), "hold", "posture:guarded"),
        (("--class", "read-only"), "deny", "reads"),
        (("--operation-type", "read"), "deny", "reads"),
    ],
)
def test_each_option_counts(il: Interlock, options: tuple[str, ...], verdict: str, rule_id: str) -> None:
    configure(_CONFIG)
    done = il("rule", "test", "--tool", "github-mcp:peek_and_update", "--json", *options)
    assert (done.exit, done.json["verdict"], done.json["rule_id"]) == (0, verdict, rule_id)


def test_a_denied_call_carries_the_code_that_the_agent_will_see(il: Interlock) -> None:
    configure(_CONFIG)
    done = il("rule", "test", "--tool", "db:query", "--args-json", '{"sql": "drop"}', "--json")
    assert done.json["reasons"] == [
        {
            "code": "DENIED_BY_RULE",
            "message": "Tool 'db:query' is not allowed here.",
            "fix": "Do not retry. Find another way, or ask the operator to change the rules.",
        }
    ]


def test_a_class_on_the_command_line_comes_before_an_override(il: Interlock) -> None:
    configure(_CONFIG)
    report = il("rule", "test", "--tool", "github-mcp:frobnicate", "--class", "dangerous", "--json").json
    assert (report["safety_class"], report["class_source"]) == ("dangerous", "given")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--tool", "create_issue"), "'create_issue' does not say its server\n  Write it as server:tool.\n"),
        (
            ("--tool", "githb-mcp:create_issue"),
            "server 'githb-mcp' not found. Did you mean 'github-mcp'?\n  List what there is and use its exact name.\n",
        ),
        (
            ("--tool", "db:x", "--workspace", "ws-prd"),
            "workspace 'ws-prd' not found. Did you mean 'ws-prod'?\n  List what there is and use its exact name.\n",
        ),
        (
            ("--tool", "db:x", "--args-json", "[1]"),
            '--args-json must be a JSON object\n  Write it like {"path": "README.md"}.\n',
        ),
        (
            ("--tool", "db:x", "--args-json", '{"a": 1, "a": 2}'),
            "--args-json is not valid JSON: key 'a' stands twice in one object\n"
            "  Check quotes and commas; `python3 -m json.tool` points at the place.\n",
        ),
        (
            ("--tool", "db:x", "--args-json", '{"amount": 1e999}'),
            "--args-json is not valid JSON: 1e999 is too large for a number\n"
            "  Check quotes and commas; `python3 -m json.tool` points at the place.\n",
        ),
    ],
)
def test_a_question_that_cannot_be_answered_is_a_usage_error(
    il: Interlock, options: tuple[str, ...], error: str
) -> None:
    configure(_CONFIG)
    done = il("rule", "test", *options)
    assert (done.exit, done.out, done.err) == (2, "", error)


def test_with_json_a_question_that_cannot_be_answered_is_a_coded_error(il: Interlock) -> None:
    configure(_CONFIG)
    done = il("rule", "test", "--tool", "githb-mcp:x", "--json")
    assert done.exit == 2
    assert done.json == {
        "error": {
            "code": "NOT_FOUND",
            "message": "server 'githb-mcp' not found. Did you mean 'github-mcp'?",
            "fix": "List what there is and use its exact name.",
        }
    }


def test_half_a_surrogate_pair_in_an_argument_is_a_usage_error(il: Interlock) -> None:
    configure(_CONFIG)
    done = il("rule", "test", "--tool", "db:x", "--args-json", r'{"sql": "\ud800"}')
    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("--args-json holds half a character")


def test_what_is_hidden_in_a_tool_or_caller_is_shown(il: Interlock) -> None:
    configure("servers: {a: {command: x}}")
    done = il("rule", "test", "--tool", "a:get_\x1b[2Jx\n", "--caller", "ci\u202e")
    assert done.lines[0] == "a:get_<U+001B>[2Jx<U+000A>: allow"
    assert done.lines[4] == "  caller     ci<U+202E> in workspace none, posture guarded"


# explain --------------------------------------------------------------------------------------------------------


def test_a_tool_is_explained_by_evidence_rules_in_order_and_posture(il: Interlock) -> None:
    configure(
        "servers: {github-mcp: {command: x, namespace: github}, db: {command: y}}\n"
        "workspaces: [{id: ws, path: /srv}]\n"
        "route_rules:\n"
        "  - {id: ci, caller: 'ci-*', safety_class: write-capable, operation_type: write, effect: allow}\n"
        "  - {id: issues, tool_pattern: 'github__create_*', effect: hold}\n"
        "  - {id: acme, workspace_id: ws, args: {repo: 'acme/*'}, priority: 5, effect: hold}\n"
        "  - {id: robots, caller: 'bot-*', priority: -1, effect: deny}\n"
        "  - {id: other-tool, tool_pattern: 'github__delete_*', effect: deny}\n"
        "  - {id: other-server, server_id: db, effect: deny}\n"
    )
    done = il("rule", "explain", "github-mcp:create_issue")
    assert (done.exit, done.err) == (0, "")
    assert done.lines == [
        "github-mcp:create_issue is write-capable, because of its name:",
        "  * name: write-capable ('create')",
        "",
        "The first of these rules that matches a call decides it:",
        "  1. deny by 'robots' (priority -1), when caller is bot-*",
        "  2. hold by 'acme' (priority 5), when argument repo matches \"acme/*\"",
        "  3. hold by 'issues' (priority 0), when always",
        "  4. allow by 'ci' (priority 0), when operation is write; caller is ci-*",
        "Otherwise posture guarded says allow.",
    ]


def test_a_tool_without_rules_is_explained_by_its_posture(il: Interlock) -> None:
    configure("servers: {a: {command: x}}")
    assert il("rule", "explain", "a:frobnicate").lines == [
        "a:frobnicate is unknown, because of its name:",
        "  * name: unknown (no word of the name says what it does)",
        "",
        "No rule is about this tool.",
        "Otherwise posture guarded says hold.",
    ]


def test_an_overridden_tool_is_explained_with_all_its_evidence(il: Interlock) -> None:
    configure("servers: {a: {command: x}}\noverrides: {'a:frobnicate': read-only}")
    assert il("rule", "explain", "a:frobnicate").lines[:3] == [
        "a:frobnicate is read-only, because of its override:",
        "  * override: read-only (set by the operator)",
        "    name: unknown (no word of the name says what it does)",
    ]


_SITUATIONS = """\
servers: {a: {command: x, namespace: n}, b: {command: y}}
workspaces: [{id: here, path: /here}, {id: there, path: /there}]
default_workspace: here
route_rules:
"""


@pytest.mark.parametrize(
    "rule",
    [
        "{id: r}",
        "{id: r, requires_approval: false}",
        "{id: r, effect: deny, server_id: b}",
        "{id: r, effect: deny, tool_pattern: 'n__create_*'}",
        "{id: r, effect: deny, tool_pattern: 'a__delete_*'}",
        "{id: r, effect: deny, safety_class: [read-only, write-capable]}",
        "{id: r, effect: deny, workspace_id: there}",
    ],
    ids=[
        "no effect",
        "no approval",
        "other server",
        "other tool",
        "id for namespace",
        "other class",
        "other workspace",
    ],
)
def test_a_rule_that_could_not_decide_this_tool_here_is_left_out(il: Interlock, rule: str) -> None:
    configure(f"{_SITUATIONS}  - {rule}\n")
    assert il("rule", "explain", "a:delete_x", "--json").json["rules"] == []


@pytest.mark.parametrize(
    "rule",
    [
        "{id: r, effect: deny}",
        "{id: r, requires_approval: true}",
        "{id: r, effect: deny, server_id: 'a*'}",
        "{id: r, effect: deny, tool_pattern: ['n__create_*', 'n:delete_*']}",
        "{id: r, effect: deny, safety_class: dangerous}",
        "{id: r, effect: deny, workspace_id: here}",
        "{id: r, effect: deny, operation_type: read}",
        "{id: r, effect: deny, caller: ci}",
        "{id: r, effect: deny, args: {path: {absent: true}}}",
    ],
)
def test_a_rule_that_could_decide_some_call_of_this_tool_is_listed(il: Interlock, rule: str) -> None:
    configure(f"{_SITUATIONS}  - {rule}\n")
    assert [each["id"] for each in il("rule", "explain", "a:delete_x", "--json").json["rules"]] == ["r"]


def test_another_workspace_has_other_rules(il: Interlock) -> None:
    configure(f"{_SITUATIONS}  - {{id: r, effect: deny, workspace_id: there}}\n")
    report = il("rule", "explain", "a:delete_x", "--workspace", "there", "--json").json
    assert [each["id"] for each in report["rules"]] == ["r"]


@pytest.mark.parametrize(
    ("matcher", "shown"),
    [
        ("'acme/*'", '"acme/*"'),
        ("{gt: 100}", '{"gt":100}'),
        ("[a, 5, null, true]", '["a",5,null,true]'),
        ("{not: {matches: '(?i)drop'}}", '{"not":{"matches":"(?i)drop"}}'),
    ],
)
def test_what_a_rule_asks_of_an_argument_is_shown_as_json(il: Interlock, matcher: str, shown: str) -> None:
    configure(
        f"servers: {{a: {{command: x}}}}\nroute_rules: [{{id: r, effect: deny, args: {{'items[*].x': {matcher}}}}}]"
    )
    assert f"  1. deny by 'r' (priority 0), when argument items[*].x matches {shown}" in (
        il("rule", "explain", "a:x").lines
    )


def test_posture_observe_is_explained_by_what_it_does_to_held_calls(il: Interlock) -> None:
    configure("servers: {a: {command: x}}\nposture: observe")
    assert il("rule", "explain", "a:delete_x").lines[-2:] == [
        "Otherwise posture observe says allow.",
        "Posture observe lets held calls pass and records that they would have been held.",
    ]


def test_no_other_posture_is_explained_further(il: Interlock) -> None:
    configure("servers: {a: {command: x}}\nposture: strict")
    assert il("rule", "explain", "a:delete_x").lines[-1] == "Otherwise posture strict says hold."


def test_the_explanation_in_json(il: Interlock) -> None:
    configure(
        "servers: {a: {command: x}}\n"
        "workspaces: [{id: ws, posture: strict}]\n"
        "route_rules: [{id: r, effect: hold, caller: 'ci-*', priority: 3}]\n"
    )
    done = il("rule", "explain", "a:delete_x", "--workspace", "ws", "--json")
    assert (done.exit, done.err) == (0, "")
    assert done.json == {
        "tool": "a:delete_x",
        "safety_class": "dangerous",
        "class_source": "name",
        "evidence": [{"source": "name", "says": "dangerous", "detail": "'delete'", "decided": True}],
        "rules": [{"id": "r", "effect": "hold", "priority": 3, "when": ["caller is ci-*"]}],
        "posture": "strict",
        "posture_says": "hold",
    }


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("create_issue",), "'create_issue' does not say its server"),
        (("githb-mcp:x",), "server 'githb-mcp' not found. Did you mean 'github-mcp'?"),
        (("db:x", "--workspace", "nowhere"), "workspace 'nowhere' not found. Known: ws-prod, ws-dev."),
    ],
)
def test_what_is_not_configured_cannot_be_explained(il: Interlock, words: tuple[str, ...], sentence: str) -> None:
    configure(_CONFIG)
    done = il("rule", "explain", *words)
    assert (done.exit, done.out, done.err.splitlines()[0]) == (2, "", sentence)


# lint -----------------------------------------------------------------------------------------------------------

_LINTED = """\
servers: {github-mcp: {command: x, namespace: github}}
workspaces: [{id: reached, path: /srv}, {id: adrift}]
route_rules:
"""


@pytest.mark.parametrize(
    ("rules", "findings"),
    [
        (
            "[{id: nothing, tool_pattern: 'github__a'}]",
            [("nothing", "decides-nothing", "it has neither an effect nor requires_approval: true")],
        ),
        (
            "[{id: lost, workspace_id: adrift, effect: deny}]",
            [
                (
                    "lost",
                    "unreachable-workspace",
                    "workspace 'adrift' has no path and is no default: only a token can put a caller there",
                )
            ],
        ),
        (
            "[{id: wrong-name, tool_pattern: 'github-mcp__create_*', effect: deny}]",
            [
                (
                    "wrong-name",
                    "never-matches",
                    "no tool of a configured server can have a name like 'github-mcp__create_*';"
                    " names are namespace__tool",
                )
            ],
        ),
        (
            "[{id: wide, tool_pattern: 'github__d*', effect: hold, priority: 1},"
            " {id: narrow, tool_pattern: 'github__delete', effect: allow}]",
            [("narrow", "shadowed", "rule 'wide' decides every call that it could decide")],
        ),
        (
            "[{id: yes, tool_pattern: 'github__x', effect: allow}, {id: ask, tool_pattern: 'github__x', effect: hold}]",
            [
                ("ask", "contradictory", "rule 'yes' says allow for the very same calls"),
                ("yes", "contradictory", "rule 'ask' says hold for the very same calls"),
            ],
        ),
    ],
    ids=["decides nothing", "unreachable workspace", "never matches", "shadowed", "contradictory"],
)
def test_a_faulty_rule_is_found_and_ends_with_the_code_of_findings(
    il: Interlock, rules: str, findings: list[tuple[str, str, str]]
) -> None:
    configure(f"{_LINTED}  {rules}\n")
    done = il("rule", "lint", "--json")
    assert (done.exit, done.err) == (20, "")
    assert sorted((each["rule_id"], each["code"], each["text"]) for each in done.json) == findings


def test_findings_are_a_table_for_people(il: Interlock) -> None:
    configure(f"{_LINTED}  [{{id: nothing}}]\n")
    done = il("rule", "lint")
    assert (done.exit, done.err) == (20, "")
    assert done.lines == [
        "RULE     FINDING          WHAT IS WRONG                                         AT",
        "nothing  decides-nothing  it has neither an effect nor requires_approval: true  interlock.yaml:4:9",
    ]


def test_findings_come_in_the_order_of_the_file_each_with_its_position(il: Interlock) -> None:
    configure(
        f"{_LINTED}"
        "  - {id: zebra, priority: -5}\n"
        "  - effect: hold\n"
        "    id: lost\n"
        "    workspace_id: adrift\n"
        "  - {id: narrow, tool_pattern: github__x, effect: allow}\n"
        "  - {effect: hold, tool_pattern: 'github__*', id: wide, priority: 7}\n"
        "  - {id: apple, priority: 9}\n"
    )
    assert [(each["rule_id"], each["code"], each["at"]) for each in il("rule", "lint", "--json").json] == [
        ("zebra", "decides-nothing", "interlock.yaml:4:10"),
        ("lost", "unreachable-workspace", "interlock.yaml:6:9"),
        ("narrow", "shadowed", "interlock.yaml:8:10"),
        ("apple", "decides-nothing", "interlock.yaml:10:10"),
    ]


def test_a_rule_from_the_environment_is_found_there(il: Interlock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_ROUTE_RULES", "[{id: nothing}]")
    assert il("rule", "lint", "--json").json == [
        {
            "rule_id": "nothing",
            "code": "decides-nothing",
            "text": "it has neither an effect nor requires_approval: true",
            "at": "environment INTERLOCK_ROUTE_RULES",
        }
    ]


@pytest.mark.parametrize("workspaces", ["[{id: w}]", "[{id: w, path: /}, {id: v}]", "[{id: v}, {id: w}]"])
def test_a_workspace_is_reached_as_the_only_one_by_its_path_or_as_the_default(il: Interlock, workspaces: str) -> None:
    default = "default_workspace: w\n" if workspaces == "[{id: v}, {id: w}]" else ""
    configure(f"workspaces: {workspaces}\n{default}route_rules: [{{id: r, workspace_id: w, effect: deny}}]\n")
    assert il("rule", "lint").exit == 0


def test_sound_rules_have_no_findings(il: Interlock) -> None:
    configure(
        f"{_LINTED}  - {{id: a, tool_pattern: 'github__create_*', effect: hold}}\n"
        "  - {id: b, tool_pattern: 'github__delete_*', effect: deny}\n"
    )
    done = il("rule", "lint")
    assert (done.exit, done.out, done.err) == (0, "No findings in 2 rules.\n", "")


def test_no_findings_in_json_are_an_empty_list(il: Interlock) -> None:
    done = il("rule", "lint", "--json")
    assert (done.exit, done.json) == (0, [])
