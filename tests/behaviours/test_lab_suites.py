"""Suites for servers that nobody here wrote: what is scaffolded and what is proposed passes against them as it is.

Each server is put to work as it comes from its registry, behind a gateway that runs. A suite that was written for it
has to pass at once, and once more when it has changed what it changes; and what destroys something is never called.
"""

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from interlock.errors import Exit
from tests.cli.running import Outcome, environment, gateway_beside, run_process
from tests.running import Running
from tests.upstream.others import GREETING, World, world

SERVERS = ["everything", "files", "memory", "git", "time"]
DESTRUCTIVE = {
    "everything": 0,
    "files": 3,
    "memory": 3,
    "git": 1,
    "time": 0,
}
"""How many tools of each are destructive, and so have a test that is skipped."""


class Workshop:
    """The servers on something to work on, behind a gateway, and the command line beside it."""

    def __init__(self, folder: Path, given: World, running: Running) -> None:
        self.folder = folder
        self.world = given
        self._data = str(running.folder.path)

    def il(self, *words: str) -> Outcome:
        return run_process(*words, INTERLOCK_DATA_DIR=self._data)

    def pytest(self, suite: Path) -> "subprocess.CompletedProcess[str]":
        plugins = ["-p", "no:cacheprovider", "-p", "no:schemathesis"]
        options = ["-q", "--strict-markers", "-W", "error", *plugins, "-c", "/dev/null"]
        return subprocess.run(
            [sys.executable, "-m", "pytest", *options, "--rootdir", str(suite), str(suite)],
            capture_output=True,
            encoding="utf-8",
            env=environment(INTERLOCK_DATA_DIR=self._data),
            cwd=self.folder,
            check=False,
            timeout=120,
        )


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Generator[Workshop]:
    folder = tmp_path_factory.mktemp("suites")
    with world(folder) as given, gateway_beside(folder, given.yaml()) as running:
        yield Workshop(folder, given, running)


@pytest.mark.parametrize("server", SERVERS)
def test_what_is_scaffolded_passes_as_it_is_and_again(workshop: Workshop, server: str) -> None:
    suite = workshop.folder / f"scaffolded-{server}"
    made = workshop.il("scaffold", server, "-o", str(suite), "--timeout", "3")
    assert made.exit == Exit.OK, made.err
    first, again = workshop.pytest(suite), workshop.pytest(suite)
    code = (suite / f"test_{server}.py").read_text(encoding="utf-8")

    assert (first.returncode, again.returncode) == (0, 0), first.stdout + again.stdout
    assert code.count("# review before first run") == DESTRUCTIVE[server]
    assert (workshop.world.files / "greeting.txt").read_text(encoding="utf-8") == GREETING


@pytest.mark.parametrize("server", SERVERS)
def test_what_is_proposed_passes_as_it_is_and_again(workshop: Workshop, server: str) -> None:
    suite = str(workshop.folder / f"{server}.yaml")
    made = workshop.il("propose", server, "-o", suite, "--timeout", "3")
    assert made.exit == Exit.OK, made.err
    first, again = (workshop.il("test", suite) for _ in range(2))

    assert (first.exit, again.exit) == (Exit.OK, Exit.OK), first.out + again.out
    assert (workshop.world.files / "greeting.txt").read_text(encoding="utf-8") == GREETING


def test_suites_of_two_servers_run_side_by_side(workshop: Workshop) -> None:
    suites = workshop.folder / "both"
    for server in ("time", "memory"):
        assert workshop.il("scaffold", server, "-o", str(suites / server), "--timeout", "3").exit == Exit.OK

    done = workshop.pytest(suites)
    assert done.returncode == 0, done.stdout


def test_a_scaffolded_suite_fails_when_an_answer_has_another_form(workshop: Workshop) -> None:
    suite = workshop.folder / "changed"
    workshop.il("scaffold", "time", "-o", str(suite))
    snapshot = suite / "snapshots" / "get_current_time.json"
    snapshot.write_text('{"required": ["something else"]}', encoding="utf-8")
    done = workshop.pytest(suite)

    assert done.returncode == 1
    assert "not the form of snapshot get_current_time" in done.stdout


SUITE = """servers:
  files: {id: files}
tests:
  - name: the greeting is read
    tool: read_text_file
    args: {path: PLACE/greeting.txt}
    expect:
      - {target: text, matcher: exact, value: Good morning.}
      - {target: structured, matcher: snapshot}
    max_duration_ms: 5000
  - name: nothing is read elsewhere
    tool: read_text_file
    args: {path: /etc/hostname}
    expect:
      - {target: isError, matcher: exact, value: true}
      - {target: text, matcher: regex, value: "(?i)access denied"}
  - name: a file is written
    tool: write_file
    args: {path: PLACE/greeting.txt, content: Good night.}
"""


def test_a_suite_that_a_person_wrote_runs_and_what_destroys_waits_for_the_word(workshop: Workshop) -> None:
    file = workshop.folder / "mine.yaml"
    file.write_text(SUITE.replace("PLACE", str(workshop.world.files)), encoding="utf-8")
    workshop.il("test", str(file), "--update-snapshots")
    done = workshop.il("test", str(file))

    assert done.exit == Exit.BLOCKED, done.out
    assert done.lines[-1] == "3 tests: 2 passed, 1 refused"
    assert (workshop.world.files / "greeting.txt").read_text(encoding="utf-8") == GREETING


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tests:\n  - name: [\n", "broken.yaml:3:1: not valid YAML"),
        ("tests:\n  - name: a\n    tool: t\n    expects: []\n", "broken.yaml:4:5: unknown key 'expects'"),
    ],
)
def test_a_suite_that_cannot_be_read_says_where(workshop: Workshop, text: str, told: str) -> None:
    file = workshop.folder / "broken.yaml"
    file.write_text(text, encoding="utf-8")
    done = workshop.il("test", str(file))

    assert done.exit == Exit.USAGE
    assert told in done.err
