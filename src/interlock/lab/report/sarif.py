"""A run as SARIF 2.1.0, for whatever shows findings beside code.

A server has no file, and most readers show only what has one. So each server has an address that never changes, and a
finding is in its first line; which tool it is about stands in the logical location. A fingerprint over what was seen
lets readers tell an old finding from a new one.
"""

import json
import re
from typing import Any
from urllib.parse import quote

from interlock import __version__
from interlock.core.canonical import content_hash
from interlock.lab.model import Finding, Severity
from interlock.lab.report.figures import by_severity
from interlock.lab.report.shown import shown, shown_value
from interlock.lab.run import Run

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LINK = re.compile(r"\[(?=[^\]]*\]\()")
"""What begins a link in a message of SARIF; a text of a stranger is to have none."""
_LEVELS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note", Severity.INFO: "note"}
_SECURITY = {Severity.HIGH: "8.0", Severity.MEDIUM: "5.0", Severity.LOW: "2.0", Severity.INFO: "0.0"}
"""How grave it is as the number from 0 to 10 by which readers of security findings sort."""


def sarif_of(run: Run) -> str:
    """The report of a run as a SARIF log."""
    findings = by_severity(run.findings)
    firsts: dict[str, Finding] = {}
    for each in findings:
        firsts.setdefault(each.code, each)
    rules = list(firsts)
    driver = {
        "name": "Interlock",
        "semanticVersion": __version__,
        "rules": [_rule(each) for each in firsts.values()],
    }
    told: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"interlock/{_quoted(run.verb)}/{_quoted(run.target)}/"},
        "invocations": [{"executionSuccessful": run.ended == "complete"}],
        "results": [_result(each, rules.index(each.code), run) for each in findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [told]}
    return json.dumps(log, indent=2, ensure_ascii=True) + "\n"


def _rule(first: Finding) -> dict[str, Any]:
    """A kind of finding, told by the first of it: that is the gravest."""
    words = shown(first.code).replace("-", " ")
    rule: dict[str, Any] = {
        "id": shown(first.code),
        "shortDescription": {"text": words.capitalize()},
        "defaultConfiguration": {"level": _LEVELS[first.severity]},
        "properties": {"tags": ["security", "mcp"], "security-severity": _SECURITY[first.severity]},
    }
    return {**rule, "help": {"text": shown(first.fix)}} if first.fix else rule


def _result(finding: Finding, rule: int, run: Run) -> dict[str, Any]:
    server = finding.evidence.get("server")
    place = server if isinstance(server, str) else run.target
    return {
        "ruleId": shown(finding.code),
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": _LINK.sub(r"\\[", shown(finding.text))},
        "locations": [_location(place, finding.tool)],
        "partialFingerprints": {"interlockFinding/v1": fingerprint(finding, place)},
        "properties": {
            "severity": finding.severity.value,
            "evidence": {shown(key): shown_value(value) for key, value in finding.evidence.items()},
        },
    }


def fingerprint(finding: Finding, server: str) -> str:
    """What makes two findings the same one: the kind, the server, the tool and what was seen."""
    return content_hash([finding.code, server, finding.tool, finding.evidence])


def _location(server: str, tool: str | None) -> dict[str, Any]:
    logical = {"name": shown(server), "kind": "module"} if tool is None else _tool(server, tool)
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": f"mcp-servers/{_quoted(server)}"},
            "region": {"startLine": 1},
        },
        "logicalLocations": [logical],
    }


def _tool(server: str, tool: str) -> dict[str, Any]:
    return {"name": shown(tool), "fullyQualifiedName": f"{shown(server)}:{shown(tool)}", "kind": "function"}


def _quoted(text: str) -> str:
    return quote(shown(text), safe="")
