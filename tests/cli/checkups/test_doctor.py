"""`interlock doctor`: nineteen checks, an exit code that says whether something was found, and repairs."""

import asyncio
import socket
from pathlib import Path

import pytest

from interlock.cli.checkups.codes import CODES
from interlock.store.folder import DATABASE, LOCK, DataFolder
from tests.cli.aged import GONE, aged, version_of
from tests.cli.running import Beside, Interlock, Outcome, configure, gateway_beside
from tests.running import server_yaml
from tests.store.audit.logs import sealed_folder, tamper
from tests.upstream.running import stdio_argv

NAMES = (
    "config folder lock database schema gateway dashboard commands servers tools tokens issuer notices approvals "
    "freezes seals store rules machine clients"
).split()


@pytest.fixture(autouse=True)
def nobody_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any MCP client."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    """A data folder that was left to itself for a while."""
    data = tmp_path / "neglected"
    data.mkdir(0o755)
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(data))
    configure("listen: {port: 0}\nservers: {off: {command: x, enabled: false}}\n")
    return DataFolder(data)


def states(done: Outcome) -> dict[str, str]:
    return {each["check"]: each["state"] for each in done.json["checks"]}


def test_nineteen_checks_are_told_with_their_state_and_their_fix(il: Interlock) -> None:
    done = il("doctor", "--json")
    checks = done.json["checks"]

    assert [each["check"] for each in checks] == NAMES == list(CODES)
    assert [each["code"] for each in checks] == [each.code for each in CODES.values()]
    assert done.json["repairs"] == []
    assert done.exit == 20
    assert done.json["findings"] == 1
    assert [each["check"] for each in checks if each["state"] != "ok"] == ["tools"]
    assert all(bool(each["fix"]) == (each["state"] != "ok") for each in checks)


def test_where_all_is_well_it_ends_with_nothing(il: Interlock) -> None:
    configure("listen: {port: 0}\nservers: {off: {command: x, enabled: false}}\n")
    done = il("doctor")

    assert done.exit == 0, done.out
    assert done.err == "All is well.\n"
    assert [line.split()[:3] for line in done.lines[1:]] == [[CODES[name].code, name, "ok"] for name in NAMES]


def test_a_gateway_that_runs_is_asked(il: Interlock, beside: Beside) -> None:
    checks = {each["check"]: each for each in il("doctor", "--json").json["checks"]}

    assert beside.running.host in checks["gateway"]["text"]
    assert (checks["dashboard"]["state"], "It is served" in checks["dashboard"]["text"]) == ("ok", True)
    assert checks["servers"]["state"] == "fail"
    assert checks["servers"]["text"].startswith("down is ")


def test_a_gate_that_nobody_watches_is_a_finding(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gateway_beside(tmp_path) as running:
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
        before = {each["check"]: each for each in il("doctor", "--json").json["checks"]}["approvals"]
        il("approval", "list")
        after = {each["check"]: each for each in il("doctor", "--json").json["checks"]}["approvals"]

    assert before["state"] == "warn"
    assert before["text"] == "Calls can be held, and nobody listens for them; 0 calls waiting for approval."
    assert "`interlock approval watch`" in before["fix"]
    assert (after["state"], after["fix"]) == ("ok", "")


def test_a_stop_that_is_in_force_is_a_finding(il: Interlock, beside: Beside) -> None:
    il("freeze", "--reason", "a look first")
    during = {each["check"]: each for each in il("doctor", "--json").json["checks"]}["freezes"]
    il("thaw")
    after = {each["check"]: each for each in il("doctor", "--json").json["checks"]}["freezes"]

    assert (during["state"], during["text"]) == ("warn", "Calls are refused: everything is frozen by operator.")
    assert during["fix"] == "`interlock thaw` lets calls pass again, when they may."
    assert (after["state"], after["text"]) == ("ok", "Nothing is frozen.")


def test_servers_that_cannot_work_are_named_with_the_fix_and_the_rest_is_checked(il: Interlock, tmp_path: Path) -> None:
    configure(
        "listen: {port: 0}\nservers:\n"
        + server_yaml("up", stdio_argv(tmp_path / "up.log"))
        + "  gone: {command: /nowhere/at/all}\n"
        + "  locked: {command: sh, env: {TOKEN: '${env:IL_NOT_SET}', OTHER: swordfish}}\n"
        + "  deaf: {url: 'http://127.0.0.1:9/mcp'}\n"
    )
    done = il("doctor", "--json")
    checks = {each["check"]: each for each in done.json["checks"]}

    assert done.exit == 20
    assert "gone: the command '/nowhere/at/all' does not exist" in checks["commands"]["text"]
    assert "IL_NOT_SET is not set" in checks["commands"]["text"]
    assert all(f"{name} is " in checks["servers"]["text"] for name in ("gone", "locked", "deaf"))
    assert "up is " not in checks["servers"]["text"]
    assert "swordfish" not in done.out


def test_a_webhook_whose_secret_is_missing_is_named_with_the_fix_and_without_its_path(il: Interlock) -> None:
    configure(
        "listen: {port: 0}\nservers: {off: {command: x, enabled: false}}\n"
        "notices: {webhooks: [{url: 'https://h.example/swordfish', secret: '${env:IL_NOT_SET}'}]}\n"
    )
    done = il("doctor", "--json")
    (check,) = [each for each in done.json["checks"] if each["check"] == "notices"]

    assert (done.exit, check["state"]) == (20, "fail")
    assert check["text"] == (
        "notices.webhooks[0].secret: the environment variable IL_NOT_SET is not set. https://h.example is told nothing."
    )
    assert check["fix"]
    assert "swordfish" not in done.out + done.err


def test_keys_of_an_issuer_that_cannot_be_fetched_are_a_finding(il: Interlock) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, and nobody listens
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/keys"
        configure(f"identity: {{jwt: {{issuer: 'https://issuer.example', audience: a, jwks_url: '{url}'}}}}\n")
        checks = {each["check"]: each for each in il("doctor", "--json").json["checks"]}

    assert checks["issuer"]["state"] == "fail"
    assert checks["issuer"]["text"].startswith("The keys of https://issuer.example cannot be fetched: ")
    assert "identity.jwt.jwks_url" in checks["issuer"]["fix"]


def test_without_a_configuration_the_rest_is_told_as_not_checked(il: Interlock) -> None:
    configure("posture: wrong\n")
    checks = {each["check"]: each for each in il("doctor", "--json").json["checks"]}

    assert checks["config"]["state"] == "fail"
    assert "posture is 'wrong'" in checks["config"]["text"]
    assert checks["servers"]["text"].startswith("Not checked: ")
    assert checks["folder"]["state"] == "ok"


@pytest.mark.parametrize("text", ["no database", ""])
def test_a_database_that_cannot_be_used_is_told_once_for_all(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    data = tmp_path / "own"
    data.mkdir(0o700)
    (data / DATABASE).write_text(text)
    (data / DATABASE).chmod(0o600)
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(data))
    done = il("doctor", "--json")
    checks = {each["check"]: each for each in done.json["checks"]}

    assert done.exit == 20
    assert checks["database"]["state"] == "fail"
    assert checks["machine"]["state"] == "ok"


# --fix ----------------------------------------------------------------------------------------------------------


def test_what_needs_no_decision_is_repaired_and_checked_again(il: Interlock, folder: DataFolder) -> None:
    aged(folder, 1)
    (folder.path / LOCK).write_text(f"{GONE} http://127.0.0.1:7373")
    before, planned = il("doctor", "--json"), il("doctor", "--fix", "--dry-run", "--json")
    aged_still = version_of(folder)
    (folder.path / LOCK).write_text(f"{GONE} http://127.0.0.1:7373")
    done, again = il("doctor", "--fix", "--json"), il("doctor", "--fix")

    assert (before.exit, states(before)["folder"], states(before)["lock"]) == (20, "fail", "warn")
    assert (states(before)["schema"], states(before)["tools"], aged_still) == ("warn", "warn", 1)
    assert {each["state"] for each in planned.json["repairs"]} == {"planned"}
    assert {each["code"] for each in done.json["repairs"]} == {"IL-DATA-01", "IL-DATA-02", "IL-DATA-04"}
    assert (done.exit, set(states(done).values())) == (0, {"ok"})
    assert (again.exit, again.err, again.lines[0].split()[0]) == (0, "All is well.\n", "CODE")


def test_what_was_repaired_is_told_first(il: Interlock, folder: DataFolder) -> None:
    planned, done = il("doctor", "--fix", "--dry-run"), il("doctor", "--fix")

    assert planned.lines[0] == f"IL-DATA-01 would be repaired: chmod 700 {folder.path}"
    assert done.lines[:2] == [f"IL-DATA-01 repaired: chmod 700 {folder.path}", ""]


def test_what_needs_a_decision_is_told_with_its_command_and_not_touched(
    il: Interlock, folder: DataFolder, nobody_at_home: Path
) -> None:
    file = nobody_at_home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"interlock": {"command": "/nowhere/interlock", "args": ["stdio"]}}}')
    before = file.read_bytes()
    done = il("doctor", "--fix", "--json")
    (check,) = [each for each in done.json["checks"] if each["check"] == "clients"]

    assert (done.exit, check["state"]) == (20, "warn")
    assert "`interlock client connect cursor`" in check["fix"]
    assert file.read_bytes() == before


def test_a_dry_run_without_fix_is_a_mistake(il: Interlock) -> None:
    assert il("doctor", "--dry-run").exit == 2


def test_the_codes_are_listed_and_nothing_is_checked(il: Interlock, tmp_path: Path) -> None:
    data = str(tmp_path / "none")
    done, as_json = il("doctor", "--list-codes", "--data-dir", data), il("doctor", "--list-codes", "--json")

    assert (done.exit, done.err) == (0, "")
    assert [line.split()[:2] for line in done.lines[1:]] == [[each.code, each.check] for each in CODES.values()]
    assert [each["code"] for each in as_json.json["items"]] == [each.code for each in CODES.values()]
    assert not Path(data).exists()


def test_a_database_that_is_gone_is_missed_by_its_anchor_and_no_other_is_begun(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "own"
    asyncio.run(sealed_folder(data))
    (data / DATABASE).unlink()
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(data))
    done = il("doctor", "--json")
    checks = {each["check"]: each for each in done.json["checks"]}

    assert (done.exit, checks["database"]["state"]) == (20, "fail")
    assert "the anchor has 4 seals on records up to 40" in checks["database"]["text"]
    assert "starting one would begin a new log" in checks["seals"]["text"]
    assert not (data / DATABASE).exists()


def test_a_head_that_says_less_than_is_in_the_database_is_a_finding(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "own"
    asyncio.run(sealed_folder(data))
    tamper(data, ("PRAGMA user_version = 0", ()))
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(data))
    schema = {each["check"]: each for each in il("doctor", "--json").json["checks"]}["schema"]

    assert schema["state"] == "fail"
    assert schema["text"].startswith("The head of the database says version 0, and it has the parts of version 6")
