"""What the definitions of tools leave out: the annotations and texts that an agent chooses and calls by.

Pure, and about usefulness only: what is dangerous in a definition is for the scan to say.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from interlock.lab.model import Finding, LabTool
from interlock.lab.probing import findings as kinds
from interlock.lab.scan.kinds import NAME_TWICE, unannotated

SHORTEST = 20
"""A description with fewer characters says nothing that the name does not."""
MOST_NAMED = 10
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint")


def lints(tools: Sequence[LabTool]) -> list[Finding]:
    """What some tools of one server leave out."""
    texts = Counter(_description(each) for each in tools)
    return [finding for each in tools for finding in _lints(each, texts)]


def _lints(tool: LabTool, texts: Mapping[str, int]) -> Iterator[Finding]:
    annotations = _mapping(tool.descriptor.get("annotations"))
    if not any(isinstance(annotations.get(hint), bool) for hint in _HINTS):
        yield unannotated(tool.name, tool.gateway_class)
    if tool.others:
        yield NAME_TWICE.found(tool.name, times=str(len(tool.descriptors)))
    text = _description(tool)
    if not text:
        yield kinds.NO_DESCRIPTION.found(tool.name)
    elif len(text) < SHORTEST:
        yield kinds.SHORT_DESCRIPTION.found(tool.name, description=text)
    if text and texts[text] > 1:
        yield kinds.SAME_DESCRIPTION.found(tool.name, tools=str(texts[text]))
    if silent := _silent_parameters(tool):
        yield kinds.NO_PARAMETER_TEXTS.found(tool.name, parameters=silent[:MOST_NAMED])


def _description(tool: LabTool) -> str:
    found = tool.descriptor.get("description")
    return found.strip() if isinstance(found, str) else ""


def _silent_parameters(tool: LabTool) -> list[str]:
    properties = _mapping(tool.input_schema.get("properties"))
    return [name[:60] for name, each in properties.items() if not _mapping(each).get("description")]


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
