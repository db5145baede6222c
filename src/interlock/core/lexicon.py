"""What the words of a tool's name say about it, as data.

The lists began as the ones promised to users and grew from the tool lists of real servers. Two rules for growing them:
a word goes where an honest reader would put it, and when in doubt it stays out, because a name that says nothing is
`unknown`, and unknown is held. A word's place matters: `close_issue` closes something, `list_close_matches` does not.

Reading words never win over a stronger word in the same name, so only they may be generous.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from interlock.core.safety import SafetyClass
from interlock.core.words import word_set


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The word lists of the gateway view. `first` means the first word, or the first after and, or, then."""

    dangerous_anywhere: frozenset[str]
    dangerous_first: frozenset[str]
    subprocess_anywhere: frozenset[str]
    subprocess_first: frozenset[str]
    write_anywhere: frozenset[str]
    write_first: frozenset[str]
    read_first_or_last: frozenset[str]
    read_first: frozenset[str]
    answers: frozenset[str]
    """Nouns that can only be looked at. A name that ends in one and has only nouns before it reads."""
    nouns: frozenset[str]
    git_dangerous: frozenset[str]
    git_write: frozenset[str]

    @property
    def verbs(self) -> frozenset[str]:
        """Every word with a meaning of its own; none of them can be a namespace or a product prefix."""
        return (
            self.dangerous_anywhere
            | self.dangerous_first
            | self.subprocess_anywhere
            | self.subprocess_first
            | self.write_anywhere
            | self.write_first
            | self.read_first_or_last
            | self.read_first
            | {"git"}
        )

    def extended(self, extra: Mapping[SafetyClass, Iterable[str]]) -> "Lexicon":
        """This lexicon with an operator's own words added, each at the most telling place of its class."""
        added = {each: frozenset(word.lower() for word in extra.get(each, ())) for each in SafetyClass}
        return replace(
            self,
            dangerous_anywhere=self.dangerous_anywhere | added[SafetyClass.DANGEROUS],
            subprocess_first=self.subprocess_first | added[SafetyClass.SUBPROCESS],
            write_anywhere=self.write_anywhere | added[SafetyClass.WRITE_CAPABLE],
            read_first_or_last=self.read_first_or_last | added[SafetyClass.READ_ONLY],
        )


CONJUNCTIONS = word_set("and or then")

DEFAULT = Lexicon(
    dangerous_anywhere=word_set(
        "delete remove drop destroy purge erase wipe kill revoke reset truncate uninstall"
        # grown
        " rm rmdir nuke obliterate shred expunge prune overwrite deprovision decommission"
    ),
    dangerous_first=word_set(
        "clear archive cancel disable close force terminate"
        # grown: hard to take back
        " cleanup trash discard empty flush unlink del unpublish deactivate suspend evict expire ban kick rollback"
        " revert shutdown reboot"
        # grown: money and power handed over
        " pay transfer withdraw refund charge buy purchase sell grant"
    ),
    subprocess_anywhere=word_set("exec execute eval shell spawn bash sudo subprocess"),
    subprocess_first=word_set(
        "run execute exec invoke launch open eval shell spawn validate"
        # grown: sets machinery in motion
        " evaluate script command terminal powershell compile install upgrade deploy provision apply migrate scale"
        " rollout restart trigger dispatch"
    ),
    write_anywhere=word_set(
        "create update set send write post put insert patch upload edit rename move merge publish import restore"
        " append push commit checkout rebase"
        # grown
        " upsert modify change alter replace mutate"
    ),
    write_first=word_set(
        "add new copy enable assign tag save start stop"
        # grown
        " unassign untag label mark pin unpin star unstar follow unfollow subscribe unsubscribe reply comment react"
        " invite share fork clone duplicate attach link register submit schedule reschedule configure toggle sync"
        " refresh download export store persist backup record track draft reorder lock unlock increment"
    ),
    read_first_or_last=word_set(
        "read list get search find scan fetch query show describe view check count lookup convert resolve retrieve"
        " summarize explain status diff"
        # grown: verbs that are not nouns as well, so that they may stand last
        " summarise analyze analyse inspect explore discover detect verify calculate compute parse extract suggest"
        " recommend whoami ls grep"
    ),
    read_first=word_set(
        "compare browse preview estimate measure translate aggregate traverse trace monitor watch wait poll peek tail"
        " glob cat echo ping ask crawl research"
    ),
    answers=word_set(
        "stats statistics info information details summary overview history logs metrics schema schemas tree docs"
        " documentation help version versions health indexes indices size sizes usage structure screenshot snapshot"
        " metadata balance weather forecast price prices quote quotes news"
    ),
    nouns=word_set(
        "account accounts api app application bucket channel cluster code collection column company container content"
        " currency current customer data database db dependency device directory disk document domain environment"
        " error event file folder graph group host image instance issue item job key library local machine market"
        " memory metric model module namespace network node object organization package page pod pool portfolio"
        " product profile project region repo repository request resource result role row runtime schema server"
        " service session site source space stack stock storage stream system table task team tenant ticket token tool"
        " tools topic type types url usage user users video volume web weather wiki workflow workspace zone"
        # the verbs of looking: a screenshot is taken
        " take capture"
    ),
    git_dangerous=word_set("reset clean rm prune gc"),
    git_write=word_set("pull init stash cherry revert apply switch mv am submodule worktree config bisect notes"),
)

EXEC_DESTRUCTIVE = word_set("delete remove drop destroy purge erase wipe kill revoke")
EXEC_MUTATING = word_set("create update set send write post put insert patch add upload")
"""The lab's two lists are literal: they are a promise, and they do not grow."""

PREFIXES: tuple[tuple[str, SafetyClass], ...] = tuple(
    (prefix, safety_class)
    for safety_class, prefixes in (
        (SafetyClass.READ_ONLY, "read_ list_ get_ search_ find_ scan_ git_"),
        (SafetyClass.WRITE_CAPABLE, "update_ write_ set_ create_ edit_ new_"),
        (SafetyClass.DANGEROUS, "delete_ remove_"),
        (SafetyClass.SUBPROCESS, "run_ validate_ execute_ invoke_ open_ launch_"),
    )
    for prefix in prefixes.split()
)
"""The prefix view's table, in the order in which it is searched. Literal as well."""
