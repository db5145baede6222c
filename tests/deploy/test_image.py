"""The image: what is in it, whom it runs as, and how it says that it lives."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.cli.main import NOUNS
from tests.deploy import DEPLOY, ROOT
from tests.running import serving

FILE = DEPLOY / "Dockerfile"
HADOLINT = Path(sys.executable).with_name("hadolint")


def instructions() -> Iterator[tuple[str, str]]:
    """Every instruction with its words, continued lines put together and comments left out."""
    text = re.sub(r"^\s*#.*\n", "", FILE.read_text(encoding="utf-8"), flags=re.M)
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, rest.strip()


def all_of(word: str) -> list[str]:
    return [rest for each, rest in instructions() if each == word]


def last_of(word: str) -> str:
    return all_of(word)[-1]


def test_a_linter_finds_nothing() -> None:
    done = subprocess.run([HADOLINT, str(FILE)], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (0, "")


def test_it_is_built_on_one_version_of_one_system() -> None:
    bases = {each.partition(" ")[0] for each in all_of("FROM")}

    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", bases.pop())


def test_it_runs_as_an_account_that_has_no_rights() -> None:
    user, group = last_of("USER").split(":")
    words = [word for word, _ in instructions()]

    assert int(user) > 999
    assert int(group) > 999
    assert "RUN" not in words[len(words) - words[::-1].index("USER") :]


def test_nothing_is_fetched_but_by_hash_and_nothing_is_built_by_strangers() -> None:
    steps = [each for run in all_of("RUN") for each in run.split("&&")]
    fetched = [each for each in steps if re.search(r"pip (install|wheel)", each)]

    assert all_of("ADD") == []
    assert not re.search(r"https?://|curl|wget|apt", " ".join(all_of("RUN")))
    assert len(fetched) == 4
    assert all("--require-hashes --only-binary :all:" in each or "--no-deps" in each for each in fetched)


def test_everything_that_is_copied_is_there_and_is_let_in() -> None:
    copied = [each.split()[:-1] for each in all_of("COPY") if "--from" not in each]
    sources = {source for each in copied for source in each}
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert sources == {rule[1:] for rule in rules if rule.startswith("!")}
    assert "*" in rules
    assert [each for each in sources if not (ROOT / each).exists()] == []


def test_it_starts_what_the_package_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (program,) = json.loads(last_of("ENTRYPOINT"))

    assert program in project["scripts"]
    assert json.loads(last_of("CMD"))[0] in {each.name for each in NOUNS}


def test_what_is_written_goes_to_the_volume_which_is_the_accounts_own() -> None:
    (volume,) = all_of("VOLUME")

    assert f"INTERLOCK_DATA_DIR={volume} " in last_of("ENV") + " "
    assert f"install -d -m 0700 -o 10001 -g 10001 {volume}" in " ".join(all_of("RUN"))


def test_no_secret_is_named_in_a_layer() -> None:
    assert not re.search(r"(?i)passw|secret|token", " ".join((*all_of("ENV"), *all_of("ARG"), *all_of("RUN"))))


# Whether it lives -----------------------------------------------------------------------------------------------


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def health(folder: Path, port: int) -> subprocess.CompletedProcess[str]:
    """Ask as the image does, with the program that the image has."""
    (_, isolated, program) = json.loads(last_of("HEALTHCHECK").partition("CMD ")[2])
    assert program == "/opt/interlock/health.py"
    assert f"deploy/health.py {program}" in all_of("COPY")
    known = {"INTERLOCK_DATA_DIR": str(folder), "INTERLOCK_LISTEN__PORT": str(port), "http_proxy": "http://127.0.0.1:1"}
    return subprocess.run(
        [sys.executable, isolated, str(DEPLOY / "health.py")],
        env={**os.environ, **known},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


async def test_it_says_that_it_lives_as_long_as_it_does_and_prints_no_token(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        port = int(running.host.rpartition(":")[2])
        alive = await asyncio.to_thread(health, running.folder.path, port)
    gone = health(tmp_path / "data", port)

    assert (alive.returncode, alive.stdout + alive.stderr) == (0, "")
    assert (gone.returncode, gone.stdout + gone.stderr) == (1, "")


def test_it_does_not_live_where_there_is_no_credential(tmp_path: Path) -> None:
    assert health(tmp_path, 1).returncode == 1
