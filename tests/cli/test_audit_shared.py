"""`interlock audit` where the log is in PostgreSQL: checked, exported, sealed and pruned as one in a file."""

import asyncio
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.keys import PUBLIC
from tests.cli.running import Interlock
from tests.postgres_server import PostgresServer
from tests.store.audit.shared import ONE, OTHER, tamper, two_gateways
from tests.store.places import InDatabase

ROLE = files("interlock.store").joinpath("postgres_role.sql").read_text(encoding="utf-8")


@pytest.fixture
def database(postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InDatabase]:
    """Two gateways on one database, of which one's folder is ours."""
    with two_gateways(postgres, tmp_path) as made:
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(tmp_path / "one"))
        monkeypatch.setenv("INTERLOCK_STORE", made.address)
        yield made


def test_all_logs_are_told_with_one_verdict(il: Interlock, database: InDatabase) -> None:
    done = il("audit", "verify")

    assert (done.exit, done.lines[0]) == (0, "All 2 logs are intact.")
    assert [each for each in done.lines if each.startswith("Log ")] == [f"Log {ONE}", f"Log {OTHER}"]
    assert "The anchor covers records up to 20." in done.out
    assert "its anchor is not here" in done.out


def test_the_first_bad_record_of_any_log_is_named_and_the_code_says_so(il: Interlock, database: InDatabase) -> None:
    asyncio.run(tamper(database, f"UPDATE entry SET text = '{{}}' WHERE chain = '{OTHER}' AND seq = 5"))  # noqa: S608
    done, as_json = il("audit", "verify"), il("audit", "verify", "--json")

    assert (done.exit, as_json.exit) == (21, 21)
    assert done.lines[0] == "BROKEN: 1 of 2 logs."
    assert "BROKEN at record 5: it was changed after it was written." in done.out
    assert (as_json.json["intact"], as_json.json["broken"]) == (False, None)
    assert as_json.json["others"][0]["broken"]["seq"] == 5


def test_the_anchor_of_another_gateway_does_not_pass_for_this_ones(
    il: Interlock, database: InDatabase, tmp_path: Path
) -> None:
    done = il("audit", "verify", "--anchor", str(tmp_path / "other" / ANCHOR))

    assert done.exit == 4
    assert "there is no genuine seal on this log in the anchor" in done.err


def test_the_log_of_another_gateway_is_told_without_a_hint_at_this_ones_anchor(
    il: Interlock, database: InDatabase
) -> None:
    done = il("audit", "verify", "--log", OTHER)

    assert (done.exit, done.lines[0]) == (0, "The log is intact.")
    assert "its anchor is not here" in done.out
    assert "removed or emptied" not in done.out


def test_a_stretch_is_one_of_this_gateways_log_unless_another_is_named(il: Interlock, database: InDatabase) -> None:
    own = il("audit", "verify", "--from", "3", "--to", "4", "--json").json
    other = il("audit", "verify", "--from", "3", "--log", OTHER, "--json").json

    assert (own["chain"], own["first"], own["last"], own["others"]) == (ONE, 3, 10, [])
    assert (other["chain"], other["first"], other["last"]) == (OTHER, 3, 20)


def test_without_a_log_of_its_own_a_folder_has_to_name_one_for_a_stretch(
    il: Interlock, database: InDatabase, tmp_path: Path
) -> None:
    done = il("audit", "verify", "--from", "3", "--data-dir", str(tmp_path))

    assert done.exit == 2
    assert "--log" in done.err


def test_an_export_of_either_log_proves_itself(il: Interlock, database: InDatabase, tmp_path: Path) -> None:
    for name, options in (("one", ()), ("other", ("--log", OTHER))):
        file = str(tmp_path / f"{name}.jsonl")
        assert il("audit", "export", "-o", file, *options).exit == 0
        done = il("audit", "verify", "--export", file, "--key", str(tmp_path / name / PUBLIC))
        assert (done.exit, done.lines[0]) == (0, "The log is intact.")


def test_an_export_of_another_log_is_neither_proven_nor_broken_without_its_key(
    il: Interlock, database: InDatabase, tmp_path: Path
) -> None:
    file = tmp_path / "other.jsonl"
    made = il("audit", "export", "-o", str(file), "--log", OTHER)
    done = il("audit", "verify", "--export", str(file))

    assert "`interlock audit verify --export FILE --key SEAL.PUB` checks them, with the seal.pub of" in made.err
    assert (done.exit, done.out) == (4, "")
    assert "The export is not proven" in done.err
    assert "name the seal.pub of the gateway that wrote it with --key FILE" in done.err
    key = str(tmp_path / "one" / PUBLIC)
    assert il("audit", "verify", "--export", str(file), "--key", key).exit == 21, "these were to be its keys"


def test_an_export_of_another_log_that_was_changed_is_broken_whoever_sealed_it(
    il: Interlock, database: InDatabase, tmp_path: Path
) -> None:
    file = tmp_path / "other.jsonl"
    il("audit", "export", "-o", str(file), "--log", OTHER)
    file.write_text(file.read_text().replace("success", "failure", 1))
    done = il("audit", "verify", "--export", str(file))

    assert done.exit == 21
    assert "it was changed after it was written" in done.lines[0]


def test_an_export_of_the_own_log_by_another_key_is_broken(il: Interlock, database: InDatabase, tmp_path: Path) -> None:
    """Whoever writes the log anew and seals it with a key of theirs is not asked for that key."""
    file = str(tmp_path / "one.jsonl")
    il("audit", "export", "-o", file)
    (tmp_path / "one" / PUBLIC).write_text((tmp_path / "other" / PUBLIC).read_text())
    done = il("audit", "verify", "--export", file)

    assert done.exit == 21
    assert "a key that is not known here" in done.lines[0]


def test_sealing_and_pruning_go_through_the_gateway_that_owns_the_log(
    il: Interlock, database: InDatabase, tmp_path: Path
) -> None:
    sealed = il("audit", "checkpoint")
    pruned = il("audit", "prune", "--keep-records", "1", "--yes", "--json")

    assert json.loads(json.loads(sealed.out)["seal"])["chain"] == ONE
    assert sealed.out in (tmp_path / "one" / ANCHOR).read_text()
    assert (pruned.exit, pruned.json["removed"]) == (0, True)
    found = il("audit", "verify", "--json").json
    assert (found["intact"], found["pruned"]) == (True, pruned.json["pruned"]["seq"])
    assert (found["others"][0]["pruned"], found["others"][0]["records"]) == (0, 20)


def test_a_gateway_that_may_only_add_removes_nothing_until_it_is_given_the_right(
    il: Interlock, database: InDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = f"pruning_{database.name}"
    asyncio.run(database.tell(ROLE, f"CREATE ROLE {login} LOGIN IN ROLE interlock_gateway"))
    monkeypatch.setenv("INTERLOCK_STORE", database.address_of(login))
    try:
        assert il("audit", "checkpoint").exit == 0
        refused = il("audit", "prune", "--keep-records", "1", "--yes")
        assert refused.exit == 4
        assert "may only add to the log" in refused.err
        assert "docs/deployment.md" in refused.err
        assert il("audit", "verify", "--json").json["pruned"] == 0

        asyncio.run(database.tell(f"GRANT interlock_pruner TO {login}"))
        assert il("audit", "prune", "--keep-records", "1", "--yes").exit == 0
        assert il("audit", "verify").exit == 0
    finally:
        asyncio.run(database.tell(f"DROP OWNED BY {login}", f"DROP ROLE {login}"))
