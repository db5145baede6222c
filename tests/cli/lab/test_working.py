"""The account that is kept of a run that writes or runs suites."""

import asyncio
import re

import pytest

from interlock.cli.lab.target import Wanted, at_target
from interlock.cli.lab.working import LabWorker, kept, place_of, today
from interlock.errors import BudgetExhausted
from interlock.lab.model import Finding, Severity
from interlock.lab.plan import plan
from interlock.lab.run import NOTHING_CLEANED_UP, Run, read_run
from interlock.lab.suites.suite import Place
from tests.cli.lab.places import values_of
from tests.cli.running import Beside

FINDING = Finding("x", Severity.LOW, "A finding.")


async def run_of(beside: Beside, calls: int, *words: str, stop: type[BaseException] | None = None) -> Run | None:
    async with at_target(values_of("up", *words, data=beside.running.folder.path)) as site:
        worker = LabWorker(site, plan(await site.bench.tools(), site.knobs.policy, live=True))
        try:
            with kept(worker, "test") as findings:
                findings.append(FINDING)
                for _ in range(calls):
                    await worker.call("echo", {"password": "hunter2-hunter2"})
                if stop is not None:
                    raise stop
        except (BudgetExhausted, KeyboardInterrupt):
            pass
        return read_run(site.run.path) if (site.run.path / "report.json").exists() else None


def test_what_was_called_is_kept_as_a_run_without_secrets(beside: Beside) -> None:
    run = asyncio.run(run_of(beside, 2))

    assert run is not None
    assert (run.verb, run.target, run.ended, run.findings) == ("test", "up", "complete", [FINDING])
    assert [each.kind for each in run.calls] == ["valid", "again"]
    assert run.notes == [NOTHING_CLEANED_UP]
    assert "hunter2" not in str(run)


def test_a_run_that_was_stopped_says_so(beside: Beside) -> None:
    run = asyncio.run(run_of(beside, 1, stop=KeyboardInterrupt))

    assert run is not None
    assert run.ended == "interrupted"


def test_a_run_in_which_nothing_was_called_leaves_nothing(beside: Beside) -> None:
    assert asyncio.run(run_of(beside, 0)) is None


@pytest.mark.parametrize(
    ("target", "place"),
    [
        (Wanted(server="up"), Place(id="up")),
        (Wanted(url="http://x"), Place(url="http://x")),
        (Wanted(argv=("run", "it")), Place(command="run", args=["it"])),
    ],
)
def test_a_target_is_the_place_that_a_suite_names(target: Wanted, place: Place) -> None:
    assert place_of(target) == place


def test_today_is_a_day() -> None:
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", today())
