"""What servers have beside tools: who may know and use it, and what changed."""

import pytest

from interlock.core.model import Caller, OperationType, Scope
from interlock.core.offers import (
    COMPLETE,
    GET_PROMPT,
    READ,
    SUBSCRIBE,
    Abilities,
    Kind,
    Offer,
    OfferChange,
    Offers,
    changes_between,
)
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect, SafetyClass

ALL = Abilities(resources=True, subscribe=True, prompts=True, completions=True)
AGENT = Caller("agent")


def offer(server: str = "up", can: Abilities = ALL, namespace: str = "ns", **listed: dict[str, bytes]) -> Offer:
    return Offer(server, namespace, can, {Kind[kind.upper()]: entries for kind, entries in listed.items()})


def offers(*each: Offer) -> Offers:
    return Offers({one.server: one for one in each})


@pytest.mark.parametrize(
    ("method", "can"),
    [
        (READ, Abilities(resources=True)),
        (SUBSCRIBE, Abilities(subscribe=True)),
        (GET_PROMPT, Abilities(prompts=True)),
        (COMPLETE, Abilities(completions=True)),
    ],
)
def test_a_server_has_the_methods_that_it_declared_and_no_others(method: str, can: Abilities) -> None:
    methods = [each for each in (READ, SUBSCRIBE, GET_PROMPT, COMPLETE) if offers(offer(can=can)).find("up", each)]

    assert methods == [method]


def test_a_method_is_a_tool_that_reads_and_rules_know_it_by_its_namespace() -> None:
    found = offers(offer()).find("up", READ)

    assert found is not None
    assert (found.tool.qualified, found.tool.shown) == ("ns__resources/read", "up:resources/read")
    assert (found.classification.gateway, found.classification.source) == (SafetyClass.READ_ONLY, "method")


@pytest.mark.parametrize("method", ["tools/call", "tools/list", "resources/unsubscribe", ""])
def test_what_is_no_such_method_is_not_found(method: str) -> None:
    assert offers(offer()).find("up", method) is None
    assert offers(offer()).find("nobody", READ) is None


@pytest.mark.parametrize(
    ("scope", "known"),
    [
        (Scope(), ["up", "far"]),
        (Scope(servers=("up",)), ["up"]),
        (Scope(tools=("read_note",)), []),
        (Scope(tools=("far:resources/*",)), ["far"]),
        (Scope(ceiling=OperationType.READ), ["up", "far"]),
    ],
)
def test_a_server_out_of_reach_is_not_known(scope: Scope, known: list[str]) -> None:
    found = offers(offer(), offer("far"))

    assert [each.server for each in found.known_to(Caller("narrow", scope=scope), READ)] == known


def test_what_a_rule_forbids_for_good_is_known_and_not_open() -> None:
    rules = RuleBook([Rule("no", Effect.DENY, tool_pattern=("ns__prompts/*",))])
    found = offers(offer())

    assert found.open_to(AGENT, READ, rules) == [found.by_server["up"]]
    assert found.open_to(AGENT, GET_PROMPT, rules) == []
    assert len(found.known_to(AGENT, GET_PROMPT)) == 1


def test_the_kinds_of_which_something_changed_are_told() -> None:
    before = offers(offer(resources={"a": b"1"}, prompts={"p": b"1"}), offer("same", resources={"a": b"1"}))
    after = offers(offer(resources={"a": b"2"}, prompts={"p": b"1"}), offer("same", resources={"a": b"1"}))

    assert changes_between(before, after) == [OfferChange("up", frozenset({Kind.RESOURCES}))]


def test_a_server_that_comes_or_goes_changes_what_it_lists() -> None:
    there, change = offers(offer(templates={"t": b"1"})), [OfferChange("up", frozenset({Kind.TEMPLATES}))]

    assert changes_between(Offers(), there) == changes_between(there, Offers()) == change
    assert changes_between(Offers(), offers(offer())) == []


def test_another_namespace_changes_every_name() -> None:
    before, after = (offers(offer(namespace=each, prompts={"p": b"1"})) for each in ("a", "b"))

    assert changes_between(before, after) == [OfferChange("up", frozenset({Kind.PROMPTS}))]


@pytest.mark.parametrize(
    ("kind", "member", "method"),
    [(Kind.RESOURCES, "uri", READ), (Kind.TEMPLATES, "uriTemplate", READ), (Kind.PROMPTS, "name", GET_PROMPT)],
)
def test_each_kind_is_named_by_its_member_and_used_by_its_method(kind: Kind, member: str, method: str) -> None:
    assert (kind.name_member, kind.used_by) == (member, method)
