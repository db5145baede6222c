"""The official conformance suites, in front of the gateway and in front of the server behind it.

Every scenario of a suite counts, those that are only recommended too, and a warning counts like a failure. What is
excused is in `expected`, with its reason; an excuse that is not needed any more is a failure as well.
"""

from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from tests.conformance.expected import BY_ITSELF, excuses
from tests.conformance.suites import LEGACY, MODERN, OLDEST, Findings, Suite, run_suite, upstream
from tests.running import serving

SCENARIOS = {OLDEST: 32, LEGACY: 33, MODERN: 40}
"""How many scenarios each suite has; a suite that runs fewer says less than it seems to."""
ERAS = {OLDEST: "legacy", LEGACY: "legacy", MODERN: "modern"}
each_suite = pytest.mark.parametrize("suite", list(ERAS), ids=str)
each_era = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.fixture(scope="module")
def upstreams() -> Generator[Mapping[str, str]]:
    with upstream("legacy") as legacy, upstream("modern") as modern:
        yield {"legacy": legacy, "modern": modern}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def assert_only(findings: Findings, suite: Suite, excused: Mapping[str, str]) -> None:
    """Nothing but what is excused went wrong, and all of that did."""
    assert len(findings.scenarios) == SCENARIOS[suite]
    new = [f"{check}\n    {why}" for check, why in findings.problems.items() if check not in excused]
    stale = [f"{check}\n    {why}" for check, why in excused.items() if check not in findings.problems]
    assert not new, f"{findings.passed} checks passed, these did not:\n" + "\n".join(new)
    assert not stale, "these are excused in expected.py and went well:\n" + "\n".join(stale)


@each_suite
@each_era
async def test_the_gateway_conforms(suite: Suite, era: str, upstreams: Mapping[str, str], tmp_path: Path) -> None:
    server = f"  up: {{url: '{upstreams[era]}', sessions: per-caller}}\n"
    text = f"posture: open\nexpose: direct\nnamespacing: false\nservers:\n{server}"

    async with serving(tmp_path, text) as gateway:
        findings = await run_suite(suite, gateway.url, tmp_path / "found")

    assert_only(findings, suite, excuses(suite, era))


@each_suite
async def test_the_server_of_the_suites_conforms_by_itself(
    suite: Suite, upstreams: Mapping[str, str], tmp_path: Path
) -> None:
    findings = await run_suite(suite, upstreams[ERAS[suite]], tmp_path)

    assert_only(findings, suite, BY_ITSELF[suite])
