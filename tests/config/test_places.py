"""Where the data of a user is found; where the file is found, test_load shows by reading it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from interlock.config.places import data_dir


@pytest.mark.parametrize(
    ("option", "environ", "folder"),
    [
        ("option", {"INTERLOCK_DATA_DIR": "variable"}, "option"),
        (None, {"INTERLOCK_DATA_DIR": "variable"}, "variable"),
    ],
)
def test_the_data_folder_is_the_option_or_the_variable(
    option: str | None, environ: Mapping[str, str], folder: str
) -> None:
    assert data_dir(option, environ) == Path(folder)


def test_the_data_folder_is_the_users_unless_told_otherwise(tmp_path: Path) -> None:
    assert data_dir(None, {}) == tmp_path / "user-data" / "interlock"
