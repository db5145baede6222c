"""`interlock demo`, as a process of its own: at a terminal, without one, and told to stop."""

import hashlib
import re
import signal
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.cli.running import COMMAND, Interlock, environment, eventually
from tests.cli.seated import SECONDS, descendants, seated
from tests.talking import NO_TLS

KEYS = "Press a to approve, d to deny, q to leave."
VERDICTS = [
    ("allowed", ""),
    ("allowed", ""),
    ("refused", "INTENT_MISMATCH"),
    ("refused", "DENIED_BY_RULE"),
    ("refused", "UNKNOWN_TOOL"),
    ("held", ""),
]
DEMO = [*COMMAND, "demo", "--no-browser"]
LINK = re.compile(r"Dashboard: (http://127\.0\.0\.1:\d+)/login#(\S+)")


@dataclass(frozen=True)
class Place:
    """The machine of somebody who tries it: a home, a folder in which they are, and one for temporary files."""

    home: Path
    here: Path
    temporary: Path
    env: Mapping[str, str]

    def digest(self) -> str:
        """Everything in the home and here: names, kinds, modes, times and contents."""
        told = hashlib.sha256()
        for each in sorted([*self.home.rglob("*"), *self.here.rglob("*"), self.home, self.here]):
            about = each.lstat()
            told.update(f"{each} {about.st_mode} {about.st_mtime_ns}\n".encode())
            if stat.S_ISREG(about.st_mode):
                told.update(each.read_bytes())
        return told.hexdigest()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    home, here, temporary = (tmp_path / each for each in ("home", "here", "temporary"))
    for each in (home, here, temporary, home / ".config" / "interlock"):
        each.mkdir(parents=True)
    # Neither of these may be read: they would keep a gateway from starting.
    (home / ".config" / "interlock" / "interlock.yaml").write_text("posture: wrong\n")
    (here / "interlock.yaml").write_text("posture: wrong\n")
    env = environment(
        HOME=str(home),
        XDG_CONFIG_HOME=str(home / ".config"),
        XDG_DATA_HOME=str(home / ".local" / "share"),
        TMPDIR=str(temporary),
        INTERLOCK_CONFIG=str(here / "interlock.yaml"),
        INTERLOCK_DATA_DIR=str(home / "data"),
        INTERLOCK_TOKEN="il_not_a_token",  # noqa: S106 - it is none
        PYTHONDONTWRITEBYTECODE="1",
    )
    return Place(home, here, temporary, env)


def verdicts(screen: str) -> list[tuple[str, str]]:
    found = re.findall(r"^(?:\x1b\[[\d;]*m)*(allowed|refused|held) (.*)$", screen, re.MULTILINE)
    return [(word, "".join(re.findall(r"\(([A-Z_]+)\)", text))) for word, text in found]


@pytest.mark.parametrize(
    ("key", "ended", "told"),
    [
        ("a", 0, "Approved by operator from the command line. The agent saw: deleted todo"),
        ("d", 0, "Denied by operator from the command line. The agent saw: Tool call denied."),
        ("q", 0, "You left, so nobody turned the second key, and nothing was deleted."),
        ("\x03", 130, "Interrupted; nothing is left of the demo."),
    ],
    ids=["approve", "deny", "leave", "interrupt"],
)
def test_a_key_at_the_terminal_ends_it_and_nothing_is_left(place: Place, key: str, ended: int, told: str) -> None:
    before = place.digest()
    with seated(DEMO, place.env, place.here) as seat:
        seat.until(KEYS)
        listens = not seat.is_as_before
        shown, processes = seat.screen, descendants(seat.process.pid)
        assert any(place.temporary.iterdir())
        seat.press(key)
        code = seat.ended()
        restored = seat.is_as_before

    assert listens
    assert verdicts(shown) == VERDICTS
    assert told in seat.screen
    assert (code, restored) == (ended, True)
    assert processes
    eventually(lambda: not any(Path(f"/proc/{each}").exists() for each in processes))
    assert list(place.temporary.iterdir()) == []
    assert place.digest() == before


def test_what_was_answered_is_in_the_log_with_whoever_did_it_and_the_next_commands_follow(place: Place) -> None:
    argv = [*COMMAND, "demo", "--yes"]
    done = subprocess.run(
        argv, capture_output=True, text=True, env=place.env, cwd=place.here, stdin=subprocess.DEVNULL, check=False
    )
    log = done.stdout.partition("The end of the activity log:\n")[2].splitlines()

    assert (done.returncode, done.stderr) == (0, "")
    assert verdicts(done.stdout)[:6] == VERDICTS
    assert [line.split()[2:] for line in log[1:4]] == [
        ["success", "tool_call", "delete_note", "dangerous", "demo-agent"],
        ["success", "approval", "delete_note", "dangerous", "operator"],
        ["blocked", "policy_decision", "raed_note", "-", "demo-agent"],
    ]
    assert [line.split()[:2] for line in log[-2:]] == [["interlock", "init"], ["interlock", "serve"]]
    assert "Did you mean 'notes:read_note'?" in done.stdout
    assert list(place.temporary.iterdir()) == []


def test_without_a_terminal_it_waits_for_an_answer_from_the_dashboard(place: Place) -> None:
    with running(place) as process:
        said = read_until(process, "interlock approval approve ap_")
        found = LINK.search(said)
        approval = re.search(r"approve (ap_\w+) --data-dir (\S+)", said)
        assert found is not None
        assert approval is not None
        with httpx2.Client(base_url=found[1], trust_env=False, timeout=SECONDS, verify=NO_TLS) as browser:
            csrf = browser.post("/api/v1/session", json={"code": found[2]}).json()["csrf"]
            headers = {"x-csrf-token": csrf, "origin": found[1]}
            answer = browser.post(
                f"/api/v1/approvals/{approval[1]}/deny", json={"resolution": "Keep it."}, headers=headers
            )
        rest, _ = process.communicate(timeout=SECONDS)

    assert answer.status_code == 200
    assert Path(approval[2]).is_relative_to(place.temporary)
    assert "Denied by operator at the dashboard. The agent saw: Tool call denied. Reason: Keep it." in rest
    assert process.returncode == 0


@pytest.mark.parametrize("at", ["One moment", "Everything is in", "interlock approval approve ap_"])
def test_told_to_stop_it_leaves_no_process_and_no_folder(place: Place, at: str) -> None:
    before = place.digest()
    with running(place) as process:
        read_until(process, at)
        processes = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)

    assert process.returncode == 130
    eventually(lambda: not any(Path(f"/proc/{each}").exists() for each in processes))
    assert list(place.temporary.iterdir()) == []
    assert place.digest() == before


def test_the_link_is_opened_where_there_is_a_browser(place: Place, tmp_path: Path) -> None:
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.new; mv {seen}.new {seen}\n')
    browser.chmod(0o700)
    with running(place, "demo", DISPLAY=":9", BROWSER=str(browser)) as process:
        said = read_until(process, "interlock approval approve ap_")
        eventually(seen.exists)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)

    assert f"Dashboard: {seen.read_text()}" in said
    assert process.returncode == 130


def test_when_nobody_reads_and_nobody_can_press_a_key_it_ends(place: Place) -> None:
    with running(place) as process:
        read_until(process, "One moment")
        assert process.stdout is not None
        process.stdout.close()
        ended = process.wait(timeout=SECONDS)

    assert ended == 0
    assert list(place.temporary.iterdir()) == []


@pytest.mark.parametrize("option", ["--config", "--data-dir"])
def test_a_place_of_ones_own_is_refused(il: Interlock, option: str) -> None:
    done = il("demo", option, "somewhere")

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("the demo has a configuration and a folder of its own")


def running(place: Place, *words: str, **more: str) -> subprocess.Popen[str]:
    """The demo without a terminal; by default without a browser too."""
    argv, pipe, env = [*COMMAND, *words] if words else DEMO, subprocess.PIPE, {**place.env, **more}
    return subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=env, cwd=place.here
    )


def read_until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    said = ""
    while text not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    return said
