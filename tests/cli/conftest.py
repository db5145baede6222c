"""Every test of the command line works in an empty folder, without any variable of ours."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.running import Beside, Interlock, Outcome, gateway_beside, run_here, work_in
from tests.running import server_yaml
from tests.surroundings import isolate
from tests.upstream.running import stdio_argv

ODD = Path(__file__).with_name("odd_server.py")


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)


@pytest.fixture
def il(capsys: pytest.CaptureFixture[str]) -> Interlock:
    """The command `interlock`: `il("tool", "classify", "x")` gives exit code, stdout and stderr."""

    def run(*words: str) -> Outcome:
        return run_here(capsys, words)

    return run


@pytest.fixture(scope="module")
def shared_gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Beside]:
    folder = tmp_path_factory.mktemp("beside")
    text = (
        "overrides: {'up:fail': read-only}\n"
        "route_rules:\n"
        "  - {id: no-secrets, tool_pattern: '*__write_note', args: {name: 'secret*'}, effect: deny}\n"
        "  - {id: odd-names, server_id: odd, effect: allow}\n"
        "servers:\n"
        + server_yaml("up", stdio_argv(folder / "up.log"), trusted=True)
        + server_yaml("odd", [sys.executable, str(ODD), str(folder / "odd.log")])
        + server_yaml("down", ["/nowhere/at/all"])
    )
    with gateway_beside(folder, text) as running:
        yield Beside(running, folder)


@pytest.fixture
def beside(shared_gateway: Beside, monkeypatch: pytest.MonkeyPatch) -> Beside:
    """A gateway that runs on the data folder: `up` and `odd` are ready, `down` is not. All tests of a file share it."""
    work_in(shared_gateway.running.folder.path, monkeypatch)
    return shared_gateway
