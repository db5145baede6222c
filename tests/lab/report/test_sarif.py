"""A run as SARIF."""

import json
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
import pytest
from msgspec.structs import replace

from interlock.lab.model import Finding, Severity
from interlock.lab.report.sarif import sarif_of
from tests.browser.hostile import HOSTILE
from tests.lab.runs import FINDINGS, a_run, a_run_that_says


@pytest.fixture
def told() -> dict[str, Any]:
    log = json.loads(sarif_of(a_run()))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    return log["runs"][0]


def test_each_result_leads_to_its_rule(told: dict[str, Any]) -> None:
    rules = [each["id"] for each in told["tool"]["driver"]["rules"]]

    assert rules == ["hang", "bad-result", "slow-answer", "no-version"]
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in told["results"])


def test_severities_become_levels(told: dict[str, Any]) -> None:
    assert [each["level"] for each in told["results"]] == ["error", "warning", "note", "note"]


def test_a_rule_is_there_once_however_often_it_is_broken() -> None:
    log = json.loads(sarif_of(replace(a_run(), findings=[FINDINGS[0], FINDINGS[0]])))

    assert len(log["runs"][0]["tool"]["driver"]["rules"]) == 1
    assert len(log["runs"][0]["results"]) == 2


def test_a_result_names_its_tool_and_a_place_that_stays(told: dict[str, Any]) -> None:
    location = told["results"][0]["locations"][0]

    assert location["logicalLocations"] == [
        {"name": "frobnicate", "fullyQualifiedName": "notes:frobnicate", "kind": "function"}
    ]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "mcp-servers/notes"}
    assert location["physicalLocation"]["region"] == {"startLine": 1}


def test_what_is_about_no_tool_is_about_the_server(told: dict[str, Any]) -> None:
    assert told["results"][-1]["locations"][0]["logicalLocations"] == [{"name": "notes", "kind": "module"}]


def test_a_finding_that_names_its_server_is_placed_there() -> None:
    finding = Finding("x", Severity.LOW, "", "echo", "", {"server": "odd server"})
    log = json.loads(sarif_of(replace(a_run(), findings=[finding])))

    assert log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "mcp-servers/odd%20server"
    }


def fingerprints(*findings: Finding) -> list[str]:
    log = json.loads(sarif_of(replace(a_run(), findings=list(findings))))
    return [each["partialFingerprints"]["interlockFinding/v1"] for each in log["runs"][0]["results"]]


def test_a_finding_keeps_its_fingerprint_until_something_else_is_seen() -> None:
    first = FINDINGS[0]
    same, other = replace(first, text="Put differently."), replace(first, evidence={"milliseconds": 900})

    known, again, new = fingerprints(first, same, other)
    assert known == again != new


def test_a_text_does_not_become_a_link() -> None:
    finding = Finding("x", Severity.LOW, "It said [approve](https://evil.example) [1].")
    log = json.loads(sarif_of(replace(a_run(), findings=[finding])))

    assert log["runs"][0]["results"][0]["message"]["text"] == r"It said \[approve](https://evil.example) [1]."


def test_a_run_that_was_broken_off_says_so() -> None:
    log = json.loads(sarif_of(replace(a_run(), ended="interrupted")))

    assert log["runs"][0]["invocations"] == [{"executionSuccessful": False}]


def closed(required: str, **properties: Any) -> dict[str, Any]:
    """An object of SARIF with the members that we use, of which nearly every kind forbids others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


TEXT = {"type": "string"}
BAG = {"type": "object", "properties": {"tags": {"type": "array", "items": TEXT, "uniqueItems": True}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = closed("text", text=TEXT)
RULE = closed(
    "id",
    id=TEXT,
    shortDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=closed("", level=LEVEL),
    properties=BAG,
)
PLACE = closed(
    "",
    artifactLocation=closed("", uri={"type": "string", "format": "uri-reference"}),
    region=closed("", startLine={"type": "integer", "minimum": 1}),
)
LOGICAL = closed("", name=TEXT, fullyQualifiedName=TEXT, kind=TEXT)
RESULT = closed(
    "message",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations={"type": "array", "items": closed("", physicalLocation=PLACE, logicalLocations={"items": LOGICAL})},
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    properties=BAG,
)
RUN = closed(
    "tool",
    tool=closed(
        "driver", driver=closed("name", name=TEXT, semanticVersion=TEXT, rules={"items": RULE, "uniqueItems": True})
    ),
    automationDetails=closed("", id=TEXT),
    invocations={"items": closed("executionSuccessful", executionSuccessful={"type": "boolean"})},
    results={"items": RESULT},
)
LOG = closed("version runs", **{"$schema": TEXT}, version={"const": "2.1.0"}, runs={"type": "array", "items": RUN})


def test_nothing_is_in_the_log_that_the_format_does_not_have() -> None:
    validator = jsonschema_rs.validator_for(LOG, validate_formats=True)

    for each in (a_run(), a_run_that_says("a [b](c) \u202e{0}"), replace(a_run(), findings=[])):
        validator.validate(json.loads(sarif_of(each)))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_told_without_tricks(text: str) -> None:
    told = sarif_of(a_run_that_says(text))

    assert told.isascii()
    uri = json.loads(told)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.count("/") == 1
    assert unquote(uri).startswith("mcp-servers/")
