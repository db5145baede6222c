"""Static findings: what can be said about tools from their definitions alone, without calling anything.

Most rules are hard ones: a character is hidden or it is not, a hint is there or it is not. What a description says to
the model is a matter of judgement, and the same one by which the gateway quarantines. Everything that is read was
written by the server, so its size is bounded, and what was left out is itself a finding.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from interlock.core import lexicon as lexicons
from interlock.core.classify import Classification, Descriptor, classify_listing, name_class
from interlock.core.health import LeftOut
from interlock.core.hidden import visible
from interlock.core.lexicon import Lexicon
from interlock.core.model import Json, JsonObject
from interlock.core.poison import scan as poison
from interlock.core.poison.hidden_text import HiddenKind, hidden_in
from interlock.core.poison.lookalikes import imitates, looks_of
from interlock.core.poison.names import is_reserved, spelled
from interlock.core.safety import SafetyClass
from interlock.core.words import product_prefix
from interlock.lab.model import Finding, Severity
from interlock.lab.scan import kinds

_MOST_VALUES = 20_000
_DEEPEST = 64
_MOST_PLACES = 20
"""How many texts of one tool are told of."""
_TEXT = 80


class Listing(Struct, frozen=True):
    """The tools of one server, as it lists them, and what of its list was not taken."""

    server: str
    tools: Sequence[JsonObject]
    left_out: Sequence[LeftOut] = ()


def scan(listings: Sequence[Listing], lexicon: Lexicon = lexicons.DEFAULT) -> list[Finding]:
    """What is wrong with the tools of some servers, taken one by one and together."""
    own = [finding for listing in listings for finding in _scanned(listing, lexicon)]
    return [*own, *_together(listings)]


def _scanned(listing: Listing, lexicon: Lexicon) -> Iterator[Finding]:
    classified = classify_listing(listing.tools, lexicon=lexicon)
    prefix = product_prefix([each.name for each, _ in classified], lexicon.verbs)
    for tool, (descriptor, classification) in zip(listing.tools, classified, strict=True):
        by_name, _ = name_class(descriptor.name, lexicon, prefix)
        yield from _texts(listing.server, descriptor.name, tool)
        yield from _spoken(listing.server, descriptor.name, tool)
        yield from _name(listing.server, descriptor.name)
        yield from _hints(listing.server, descriptor, by_name)
        yield from _classified(listing.server, descriptor, classification, by_name)
    yield from (kinds.left_out(listing.server, each) for each in listing.left_out)


# Texts ----------------------------------------------------------------------------------------------------------


def _texts(server: str, tool: str, descriptor: JsonObject) -> Iterator[Finding]:
    walk = _Walk()
    found = [finding for path, text in walk.texts(descriptor) if (finding := _hidden(server, tool, path, text))]
    yield from found[:_MOST_PLACES]
    if walk.left_out or len(found) > _MOST_PLACES:
        yield kinds.NOT_READ_WHOLE.found(tool, server=server)


def _hidden(server: str, tool: str, path: str, text: str) -> Finding | None:
    hidden = hidden_in(text)
    if hidden is None:
        return None
    control_only = hidden.kinds == (HiddenKind.CONTROL,)
    kind = kinds.CONTROL_CHARACTERS if control_only and path != "name" else kinds.HIDDEN_TEXT
    says = {"says": hidden.says} if hidden.says else {}
    why = [each.value for each in hidden.kinds]
    return kind.found(
        tool, server=server, path=path, characters=hidden.characters, why=why, text=hidden.excerpt, **says
    )


def _spoken(server: str, tool: str, descriptor: JsonObject) -> Iterator[Finding]:
    """What its texts say to the model. What is hidden, and its name, are told by the rules beside this one."""
    codes = {each.code for each in kinds.POISON}
    for each in poison.scan(descriptor):
        if each.code in codes:
            severity = None if each.hard else Severity.LOW
            kind = kinds.BY_CODE[each.code]
            yield kind.found(tool, severity, server=server, path=each.where, text=each.evidence)


class _Walk:
    """Goes through everything in a definition, keys too, up to a bound."""

    def __init__(self) -> None:
        self.left_out = False

    def texts(self, descriptor: JsonObject) -> Iterator[tuple[str, str]]:
        """Each text and the path to it."""
        waiting: list[tuple[str, Json, int]] = [("", descriptor, 0)]
        seen = 0
        while waiting:
            path, value, depth = waiting.pop()
            seen += 1
            if seen > _MOST_VALUES or depth > _DEEPEST:
                self.left_out = True
                continue
            if isinstance(value, str):
                yield path, value
            elif isinstance(value, Mapping):
                for key in value:
                    yield f"{_joined(path, key)} (key)", key
                waiting += [(_joined(path, key), value[key], depth + 1) for key in reversed(list(value))]
            elif isinstance(value, Sequence):
                waiting += [(f"{path}[{at}]", value[at], depth + 1) for at in reversed(range(len(value)))]


def _joined(path: str, key: str) -> str:
    shown = visible(key[:_TEXT])
    return f"{path}.{shown}" if path else shown


# Names ----------------------------------------------------------------------------------------------------------


def _name(server: str, name: str) -> Iterator[Finding]:
    evidence = {"server": server, "path": "name", "text": spelled(name)}
    if is_reserved(name):
        yield kinds.RESERVED_NAME.found(name, **evidence)
    if imitates(name):
        yield kinds.IMITATED_NAME.found(name, **evidence)
    elif not name.isascii():
        yield kinds.ODD_NAME.found(name, **evidence)


def _together(listings: Sequence[Listing]) -> Iterator[Finding]:
    """What is wrong with names only because of other names."""
    places: dict[str, list[str]] = {}
    for listing in listings:
        for tool in listing.tools:
            if isinstance(name := tool.get("name"), str):
                places.setdefault(name, []).append(listing.server)
    for name, servers in places.items():
        yield from _same(name, servers)
    by_looks: dict[str, list[str]] = {}
    for name in places:
        by_looks.setdefault(looks_of(name), []).append(name)
    for names in by_looks.values():
        if len(names) > 1:
            yield _alike(names, places)


def _same(name: str, servers: Sequence[str]) -> Iterator[Finding]:
    apart = list(dict.fromkeys(servers))
    if len(apart) > 1:
        yield kinds.SHADOWED_NAME.found(name, server=apart[0], servers=apart)
    yield from (kinds.NAME_TWICE.found(name, server=each) for each in apart if servers.count(each) > 1)


def _alike(names: Sequence[str], places: Mapping[str, Sequence[str]]) -> Finding:
    # The plain one is what the other is taken for, so the finding is about the other.
    odd = next((each for each in names if not each.isascii()), names[-1])
    severity = Severity.MEDIUM if all(each.isascii() for each in names) else None
    shown = [f"{places[each][0]}:{spelled(each)}" for each in names]
    return kinds.LOOKALIKE_NAMES.found(odd, severity, server=places[odd][0], names=shown)


# Annotations ----------------------------------------------------------------------------------------------------


def _hints(server: str, tool: Descriptor, by_name: SafetyClass) -> Iterator[Finding]:
    hints = tool.hints
    if hints.malformed:
        return
    evidence = {"server": server, "path": "annotations", "by_name": by_name.value}
    if (hints.read_only, hints.destructive, hints.idempotent) == (None, None, None):
        yield kinds.unannotated(tool.name, by_name, **evidence)
    elif by_name is SafetyClass.DANGEROUS and hints.read_only is not True:
        if hints.destructive is None:
            yield kinds.DESTRUCTIVE_UNSAID.found(tool.name, **evidence)
        elif hints.destructive is False:
            yield kinds.DESTRUCTIVE_DENIED.found(tool.name, **evidence)


_READ_ONLY_BUT = {
    SafetyClass.DANGEROUS: Severity.HIGH,
    SafetyClass.SUBPROCESS: Severity.LOW,
    SafetyClass.WRITE_CAPABLE: Severity.LOW,
}


def _classified(server: str, tool: Descriptor, seen: Classification, by_name: SafetyClass) -> Iterator[Finding]:
    """What classification came across."""
    for each in seen.findings:
        if each.code == kinds.ODD_NAME.code:
            continue
        severity = _READ_ONLY_BUT.get(by_name) if each.code == kinds.HINT_BELOW_NAME.code else None
        path = "_meta" if each.code == kinds.UNRECOGNISED_METADATA.code else "annotations"
        yield kinds.BY_CODE[each.code].found(tool.name, severity, server=server, path=path, text=visible(each.text))
