"""The four views, each against the table it was promised as."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.classify import Classification, Source, classify, classify_listing, name_class, read_descriptor
from interlock.core.lexicon import DEFAULT
from interlock.core.model import Json, JsonObject, Variant
from interlock.core.safety import ExecClass, SafetyClass
from tests.core.classification_table import CLASSES, HINT_STATES, expected, matching_rows
from tests.core.real_tools import RealTool, servers
from tests.core.strategies import annotations, descriptors, tool_names

RO, WR, SUB, DNG, UNK = SafetyClass
NAMES = {"read-only": "get_x", "write-capable": "create_x", "subprocess": "run_x", "dangerous": "delete_x"}
VALUES: dict[str, Json] = {"true": True, "false": False, "malformed": "yes"}


def classified(
    name: str, extra: JsonObject | None = None, *, trusted: bool = False, override: SafetyClass | None = None
) -> Classification:
    return classify(read_descriptor({"name": name, **(extra or {})}), trusted=trusted, override=override)


def annotated(name: str, hints: Json, *, trusted: bool = False) -> Classification:
    return classified(name, {"annotations": hints}, trusted=trusted)


def by_name(name: str) -> SafetyClass:
    return name_class(name, DEFAULT)[0]


# View prefix ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefixes", "safety_class"),
    [
        ("read_ list_ get_ search_ find_ scan_ git_", RO),
        ("update_ write_ set_ create_ edit_ new_", WR),
        ("delete_ remove_", DNG),
        ("run_ validate_ execute_ invoke_ open_ launch_", SUB),
    ],
)
def test_prefix_view_reads_the_class_off_the_prefix(prefixes: str, safety_class: SafetyClass) -> None:
    assert {classified(f"{prefix}x").prefix for prefix in prefixes.split()} == {safety_class}


@pytest.mark.parametrize("name", ["mystery_tool", "deleteFile", "delete", "get", "github__delete_repo", "reset_x", ""])
def test_prefix_view_knows_nothing_else(name: str) -> None:
    assert classified(name).prefix is UNK


def test_prefix_view_ignores_case() -> None:
    assert classified("Delete_File").prefix is DNG


@pytest.mark.parametrize("place", ["top", "_meta"])
@pytest.mark.parametrize(
    ("name", "given", "safety_class"),
    [
        ("update_config", "read-only", RO),
        ("run_x", "read-only", RO),
        ("read_x", "dangerous", DNG),
        ("read_x", "unknown", UNK),
        ("mystery", "subprocess", SUB),
        ("mystery", " Write-Capable ", WR),
    ],
)
def test_prefix_view_lets_explicit_metadata_win_both_ways(
    name: str, given: str, safety_class: SafetyClass, place: str
) -> None:
    extra: dict[str, Json] = {"safety_class": given} if place == "top" else {"_meta": {"safety_class": given}}

    found = classified(name, extra)

    assert (found.prefix, found.prefix_source) == (safety_class, Source.METADATA)


@pytest.mark.parametrize(("letter", "safety_class"), [("a", RO), ("B", RO), ("c", WR), (" D ", SUB)])
def test_prefix_view_reads_the_legacy_letter_class(letter: str, safety_class: SafetyClass) -> None:
    assert classified("mystery", {"class": letter}).prefix is safety_class


def test_prefix_view_takes_safety_class_before_the_legacy_letter() -> None:
    assert classified("mystery", {"safety_class": "read-only", "class": "d"}).prefix is RO


@pytest.mark.parametrize("value", ["harmless", "", 3, None, True, ["read-only"]])
def test_prefix_view_ignores_unrecognised_metadata_and_reports_it(value: Json) -> None:
    found = classified("delete_x", {"safety_class": value})

    assert (found.prefix, found.prefix_source) == (DNG, Source.NAME)
    assert [finding.code for finding in found.findings] == ["unrecognised-metadata"]


def test_an_unrecognised_safety_class_leaves_the_legacy_letter_its_say() -> None:
    assert classified("delete_x", {"safety_class": "harmless", "class": "a"}).prefix is RO


# View exec ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hints", "exec_class"),
    [
        ("delete_x", {"readOnlyHint": True}, ExecClass.READ_ONLY),
        ("x", {"readOnlyHint": True, "destructiveHint": True}, ExecClass.READ_ONLY),
        ("x", {"readOnlyHint": True, "idempotentHint": False}, ExecClass.READ_ONLY),
        ("x", {"destructiveHint": True, "idempotentHint": False}, ExecClass.DESTRUCTIVE),
        ("get_x", {"readOnlyHint": False, "destructiveHint": True}, ExecClass.DESTRUCTIVE),
        ("delete_x", {"idempotentHint": False}, ExecClass.MUTATING),
        ("delete_x", {"idempotentHint": True}, ExecClass.DESTRUCTIVE),
        ("delete_x", {"destructiveHint": False}, ExecClass.DESTRUCTIVE),
        ("get_x", {"readOnlyHint": False}, ExecClass.READ_ONLY_PRESUMED),
        ("delete_x", {"readOnlyHint": True, "destructiveHint": "yes"}, ExecClass.DESTRUCTIVE),
        ("get_x", {"destructiveHint": True, "openWorldHint": 1}, ExecClass.READ_ONLY_PRESUMED),
        ("add_x", {"readOnlyHint": None}, ExecClass.MUTATING),
        ("get_x", {"readOnlyHint": True, "title": 7}, ExecClass.READ_ONLY_PRESUMED),
    ],
)
def test_exec_view_asks_the_annotations_in_order_and_one_malformed_field_voids_them(
    name: str, hints: dict[str, Json], exec_class: ExecClass
) -> None:
    assert annotated(name, hints).exec is exec_class


@pytest.mark.parametrize(
    ("names", "exec_class"),
    [
        ("delete remove drop destroy purge erase wipe kill revoke", ExecClass.DESTRUCTIVE),
        ("create update set send write post put insert patch add upload", ExecClass.MUTATING),
        ("deleteFile delete-file delete_file file_delete create_or_delete HTTPDelete", ExecClass.DESTRUCTIVE),
        ("updateFile bulk.insert", ExecClass.MUTATING),
        ("get frobnicate reset clear assets dropdown setup posts moved", ExecClass.READ_ONLY_PRESUMED),
    ],
)
def test_exec_view_reads_the_words_of_the_name(names: str, exec_class: ExecClass) -> None:
    assert {classified(name).exec for name in names.split()} == {exec_class}


@pytest.mark.parametrize("value", ["yes", 5, ["readOnlyHint"], True])
def test_annotations_that_are_no_object_are_a_finding_and_say_nothing(value: Json) -> None:
    found = annotated("get_x", value)

    assert (found.exec, found.gateway) == (ExecClass.READ_ONLY_PRESUMED, RO)
    assert [finding.code for finding in found.findings] == ["malformed-annotations"]


# View intent ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hints", "intent", "call_with"),
    [
        ("x", {"destructiveHint": True}, Variant.DESTRUCTIVE, Variant.DESTRUCTIVE),
        ("x", {"destructiveHint": True, "readOnlyHint": True}, Variant.DESTRUCTIVE, Variant.DESTRUCTIVE),
        ("get_x", {"readOnlyHint": True}, Variant.READ, Variant.READ),
        ("get_x", {}, Variant.WRITE, Variant.WRITE),
        ("get_x", {"readOnlyHint": False}, Variant.WRITE, Variant.WRITE),
        ("frobnicate", {}, Variant.WRITE, Variant.WRITE),
        ("frobnicate", {"readOnlyHint": True}, Variant.READ, Variant.READ),
        ("delete_x", {}, Variant.WRITE, Variant.DESTRUCTIVE),
        ("delete_x", {"readOnlyHint": True}, Variant.READ, Variant.DESTRUCTIVE),
    ],
)
def test_intent_view_is_literal_and_call_with_is_raised_when_the_gateway_sees_danger(
    name: str, hints: dict[str, Json], intent: Variant, call_with: Variant
) -> None:
    found = annotated(name, hints)

    assert (found.intent, found.call_with) == (intent, call_with)


# View gateway ---------------------------------------------------------------------------------------------------


def test_exactly_one_row_of_the_independent_table_matches_any_hints() -> None:
    assert {len(matching_rows(*hints)) for hints in product(HINT_STATES, repeat=4)} == {1}


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("name_says", CLASSES)
def test_gateway_view_equals_the_independent_table(name_says: str, trusted: bool) -> None:
    wrong: list[str] = []
    for states in product(HINT_STATES, repeat=4):
        hints = dict(zip(("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), states, strict=True))
        given: dict[str, Json] = {hint: VALUES[state] for hint, state in hints.items() if state != "absent"}
        found = annotated(NAMES.get(name_says, "frobnicate"), given, trusted=trusted)
        wanted = expected(name_says, *states, trusted=trusted)
        if found.gateway.value != wanted:
            wrong.append(f"{hints}: {found.gateway.value}, not {wanted}")

    assert wrong == []


@pytest.mark.parametrize(
    ("names", "safety_class"),
    [
        ("deleteFile github__delete_repo get_delete_status read_and_delete list_then_drop delete2", DNG),
        ("clear_cache close_issue archive_page cancel_order disable_user force_push terminate_instance", DNG),
        ("get_and_close search_or_clear", DNG),
        ("run_sql open_nodes validate_node evaluate get_shell_history", SUB),
        ("create_or_update_file move_file getOrCreate add_x save mark_as_read reply_to_thread", WR),
        ("read_file whoami find web_search collection-schema directory_tree status server_status db-stats logs", RO),
        ("frobnicate x nodes email_details user process_logs clearly rotate_history", UNK),
        ("git_status git_log git_show git_branch git_diff git", RO),
        ("git_commit git_push git_add git_checkout git_merge git_tag git_pull git_stash git_create_branch", WR),
        ("git_reset git_clean git_rm git_branch_delete", DNG),
        ("git_run_hook", SUB),
        ("list_close_matches get_archive search_new", RO),
    ],
)
def test_gateway_view_reads_names_as_an_honest_reader_would(names: str, safety_class: SafetyClass) -> None:
    assert {name: by_name(name).value for name in names.split()} == dict.fromkeys(names.split(), safety_class.value)


@pytest.mark.parametrize("name", ["dеlete_file", "get_dеlete", "read\u200b_file", "ｇｅｔ_x"])
def test_a_name_with_characters_outside_ascii_says_nothing_and_is_a_finding(name: str) -> None:
    found = classified(name)

    assert found.gateway is UNK
    assert "name-characters" in [finding.code for finding in found.findings]


@pytest.mark.parametrize("name", ["", "___", "123"])
def test_a_name_without_words_is_unknown(name: str) -> None:
    assert by_name(name) is UNK


def test_the_product_prefix_of_a_server_does_not_hide_its_verbs() -> None:
    names = ("acme_close", "acme_list_users", "acme_run_job", "acme")
    listing = classify_listing([{"name": name} for name in names])

    assert [each.gateway for _, each in listing] == [DNG, RO, SUB, UNK]


@pytest.mark.parametrize("override", SafetyClass)
def test_an_operator_override_replaces_everything(override: SafetyClass) -> None:
    found = classified(
        "delete_x",
        {"safety_class": "dangerous", "annotations": {"destructiveHint": True}},
        trusted=True,
        override=override,
    )

    assert (found.gateway, found.source) == (override, Source.OVERRIDE)


def test_overrides_of_a_listing_go_by_tool_name() -> None:
    listing = classify_listing([{"name": "frobnicate"}, {"name": "other"}], overrides={"frobnicate": RO})

    assert [each.gateway for _, each in listing] == [RO, UNK]


@pytest.mark.parametrize(
    ("given", "trusted", "safety_class", "source"),
    [
        ({"safety_class": "read-only"}, True, RO, Source.METADATA),
        ({"safety_class": "read-only"}, False, DNG, Source.NAME),
        ({"safety_class": "unknown"}, False, UNK, Source.METADATA),
        ({"class": "a"}, True, RO, Source.METADATA),
        ({"safety_class": "read-only", "annotations": {"destructiveHint": True}}, True, RO, Source.METADATA),
        ({"safety_class": "read-only", "_meta": {"safety_class": "subprocess"}}, True, SUB, Source.METADATA),
        ({"annotations": {"readOnlyHint": True}}, True, RO, Source.ANNOTATIONS),
        ({"annotations": {"readOnlyHint": True}}, False, DNG, Source.NAME),
    ],
)
def test_metadata_then_annotations_replace_the_name_only_on_a_trusted_server(
    given: dict[str, Json], trusted: bool, safety_class: SafetyClass, source: Source
) -> None:
    found = classified("delete_x", given, trusted=trusted)

    assert (found.gateway, found.source) == (safety_class, source)


def test_untrusted_metadata_raises_even_where_a_weaker_key_would_win() -> None:
    """`safety_class` comes before `class`, but neither can be used to hide what the other admits."""
    assert classified("get_x", {"safety_class": "write-capable", "class": "d"}).gateway is SUB


# Evidence and findings ------------------------------------------------------------------------------------------


def test_evidence_keeps_everything_that_was_seen_and_marks_what_decided() -> None:
    found = classified(
        "delete_x",
        {"_meta": {"safety_class": "read-only"}, "annotations": {"readOnlyHint": True}},
        override=WR,
    )

    assert [(each.source, each.says, each.detail, each.decided) for each in found.evidence] == [
        (Source.OVERRIDE, WR, "set by the operator", True),
        (Source.METADATA, RO, "safety_class: read-only", False),
        (Source.ANNOTATIONS, RO, "readOnlyHint: true", False),
        (Source.NAME, DNG, "'delete'", False),
    ]


@pytest.mark.parametrize(
    ("name", "hints", "code"),
    [
        ("x", {"readOnlyHint": True, "destructiveHint": True}, "contradictory-hints"),
        ("delete_x", {"readOnlyHint": True}, "hint-below-name"),
        ("x", {"readOnlyHint": "yes"}, "malformed-annotations"),
    ],
)
def test_what_an_author_should_know_is_a_finding(name: str, hints: dict[str, Json], code: str) -> None:
    assert [finding.code for finding in annotated(name, hints).findings] == [code]


def test_a_clean_tool_has_no_findings() -> None:
    assert annotated("get_x", {"readOnlyHint": True, "title": "X"}).findings == ()


# Real servers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("server", servers())
def test_the_tools_of_real_servers_are_classified_as_reviewed(server: str) -> None:
    tools = servers()[server]

    assert _classes(tools, with_hints=False, trusted=False) == {tool.name: tool.by_name for tool in tools}
    assert _classes(tools, with_hints=True, trusted=False) == {tool.name: tool.untrusted for tool in tools}
    assert _classes(tools, with_hints=True, trusted=True) == {tool.name: tool.trusted for tool in tools}


def _classes(tools: list[RealTool], *, with_hints: bool, trusted: bool) -> dict[str, str]:
    listing = classify_listing([tool.descriptor(with_hints=with_hints) for tool in tools], trusted=trusted)
    return {descriptor.name: each.gateway.value for descriptor, each in listing}


# Properties -----------------------------------------------------------------------------------------------------


@given(descriptors(), st.booleans())
def test_any_descriptor_gets_a_class_and_evidence(descriptor: dict[str, Json], trusted: bool) -> None:
    found = classify(read_descriptor(descriptor), trusted=trusted)

    assert sum(each.decided for each in found.evidence) >= 1


@given(descriptors())
def test_an_untrusted_word_never_lowers_the_class_of_the_name(descriptor: dict[str, Json]) -> None:
    name = descriptor.get("name")
    said = name_class(name if isinstance(name, str) else "", DEFAULT)[0]

    assert classify(read_descriptor(descriptor)).gateway.rank >= said.rank


@given(descriptors())
def test_losing_trust_never_lowers_a_class(descriptor: dict[str, Json]) -> None:
    read = read_descriptor(descriptor)

    assert classify(read).gateway.rank >= classify(read, trusted=True).gateway.rank


@given(tool_names(), annotations(), st.booleans())
def test_losing_a_read_only_hint_never_lowers_a_class(name: str, hints: dict[str, Json], trusted: bool) -> None:
    with_hint = annotated(name, {**hints, "readOnlyHint": True}, trusted=trusted)
    without = annotated(name, {key: hints[key] for key in hints if key != "readOnlyHint"}, trusted=trusted)

    assert without.gateway.rank >= with_hint.gateway.rank


@given(
    descriptors(),
    st.sampled_from(["destructiveHint+", "readOnlyHint-", "idempotentHint-", "safety_class", "class", "_meta"]),
    st.sampled_from(["read-only", "write-capable", "subprocess", "dangerous", "unknown", "a", "b", "c", "d"]),
)
def test_adding_evidence_on_an_untrusted_server_never_lowers_a_class(
    descriptor: dict[str, Json], what: str, word: str
) -> None:
    before = classify(read_descriptor(descriptor))

    assert classify(read_descriptor(_with_more(descriptor, what, word))).gateway.rank >= before.gateway.rank


def _with_more(descriptor: dict[str, Json], what: str, word: str) -> dict[str, Json]:
    """The descriptor with one more word of its server; a hint or key that is there already is left as it is."""
    if what.endswith(("+", "-")):
        hints = descriptor.get("annotations", {})
        if not isinstance(hints, dict) or what[:-1] in hints:
            return descriptor
        return {**descriptor, "annotations": {**hints, what[:-1]: what.endswith("+")}}
    if what == "_meta":
        meta = descriptor.get("_meta", {})
        return {**descriptor, "_meta": {"safety_class": word, **meta}} if isinstance(meta, dict) else descriptor
    return {what: word, **descriptor}


@given(tool_names(), annotations(), st.booleans())
def test_a_destructive_hint_never_lowers_a_class_that_is_known(
    name: str, hints: dict[str, Json], trusted: bool
) -> None:
    """On a trusted server the declaration replaces the name, so a name that says nothing gives way to it."""
    before = annotated(name, hints, trusted=trusted)
    after = annotated(name, {**hints, "destructiveHint": True}, trusted=trusted)

    assert after.gateway.rank >= min(before.gateway.rank, DNG.rank)
