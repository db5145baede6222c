"""Which principals are one hand: by who made whom, and by nothing that anybody says."""

from hypothesis import given
from hypothesis import strategies as st

from interlock.core.lineage import Lineage, Minted

NAMES = ("a", "b", "c", "d", "e")
ROOT = Minted("operator", "human", None)

_tokens = st.builds(
    Minted,
    st.sampled_from(NAMES),
    st.sampled_from(["human", "agent", "service", ""]),
    st.sampled_from([*NAMES, "operator", None, "nobody"]),
    st.booleans(),
)
_listings = st.lists(_tokens, max_size=8)


@given(_listings)
def test_kin_is_an_equivalence(tokens: list[Minted]) -> None:
    lineage = Lineage([ROOT, *tokens])
    names = (*NAMES, "operator", "stranger")

    assert all(lineage.are_kin(one, one) for one in names)
    for one in names:
        for other in names:
            assert lineage.are_kin(one, other) == lineage.are_kin(other, one)
            if lineage.are_kin(one, other):
                assert all(lineage.are_kin(one, third) for third in names if lineage.are_kin(other, third))


@given(_listings)
def test_whoever_is_made_by_somebody_that_is_no_person_is_its_kin(tokens: list[Minted]) -> None:
    lineage = Lineage([ROOT, *tokens])
    for each in tokens:
        if each.minted_by is not None and not each.vouched and not lineage.is_person(each.minted_by):
            assert lineage.are_kin(each.principal, each.minted_by)


@given(st.lists(st.sampled_from(NAMES), unique=True), st.sampled_from(["human", "agent", "service"]))
def test_what_a_person_makes_is_nobodys_kin(names: list[str], kind: str) -> None:
    lineage = Lineage([ROOT, *(Minted(name, kind, "operator") for name in names)])

    assert not any(lineage.are_kin(one, other) for one in names for other in (*names, "operator") if one != other)


@given(_listings, st.sampled_from(NAMES))
def test_what_an_agent_makes_is_never_a_person_whatever_it_is_called(tokens: list[Minted], forged: str) -> None:
    agent = Minted("robot", "agent", "operator")
    lineage = Lineage([ROOT, agent, *tokens, Minted(forged, "human", "robot")])

    assert not lineage.is_person(forged)
    assert lineage.are_kin(forged, "robot")


@given(_listings)
def test_a_person_goes_back_to_the_first_start_over_persons_only(tokens: list[Minted]) -> None:
    minted = [ROOT, *tokens]
    lineage = Lineage(minted)
    reached = {each.principal for each in minted if each.minted_by is None or each.vouched}
    for _ in NAMES:
        reached |= {each.principal for each in minted if each.minted_by in reached}

    for name in (*NAMES, "operator"):
        if lineage.is_person(name):
            own = [each for each in minted if each.principal == name]
            makers = {each.minted_by for each in own if each.minted_by and not each.vouched}
            assert name in reached
            assert {each.kind for each in own} == {"human"}
            assert all(lineage.is_person(maker) for maker in makers)


def test_siblings_and_the_kin_of_kin_are_kin() -> None:
    made = [Minted("boss", "agent", "operator"), Minted("one", "agent", "boss"), Minted("two", "agent", "boss")]
    lineage = Lineage([ROOT, *made, Minted("grandchild", "human", "two"), Minted("other", "agent", "operator")])

    assert lineage.are_kin("one", "two")
    assert lineage.are_kin("one", "grandchild")
    assert not lineage.are_kin("one", "other")
    assert not lineage.are_kin("one", "operator")


def test_a_person_is_one_by_all_its_tokens() -> None:
    human, robot = Minted("p", "human", "operator"), Minted("robot", "agent", "operator")

    assert Lineage([ROOT, human]).is_person("p")
    assert not Lineage([ROOT, human, Minted("p", "agent", "operator")]).is_person("p")
    assert not Lineage([ROOT, human, robot, Minted("p", "human", "robot")]).is_person("p")
    assert not Lineage([ROOT, Minted("p", "human", "ghost")]).is_person("p")
    assert not Lineage().is_person("p")


def test_whoever_makes_more_tokens_for_itself_changes_nothing() -> None:
    assert Lineage([ROOT, Minted("p", "human", "operator"), Minted("p", "human", "p")]).is_person("p")


def test_those_who_only_vouch_for_themselves_or_for_each_other_are_no_persons() -> None:
    circle = [Minted("p", "human", "q"), Minted("q", "human", "p")]

    assert not Lineage([ROOT, Minted("p", "human", "p")]).is_person("p")
    assert not Lineage([ROOT, *circle]).is_person("p")
    assert Lineage([ROOT, *circle, Minted("p", "human", "operator")]).is_person("q")
    assert Lineage([ROOT, Minted("p", "human", "p"), Minted("b", "human", "p")]).are_kin("b", "p")


def test_a_maker_that_others_vouch_for_makes_no_kin() -> None:
    lineage = Lineage(
        [ROOT, Minted("p", "human", "sso-user", vouched=True), Minted("bot", "agent", "sso-user", vouched=True)]
    )

    assert lineage.is_person("p")
    assert not lineage.are_kin("bot", "sso-user")
