"""Who made whom: which principals are one and the same hand, whatever names it goes by.

Whoever can make tokens could make itself a second name and approve its own calls with it. So principals are kin when
one of them minted a token of the other, and kin of kin are kin. A person is where that ends: what a person mints is
made by a person, and the agents of one owner are not kin because of that. A token that calls itself a person's counts
as one only if it was minted by a person too, all the way back to the first start.

Pure, and made anew from all tokens that ever were: revoking one does not undo who made whom.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

HUMAN = "human"
ELSEWHERE = "jwt:"
"""What the names and token ids of an issuer's principals begin with here; ours have no colon."""


def same_eyes(one: str, other: str | None) -> bool:
    """Whether two names may be one pair of eyes. An issuer says whose an agent is in names of its own, or in ours: that
    cannot be told, so `jwt:olga` and `olga` see the same."""
    return other is not None and one.removeprefix(ELSEWHERE) == other.removeprefix(ELSEWHERE)


class Minted(Struct, frozen=True):
    """A token as far as descent goes: whose it is, what kind of somebody that is, and who made it.

    `vouched` says that the maker was known to be a person by other means than a token of ours.
    """

    principal: str
    kind: str
    minted_by: str | None
    vouched: bool = False


class Lineage:
    """The kinship of all principals that tokens were ever made for."""

    def __init__(self, tokens: Iterable[Minted] = ()) -> None:
        minted = tuple(tokens)
        self._people = _people(minted)
        links: defaultdict[str, set[str]] = defaultdict(set)
        for each in minted:
            if each.minted_by is not None and not each.vouched and each.minted_by not in self._people:
                links[each.minted_by].add(each.principal)
                links[each.principal].add(each.minted_by)
        self._families = _families(links)

    def are_kin(self, one: str, other: str) -> bool:
        """Whether two names are one hand."""
        return one == other or other in self._families.get(one, ())

    def is_person(self, name: str) -> bool:
        """Whether a principal is a person by the word of persons only."""
        return name in self._people


def _people(minted: Iterable[Minted]) -> frozenset[str]:
    """The principals whose every token is a person's and was made by a person, or by nobody at the first start."""
    makers: defaultdict[str, set[str]] = defaultdict(set)
    doubtful: set[str] = set()
    roots: set[str] = set()
    for each in minted:
        # Whoever mints more for itself changes nothing.
        own = each.minted_by is None or each.vouched
        makers[each.principal].update(() if own or each.minted_by == each.principal else (each.minted_by or "",))
        roots.update((each.principal,) if own else ())
        if each.kind != HUMAN:
            doubtful.add(each.principal)
    people = makers.keys() - doubtful
    while True:
        # A maker that is no principal itself cannot vouch for anybody.
        kept = _rooted({name for name in people if makers[name] <= people}, makers, roots)
        if kept == people:
            return frozenset(people)
        people = kept


def _rooted(people: set[str], makers: Mapping[str, set[str]], roots: set[str]) -> set[str]:
    """Those who go back to the first start: people who only ever vouch for each other, or for themselves, are none."""
    found = people & roots
    while True:
        more = found | {name for name in people if makers[name] & found}
        if more == found:
            return found
        found = more


def _families(links: Mapping[str, set[str]]) -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for name in links:
        if name in found:
            continue
        family, left = {name}, [name]
        while left:
            new = links[left.pop()] - family
            family |= new
            left.extend(new)
        found.update(dict.fromkeys(family, frozenset(family)))
    return found
