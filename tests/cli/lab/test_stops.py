"""The emergency stop reaches a recording, whose gateway is one of its own."""

import json
import subprocess
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from interlock.lab.played.cassette import read_cassette
from tests.cli.running import COMMAND, Interlock, gateway_beside
from tests.talking import META, clean

SECONDS = 60
Ask = Callable[[], dict[str, Any]]


@contextmanager
def recording(file: Path, data: Path) -> Generator[Ask]:
    """A recording of the sample, and a way to call one of its tools."""
    argv, pipe = [*COMMAND, "record", "sample", "-o", str(file), "--data-dir", str(data)], subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=clean(), text=True) as process:

        def ask() -> dict[str, Any]:
            assert process.stdin is not None
            assert process.stdout is not None
            params: dict[str, Any] = {"name": "list_notes", "_meta": META}
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
            process.stdin.write("\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())["result"]

        yield ask
        process.communicate(timeout=SECONDS)


def test_a_stop_counts_for_the_next_call_and_so_does_lifting_it(il: Interlock, tmp_path: Path) -> None:
    with gateway_beside(tmp_path) as running:
        data = running.folder.path
        with recording(tmp_path / "c.jsonl", data) as ask:
            before = ask()
            assert il("freeze", "--reason", "fire", "--data-dir", str(data)).exit == 0
            during = ask()
            assert il("thaw", "--data-dir", str(data)).exit == 0
            after = ask()

    assert before["content"] == after["content"]
    assert during["isError"] is True
    assert "everything (fire)" in json.dumps(during)
    assert len(read_cassette((tmp_path / "c.jsonl").read_bytes()).interactions) == 2


def test_a_stop_stands_when_the_gateway_that_ordered_it_goes_away(il: Interlock, tmp_path: Path) -> None:
    stack = ExitStack()
    with gateway_beside(tmp_path) as running:
        data = running.folder.path
        ask = stack.enter_context(recording(tmp_path / "c.jsonl", data))
        ask()
        assert il("freeze", "--server", "sample", "--data-dir", str(data)).exit == 0
        during = ask()
    after = ask()
    stack.close()

    assert during["isError"] is True
    assert after["isError"] is True
