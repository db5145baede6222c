"""`interlock doctor`: fourteen checks, and an exit code that says whether something was found."""

import socket
from pathlib import Path

import pytest

from interlock.store.folder import DATABASE
from tests.cli.running import Beside, Interlock, configure, gateway_beside
from tests.running import server_yaml
from tests.upstream.running import stdio_argv

NAMES = (
    "config folder database gateway commands servers tools tokens issuer notices approvals freezes rules machine"
).split()


def test_fourteen_checks_are_told_with_their_state_and_their_fix(il: Interlock) -> None:
    done = il("doctor", "--json")
    checks = done.json["checks"]

    assert [each["check"] for each in checks] == NAMES
    assert done.exit == 20
    assert done.json["findings"] == 1
    assert [each["check"] for each in checks if each["state"] != "ok"] == ["tools"]
    assert all(bool(each["fix"]) == (each["state"] != "ok") for each in checks)


def test_where_all_is_well_it_ends_with_nothing(il: Interlock) -> None:
    configure("listen: {port: 0}\nservers: {off: {command: x, enabled: false}}\n")
    done = il("doctor")

    assert done.exit == 0, done.out
    assert done.err == "All is well.\n"
    assert [line.split()[:2] for line in done.lines[1:]] == [[name, "ok"] for name in NAMES]


def test_a_gateway_that_runs_is_asked(il: Interlock, beside: Beside) -> None:
    checks = {each["check"]: each for each in il("doctor", "--json").json["checks"]}

    assert beside.running.host in checks["gateway"]["text"]
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
