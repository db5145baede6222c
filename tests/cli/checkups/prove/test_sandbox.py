"""The sandbox is a gateway of its own: nothing of it is left, and nothing of the user's is touched."""

import os
import tempfile
from pathlib import Path

import pytest

from interlock.cli.checkups.prove.sandbox import PREFIX, sandbox
from tests.cli.checkups.prove.boxes import DENIES, user_of
from tests.running import config_of


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for temporary folders that nobody else uses."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


async def test_it_lives_in_a_folder_of_its_owner_which_is_gone_afterwards(tmp_path: Path, temporary: Path) -> None:
    async with sandbox(config_of(tmp_path), user_of(tmp_path)):
        (name,) = os.listdir(temporary)
        mode = os.stat(temporary / name).st_mode & 0o777

    assert (name.startswith(PREFIX), mode, os.listdir(temporary)) == (True, 0o700, [])


async def test_it_is_gone_when_something_fails_in_it(tmp_path: Path, temporary: Path) -> None:
    with pytest.raises(BaseExceptionGroup):
        async with sandbox(config_of(tmp_path), user_of(tmp_path)):
            raise KeyError

    assert os.listdir(temporary) == []


async def test_the_folder_of_the_user_is_not_even_made(tmp_path: Path) -> None:
    async with sandbox(config_of(tmp_path), user_of(tmp_path)):
        pass

    assert not user_of(tmp_path).path.exists()


async def test_a_server_of_the_user_is_not_started(tmp_path: Path) -> None:
    trace = tmp_path / "started"
    text = f"servers: {{theirs: {{command: touch, args: ['{trace}']}}}}\n"
    async with sandbox(config_of(tmp_path, text), user_of(tmp_path)) as box:
        known = {each.server for each in box.targets}

    assert (known, trace.exists()) == ({"theirs", "proof"}, False)


async def test_the_survey_says_what_the_policy_says(tmp_path: Path) -> None:
    async with sandbox(config_of(tmp_path, DENIES), user_of(tmp_path)) as box:
        found = {each.tool: (each.verdict, each.safety_class.value) for each in box.targets}
        sent = box.sends()

    assert sent == 0
    assert found == {
        "list_proofs": ("allow", "read-only"),
        "update_proof": ("allow", "write-capable"),
        "delete_proof": ("hold", "dangerous"),
        "run_proof": ("deny", "subprocess"),
        "frobnicate_proof": ("hold", "unknown"),
    }


async def test_tools_of_the_user_are_tried_before_ours(tmp_path: Path) -> None:
    text = "servers: {theirs: {command: x}}\n"
    async with sandbox(config_of(tmp_path, text), user_of(tmp_path)) as box:
        picked = box.pick("allow", above_read=True)

    assert picked is not None
    assert picked.server == "theirs"
