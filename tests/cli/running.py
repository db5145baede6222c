"""Running the command line as a user does, in this process or in one of its own."""

import asyncio
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from interlock.cli.main import main
from tests.running import Running, serving
from tests.stores import store_variable
from tests.upstream.running import received


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind."""

    exit: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON on stdout; it is a failure if anything else stands there."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines on stdout."""
        return self.out.splitlines()


class Interlock(Protocol):
    """The type of the fixture `il`: words in, outcome out."""

    def __call__(self, *words: str) -> Outcome: ...


def run_here(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> Outcome:
    """Run the command in this process; leaving it by SystemExit counts as returning its code."""
    try:
        code = main(list(words))
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    written = capsys.readouterr()
    return Outcome(code, written.out, written.err)


def environment(**changed: str) -> dict[str, str]:
    """The environment of a process of its own: buffered as in a shell, whatever the tests run under."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**inherited, "PYTHONUTF8": "1", **changed}


COMMAND = (sys.executable, "-m", "interlock")


def run_process(*words: str, stdin: str = "", **changed: str) -> Outcome:
    """Run the command in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *words],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env=environment(**changed),
        check=False,
        timeout=60,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def run_into_a_closed_pipe(*words: str, **changed: str) -> Outcome:
    """Run the command in a process of its own whose reader has gone away before the first byte."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*COMMAND, *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment(**changed),
            check=False,
            timeout=60,
        )
    finally:
        os.close(writer)
    return Outcome(done.returncode, "", done.stderr)


def run_into_head(*words: str) -> Outcome:
    """`interlock … | head -1`: what head printed, and how the command itself ended."""
    with subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=environment()
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        head = subprocess.run(
            ["/usr/bin/env", "head", "-1"],
            stdin=command.stdout,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
            timeout=60,
        )
        command.stdout.close()
        err = command.stderr.read()
    return Outcome(command.returncode, head.stdout, err)


def run_into_a_full_disk(*words: str) -> Outcome:
    """Run the command in a process of its own that cannot write its output."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment(),
            check=False,
            timeout=60,
        )
    return Outcome(done.returncode, "", done.stderr)


@dataclass(frozen=True, slots=True)
class Beside:
    """A gateway that runs beside a test, and the folder in which its upstreams write down what they receive."""

    running: Running
    folder: Path

    def sent(self) -> int:
        """How many calls have reached an upstream so far."""
        odd = (self.folder / "odd.log").read_text(encoding="utf-8").splitlines()
        messages = [*(each.message for each in received(self.folder / "up.log")), *map(json.loads, odd)]
        return len([each for each in messages if each.get("method") == "tools/call"])


@contextlib.contextmanager
def gateway_beside(folder: Path, text: str = "") -> Generator[Running]:
    """A gateway that serves from a thread of its own: a verb in this one meets it as it would meet another process.

    Its configuration and its data lie in the folder.
    """
    started: queue.SimpleQueue[Running | BaseException] = queue.SimpleQueue()
    stop = threading.Event()

    async def serve() -> None:
        async with serving(folder, text) as running:
            await running.gateway.fleet.settled(60)
            started.put(running)
            await asyncio.to_thread(stop.wait)

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as failed:  # whatever it is, the test that waits has to know
            started.put(failed)
            raise

    thread = threading.Thread(target=run)
    thread.start()
    try:
        running = started.get(timeout=60)
        if isinstance(running, BaseException):
            raise running
        yield running
    finally:
        stop.set()
        thread.join()


@contextlib.contextmanager
def serve_process(data: Path, *words: str) -> "Generator[subprocess.Popen[str]]":
    """`interlock serve` in a process of its own, once it serves; killed when the block ends."""
    argv = [*COMMAND, "serve", "--port", "0", "--data-dir", str(data), *words]
    env = environment(**store_variable(data))
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stderr is not None
        try:
            while "Agents connect" not in process.stderr.readline():
                assert process.poll() is None
            yield process
        finally:
            process.kill()


def work_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the verbs work in a data folder, and on its store."""
    for name, value in {"INTERLOCK_DATA_DIR": str(folder), **store_variable(folder)}.items():
        monkeypatch.setenv(name, value)


def eventually(happened: Callable[[], bool]) -> None:
    """Wait for something that another process or thread brings about."""
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def configure(text: str) -> None:
    """Write `interlock.yaml` into the working directory."""
    Path("interlock.yaml").write_text(text, encoding="utf-8")
