"""What no single value can be checked for, told at the place where it stands in the file."""

import pytest

from interlock.config.check import check, did_you_mean
from interlock.config.tree import Settings
from tests.config.examples import RULES, SETTINGS, config_of, problems_of


@pytest.mark.parametrize(
    ("given", "known", "hint"),
    [
        ("gitub", ["gitlab", "github"], "; did you mean 'github'?"),
        ("strickt", ["open", "strict"], "; did you mean 'strict'?"),
        ("zzz", ["github"], ""),
        ("github", [], ""),
    ],
)
def test_a_suggestion_is_the_nearest_known_word_or_nothing(given: str, known: list[str], hint: str) -> None:
    assert did_you_mean(given, known) == hint


def test_nothing_is_wrong_with_the_defaults() -> None:
    assert list(check(Settings())) == []


@pytest.mark.parametrize("text", [RULES, SETTINGS], ids=["the rules", "all settings"])
def test_nothing_is_wrong_with_the_promised_examples(text: str) -> None:
    assert list(check(config_of(text).settings)) == []


# Servers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("servers: {a: {}}", "interlock.yaml:1:14: server 'a' needs either 'command' or 'url'"),
        (
            "servers:\n  a:\n    command: npx\n    url: https://x\n",
            "interlock.yaml:3:5: server 'a' needs either 'command' or 'url', not both",
        ),
        (
            "servers: {a: {url: 'https://x', args: [-y]}}",
            "interlock.yaml:1:39: 'args' belongs to a server with a 'command'; this one has a 'url'",
        ),
        (
            "servers: {a: {url: 'https://x', env: {A: b}}}",
            "interlock.yaml:1:38: 'env' belongs to a server with a 'command'; this one has a 'url'",
        ),
        (
            "servers: {a: {url: 'https://x', cwd: /srv}}",
            "interlock.yaml:1:38: 'cwd' belongs to a server with a 'command'; this one has a 'url'",
        ),
        (
            "servers: {a: {command: npx, headers: {A: b}}}",
            "interlock.yaml:1:38: 'headers' belongs to a server with a 'url'; this one has a 'command'",
        ),
        (
            "servers: {a: {command: x}, b: {command: y, namespace: a}}",
            "interlock.yaml:1:31: namespace 'a' is the id of another server; give it another",
        ),
        (
            "servers: {a: {command: x, namespace: n}, b: {command: y, namespace: n}}",
            "interlock.yaml:1:45: namespace 'n' is already taken by server 'a'; give it another",
        ),
        (
            "servers: {interlock: {command: x}}",
            "interlock.yaml:1:22: the namespace 'interlock' is reserved for Interlock's own tools; choose another",
        ),
        (
            "servers: {a: {command: x, namespace: interlock}}",
            "interlock.yaml:1:14: the namespace 'interlock' is reserved for Interlock's own tools; choose another",
        ),
        (
            "servers: {a: {command: x}, b: {command: y}}\nnamespacing: false",
            "interlock.yaml:2:14: false is allowed with exactly one server; there are 2",
        ),
        ("namespacing: false", "interlock.yaml:1:14: false is allowed with exactly one server; there are 0"),
        (
            "auth_scopes: {gh-prod: {}}\nservers: {a: {command: x, auth_scope_id: gh-prd}}",
            "interlock.yaml:2:42: unknown auth scope 'gh-prd'; did you mean 'gh-prod'?",
        ),
        (
            "servers: {a: {command: x, auth_scope_id: gh}}",
            "interlock.yaml:1:42: unknown auth scope 'gh'; there is no auth scope in this file",
        ),
    ],
)
def test_a_server_that_cannot_be_is_refused(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


def test_bare_names_are_fine_with_exactly_one_server() -> None:
    assert config_of("servers: {a: {command: x}}\nnamespacing: false").settings.namespacing is False


def test_two_servers_may_share_a_command_but_not_a_namespace() -> None:
    settings = config_of("servers: {a: {command: x}, b: {command: x, namespace: c}}").settings
    assert {name: server.namespace for name, server in settings.servers.items()} == {"a": None, "b": "c"}


# Workspaces, overrides, words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "workspaces: [{id: a}, {id: b}, {id: a}]",
            "interlock.yaml:1:37: workspace id 'a' stands here twice; ids must differ",
        ),
        (
            "workspaces: [{id: ws-prod}]\ndefault_workspace: ws-prd",
            "interlock.yaml:2:20: unknown workspace 'ws-prd'; did you mean 'ws-prod'?",
        ),
        (
            "default_workspace: ws-prod",
            "interlock.yaml:1:20: unknown workspace 'ws-prod'; there is no workspace in this file",
        ),
    ],
)
def test_a_workspace_must_exist_once(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("frobnicate", "'frobnicate' must be written as server:tool"),
        ("'github:'", "'github:' must be written as server:tool"),
        ("'githb:frobnicate'", "unknown server 'githb'; did you mean 'github'?"),
        ("'jira:frobnicate'", "unknown server 'jira'; known are db, github"),
    ],
)
def test_an_override_names_a_tool_of_a_known_server(override: str, sentence: str) -> None:
    text = f"servers: {{github: {{command: x}}, db: {{command: y}}}}\noverrides:\n  {override}: read-only\n"
    assert problems_of(text) == (f"interlock.yaml:3:3: {sentence}",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("lexicon: {dangerous: [Nuke]}", "interlock.yaml:1:23: 'Nuke' must be one word of lower-case letters"),
        ("lexicon: {dangerous: [ok, a b]}", "interlock.yaml:1:27: 'a b' must be one word of lower-case letters"),
        ("lexicon: {dangerous: [nuke-it]}", "interlock.yaml:1:23: 'nuke-it' must be one word of lower-case letters"),
        ("lexicon: {read-only: [größe]}", "interlock.yaml:1:23: 'größe' must be one word of lower-case letters"),
        ("lexicon: {unknown: [x]}", "interlock.yaml:1:20: no word can make a tool unknown; use the other classes"),
    ],
)
def test_a_word_of_the_lexicon_is_one_word_of_a_known_class(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


# Rules ----------------------------------------------------------------------------------------------------------

_FILE = """\
servers: {github: {command: x}, github-two: {command: y}, db: {command: z}}
workspaces: [{id: ws-prod}]
auth_scopes: {gh-prod: {}}
route_rules:
"""


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        (
            "  - {id: a, effect: hold}\n  - {id: a, effect: deny}\n",
            "interlock.yaml:6:10: rule id 'a' stands here twice; ids must differ",
        ),
        ("  - {id: a, server_id: gitub}\n", "interlock.yaml:5:24: unknown server 'gitub'; did you mean 'github'?"),
        (
            "  - {id: a, server_id: jira}\n",
            "interlock.yaml:5:24: unknown server 'jira'; known are db, github, github-two",
        ),
        ("  - {id: a, server_id: 'jira-*'}\n", "interlock.yaml:5:24: 'jira-*' matches no server of this file"),
        (
            "  - {id: a, server_id: 'github['}\n",
            "interlock.yaml:5:24: bad pattern 'github[': '[' is never closed; write '[[]' for a literal '['",
        ),
        (
            "  - {id: a, workspace_id: ws-prd}\n",
            "interlock.yaml:5:27: unknown workspace 'ws-prd'; did you mean 'ws-prod'?",
        ),
        (
            "  - {id: a, auth_scope_id: gh-pro}\n",
            "interlock.yaml:5:28: unknown auth scope 'gh-pro'; did you mean 'gh-prod'?",
        ),
        (
            "  - {id: a, tool_pattern: 'github__[ab'}\n",
            "interlock.yaml:5:27: bad pattern 'github__[ab': '[' is never closed; write '[[]' for a literal '['",
        ),
        (
            "  - id: a\n    tool_pattern:\n      - github__ok\n      - github__[ab\n",
            "interlock.yaml:8:9: bad pattern 'github__[ab': '[' is never closed; write '[[]' for a literal '['",
        ),
        (
            "  - {id: a, caller: '[ci'}\n",
            "interlock.yaml:5:21: bad pattern '[ci': '[' is never closed; write '[[]' for a literal '['",
        ),
        (
            "  - {id: a, args: {sql: {matches: '(drop'}}}\n",
            "interlock.yaml:5:20: RE2 cannot compile it: missing ): (drop",
        ),
        (
            "  - {id: a, args: {sql: {matches: '(?=drop)'}}}\n",
            "interlock.yaml:5:20: RE2 cannot compile it: invalid perl operator: (?=",
        ),
        (
            "  - {id: a, args: {sql: {matchs: drop}}}\n",
            "interlock.yaml:5:20: unknown operator 'matchs'; known are equals, not, in, glob, matches, contains, gt,"
            " gte, lt, lte, absent",
        ),
        ("  - {id: a, args: {amount: {gt: '100'}}}\n", "interlock.yaml:5:20: 'gt' wants a number"),
        ("  - {id: a, args: {repo: {in: acme}}}\n", "interlock.yaml:5:20: 'in' wants a list"),
        ("  - {id: a, args: {repo: {}}}\n", "interlock.yaml:5:20: the matcher is empty"),
        (
            "  - {id: a, args: {repo: {absent: true, equals: x}}}\n",
            "interlock.yaml:5:20: 'absent' is true or false and stands alone; to ask for a value, leave it out",
        ),
        (
            "  - {id: a, args: {repo: 'acme/['}}\n",
            "interlock.yaml:5:20: '[' is never closed; write '[[]' for a literal '['",
        ),
        (
            "  - id: a\n    args:\n      repo: acme/*\n      items.: x\n",
            "interlock.yaml:8:7: path 'items.' ends with a dot",
        ),
        (
            "  - {id: a, effect: allow, requires_approval: true}\n",
            "interlock.yaml:5:47: true contradicts effect: allow; keep one of the two",
        ),
        (
            "  - {id: a, effect: deny, requires_approval: true}\n",
            "interlock.yaml:5:46: true contradicts effect: deny; keep one of the two",
        ),
        (
            "  - {id: a, effect: hold, requires_approval: false}\n",
            "interlock.yaml:5:46: false contradicts effect: hold; keep one of the two",
        ),
    ],
)
def test_a_rule_that_cannot_be_is_refused(rules: str, problem: str) -> None:
    assert problems_of(_FILE + rules) == (problem,)


@pytest.mark.parametrize(
    "rule",
    [
        "{id: a, server_id: 'git*'}",
        "{id: a, server_id: db}",
        "{id: a, effect: hold, requires_approval: true}",
        "{id: a, effect: allow, requires_approval: false}",
        "{id: a, effect: deny, requires_approval: false}",
        "{id: a, requires_approval: true}",
        "{id: a, requires_approval: false}",
        "{id: a}",
        "{id: a, tool_pattern: 'github:create_*'}",
        "{id: a, args: {repo: [acme, 5, null]}}",
        "{id: a, args: {repo: {not: {glob: 'acme/*'}}, force: true, depth: 3}}",
        "{id: a, args: {repo: {absent: true}}}",
    ],
)
def test_a_rule_that_can_be_is_accepted(rule: str) -> None:
    assert [each.id for each in config_of(f"{_FILE}  - {rule}\n").rules] == ["a"]


def test_problems_of_several_kinds_are_told_together_in_the_order_of_the_file() -> None:
    text = (
        "route_rules:\n"
        "  - {id: a, server_id: gitub}\n"
        "  - {id: a, workspace_id: nowhere}\n"
        "default_workspace: nowhere\n"
        "servers: {github: {}}\n"
        "lexicon: {dangerous: [Nuke]}\n"
    )
    assert problems_of(text) == (
        "interlock.yaml:2:24: unknown server 'gitub'; did you mean 'github'?",
        "interlock.yaml:3:10: rule id 'a' stands here twice; ids must differ",
        "interlock.yaml:3:27: unknown workspace 'nowhere'; there is no workspace in this file",
        "interlock.yaml:4:20: unknown workspace 'nowhere'; there is no workspace in this file",
        "interlock.yaml:5:19: server 'github' needs either 'command' or 'url'",
        "interlock.yaml:6:23: 'Nuke' must be one word of lower-case letters",
    )


def test_problems_are_ordered_by_number_and_not_by_letter() -> None:
    text = "\n".join(["route_rules:", *(f"  - {{id: r{at}, server_id: nope}}" for at in range(1, 12))])
    assert [each.split(":")[1] for each in problems_of(text)] == [str(line) for line in range(2, 13)]


# Notices --------------------------------------------------------------------------------------------------------

_NO_COMMAND = "names no command; write one with its arguments, or null"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "notices:\n  command: notify 'swordfish\n",
            "interlock.yaml:2:12: cannot be split into words: no closing quotation; close it, or leave it out",
        ),
        (
            "notices:\n  command: notify swordfish\\\n",
            "interlock.yaml:2:12: cannot be split into words: no escaped character; close it, or leave it out",
        ),
        ("notices: {command: '  '}", "interlock.yaml:1:20: names no command; write one with its arguments, or null"),
        (
            "notices: {command: '\"\" x'}",
            "interlock.yaml:1:20: names no command; write one with its arguments, or null",
        ),
        ('notices: {command: "a\\0b"}', "interlock.yaml:1:20: holds a character that no command can hold"),
    ],
)
def test_a_command_for_notices_must_be_made_of_words(text: str, problem: str) -> None:
    assert problems_of(text) == (problem,)


def test_a_command_for_notices_may_have_quoted_arguments() -> None:
    assert list(check(config_of("notices: {command: \"notify-send 'an approval waits' -t 5\"}").settings)) == []
