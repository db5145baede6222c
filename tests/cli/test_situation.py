"""The facts of a call that nobody makes: which workspace, which posture, which class it is tested with."""

import pytest

from tests.cli.running import Interlock, configure

# Workspaces -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "options", "workspace"),
    [
        ("", (), None),
        ("workspaces: [{id: only}]", (), "only"),
        ("workspaces: [{id: one}, {id: two}]", (), None),
        ("workspaces: [{id: one}, {id: two}]\ndefault_workspace: two", (), "two"),
        ("workspaces: [{id: one}, {id: two}]\ndefault_workspace: two", ("--workspace", "one"), "one"),
        ("workspaces: [{id: only}]", ("--workspace", "only"), "only"),
    ],
)
def test_a_caller_is_in_the_named_workspace_else_the_default_else_the_only_one(
    il: Interlock, config: str, options: tuple[str, ...], workspace: str | None
) -> None:
    configure(f"servers: {{a: {{command: x}}}}\n{config}\n")
    assert il("rule", "test", "--tool", "a:x", "--json", *options).json["workspace"] == workspace


def test_without_workspaces_none_can_be_named(il: Interlock) -> None:
    configure("servers: {a: {command: x}}")
    done = il("rule", "test", "--tool", "a:x", "--workspace", "ws")
    assert (done.exit, done.err.splitlines()[0]) == (2, "workspace 'ws' not found. None is configured.")


# Postures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("everywhere", "workspace", "server", "effective"),
    [
        ("guarded", None, None, "guarded"),
        ("strict", None, None, "strict"),
        ("guarded", "strict", None, "strict"),
        ("guarded", None, "strict", "strict"),
        ("strict", "open", None, "open"),
        ("strict", None, "open", "open"),
        ("guarded", "open", "strict", "strict"),
        ("guarded", "strict", "open", "strict"),
        ("guarded", "observe", "open", "open"),
    ],
)
@pytest.mark.parametrize("verb", ["test", "explain"])
def test_a_posture_of_workspace_or_server_comes_first_and_of_both_the_stricter(
    il: Interlock, verb: str, everywhere: str, workspace: str | None, server: str | None, effective: str
) -> None:
    configure(
        f"posture: {everywhere}\n"
        f"servers: {{a: {{command: x, posture: {server or 'null'}}}, b: {{command: y, posture: strict}}}}\n"
        f"workspaces: [{{id: w, posture: {workspace or 'null'}}}, {{id: v, posture: strict}}]\n"
        "default_workspace: w\n"
    )
    words = ("rule", "test", "--tool", "a:x") if verb == "test" else ("rule", "explain", "a:x")
    assert il(*words, "--json").json["posture"] == effective


@pytest.mark.parametrize(
    ("posture", "verdicts"),
    [
        ("guarded", ["allow", "allow", "hold", "hold", "hold"]),
        ("strict", ["allow", "hold", "hold", "hold", "deny"]),
        ("open", ["allow"] * 5),
        ("observe", ["allow"] * 5),
    ],
)
def test_each_posture_gives_its_promised_verdicts(il: Interlock, posture: str, verdicts: list[str]) -> None:
    configure(f"posture: {posture}\nservers: {{a: {{command: x}}}}")
    classes = ("read-only", "write-capable", "subprocess", "dangerous", "unknown")
    assert [il("rule", "test", "--tool", "a:x", "--class", each, "--json").json["verdict"] for each in classes] == (
        verdicts
    )


# Tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "safety_class", "source"),
    [
        ("a:get_x", "read-only", "name"),
        ("a:yeet_x", "dangerous", "name"),
        ("a:odd", "write-capable", "override"),
        ("b:odd", "unknown", "name"),
    ],
)
def test_a_tool_is_classified_by_override_words_and_name(
    il: Interlock, tool: str, safety_class: str, source: str
) -> None:
    configure(
        "servers: {a: {command: x}, b: {command: y}}\n"
        "overrides: {'a:odd': write-capable}\n"
        "lexicon: {dangerous: [yeet]}\n"
    )
    report = il("rule", "test", "--tool", tool, "--json").json
    assert (report["safety_class"], report["class_source"]) == (safety_class, source)


def test_rules_see_the_namespace_and_people_the_server(il: Interlock) -> None:
    configure(
        "servers: {github-mcp: {command: x, namespace: github}}\n"
        "route_rules: [{id: by-namespace, tool_pattern: 'github__get_*', effect: deny},"
        " {id: by-id, tool_pattern: 'github-mcp__get_*', effect: deny}]\n"
    )
    report = il("rule", "test", "--tool", "github-mcp:get_x", "--json").json
    assert (report["tool"], report["matching_rules"]) == ("github-mcp:get_x", ["by-namespace"])


@pytest.mark.parametrize("words", [("test", "--tool"), ("explain",)], ids=["test", "explain"])
@pytest.mark.parametrize("name", ["github-mcp:frobnicate", "github:frobnicate"])
def test_a_tool_may_be_named_by_server_or_by_namespace(il: Interlock, words: tuple[str, ...], name: str) -> None:
    configure(
        "servers: {github-mcp: {command: x, namespace: github}, db: {command: y}}\n"
        "overrides: {'github-mcp:frobnicate': read-only}\n"
    )
    report = il("rule", *words, name, "--json").json
    assert (report["tool"], report["safety_class"], report["class_source"]) == (
        "github-mcp:frobnicate",
        "read-only",
        "override",
    )


def test_a_tool_of_no_configured_server_is_refused(il: Interlock) -> None:
    done = il("rule", "explain", "a:x")
    assert (done.exit, done.out, done.err.splitlines()[0]) == (2, "", "server 'a' not found. Known: sample.")


# Declarations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("safety_class", "operation"),
    [
        ("read-only", "read"),
        ("write-capable", "write"),
        ("subprocess", "destructive"),
        ("dangerous", "destructive"),
        ("unknown", "destructive"),
    ],
)
def test_what_is_not_declared_follows_from_the_class(il: Interlock, safety_class: str, operation: str) -> None:
    configure("servers: {a: {command: x}}")
    report = il("rule", "test", "--tool", "a:x", "--class", safety_class, "--json").json
    assert report["operation_type"] == operation


@pytest.mark.parametrize("operation", ["read", "write", "destructive"])
@pytest.mark.parametrize("mode", ["required", "inferred"])
def test_a_declared_operation_passes_the_two_key_check_of_its_own_variant(
    il: Interlock, mode: str, operation: str
) -> None:
    configure(f"intent_declaration: {{mode: {mode}}}\nservers: {{a: {{command: x}}}}")
    report = il("rule", "test", "--tool", "a:get_x", "--operation-type", operation, "--json").json
    assert (report["verdict"], report["operation_type"]) == ("allow", operation)


@pytest.mark.parametrize(
    ("hold", "approval"),
    [
        ("", "1 by anyone with the approver role, within 300 s"),
        (
            "hold: {approval_timeout: 2m, approvals_needed: 3, approvers: [humans, ann]}",
            "3 by humans, ann, within 120 s",
        ),
    ],
)
def test_a_hold_by_posture_has_the_terms_of_the_hold_section(il: Interlock, hold: str, approval: str) -> None:
    configure(f"servers: {{a: {{command: x}}}}\n{hold}\n")
    assert f"  approval   {approval}" in il("rule", "test", "--tool", "a:delete_x").lines
