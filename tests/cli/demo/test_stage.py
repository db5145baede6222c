"""Where the demo plays: a folder of its own, with a gateway that is gone afterwards."""

from pathlib import Path

import pytest

from interlock.cli.demo.stage import SERVER, config_text, stage
from interlock.config.load import load_text
from interlock.core.safety import Posture

pytestmark = pytest.mark.anyio


def test_the_configuration_is_one_whatever_the_folder_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "it's: {a} #folder"
    settings = load_text(config_text(folder), "demo", {}).settings

    assert settings.servers[SERVER].cwd == str(folder)
    assert settings.posture is Posture.GUARDED
    assert [each.id for each in settings.route_rules] == ["no-secrets"]


async def test_the_gateway_is_reached_as_its_operator_and_the_folder_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("INTERLOCK_TOKEN", "il_not_a_token")
    async with stage() as place:
        inside = place.folder.is_relative_to(tmp_path) and place.data.path.is_relative_to(place.folder)
        who = await place.api.get("session")
        (server,) = (await place.api.get("servers"))["items"]

    assert inside
    assert who["name"] == "operator"
    assert (server["id"], server["health"]) == (SERVER, "ready")
    assert not place.folder.exists()
