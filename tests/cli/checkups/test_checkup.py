"""The checks that need no gateway."""

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from interlock.cli.checkups import checkup
from interlock.cli.checkups.checkup import FAIL, OK, WARN
from interlock.config.load import Config
from interlock.errors import ConfigError
from interlock.store.folder import DataFolder
from tests.running import config_of

BROKEN = ConfigError(("interlock.yaml:1:1: wrong",))


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    data = tmp_path / "data"
    data.mkdir(0o700)
    return DataFolder(data)


def config(tmp_path: Path, text: str) -> Config:
    return config_of(tmp_path, text)


def test_a_configuration_that_cannot_be_read_is_told_and_the_rest_is_not_guessed(tmp_path: Path) -> None:
    assert checkup.config_check(BROKEN).text == "interlock.yaml:1:1: wrong"
    assert [
        each.state
        for each in (
            checkup.config_check(BROKEN),
            checkup.gateway_check(None, BROKEN),
            checkup.commands_check(BROKEN, {}),
            checkup.rules_check(BROKEN),
        )
    ] == [FAIL, WARN, WARN, WARN]


def test_a_good_configuration_is_counted(tmp_path: Path) -> None:
    told = checkup.config_check(config(tmp_path, "servers: {a: {command: x}}"))

    assert (told.state, told.text.endswith(": 1 server, 0 rules.")) == (OK, True)


def test_a_port_that_somebody_else_has_is_a_finding(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = f"listen: {{port: {taken.getsockname()[1]}}}"
        told = checkup.gateway_check(None, config(tmp_path, text))
        runs = checkup.gateway_check("http://127.0.0.1:1", config(tmp_path, text))

    assert (told.state, "--port" in told.fix) == (WARN, True)
    assert runs.state == OK


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ("{command: /nowhere/at/all}", "a: the command '/nowhere/at/all' does not exist"),
        ("{command: sh, cwd: /nowhere}", "a: the folder '/nowhere' does not exist"),
        ("{command: sh, env: {T: '${env:NONE}'}}", "a: env.T: the environment variable NONE is not set"),
        ("{url: 'http://h/', headers: {A: '${file:/none}'}}", "a: headers.A: the file /none cannot be read"),
    ],
)
def test_a_server_that_cannot_be_started_is_named_with_the_reason(tmp_path: Path, server: str, problem: str) -> None:
    told = checkup.commands_check(config(tmp_path, f"servers: {{a: {server}}}"), {"PATH": "/usr/bin:/bin"})

    assert (told.state, told.text) == (FAIL, problem)
    assert told.fix


def test_a_server_that_is_off_or_fine_is_no_finding(tmp_path: Path) -> None:
    text = "servers: {a: {command: /nowhere, enabled: false}, b: {command: sh, env: {T: '${env:SET}'}}}"

    assert checkup.commands_check(config(tmp_path, text), {"PATH": "/usr/bin:/bin", "SET": "x"}).state == OK


def test_a_rule_that_can_never_decide_is_a_finding(tmp_path: Path) -> None:
    text = "servers: {a: {command: x}}\nroute_rules: [{id: none, tool_pattern: 'b__*', effect: deny}]"

    assert checkup.rules_check(config(tmp_path, text)).state == WARN
    assert checkup.rules_check(config(tmp_path, "")).state == OK


@pytest.mark.parametrize(("free", "state"), [(10**12, OK), (500 * 2**20, WARN), (2**20, FAIL)])
def test_a_full_disk_is_a_finding(folder: DataFolder, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    def usage(path: Path) -> SimpleNamespace:
        return SimpleNamespace(free=free)

    monkeypatch.setattr("shutil.disk_usage", usage)

    assert checkup.machine_check(folder, None, 0).state == state


def test_a_clock_that_went_back_is_a_finding(folder: DataFolder) -> None:
    assert checkup.machine_check(folder, 10**15 + 10**9, 10**15).state == WARN
    assert checkup.machine_check(folder, 10**15, 10**15).state == OK


def test_a_command_for_notices_that_does_not_exist_is_named_without_its_arguments(tmp_path: Path) -> None:
    told = checkup.commands_check(config(tmp_path, "notices: {command: '/nowhere/notify swordfish'}"), {"PATH": "/bin"})

    assert (told.state, told.text) == (FAIL, "notices: the command '/nowhere/notify' does not exist")
    assert checkup.commands_check(config(tmp_path, "notices: {command: 'sh -c x'}"), {"PATH": "/bin"}).state == OK


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("posture: guarded", True),
        ("posture: strict", True),
        ("posture: open", False),
        ("posture: observe", False),
        ("posture: open\nservers: {a: {command: x, posture: strict}}", True),
        ("posture: open\nworkspaces: [{id: w, name: W, path: /w, posture: guarded}]", True),
        ("posture: open\nroute_rules: [{id: r, effect: hold}]", True),
        ("posture: open\nroute_rules: [{id: r, requires_approval: true}]", True),
        ("posture: open\nroute_rules: [{id: r, effect: deny}]", False),
    ],
)
def test_whether_calls_can_be_held_follows_from_postures_and_rules(tmp_path: Path, text: str, *, holds: bool) -> None:
    assert checkup.can_hold(config(tmp_path, text)) is holds


def test_a_configuration_that_cannot_be_read_may_hold() -> None:
    assert checkup.can_hold(BROKEN)
