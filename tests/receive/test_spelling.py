"""Whose a name is: namespaces, bare URIs, templates."""

import pytest

from interlock.core.offers import Abilities, Kind, Offer
from interlock.errors import Code, Reason
from interlock.receive.spelling import Found, Spelling, template_fits

HAS = Abilities(resources=True, prompts=True)


def offer(server: str, *uris: str, namespace: str = "", templates: tuple[str, ...] = ()) -> Offer:
    listed = {Kind.RESOURCES: dict.fromkeys(uris, b"{}"), Kind.TEMPLATES: dict.fromkeys(templates, b"{}")}
    return Offer(server, namespace or server, HAS, listed)


A, B = offer("a", "note:1", "both:1", templates=("a://{x}",)), offer("b", "both:1", templates=("b://{x}/y",))
GIT = offer("git", "ssh://x")


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("a+note:1", Found("a", "note:1", "a+")),
        ("b+both:1", Found("b", "both:1", "b+")),
        ("b+not:listed", Found("b", "not:listed", "b+")),
        ("note:1", Found("a", "note:1")),
        ("a://anything", Found("a", "a://anything")),
        ("a://{x}", Found("a", "a://{x}")),
        ("b://z/y", Found("b", "b://z/y")),
    ],
)
def test_a_uri_is_whose_it_says_or_the_only_one_who_has_it(uri: str, found: Found) -> None:
    assert Spelling().find_uri(uri, [A, B]) == found


@pytest.mark.parametrize("uri", ["both:1", "other:1", "c+note:1"])
def test_in_doubt_the_spellings_that_there_are_are_named(uri: str) -> None:
    reason = Spelling().find_uri(uri, [A, B])

    assert isinstance(reason, Reason)
    assert (reason.code, f"a+{uri}, b+{uri}" in reason.fix) == (Code.BAD_REQUEST, True)


def test_of_several_only_those_who_have_it_are_named() -> None:
    reason = Spelling().find_uri("both:1", [A, B, GIT])

    assert isinstance(reason, Reason)
    assert "git" not in reason.fix


def test_with_one_server_every_uri_is_its_own() -> None:
    assert Spelling().find_uri("any:thing", [A]) == Found("a", "any:thing")
    assert Spelling(namespacing=False).find_uri("a+note:1", [A]) == Found("a", "a+note:1")


def test_without_servers_there_is_nothing() -> None:
    for spelling in (Spelling(), Spelling(namespacing=False)):
        reason = spelling.find_uri("any:thing", [])
        assert isinstance(reason, Reason)
        assert reason.code is Code.NOT_FOUND


def test_a_scheme_with_a_plus_is_not_taken_for_a_namespace_when_somebody_lists_it() -> None:
    other = offer("other", "git+ssh://y")

    assert Spelling().find_uri("git+ssh://y", [GIT, other]) == Found("other", "git+ssh://y")
    assert Spelling().find_uri("git+ssh://x", [GIT, other]) == Found("git", "ssh://x", "git+")


def test_a_prompt_is_named_with_its_namespace() -> None:
    one, other = offer("server-1", namespace="one"), offer("two")

    assert Spelling().find_prompt("one__greet", [one, other]) == Found("server-1", "greet", "one__")
    assert Spelling().find_prompt("two__a__b", [one, other]) == Found("two", "a__b", "two__")
    assert Spelling(namespacing=False).find_prompt("greet", [one]) == Found("server-1", "greet")


@pytest.mark.parametrize("name", ["greet", "one__", "three__greet", ""])
def test_a_prompt_of_nobody_is_not_found(name: str) -> None:
    reason = Spelling().find_prompt(name, [offer("one"), offer("two")])

    assert isinstance(reason, Reason)
    assert reason.code is Code.NOT_FOUND


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("a://{x}", "a://1", True),
        ("a://{x}", "b://1", False),
        ("a://{x}/z", "a://1/2/z", True),
        ("a://{x}/z", "a://1/y", False),
        ("a://{x}/m/{y}", "a://1/m/2", True),
        ("a://{x}/m/{y}", "a://1/n/2", False),
        ("a://{x}{?q,r}", "a://1?q=2", True),
        ("a://{+x}ab", "a://a", False),
        ("a://b", "a://b", True),
        ("a://b", "a://c", False),
        ("{x}", "", True),
    ],
)
def test_a_template_fits_what_it_could_have_made(template: str, uri: str, fits: bool) -> None:
    assert template_fits(template, uri) is fits


def test_a_template_that_means_harm_takes_no_longer_than_another() -> None:
    assert not template_fits("{a}x" * 20_000 + "!", "x" * 1_000_000)
