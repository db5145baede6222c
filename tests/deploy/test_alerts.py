"""The alerts: about figures that are there, and with something to read for whoever is woken."""

import re
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from interlock.core.lifecycle import ApprovalState, CallState
from tests.deploy import DEPLOY, ROOT
from tests.running import serving
from tests.talking import NO_TLS
from tests.test_docs import anchors_of

GROUPS: list[dict[str, Any]] = cast("Any", YAML(typ="safe")).load((DEPLOY / "alerts.yaml").read_text())["groups"]
RULES: list[dict[str, Any]] = [each for group in GROUPS for each in group["rules"]]
FUNCTIONS = {"absent", "increase", "max", "sum", "rate", "histogram_quantile", "by"}
SELECTOR = re.compile(r"([a-z_:]+)(?:\{(\w+)=\"(\w+)\"\})?")
STATUSES = {"interlock_calls_total": set(CallState), "interlock_approvals_total": set(ApprovalState)}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def named(rule: dict[str, Any]) -> str:
    return rule["alert"]


def selectors(rule: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The figures that an expression asks for, each with a label and its value if it asks for one."""
    words = re.sub(r"\[\w+\]|by \([\w, ]+\)", "", rule["expr"])
    return [each for each in SELECTOR.findall(words) if each[0] not in FUNCTIONS]


async def test_every_figure_that_is_asked_for_is_one_that_a_gateway_tells(tmp_path: Path) -> None:
    async with serving(tmp_path) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        headers = {"authorization": f"Bearer {running.folder.credential()}"}
        tool = f"http://{running.host}/api/v1/tools/sample/list_notes"
        await http.post(f"{tool}/call", json={"arguments": {}}, headers=headers)
        await running.activities()
        told = await http.get(f"http://{running.host}/metrics", headers=headers)
    samples = [each for family in text_string_to_metric_families(told.text) for each in family.samples]
    labels = {each.name: set(each.labels) for each in samples}

    asked = [each for rule in RULES for each in selectors(rule)]
    assert {name for name, _, _ in asked} <= set(labels), told.text
    assert [each for each in asked if each[1] and each[1] not in labels[each[0]]] == []
    assert [each for each in asked if each[1] == "status" and each[2] not in STATUSES[each[0]]] == []


def test_there_is_an_alert_for_all_that_stops_a_gateway() -> None:
    asked = {name for rule in RULES for name, _, _ in selectors(rule)}

    assert asked >= {
        "interlock_store_failing",
        "interlock_unrecorded_total",
        "interlock_log_disagrees",
        "interlock_approvals_pending",
        "interlock_approvals_oldest_wait_seconds",
        "interlock_frozen",
        "interlock_upstream_up",
    }


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_an_alert_says_what_is_wrong_how_bad_it_is_and_where_to_read_on(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")

    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"]["summary"].endswith(".")
    assert (page, anchor) == ("docs/troubleshooting.md", rule["alert"].lower())
    assert anchor in anchors_of(ROOT / page)


def test_no_two_alerts_have_one_name() -> None:
    assert len({each["alert"] for each in RULES}) == len(RULES)
