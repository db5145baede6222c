"""`interlock scan`: what is wrong with tools, from their definitions alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.lab.places import SAMPLE, SECRETIVE
from tests.cli.running import Interlock

READS = {"annotations": {"readOnlyHint": True}}
HIDDEN = {"name": "echo", "description": "Adds.\u202e", "inputSchema": {"type": "object"}, **READS}
UNSAID = {"name": "delete_file", "inputSchema": {"type": "object"}}
HONEST = {"name": "read_file", "inputSchema": {"type": "object"}, **READS}


def saved(name: str, *tools: dict[str, Any]) -> str:
    Path(name).write_text(json.dumps({"tools": list(tools)}), encoding="utf-8")
    return name


def codes(out: Any) -> list[str]:
    """What was found, but for remarks."""
    return [each["code"] for each in out["findings"] if each["severity"] != "info"]


def test_a_saved_list_is_read_and_its_findings_are_told_the_gravest_first(il: Interlock) -> None:
    done = il("scan", saved("tools.json", UNSAID, HIDDEN))

    assert done.exit == 0
    heads = [line.split()[:2] for line in done.lines if line.startswith(("HIGH", "MEDIUM"))]
    assert heads == [["HIGH", "hidden-text"], ["MEDIUM", "unannotated"]]
    assert "    text: Adds.<U+202E>" in done.lines
    assert "\u202e" not in done.out


def test_of_a_list_that_is_only_read_no_trace_is_left(il: Interlock, tmp_path: Path) -> None:
    il("scan", saved("tools.json", HIDDEN), "--data-dir", str(tmp_path / "data"))

    assert not (tmp_path / "data").exists()


def test_as_json_it_is_a_run_of_the_lab(il: Interlock) -> None:
    out = il("scan", saved("tools.json", HIDDEN), "--json").json

    assert (out["verb"], out["target"], out["calls"]) == ("scan", "tools", [])
    assert out["findings"][0]["evidence"]["server"] == "tools"


def test_several_lists_are_scanned_together(il: Interlock) -> None:
    out = il("scan", saved("one.json", HONEST), saved("two.json", HONEST), "--json").json

    assert codes(out) == ["shadowed-name"]


@pytest.mark.parametrize(("level", "code"), [("high", 0), ("medium", 20), ("low", 20), ("info", 20)])
def test_it_fails_on_what_is_at_least_so_grave(il: Interlock, level: str, code: int) -> None:
    assert il("scan", saved("tools.json", UNSAID), "--fail-on", level).exit == code


def test_what_is_honest_fails_nothing(il: Interlock) -> None:
    done = il("scan", saved("tools.json", HONEST), "--fail-on", "info")

    assert (done.exit, "no findings" in done.out) == (0, True)


def test_sarif_goes_to_a_file_beside_the_text_or_to_stdout_in_its_place(il: Interlock) -> None:
    tools = saved("tools.json", HIDDEN)
    beside = il("scan", tools, "--sarif", "found.sarif")
    instead = il("scan", tools, "--sarif", "-")

    assert "hidden-text" in beside.out
    assert json.loads(Path("found.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "hidden-text"
    assert instead.json["version"] == "2.1.0"


# Baselines ------------------------------------------------------------------------------------------------------


def test_what_a_baseline_names_is_left_out_and_fails_nothing(il: Interlock) -> None:
    tools = saved("tools.json", HIDDEN, UNSAID)
    il("scan", tools, "--write-baseline", "known.json")
    done = il("scan", tools, "--baseline", "known.json", "--fail-on", "info", "--json")

    assert (done.exit, codes(done.json)) == (0, [])
    assert "2 findings of the baseline left out." in done.json["notes"]


def test_what_is_new_fails_and_what_is_gone_is_told(il: Interlock) -> None:
    il("scan", saved("tools.json", HIDDEN), "--write-baseline", "known.json")
    done = il("scan", saved("tools.json", UNSAID), "--baseline", "known.json", "--fail-on", "medium", "--json")

    assert (done.exit, codes(done.json)) == (20, ["unannotated"])
    assert "Gone since the baseline: hidden-text of tools:echo" in done.json["notes"]


def test_of_much_that_is_gone_only_some_is_named(il: Interlock) -> None:
    many = [{**UNSAID, "name": f"delete_{number}"} for number in range(25)]
    il("scan", saved("tools.json", *many), "--write-baseline", "known.json")
    notes = il("scan", saved("tools.json", HONEST), "--baseline", "known.json", "--json").json["notes"]

    assert len([each for each in notes if each.startswith("Gone")]) == 21
    assert notes[-1] == "Gone since the baseline: 5 more."


@pytest.mark.parametrize(("content", "says"), [(None, "cannot be read"), ("{}", "is no baseline")])
def test_a_baseline_that_is_none_is_refused_before_anything_is_scanned(
    il: Interlock, content: str | None, says: str
) -> None:
    if content is not None:
        Path("known.json").write_text(content)
    done = il("scan", saved("tools.json", HONEST), "--baseline", "known.json")

    assert (done.exit, done.out) == (2, "")
    assert says in done.err
    assert "--write-baseline" in done.err


# Refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("tools.json", "--all-clients"), "both given"),
        (("tools.json", "--json", "--sarif", "-"), "both want stdout"),
        (("missing.json",), "missing.json"),
        (("tools.json", "--sarif", "no/such/folder.sarif"), "cannot be written"),
        (("tools.json", "--fail-on", "grave"), "grave"),
    ],
)
def test_what_makes_no_sense_is_refused(il: Interlock, words: tuple[str, ...], says: str) -> None:
    saved("tools.json", HONEST)
    done = il("scan", *words)

    assert done.exit == 2
    assert says in done.err


# Servers --------------------------------------------------------------------------------------------------------


def test_a_command_line_is_started_listed_and_kept_as_a_run(il: Interlock, tmp_path: Path) -> None:
    done = il("scan", "--data-dir", str(tmp_path / "data"), "--json", "--", *SAMPLE)
    (kept,) = (tmp_path / "data" / "lab").iterdir()

    assert (done.exit, codes(done.json)) == (0, ["unannotated"])
    assert json.loads((kept / "report.json").read_text()) == done.json
    assert "unannotated" in (kept / "report.html").read_text()


def test_without_a_target_all_servers_of_the_configuration_are_scanned(il: Interlock) -> None:
    out = il("scan", "--json").json

    assert (out["target"], codes(out)) == ("sample", ["unannotated"])
    assert "6 tools of 1 server read. Nothing was called." in out["notes"]


def test_what_the_gateway_does_not_offer_is_found_all_the_same(il: Interlock, tmp_path: Path) -> None:
    words = ("--data-dir", str(tmp_path), "--", *SECRETIVE)
    done, text = il("scan", "--fail-on", "high", "--json", *words), il("scan", *words)
    found = {each["code"]: each for each in done.json["findings"]}

    assert done.exit == 20
    assert set(found) == {"hidden-text", "name-listed-twice", "tool-left-out", "unannotated"}
    assert found["name-listed-twice"]["tool"] == "get_twice"
    assert (found["tool-left-out"]["severity"], found["tool-left-out"]["evidence"]) == (
        "high",
        {"server": "secretive", "why": "nested too deeply", "tools": "1", "first": "get_<U+202E>deep"},
    )
    assert text.lines[1] == "secretive<U+202E> 7, protocol 2025-11-25"


def test_without_any_server_it_says_that_what_is_scanned_is_the_sample(il: Interlock) -> None:
    done = il("scan", "--json")

    assert "No server is configured: this is a scan of the sample" in done.err
    assert done.json["target"] == "sample"


def test_of_servers_that_are_configured_nothing_is_said_about_the_sample(il: Interlock) -> None:
    argv = json.dumps({"command": SAMPLE[0], "args": SAMPLE[1:]})
    Path("interlock.yaml").write_text(f"servers: {{sample: {argv}}}\n", encoding="utf-8")
    done = il("scan", "--json", "--config", "interlock.yaml")

    assert "No server is configured" not in done.err
    assert done.json["target"] == "sample"
