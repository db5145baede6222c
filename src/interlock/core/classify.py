"""One evidence record per tool, and four readings of it.

The seeds of this product disagree about what an unannotated tool is, and each was right for its own door. So the
evidence is collected once (the server's metadata, its annotations, the words of the name, the operator's override) and
read four ways: `prefix` for run-tool, `exec` for the lab, `intent` for the call variants, `gateway` for enforcement.
Nothing that was found is thrown away: `Classification.evidence` says what was seen and what came of it.

INVARIANT: from a server that is not trusted, metadata and annotations only raise the class that the name gives.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from interlock.core import lexicon as lexicons
from interlock.core.lexicon import Lexicon
from interlock.core.model import Finding, Hints, Json, JsonObject, Variant
from interlock.core.safety import ExecClass, SafetyClass, strictest
from interlock.core.words import after_prefix, product_prefix, verb_words_of, without_namespace, words_of

_HINT_FIELDS = (
    ("readOnlyHint", "read_only"),
    ("destructiveHint", "destructive"),
    ("idempotentHint", "idempotent"),
    ("openWorldHint", "open_world"),
)
_LEGACY_CLASSES = {
    "a": SafetyClass.READ_ONLY,
    "b": SafetyClass.READ_ONLY,
    "c": SafetyClass.WRITE_CAPABLE,
    "d": SafetyClass.SUBPROCESS,
}
_NAMED_CLASSES = {each.value: each for each in SafetyClass}
_METADATA_KEYS: tuple[tuple[str, Mapping[str, SafetyClass]], ...] = (
    ("safety_class", _NAMED_CLASSES),
    ("class", _LEGACY_CLASSES),
)


class Source(StrEnum):
    """Where a class came from."""

    OVERRIDE = "override"
    METADATA = "metadata"
    ANNOTATIONS = "annotations"
    NAME = "name"
    METHOD = "method"
    """It is no tool but a method of the protocol, which says itself that it reads."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was seen. `decided` marks what the gateway's class stands on."""

    source: Source
    says: SafetyClass
    detail: str
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Metadata:
    """A class that the server gave under a key of its descriptor."""

    key: str
    says: SafetyClass


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What classification reads from a tool's descriptor; everything else in it is left alone."""

    name: str
    hints: Hints
    metadata: tuple[Metadata, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Classification:
    """The four views of one tool, and the evidence behind them."""

    prefix: SafetyClass
    prefix_source: Source
    exec: ExecClass
    intent: Variant
    gateway: SafetyClass
    source: Source
    evidence: tuple[Evidence, ...]
    findings: tuple[Finding, ...]

    @property
    def call_with(self) -> Variant:
        """The variant to recommend: the intent view, raised when the gateway sees danger, never lowered."""
        return Variant.DESTRUCTIVE if self.gateway is SafetyClass.DANGEROUS else self.intent


# Reading a descriptor -------------------------------------------------------------------------------------------


def read_descriptor(tool: JsonObject) -> Descriptor:
    """Read the classifying parts of a tools/list entry. Never raises: what is malformed becomes a finding."""
    name = tool.get("name")
    hints, findings = _read_hints(tool.get("annotations"))
    metadata, unrecognised = _read_metadata(tool)
    return Descriptor(name if isinstance(name, str) else "", hints, metadata, (*findings, *unrecognised))


def _read_hints(annotations: Json) -> tuple[Hints, tuple[Finding, ...]]:
    if annotations is None:
        return Hints(), ()
    if not isinstance(annotations, Mapping):
        return Hints(malformed=("annotations",)), (_malformed("annotations", annotations),)
    seen = {wire: annotations[wire] for wire, _ in _HINT_FIELDS if wire in annotations}
    malformed = {wire: value for wire, value in seen.items() if not isinstance(value, bool)}
    title = annotations.get("title", "")
    if not isinstance(title, str):
        malformed["title"] = title
    hints = Hints(
        **{ours: value for wire, ours in _HINT_FIELDS if isinstance(value := seen.get(wire), bool)},
        malformed=tuple(malformed),
    )
    return hints, tuple(_malformed(wire, value) for wire, value in malformed.items())


def _malformed(field: str, value: Json) -> Finding:
    return Finding("malformed-annotations", f"{field} is {_shown(value)}, so no hint that would lower the class counts")


def _shown(value: Json) -> str:
    return f"the {type(value).__name__} {value!r}"[:80]


def _read_metadata(tool: JsonObject) -> tuple[tuple[Metadata, ...], tuple[Finding, ...]]:
    found: list[Metadata] = []
    findings: list[Finding] = []
    for key, path, value in _metadata_values(tool):
        known = dict(_METADATA_KEYS)[key]
        says = known.get(value.strip().lower()) if isinstance(value, str) else None
        if says is None:
            findings.append(Finding("unrecognised-metadata", f"{path} is {_shown(value)}, which is ignored"))
        else:
            found.append(Metadata(key, says))
    return tuple(found), tuple(findings)


def _metadata_values(tool: JsonObject) -> Iterator[tuple[str, str, Json]]:
    meta = tool.get("_meta")
    for key, _ in _METADATA_KEYS:
        if isinstance(meta, Mapping) and key in meta:
            yield key, f"_meta.{key}", meta[key]
        if key in tool:
            yield key, key, tool[key]


# The views ------------------------------------------------------------------------------------------------------


def classify(
    descriptor: Descriptor,
    *,
    trusted: bool = False,
    override: SafetyClass | None = None,
    lexicon: Lexicon = lexicons.DEFAULT,
    prefix_words: tuple[str, ...] = (),
) -> Classification:
    """Classify one tool. `prefix_words` is its server's product prefix, see `classify_listing`."""
    by_name, named_for = name_class(descriptor.name, lexicon, prefix_words)
    declared = _declared_class(descriptor.metadata)
    evidence = tuple(_gather(descriptor, by_name, named_for, override))
    gateway, source = _gateway_view(descriptor, by_name, declared, trusted=trusted, override=override)
    prefix_named = _prefix_of_name(descriptor.name)
    return Classification(
        prefix=prefix_named if declared is None else declared,
        prefix_source=Source.NAME if declared is None else Source.METADATA,
        exec=_exec_view(descriptor),
        intent=_intent_view(descriptor.hints),
        gateway=gateway,
        source=source,
        evidence=_mark_decisive(evidence, gateway, source),
        findings=(*descriptor.findings, *_contradictions(descriptor, by_name)),
    )


def classify_listing(
    tools: Sequence[JsonObject],
    *,
    trusted: bool = False,
    overrides: Mapping[str, SafetyClass] | None = None,
    lexicon: Lexicon = lexicons.DEFAULT,
) -> tuple[tuple[Descriptor, Classification], ...]:
    """Classify all tools of one server. The whole listing is needed to see the product prefix of its names."""
    descriptors = [read_descriptor(tool) for tool in tools]
    prefix_words = product_prefix([each.name for each in descriptors], lexicon.verbs)
    chosen = overrides or {}
    return tuple(
        (
            each,
            classify(each, trusted=trusted, override=chosen.get(each.name), lexicon=lexicon, prefix_words=prefix_words),
        )
        for each in descriptors
    )


def _prefix_of_name(name: str) -> SafetyClass:
    lowered = name.lower()
    return next((each for prefix, each in lexicons.PREFIXES if lowered.startswith(prefix)), SafetyClass.UNKNOWN)


def _declared_class(metadata: tuple[Metadata, ...]) -> SafetyClass | None:
    """The class the metadata gives: `safety_class` before the legacy key, the strictest where one key says two."""
    for key, _ in _METADATA_KEYS:
        said = [each.says for each in metadata if each.key == key]
        if said:
            return strictest(said)
    return None


def _exec_view(descriptor: Descriptor) -> ExecClass:
    hints = Hints() if descriptor.hints.malformed else descriptor.hints
    if hints.read_only is True:
        return ExecClass.READ_ONLY
    if hints.destructive is True:
        return ExecClass.DESTRUCTIVE
    if hints.idempotent is False:
        return ExecClass.MUTATING
    words = set(words_of(descriptor.name))
    if words & lexicons.EXEC_DESTRUCTIVE:
        return ExecClass.DESTRUCTIVE
    if words & lexicons.EXEC_MUTATING:
        return ExecClass.MUTATING
    return ExecClass.READ_ONLY_PRESUMED


def _intent_view(hints: Hints) -> Variant:
    if hints.destructive is True:
        return Variant.DESTRUCTIVE
    if hints.read_only is True:
        return Variant.READ
    return Variant.WRITE


def _gateway_view(
    descriptor: Descriptor,
    by_name: SafetyClass,
    declared: SafetyClass | None,
    *,
    trusted: bool,
    override: SafetyClass | None,
) -> tuple[SafetyClass, Source]:
    if override is not None:
        return override, Source.OVERRIDE
    annotated, replaces = _annotated_class(descriptor.hints)
    if trusted and declared is not None:
        return declared, Source.METADATA
    if trusted and annotated is not None and replaces:
        return annotated, Source.ANNOTATIONS
    # Untrusted, or nothing that may replace the name: everything that was said only raises.
    said = [(by_name, Source.NAME)]
    if annotated is not None:
        said.append((annotated, Source.ANNOTATIONS))
    said.extend((each.says, Source.METADATA) for each in descriptor.metadata)
    return max(said, key=lambda each: each[0].rank)


def _annotated_class(hints: Hints) -> tuple[SafetyClass | None, bool]:
    """What the annotations say, and whether a trusted server's word may replace the name with it.

    In a malformed object a hint that lowers is void, a hint that raises still counts, and nothing replaces the name.
    """
    sound = not hints.malformed
    if hints.destructive is True:
        return SafetyClass.DANGEROUS, sound
    if hints.read_only is True and sound:
        return SafetyClass.READ_ONLY, True
    if hints.read_only is False or hints.destructive is False:
        return SafetyClass.WRITE_CAPABLE, sound
    if hints.idempotent is False:
        return SafetyClass.WRITE_CAPABLE, False
    return None, False


# The name, read by the gateway ----------------------------------------------------------------------------------


def name_class(name: str, lexicon: Lexicon, prefix_words: tuple[str, ...] = ()) -> tuple[SafetyClass, str]:
    """The class that a name alone gives in the gateway view, and the words that gave it."""
    if not name.isascii():
        return SafetyClass.UNKNOWN, "the name has characters outside ASCII"
    words = after_prefix(verb_words_of(without_namespace(name, lexicon.verbs)), prefix_words)
    if words[:1] == ("git",):
        return _git_class(words[1:], lexicon)
    return _strong_class(words, lexicon) or _reading_class(words, lexicon)


def _strong_class(words: tuple[str, ...], lexicon: Lexicon) -> tuple[SafetyClass, str] | None:
    everywhere = set(words)
    firsts = {word for at, word in enumerate(words) if at == 0 or words[at - 1] in lexicons.CONJUNCTIONS}
    for safety_class, anywhere, first in (
        (SafetyClass.DANGEROUS, lexicon.dangerous_anywhere, lexicon.dangerous_first),
        (SafetyClass.SUBPROCESS, lexicon.subprocess_anywhere, lexicon.subprocess_first),
        (SafetyClass.WRITE_CAPABLE, lexicon.write_anywhere, lexicon.write_first),
    ):
        matched = (everywhere & anywhere) | (firsts & first)
        if matched:
            return safety_class, _quoted(matched)
    return None


def _reading_class(words: tuple[str, ...], lexicon: Lexicon) -> tuple[SafetyClass, str]:
    if not words:
        return SafetyClass.UNKNOWN, "the name has no words"
    first, last = words[0], words[-1]
    if first in lexicon.read_first_or_last or first in lexicon.read_first:
        return SafetyClass.READ_ONLY, f"first word '{first}'"
    if last in lexicon.read_first_or_last:
        return SafetyClass.READ_ONLY, f"last word '{last}'"
    if last in lexicon.answers and lexicon.nouns.issuperset(words[:-1]):
        return SafetyClass.READ_ONLY, f"names a thing to look at: '{last}'"
    return SafetyClass.UNKNOWN, "no word of the name says what it does"


def _git_class(words: tuple[str, ...], lexicon: Lexicon) -> tuple[SafetyClass, str]:
    """`git_x`: x is a subcommand, and reads unless it is known to do more."""
    second = words[:1]
    if lexicon.git_dangerous.intersection(second):
        return SafetyClass.DANGEROUS, f"git {second[0]}"
    strong = _strong_class(words, lexicon)
    if strong and strong[0].rank > SafetyClass.WRITE_CAPABLE.rank:
        return strong
    if strong or lexicon.git_write.intersection(second):
        return SafetyClass.WRITE_CAPABLE, f"git {words[0]}"
    return SafetyClass.READ_ONLY, "first word 'git'"


def _quoted(words: set[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


# The record -----------------------------------------------------------------------------------------------------


def _gather(
    descriptor: Descriptor, by_name: SafetyClass, named_for: str, override: SafetyClass | None
) -> Iterator[Evidence]:
    if override is not None:
        yield Evidence(Source.OVERRIDE, override, "set by the operator")
    for each in descriptor.metadata:
        yield Evidence(Source.METADATA, each.says, f"{each.key}: {each.says.value}")
    annotated, _ = _annotated_class(descriptor.hints)
    if annotated is not None:
        yield Evidence(Source.ANNOTATIONS, annotated, _hints_shown(descriptor.hints))
    yield Evidence(Source.NAME, by_name, named_for)


def _hints_shown(hints: Hints) -> str:
    stated = ((wire, getattr(hints, ours)) for wire, ours in _HINT_FIELDS)
    return ", ".join(f"{wire}: {str(value).lower()}" for wire, value in stated if value is not None)


def _mark_decisive(evidence: tuple[Evidence, ...], gateway: SafetyClass, source: Source) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(each.source, each.says, each.detail, decided=each.source is source and each.says is gateway)
        for each in evidence
    )


def _contradictions(descriptor: Descriptor, by_name: SafetyClass) -> Iterator[Finding]:
    hints = descriptor.hints
    if hints.read_only is True and hints.destructive is True:
        yield Finding("contradictory-hints", "readOnlyHint and destructiveHint are both true; it counts as dangerous")
    elif hints.read_only is True and SafetyClass.READ_ONLY.rank < by_name.rank < SafetyClass.UNKNOWN.rank:
        yield Finding("hint-below-name", f"readOnlyHint is true, but the name says {by_name.value}")
    if not descriptor.name.isascii():
        yield Finding("name-characters", "the name has characters outside ASCII, so it says nothing")
