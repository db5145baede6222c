"""What a scaffolded pytest suite is made of: a server opened through Interlock, and answers that can be checked.

This is a public entry: suites that people keep import it, so what is here stays. Everything is plain calls, because a
test is easier to read without an event loop; the gateway runs in a thread of its own until the block ends.

Each test was read by a person before it runs, so a tool may be called by several. What destroys something is refused
unless the suite says `execute_destructive`.
"""

import argparse
import asyncio
import concurrent.futures
import contextlib
import json
import threading
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from interlock.cli.lab.suite_files import as_json
from interlock.cli.lab.target import at_target
from interlock.cli.lab.working import LabWorker, kept
from interlock.core.model import Json
from interlock.errors import InterlockError
from interlock.lab.model import Observed
from interlock.lab.plan import plan
from interlock.lab.suites.examine import written
from interlock.lab.suites.matchers import BadExpectation, brief, said_by_tool, schema_check, text_of
from interlock.lab.suites.shape import observe


class NoAnswer(AssertionError):
    """The server did not answer, or was not asked; the message says why."""


class Answer:
    """What a tool answered."""

    def __init__(self, observed: Observed, output_schema: object, snapshots: "Snapshots") -> None:
        self._observed = observed
        self._output_schema = output_schema
        self._snapshots = snapshots

    @property
    def result(self) -> dict[str, Any]:
        """The result as it came; empty where the answer is an error of the protocol."""
        return self._observed.result or {}

    @property
    def error(self) -> dict[str, Any] | None:
        """The error of the protocol, if it is one."""
        return self._observed.error

    @property
    def is_answer(self) -> bool:
        """Whether the server answered at all, be it with an error."""
        return self._observed.result is not None or self._observed.error is not None

    @property
    def is_error(self) -> bool:
        return self._observed.result is None or self._observed.result.get("isError") is True

    @property
    def text(self) -> str:
        """The texts of the answer, a line each."""
        return text_of(self.result) if self._observed.result is not None else brief(cast("Json", self.error))

    @property
    def structured(self) -> Any:
        return self.result.get("structuredContent")

    @property
    def milliseconds(self) -> float:
        return self._observed.milliseconds

    def check_output_schema(self) -> None:
        """Fail unless the structured content fits the output schema of the tool; an error need not."""
        if self._output_schema is None or self.is_error:
            return
        try:
            problem = schema_check(self._output_schema)(self.structured)
        except BadExpectation as bad:
            raise AssertionError(f"the output schema of {self._observed.tool} cannot be used: {bad}") from None
        assert problem is None, f"structuredContent does not fit the output schema: {problem}"  # noqa: S101

    def check_same_shape(self, other: "Answer") -> None:
        """Fail unless this answer has the form of another one."""
        problem = schema_check(_shape(other.result))(said_by_tool(self.result))
        assert problem is None, f"the answer has another form: {problem}"  # noqa: S101

    def check_snapshot(self, name: str) -> None:
        """Fail unless this answer has the form that is kept under a name."""
        self._snapshots.check(name, self.result)


class Snapshots:
    """The forms of answers that are kept beside a suite."""

    def __init__(self, folder: Path | None, *, update: bool) -> None:
        self._folder = folder
        self._update = update

    def check(self, name: str, result: Mapping[str, Any]) -> None:
        assert self._folder is not None, "open_bench was given no folder for snapshots"  # noqa: S101
        file = self._folder / f"{name}.json"
        if self._update:
            self._folder.mkdir(parents=True, exist_ok=True)
            file.write_text(as_json(_shape(result)), encoding="utf-8")
            return
        assert file.exists(), f"no snapshot {name} is kept; run with UPDATE_SNAPSHOTS=1"  # noqa: S101
        problem = schema_check(json.loads(file.read_text(encoding="utf-8")))(said_by_tool(result))
        assert problem is None, f"the answer has not the form of snapshot {name}: {problem}"  # noqa: S101


def _shape(result: Mapping[str, Any]) -> dict[str, Any]:
    return observe([said_by_tool(result)]).schema(strict=False)


class OpenBench:
    """A server that can be called."""

    def __init__(self, loop: asyncio.AbstractEventLoop, worker: LabWorker, snapshots: Snapshots) -> None:
        self._loop = loop
        self._worker = worker
        self._snapshots = snapshots

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Answer:
        """Call a tool, once. Raises NoAnswer where the server gave none, or was not asked."""
        call = self._worker.call(tool, dict(arguments or {}), unchecked=True)
        try:
            observed = asyncio.run_coroutine_threadsafe(call, self._loop).result()
        except InterlockError as refused:
            raise NoAnswer(f"{refused.reason.text} {refused.reason.fix}".rstrip()) from None
        if observed.refusal is not None:
            raise NoAnswer(f"{observed.refusal.text} {observed.refusal.fix}".rstrip())
        schema = self._worker.plan[tool].tool.descriptor.get("outputSchema")
        return Answer(observed, schema, self._snapshots)


@contextlib.contextmanager
def open_bench(  # noqa: PLR0913 - a suite names each of them
    target: str | Sequence[str],
    *,
    execute_destructive: bool = False,
    strict: bool = False,
    timeout: float | None = None,
    config: str | None = None,
    data_dir: str | None = None,
    snapshots: Path | None = None,
    update: bool = False,
) -> Generator[OpenBench]:
    """A server on the bench until the block ends: an id of the configuration, a URL, or the words of a command line."""
    values = argparse.Namespace(
        target=[target] if isinstance(target, str) else list(target),
        execute_destructive=execute_destructive,
        strict=strict,
        timeout=timeout,
        config=config,
        data_dir=data_dir,
        max_calls=None,
        concurrency=None,
        call_delay=None,
        seed=0,
    )
    opened: concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, LabWorker]] = concurrent.futures.Future()
    done = threading.Event()
    thread = threading.Thread(target=_serve, args=(values, opened, done), name="interlock bench")
    thread.start()
    try:
        loop, worker = opened.result()
        yield OpenBench(loop, worker, Snapshots(snapshots, update=update))
    finally:
        done.set()
        thread.join()


def _serve(
    values: argparse.Namespace,
    opened: "concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, LabWorker]]",
    done: threading.Event,
) -> None:
    async def serve() -> None:
        async with at_target(values) as site:
            worker = LabWorker(site, written(plan(await site.bench.tools(), site.knobs.policy, live=True)))
            with kept(worker, "pytest"):
                opened.set_result((asyncio.get_running_loop(), worker))
                await asyncio.to_thread(done.wait)

    try:
        asyncio.run(serve())
    except BaseException as failed:  # whatever it is, whoever waits for the bench has to know
        if opened.done():
            raise
        opened.set_exception(failed)
