"""The unit of systemd."""

import re
from collections.abc import Mapping, Sequence

import pytest

from interlock.cli.main import NOUNS
from interlock.errors import Exit
from interlock.receive.edge import LOOPBACK
from tests.deploy import DEPLOY

TEXT = (DEPLOY / "interlock.service").read_text(encoding="utf-8")


def directives() -> Mapping[str, Sequence[str]]:
    """Every directive with its values: one may stand more than once."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", TEXT, re.M):
        found.setdefault(name, []).append(value)
    return found


def test_it_starts_the_gateway_where_a_proxy_does_not_lend_its_rights() -> None:
    (command,) = directives()["ExecStart"]
    program, verb, option, host = command.split()

    assert program == "/opt/interlock/bin/interlock"
    assert (verb in {each.name for each in NOUNS}, option) == (True, "--host")
    assert host not in LOOPBACK


def test_a_configuration_that_is_refused_is_not_tried_again() -> None:
    assert directives()["RestartPreventExitStatus"] == [str(Exit.USAGE.value)]
    assert directives()["Restart"] == ["on-failure"]


@pytest.mark.parametrize(
    ("directive", "values"),
    [
        ("User", ["interlock"]),
        ("NoNewPrivileges", ["yes"]),
        ("CapabilityBoundingSet", [""]),
        ("AmbientCapabilities", [""]),
        ("ProtectSystem", ["strict"]),
        ("ProtectHome", ["yes"]),
        ("PrivateTmp", ["yes"]),
        ("PrivateDevices", ["yes"]),
        ("ProtectKernelTunables", ["yes"]),
        ("RestrictAddressFamilies", ["AF_INET AF_INET6 AF_UNIX"]),
        ("RestrictNamespaces", ["yes"]),
        ("RestrictSUIDSGID", ["yes"]),
        ("SystemCallFilter", ["@system-service", "~@privileged @resources"]),
        ("UMask", ["0077"]),
    ],
)
def test_it_may_do_no_more_than_it_needs(directive: str, values: list[str]) -> None:
    assert directives()[directive] == values


def test_its_data_lie_where_the_unit_lets_it_write() -> None:
    (folder,), (mode,) = directives()["StateDirectory"], directives()["StateDirectoryMode"]

    assert directives()["Environment"] == [f"INTERLOCK_DATA_DIR=/var/lib/{folder}"]
    assert mode == "0700"


def test_a_password_comes_as_a_credential_and_stands_nowhere() -> None:
    (loaded,) = directives()["LoadCredential"]
    name, _, path = loaded.partition(":")

    assert (path.startswith("/etc/interlock/"), directives()["SetCredential"]) == (True, [f"{name}:none"])
    assert f"/run/credentials/interlock.service/{name}" in TEXT
