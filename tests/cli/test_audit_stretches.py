"""`interlock audit verify` and `export`: stretches that nothing proves, and logs of which a part was taken away."""

import asyncio
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.seals import Keep
from interlock.store.folder import DATABASE
from tests.cli.running import COMMAND, Interlock, environment
from tests.store.audit.logs import Office, rewrite, sealed_folder, tamper


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder on which no gateway runs: forty records, and a checkpoint on every tenth."""
    made = tmp_path / "log"
    asyncio.run(sealed_folder(made))
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(made))
    return made


def test_a_stretch_that_was_written_anew_is_broken_at_the_seal_behind_it(il: Interlock, folder: Path) -> None:
    rewrite(folder, 12)
    done, as_json = (il("audit", "verify", "--from", "11", "--to", "15", *more) for more in ((), ("--json",)))

    assert (done.exit, done.lines[0]) == (21, "BROKEN at record 20: a seal says that it was another.")
    assert (as_json.exit, as_json.json["intact"], as_json.json["broken"]["seq"]) == (21, False, 20)


def test_a_stretch_that_no_seal_is_behind_is_not_said_to_be_proved(il: Interlock, folder: Path) -> None:
    tamper(folder, ("DELETE FROM seal WHERE seq > 20", ()))
    (folder / ANCHOR).write_bytes(b"".join((folder / ANCHOR).read_bytes().splitlines(keepends=True)[:2]))
    rewrite(folder, 32)
    after, across = (il("audit", "verify", "--from", each, "--to", "35") for each in ("31", "15"))

    assert after.lines == [
        "These records are intact.",
        "5 records checked: 31 to 35.",
        "2 checkpoints, the last on record 20.",
        "The anchor covers records up to 20, and none of these.",
        "No seal is on these records or behind them: they hang together, as anybody can make them do.",
    ]
    assert across.lines[-1] == "15 records at the end: chained, and not sealed yet."
    assert il("audit", "verify", "--from", "31", "--to", "35", "--json").json["unsealed"] == 5


def test_a_log_without_a_record_is_empty_and_not_called_intact(il: Interlock, folder: Path, tmp_path: Path) -> None:
    asyncio.run(sealed_folder(tmp_path / "empty", calls=0))
    done = il("audit", "verify", "--data-dir", str(tmp_path / "empty"))

    assert (done.exit, done.lines[:2]) == (0, ["The log is empty.", "There was no record to check."])


@pytest.mark.parametrize("verb", ["verify", "export"])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--from", "41"), "There is no record 41: the log goes up to record 40.\n"),
        (("--from", "99", "--to", "120"), "There is no record 99: the log goes up to record 40.\n"),
        (("--from", "12", "--to", "10"), "Record 10 comes before record 12, so nothing is between them.\n"),
    ],
)
def test_a_stretch_that_cannot_be_is_refused(
    il: Interlock, folder: Path, verb: str, words: tuple[str, ...], told: str
) -> None:
    done = il("audit", verb, *words)

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith(told)


@pytest.mark.parametrize(("verb", "done"), [("verify", "checked"), ("export", "exported")])
def test_of_a_stretch_that_was_removed_that_is_said_and_not_that_it_is_intact(
    il: Interlock, folder: Path, verb: str, done: str
) -> None:
    asyncio.run(_prune(folder))
    ended = il("audit", verb, "--from", "3", "--to", "9")

    assert (ended.exit, ended.out) == (4, "")
    assert ended.err == f"Nothing of that stretch was {done}: records up to 20 were removed.\n" + (
        "  Choose later ones: --from 21.\n"
    )


async def _prune(folder: Path) -> None:
    async with Office(folder) as office:
        await office.sealer.prune(Keep(records=15), "operator")


def test_an_export_is_not_checked_in_part(il: Interlock, folder: Path, tmp_path: Path) -> None:
    il("audit", "export", "-o", str(tmp_path / "log.jsonl"))
    for words in (("--from", "3"), ("--to", "5")):
        done = il("audit", "verify", "--export", str(tmp_path / "log.jsonl"), *words)

        assert (done.exit, done.out) == (2, "")
        assert done.err.startswith("An export is checked as a whole")


def test_a_seal_that_was_taken_out_of_the_log_is_missed(il: Interlock, folder: Path) -> None:
    tamper(folder, ("DELETE FROM seal WHERE seq = 20", ()))
    done = il("audit", "verify")

    assert done.exit == 21
    assert done.lines[0] == "BROKEN at record 20: the anchor has its seal, which was taken out of the log."


def test_a_database_that_is_gone_is_missed_where_its_anchor_is_left(il: Interlock, folder: Path) -> None:
    for each in folder.glob(f"{DATABASE}*"):
        each.unlink()
    done = il("audit", "verify")

    assert (done.exit, done.lines) == (
        21,
        [
            "BROKEN at record 1: it is missing, and so is the whole log: the anchor has 4 seals on records up to 40.",
            "There was no record to check.",
            "The anchor covers records up to 40.",
        ],
    )
    assert not (folder / DATABASE).exists()


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 5", "PRAGMA user_version = 0", "DELETE FROM chain"])
def test_a_database_that_says_something_else_than_it_has_is_broken_and_not_served(
    il: Interlock, folder: Path, statement: str
) -> None:
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as connection:
        connection.execute(statement)
    verified, listed = il("audit", "verify"), il("activity", "list")

    assert (verified.exit, verified.lines[0].startswith("BROKEN: The ")) == (21, True)
    assert "40 records checked: 1 to 40." in verified.lines
    assert listed.exit == 4
    assert "`interlock audit verify`" in listed.err
    assert "SQLITE" not in listed.err


def test_an_export_that_finds_no_room_says_so_and_nothing_else(folder: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "audit", "export", "--data-dir", str(folder)],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert done.returncode != 0
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"ignored" not in done.stderr
