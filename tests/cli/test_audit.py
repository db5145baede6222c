"""`interlock audit`: the check that asks no gateway, the export that proves itself, sealing now, and removing."""

import asyncio
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interlock.store.audit import sealer
from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.keys import PUBLIC
from interlock.store.folder import DATABASE
from tests import stores
from tests.cli.holding import held
from tests.cli.running import (
    COMMAND,
    Beside,
    Interlock,
    configure,
    environment,
    eventually,
    gateway_beside,
    run_process,
    work_in,
)
from tests.cli.seated import seated
from tests.store.audit.logs import sealed_folder, tamper

LAST = 40
"""Two entries for each of twenty calls; a checkpoint on every tenth entry."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder on which no gateway runs, with a sealed log."""
    made = tmp_path / "log"
    asyncio.run(sealed_folder(made))
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(made))
    return made


def sealed_by(il: Interlock, count: int = 1) -> list[str]:
    """So many stretches of the log of a gateway, each with a seal on its end; the lines of the seals."""
    lines: list[str] = []
    for _ in range(count):
        il("call", "tool-read", "--tool-name", "up:echo", "--json_args", "{}")
        lines.append(il("audit", "checkpoint").out.strip())
    return lines


def seq_in(line: str) -> int:
    """The record that a line of the anchor is about."""
    return json.loads(json.loads(line)["seal"])["seq"]


# verify ---------------------------------------------------------------------------------------------------------


ODD: tuple[dict[str, Any], ...] = (
    {"name": "plain"},
    {"name": "odd \u2028", "more": [1.0, 1e300, -0.0, 2**60, None, {"ä": "\x00"}]},
    {"name": "secret ghp_" + "a1B2" * 9, "password": "hunter22"},
    {"name": "x" * 70_000},
    {"name": "deep", "value": json.loads('{"a":' * 40 + "{}" + "}" * 40)},
)


@pytest.mark.parametrize("arguments", ODD, ids=[each["name"][:6] for each in ODD])
def test_whatever_was_asked_about_its_approval_agrees_with_the_log(
    il: Interlock, beside: Beside, arguments: dict[str, Any]
) -> None:
    with held(beside.running, arguments) as call:
        waiting = il("audit", "verify")
        il("approval", "deny", call.end, "--reason", "no, token=abcdef123456")
    answered = il("audit", "verify")

    assert (waiting.exit, answered.exit) == (0, 0), waiting.err + answered.out


def test_a_log_that_nobody_touched_is_intact(il: Interlock, folder: Path) -> None:
    done = il("audit", "verify")

    assert (done.exit, done.err) == (0, "")
    assert done.lines == [
        "The log is intact.",
        "40 records checked: 1 to 40.",
        "4 checkpoints, the last on record 40.",
        "The anchor covers records up to 40.",
    ]


def test_in_json_the_check_says_all_that_it_found(il: Interlock, folder: Path) -> None:
    found = il("audit", "verify", "--json").json

    assert found.pop("chain")
    assert found == {
        "intact": True,
        "records": LAST,
        "first": 1,
        "last": LAST,
        "checkpoints": 4,
        "sealed": LAST,
        "unsealed": 0,
        "pruned": 0,
        "pruned_at": None,
        "anchored": LAST,
        "broken": None,
        "beside": [],
        "notes": [],
        "others": [],
    }


def test_a_record_that_was_changed_ends_with_the_code_for_it_and_is_named(il: Interlock, folder: Path) -> None:
    tamper(folder, ("UPDATE entry SET text = '{}' WHERE seq = 17", ()))
    done, as_json = il("audit", "verify"), il("audit", "verify", "--json")

    assert (done.exit, as_json.exit) == (21, 21)
    assert done.lines[0] == "BROKEN at record 17: it was changed after it was written."
    assert as_json.json["broken"] == {"seq": 17, "problem": "it was changed after it was written"}
    assert not as_json.json["intact"]


def test_a_list_that_does_not_agree_with_the_log_is_no_success(il: Interlock, folder: Path) -> None:
    tamper(folder, ("UPDATE activity SET tool = 'other' WHERE id = 'call-00003'", ()))
    done = il("audit", "verify")

    assert done.exit == 21
    assert done.lines[:2] == [
        "BROKEN: The activity call-00003 is listed otherwise than record 6 tells of it.",
        "The records themselves hold together; what is kept beside them does not agree with them.",
    ]


def test_an_end_that_was_cut_off_shows_against_seals_kept_elsewhere(
    il: Interlock, folder: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    shutil.move(folder / ANCHOR, kept)
    newer = "DELETE FROM activity WHERE id > 'call-00015'"
    tamper(folder, ("DELETE FROM entry WHERE seq > 30", ()), ("DELETE FROM seal WHERE seq > 30", ()), (newer, ()))
    alone, against = il("audit", "verify"), il("audit", "verify", "--anchor", str(kept))

    assert alone.exit == 0
    assert "Without an anchor: that the end was cut off would not show." in alone.lines
    assert (against.exit, against.lines[0]) == (
        21,
        "BROKEN at record 31: it is missing: a seal names entries up to 40.",
    )


def test_the_anchor_of_the_configuration_is_taken(il: Interlock, folder: Path, tmp_path: Path) -> None:
    shutil.move(folder / ANCHOR, tmp_path / "elsewhere.jsonl")
    configure(f"record: {{anchor: '{tmp_path / 'elsewhere.jsonl'}'}}\n")

    assert "The anchor covers records up to 40." in il("audit", "verify").lines


def test_a_line_of_the_anchor_that_is_no_seal_is_told(il: Interlock, folder: Path) -> None:
    with (folder / ANCHOR).open("a") as opened:
        opened.write("no\x1b seal\n")
    done = il("audit", "verify")

    assert done.exit == 0
    assert done.lines[-1].startswith("Line 5 of the anchor is no seal")


def test_a_stretch_can_be_checked_by_itself(il: Interlock, folder: Path) -> None:
    tamper(folder, ("UPDATE entry SET text = '{}' WHERE seq = 25", ()))

    assert il("audit", "verify", "--from", "11", "--to", "20").lines[1] == "10 records checked: 11 to 20."
    assert il("audit", "verify", "--from", "21").exit == 21


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", "9" * 30])
def test_a_record_is_named_by_a_whole_number(il: Interlock, folder: Path, number: str) -> None:
    done = il("audit", "verify", f"--from={number}")

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("argument --from: it must be a whole number of at least 1\n")


def test_a_folder_without_a_log_cannot_be_checked_and_stays_without_one(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = tmp_path / "none"
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(none))
    verified, exported = il("audit", "verify"), il("audit", "export", "-o", str(tmp_path / "out.jsonl"))

    assert (verified.exit, exported.exit) == (4, 4)
    assert verified.err.startswith("The log cannot be checked: ")
    assert not none.exists()
    assert list(tmp_path.glob("out*")) == []


@pytest.mark.parametrize("verb", [("verify",), ("export",)])
def test_an_old_log_in_the_folder_is_not_taken_for_the_one_in_the_database(
    il: Interlock, folder: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    monkeypatch.setenv("INTERLOCK_STORE", "postgresql://db/interlock")
    done = il("audit", *verb)

    assert (folder / DATABASE).exists()
    assert (done.exit, done.out) == (4, "")
    assert "The log in the database interlock in PostgreSQL at db cannot be checked" in done.err


@pytest.mark.parametrize(
    ("option", "content"),
    [
        ("--anchor", None),
        ("--anchor", ""),
        ("--anchor", "no seal\n"),
        ("--key", None),
        ("--key", "no key"),
        ("--export", None),
        ("--export", "{}"),
        ("--export", "\xff"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_and_is_no_success(
    il: Interlock, folder: Path, tmp_path: Path, option: str, content: str | None
) -> None:
    file = tmp_path / "given"
    if content is not None:
        file.write_text(content, encoding="latin-1")
    done = il("audit", "verify", option, str(file))

    assert (done.exit, done.out) == (4, "")
    assert done.err.startswith("The log cannot be checked: ")


def test_seals_by_keys_that_nobody_knows_are_not_believed(il: Interlock, folder: Path, tmp_path: Path) -> None:
    asyncio.run(sealed_folder(tmp_path / "other"))
    done = il("audit", "verify", "--key", str(tmp_path / "other" / PUBLIC))

    assert done.exit == 21
    assert done.lines[0].startswith("BROKEN at record 10: its seal is by a key that is not known here")


def test_a_log_without_a_seal_is_not_believed_against_a_key_that_was_kept(
    il: Interlock, folder: Path, tmp_path: Path
) -> None:
    kept = shutil.move(folder / PUBLIC, tmp_path / "kept.pub")
    tamper(folder, ("DELETE FROM seal", ()))
    (folder / ANCHOR).unlink()
    alone, against = il("audit", "verify"), il("audit", "verify", "--key", str(kept))

    assert (alone.exit, alone.lines[-1].startswith("It is not sealed: ")) == (0, True)
    assert (against.exit, against.lines[0].startswith("BROKEN at record 1: no seal is on it")) == (21, True)


def test_a_key_without_its_last_line_break_is_a_key(il: Interlock, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.pub").write_text((folder / PUBLIC).read_text().rstrip("\n"))

    assert il("audit", "verify", "--key", str(tmp_path / "kept.pub")).exit == 0


def test_an_anchor_of_the_configuration_that_is_gone_is_no_success(il: Interlock, folder: Path, tmp_path: Path) -> None:
    configure(f"record: {{anchor: '{tmp_path / 'gone.jsonl'}'}}\n")
    done = il("audit", "verify")

    assert (done.exit, done.out) == (4, "")
    assert "there is no genuine seal on this log in the anchor" in done.err


def test_an_anchor_that_ends_before_the_seals_in_the_log_is_told(il: Interlock, folder: Path) -> None:
    lines = (folder / ANCHOR).read_bytes().splitlines(keepends=True)
    (folder / ANCHOR).write_bytes(b"".join(lines[:-1]))

    told = "The anchor covers records up to 30, and the seals in the log go on to 40."
    assert told in il("audit", "verify").lines


def test_keys_that_are_none_are_told(il: Interlock, folder: Path) -> None:
    (folder / PUBLIC).write_text("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", encoding="ascii")
    done = il("audit", "verify", "--json")

    assert (done.exit, done.json["error"]["code"]) == (4, "AUDIT_UNAVAILABLE")


def test_a_database_that_is_none_is_told(il: Interlock, folder: Path) -> None:
    (folder / DATABASE).write_bytes(b"no database" * 1000)
    (folder / f"{DATABASE}-wal").unlink(missing_ok=True)

    assert il("audit", "verify").exit == 4


def test_the_log_of_a_gateway_that_runs_can_be_checked_meanwhile(il: Interlock, beside: Beside) -> None:
    sealed_by(il)
    done = il("audit", "verify")

    assert (done.exit, done.lines[0]) == (0, "The log is intact.")


def test_on_a_terminal_a_bar_shows_how_far_it_is(folder: Path, tmp_path: Path) -> None:
    argv = [*COMMAND, "audit", "verify", "--data-dir", str(folder)]
    with seated(argv, environment(TERM="xterm-256color", COLUMNS="100"), tmp_path) as seat:
        ended = seat.ended()

    assert ended == 0, seat.screen
    assert "40/40" in seat.screen
    assert "The log is intact." in seat.screen


# export ---------------------------------------------------------------------------------------------------------


def test_an_export_is_checked_where_there_is_no_database(
    il: Interlock, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, keys = tmp_path / "part.jsonl", shutil.copy(folder / PUBLIC, tmp_path / "kept.pub")
    made = il("audit", "export", "--from", "11", "--to", "30", "-o", str(file))
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(tmp_path / "none"))
    done = il("audit", "verify", "--export", str(file), "--key", str(keys))

    assert (made.exit, made.out) == (0, "")
    assert made.err == "Records 11 to 30 exported; `interlock audit verify --export FILE` checks them.\n"
    assert (done.exit, done.lines[:2]) == (0, ["The log is intact.", "20 records checked: 11 to 30."])


def test_an_export_that_was_changed_is_broken(il: Interlock, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    il("audit", "export", "-o", str(file))
    file.write_text(file.read_text().replace("note 8", "note 9"))
    done = il("audit", "verify", "--export", str(file))

    assert (done.exit, done.lines[0]) == (21, "BROKEN at record 15: it was changed after it was written.")


def test_an_export_goes_to_stdout_as_lines_of_json(il: Interlock, folder: Path) -> None:
    done = il("audit", "export", "--to", "8")
    lines = [json.loads(each) for each in done.lines]

    assert done.exit == 0
    assert lines[0]["form"] == "interlock-log-v1"
    assert (lines[0]["first"], lines[0]["last"]) == (1, 10)  # which is the next seal
    assert [each["entry"][0] for each in lines if "entry" in each] == list(range(1, 11))
    assert lines[-1] == {"records": 10}


@pytest.mark.parametrize("name", ["interlock.db", "seal.key", "anchor.jsonl", "new.jsonl"])
def test_an_export_is_never_written_over_what_the_gateway_keeps(il: Interlock, folder: Path, name: str) -> None:
    target, link = folder / name, folder.parent / "elsewhere.jsonl"
    link.symlink_to(target)
    before = target.read_bytes() if target.exists() else None
    plain, linked = il("audit", "export", "-o", str(target)), il("audit", "export", "-o", str(link))

    assert (plain.exit, linked.exit) == (2, 2)
    assert f"{target} is in the data folder" in plain.err
    assert (target.read_bytes() if target.exists() else None) == before
    assert il("audit", "verify").exit == 0


def test_an_export_into_a_link_is_written_to_what_it_leads_to(il: Interlock, folder: Path, tmp_path: Path) -> None:
    link, kept = tmp_path / "link.jsonl", tmp_path / "kept.jsonl"
    link.symlink_to(kept)
    made = il("audit", "export", "-o", str(link))

    assert (made.exit, link.is_symlink(), kept.is_file()) == (0, True, True)
    assert il("audit", "verify", "--export", str(kept)).exit == 0


def test_an_export_into_a_pipe_goes_to_whoever_reads_it(il: Interlock, folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as other:
        reading = other.submit(pipe.read_bytes)
        made = il("audit", "export", "-o", str(pipe))
        read = reading.result(30)

    assert (made.exit, pipe.is_fifo()) == (0, True)
    assert read.count(b"\n") > LAST


def test_an_export_that_cannot_be_written_is_no_fault_of_the_log(il: Interlock, folder: Path) -> None:
    done = il("audit", "export", "-o", "/nowhere/at/all")

    assert done.exit == 2
    assert done.err.startswith("/nowhere/at/all: cannot be written")


# checkpoint -----------------------------------------------------------------------------------------------------


def test_sealing_prints_the_line_that_is_to_be_kept_elsewhere(il: Interlock, beside: Beside) -> None:
    il("call", "tool-read", "--tool-name", "up:echo", "--json_args", "{}")
    done = il("audit", "checkpoint")
    (line,) = done.lines

    assert done.exit == 0
    assert line in (beside.running.folder.path / ANCHOR).read_text().splitlines()
    assert done.err.startswith(f"The log is sealed up to record {seq_in(line)}.")
    assert il("audit", "checkpoint", "--json").json["checkpoint"]["kind"] == "checkpoint"


def test_a_log_can_be_sealed_when_no_gateway_runs(il: Interlock, tmp_path: Path) -> None:
    il("token", "list")  # which begins a log
    done = run_process("audit", "checkpoint")

    assert (done.exit, seq_in(done.out)) == (0, 1)
    assert il("audit", "verify").exit == 0


def test_what_keeps_the_log_from_being_sealed_is_told_by_every_verb(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealer, "SECONDS", 0)
    anchor = tmp_path / "not-there" / "anchor.jsonl"
    with gateway_beside(tmp_path, f"record: {{anchor: '{anchor}'}}\n") as running:
        work_in(running.folder.path, monkeypatch)
        eventually(lambda: il("status", "--json").json["seals"]["problem"] is not None)
        told = il("status").lines
        doctor = {each["check"]: each for each in il("doctor", "--json").json["checks"]}["seals"]
        done = il("audit", "checkpoint")

    (line,) = [each for each in told if each.startswith("Sealing:")]
    assert line.startswith("Sealing:  the log is not sealed beyond record 0: ")
    assert "No such file" in line
    assert (doctor["state"], "No such file" in doctor["text"]) == ("fail", True)
    assert done.exit == 4
    assert done.err.startswith("The log could not be sealed: ")


# prune ----------------------------------------------------------------------------------------------------------


def test_what_is_to_stay_has_to_be_said(il: Interlock, beside: Beside) -> None:
    done = il("audit", "prune", "--yes")

    assert (done.exit, done.err.splitlines()[0]) == (2, "nothing says what is to stay")


@pytest.mark.parametrize(
    "words", [("--older-than", "soon"), ("--keep-size", "much"), ("--keep-records", "0"), ("--keep-records", "x")]
)
def test_what_is_to_stay_has_to_be_understood(il: Interlock, beside: Beside, words: tuple[str, ...]) -> None:
    assert il("audit", "prune", "--yes", *words).exit == 2


def test_a_script_has_to_say_that_it_means_it(il: Interlock, beside: Beside) -> None:
    sealed_by(il, 2)
    before = il("audit", "verify", "--json").json
    done = il("audit", "prune", "--keep-records", "1")
    after = il("audit", "verify", "--json").json

    assert (done.exit, done.err.splitlines()[1]) == (2, "  Say --yes.")
    assert (before["first"], before["pruned"]) == (after["first"], after["pruned"])


def test_a_dry_run_says_what_would_go_and_removes_nothing(il: Interlock, beside: Beside) -> None:
    first, _ = sealed_by(il, 2)
    before = il("audit", "verify", "--json").json
    done = il("audit", "prune", "--keep-records", "1", "--dry-run")
    as_json = il("audit", "prune", "--keep-records", "1", "--dry-run", "--json").json

    assert (done.exit, done.out) == (0, "")
    assert done.err.startswith(f"Records up to {seq_in(first)} would be removed.")
    assert (as_json["removed"], as_json["pruned"]["seq"]) == (False, seq_in(first))
    assert il("audit", "verify", "--json").json["pruned"] == before["pruned"]


def test_what_was_removed_is_told_and_the_log_stays_intact(il: Interlock, beside: Beside) -> None:
    first, _ = sealed_by(il, 2)
    done = il("audit", "prune", "--keep-records", "1", "--yes")
    verified, as_json = il("audit", "verify"), il("audit", "verify", "--json").json

    assert done.exit == 0
    assert done.err.startswith(f"Records up to {seq_in(first)} were removed.")
    assert verified.exit == 0
    assert [each for each in verified.lines if each.startswith(f"Records up to {seq_in(first)} were removed on ")]
    assert (as_json["pruned"], as_json["first"]) == (seq_in(first), seq_in(first) + 1)
    assert as_json["pruned_at"].endswith("Z")


def test_what_was_changed_is_not_removed_and_that_is_told(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gateway_beside(tmp_path, "") as running:
        work_in(running.folder.path, monkeypatch)
        sealed_by(il, 2)
        stores.tamper(running.folder.path, "UPDATE entry SET text = '{}' WHERE seq = 1")
        done = il("audit", "prune", "--keep-records", "1", "--yes")
        verified = il("audit", "verify")

    assert done.exit == 4
    assert done.err.startswith("Nothing was removed, because what was to go does not hold: record 1: it was changed")
    assert (verified.exit, verified.lines[0].startswith("BROKEN at record 1: ")) == (21, True)


def test_in_json_what_was_removed_is_the_seal_on_it(il: Interlock, beside: Beside) -> None:
    first, _ = sealed_by(il, 2)
    done = il("audit", "prune", "--keep-records", "1", "--yes", "--json").json

    assert (done["removed"], done["pruned"]["kind"], done["pruned"]["seq"]) == (True, "pruned", seq_in(first))


@pytest.mark.parametrize("words", [("--older-than", "9d"), ("--keep-size", "1GiB"), ("--keep-records", "100000")])
def test_nothing_to_remove_is_told_and_no_error(il: Interlock, beside: Beside, words: tuple[str, ...]) -> None:
    done = il("audit", "prune", *words, "--yes")

    assert (done.exit, done.out) == (0, "")
    assert done.err.startswith("There is nothing to remove")


@pytest.mark.parametrize(("key", "removed"), [("y", True), ("n", False)])
def test_at_a_terminal_a_person_is_asked_first(
    il: Interlock, beside: Beside, tmp_path: Path, key: str, *, removed: bool
) -> None:
    first, _ = sealed_by(il, 2)
    argv = [sys.executable, "-m", "interlock", "audit", "prune", "--keep-records", "1"]
    with seated(argv, environment(TERM="dumb"), tmp_path) as seat:
        seat.until(f"Remove records up to {seq_in(first)}, for good? [y/N]")
        seat.press(f"{key}\n")
        ended = seat.ended()

    assert ended == 0, seat.screen
    assert ("were removed" in seat.screen, "Nothing was removed" in seat.screen) == (removed, not removed)
    assert (il("audit", "verify", "--json").json["pruned"] == seq_in(first)) is removed


@pytest.mark.parametrize("verb", [("checkpoint",), ("prune", "--keep-records", "1", "--yes")])
def test_where_there_is_no_log_none_is_made_to_be_sealed(il: Interlock, tmp_path: Path, verb: tuple[str, ...]) -> None:
    done = il("audit", *verb, "--data-dir", str(tmp_path / "typo"))

    assert (done.exit, done.out) == (4, "")
    assert done.err.startswith(f"There is no log in {tmp_path / 'typo'}.\n")
    assert not (tmp_path / "typo").exists()


def test_how_old_is_asked_for_in_words_of_the_command_line(il: Interlock, folder: Path) -> None:
    done = il("audit", "prune", "--older-than", "90x")

    assert done.exit == 2
    assert done.err == "--older-than must be a duration such as 15m, 12h or 30d\n  Write how old as 90d.\n"
