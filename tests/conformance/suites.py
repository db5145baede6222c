"""Running the official conformance suites, and reading what they found."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.upstream.everything import node

ROOT = Path(__file__).parent.parent.parent
MODULES = ROOT / "node_modules"
SECONDS = 120.0
"""How long a suite may take on a busy machine; it takes about three seconds on an idle one."""
_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z")
_GOOD = frozenset({"SUCCESS", "INFO", "SKIPPED"})


@dataclass(frozen=True, slots=True)
class Suite:
    """One release of the suite, at one version of the protocol."""

    release: str
    protocol: str

    def __str__(self) -> str:
        return f"{self.release} at {self.protocol}"


OLDEST = Suite("0.1", "2025-11-25")
LEGACY = Suite("0.2", "2025-11-25")
MODERN = Suite("0.2", "2026-07-28")


@dataclass(frozen=True, slots=True)
class Findings:
    """What a suite found: how many checks passed, and what it says of those that did not, by `scenario:check`."""

    scenarios: frozenset[str]
    passed: int
    problems: Mapping[str, str]


def _node() -> Path:
    """The node that came with the suites, which need version 22; where none did for this platform, the usual one."""
    return next(MODULES.glob("node-*/bin/node"), Path(node()))


async def run_suite(suite: Suite, url: str, folder: Path) -> Findings:
    """Run every scenario of a suite against a server."""
    program = MODULES / f"conformance-{suite.release}" / "dist" / "index.js"
    options = ["--url", url, "--suite", "all", "--spec-version", suite.protocol, "--output-dir", str(folder)]
    process = await asyncio.create_subprocess_exec(
        _node(), program, "server", *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(SECONDS):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return _findings(folder, said.decode())


def _findings(folder: Path, said: str) -> Findings:
    begun = re.findall(r"^=== Running scenario: (\S+) ===$", said, re.MULTILINE)
    passed, problems, ended = 0, dict[str, str](), set[str]()
    for file in sorted(folder.glob("*/checks.json")):
        named = _FOLDER.fullmatch(file.parent.name)
        assert named is not None, file
        ended.add(named["scenario"])
        for check in json.loads(file.read_text(encoding="utf-8")):
            passed += check["status"] == "SUCCESS"
            if check["status"] not in _GOOD:
                problems[f"{named['scenario']}:{check['id']}"] = f"{check['status']}: {check.get('errorMessage')}"
    assert begun, said
    assert set(begun) == ended, f"scenarios without findings: {set(begun) - ended}\n{said}"
    return Findings(frozenset(ended), passed, problems)


@contextmanager
def upstream(era: str) -> Generator[str]:
    """Run the server of the suites and give its URL; the process ends with the block."""
    argv = [sys.executable, "-m", "tests.conformance.upstream", "--era", era]
    # What it says of refused Hosts and closed streams is what the suites provoke.
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=quiet) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()
