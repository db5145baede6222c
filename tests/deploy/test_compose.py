"""Two gateways, PostgreSQL and nginx, as compose starts them."""

import re
from pathlib import Path
from typing import Any, cast

import pytest
from ruamel.yaml import YAML

from interlock.config.load import load
from tests.deploy import DEPLOY

FILE: dict[str, Any] = cast("Any", YAML(typ="safe")).load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
GATEWAYS = [name for name in SERVICES if name.startswith("gateway-")]


@pytest.mark.parametrize("name", SERVICES)
def test_every_part_has_no_rights_and_a_root_that_nobody_writes_to(name: str) -> None:
    service = SERVICES[name]

    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "network_mode", "pid"} & set(service)
    assert name in GATEWAYS or int(service["user"].partition(":")[0]) > 0  # that of a gateway is in its image


def test_only_nginx_is_published_and_only_on_this_machine() -> None:
    published = {name: each["ports"] for name, each in SERVICES.items() if "ports" in each}

    assert published == {"nginx": ["${INTERLOCK_PUBLISH:-127.0.0.1:8080}:8080"]}


def test_nobody_but_gateways_reaches_the_database() -> None:
    beside = {name for name, each in SERVICES.items() if set(each["networks"]) & set(SERVICES["postgres"]["networks"])}

    assert beside == {"postgres", *GATEWAYS}
    assert FILE["networks"]["record"]["internal"]


def test_a_secret_comes_as_a_file_and_stands_nowhere() -> None:
    text = "".join((DEPLOY / each).read_text(encoding="utf-8") for each in ("compose.yaml", "interlock.yaml"))

    assert FILE["secrets"] == {"db_password": {"file": "./secrets/db_password"}}
    assert [each for each in re.findall(r"(?i)passw\w*[:=]\s*(\S+)", text) if not each.startswith(("/run/", "{"))] == []


def test_each_gateway_has_a_data_folder_of_its_own_and_the_same_configuration() -> None:
    mounts = [dict(part.split(":")[:2][::-1] for part in SERVICES[name]["volumes"]) for name in GATEWAYS]

    assert len({each["/var/lib/interlock"] for each in mounts}) == len(GATEWAYS) == 2
    assert {each["/etc/interlock/interlock.yaml"] for each in mounts} == {"./interlock.yaml"}
    assert set(FILE["volumes"]) == {*(each["/var/lib/interlock"] for each in mounts), "postgres"}


def test_every_file_that_is_mounted_is_there() -> None:
    mounted = {part.split(":")[0] for each in SERVICES.values() for part in each["volumes"] if part.startswith("./")}

    assert mounted == {"./interlock.yaml", "./nginx.conf"}
    assert all((DEPLOY / each).is_file() for each in mounted)


def test_who_waits_for_whom_is_told_by_who_is_well() -> None:
    assert all("healthcheck" in SERVICES[each] for each in ("postgres", "nginx"))
    assert all(SERVICES[each]["depends_on"] == {"postgres": {"condition": "service_healthy"}} for each in GATEWAYS)
    assert set(SERVICES["nginx"]["depends_on"]) == set(GATEWAYS)


def test_images_are_of_one_version_each() -> None:
    images = {each["image"] for each in SERVICES.values()} - {"interlock"}

    assert all(re.fullmatch(r"\w+:\d+\.\d+(\.\d+)?-alpine", each) for each in images)


def test_the_configuration_is_one_that_is_accepted(tmp_path: Path) -> None:
    config = load(str(DEPLOY / "interlock.yaml"), {})

    assert config.settings.store == "postgresql://interlock:${file:/run/secrets/db_password}@postgres:5432/interlock"
