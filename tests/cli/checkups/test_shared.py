"""`interlock doctor` where the record is in PostgreSQL: it looks there, and never at a file that was left behind."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.store.folder import DATABASE
from interlock.store.migrate import migrations
from tests.cli.running import Interlock, configure
from tests.postgres_server import PostgresServer
from tests.store.audit.shared import ONE, tamper, two_gateways
from tests.store.places import InDatabase

NEWEST = migrations("migrations/postgres")[-1].version


@pytest.fixture
def database(postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InDatabase]:
    """Two gateways on one database, of which one's folder is ours; no gateway runs."""
    with two_gateways(postgres, tmp_path) as made:
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(tmp_path / "one"))
        monkeypatch.setenv("INTERLOCK_STORE", made.address)
        configure("listen: {port: 0}\nservers: {off: {command: x, enabled: false}}\n")
        yield made


def found(il: Interlock, *words: str) -> dict[str, dict[str, Any]]:
    return {each["check"]: each for each in il("doctor", "--json", *words).json["checks"]}


def test_the_configured_database_is_looked_at(il: Interlock, database: InDatabase) -> None:
    checks = found(il)

    assert (checks["database"]["state"], checks["schema"]["state"]) == ("ok", "ok"), checks
    assert "this gateway's log holds together (20 records)" in checks["database"]["text"]
    assert f"version {NEWEST}" in checks["schema"]["text"]


def test_a_file_that_was_left_behind_is_neither_looked_at_nor_mended(
    il: Interlock, database: InDatabase, tmp_path: Path
) -> None:
    (tmp_path / "one" / DATABASE).write_bytes(b"no database at all")
    checks = found(il, "--fix")

    assert (checks["database"]["state"], checks["schema"]["state"]) == ("ok", "ok"), checks
    assert (tmp_path / "one" / DATABASE).read_bytes() == b"no database at all"


def test_a_record_that_was_changed_there_is_found(il: Interlock, database: InDatabase) -> None:
    asyncio.run(tamper(database, f"UPDATE entry SET text = '{{}}' WHERE chain = '{ONE}' AND seq = 5"))  # noqa: S608
    told = found(il)["database"]

    assert (told["state"], "broken at entry 5" in told["text"]) == ("fail", True)


def test_a_log_that_the_anchor_tells_of_and_is_not_there_is_found(
    il: Interlock, database: InDatabase, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = asyncio.run(postgres.new_database("template1"))
    monkeypatch.setenv("INTERLOCK_STORE", postgres.address(name))
    checks = found(il)
    asyncio.run(postgres.drop(name))

    assert (checks["database"]["state"], checks["schema"]["state"]) == ("fail", "warn")
    assert "not in the database" in checks["database"]["text"]
    assert "interlock db migrate" in checks["schema"]["fix"]
    assert "move" not in checks["database"]["fix"]


def test_a_database_that_a_newer_program_made_is_left_to_it(il: Interlock, database: InDatabase) -> None:
    asyncio.run(tamper(database, f"INSERT INTO version (version) VALUES ({NEWEST + 1})"))  # noqa: S608
    told = found(il)["schema"]

    assert (told["state"], "Install the Interlock" in told["fix"]) == ("fail", True)


def test_a_database_that_cannot_be_reached_is_told_with_a_way_out_and_without_its_password(
    il: Interlock, database: InDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_STORE", "postgresql://u:hunter2@/db?host=/nowhere")
    done = il("doctor")

    assert done.exit == 20
    assert "IL-DATA-03: See that PostgreSQL runs" in done.out
    assert "cannot be used: PostgreSQL" in done.out
    assert "broken" not in done.out
    assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize("store", ["${env:NOT_SET_ANYWHERE}", "7"])
def test_a_configuration_that_does_not_say_where_is_no_log_that_was_lost(
    il: Interlock, database: InDatabase, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    monkeypatch.setenv("INTERLOCK_STORE", store)
    checks = found(il, "--fix")

    assert (checks["database"]["state"], checks["schema"]["state"]) == ("warn", "warn")
    assert "not looked at" in checks["database"]["text"]
