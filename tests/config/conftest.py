"""Every test of the configuration works in an empty folder."""

from pathlib import Path

import pytest

from tests.surroundings import isolate


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)
