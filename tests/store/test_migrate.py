"""Bringing a database to the version of the program."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from interlock.store.migrate import APPLICATION_ID, Migration, migrate, migrations, versions
from interlock.store.protocol import StoreUnavailable

ROOT = Path(__file__).parent.parent.parent
MANY = (
    Migration(
        1,
        f"""
        -- A comment; with a semicolon.
        PRAGMA application_id = {APPLICATION_ID};
        CREATE TABLE one (a TEXT DEFAULT 'x;y') STRICT;
        CREATE TRIGGER stays BEFORE DELETE ON one
        BEGIN
            SELECT 1;
            SELECT RAISE(ABORT, 'it stays');
        END;
        INSERT INTO one VALUES ('first');
        """,  # noqa: S608 - a number of ours
    ),
    Migration(2, "ALTER TABLE one ADD COLUMN b TEXT;\nUPDATE one SET b = a"),
    Migration(3, "CREATE TABLE two (a TEXT) STRICT;\nINSERT INTO two SELECT b FROM one;"),
)
"""Three migrations with everything that could be split in the wrong place."""


class Killed(BaseException):
    """Thrown in the place of a statement, as if the process had ended there."""


class Mortal(sqlite3.Connection):
    """A connection that ends before one of its statements, and from then on does nothing, not even a rollback."""

    left: int | None = None

    def execute(self, *arguments: object) -> sqlite3.Cursor:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed
        return super().execute(*arguments)  # pyright: ignore[reportArgumentType, reportCallIssue]

    def rollback(self) -> None:
        if self.left is None:
            super().rollback()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@contextmanager
def opened(path: Path, life: int | None = None) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None, factory=Mortal)) as connection:
        connection.left = life
        yield connection


def content_of(path: Path) -> tuple[int, list[str], list[tuple[str, ...]]]:
    with opened(path) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        schema = [text for (text,) in connection.execute("SELECT sql FROM sqlite_master ORDER BY name")]
        filled = any(text is not None and "TABLE two" in text for text in schema)
        rows = list(connection.execute("SELECT * FROM two")) if filled and version == 3 else []
    return version, schema, rows


def test_our_migrations_are_numbered_without_a_gap() -> None:
    assert [each.version for each in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_new_database_gets_every_table(path: Path) -> None:
    with opened(path) as connection:
        migrate(connection, migrations())
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    assert names == {
        *("chain", "entry", "activity", "token", "baseline", "reviewed", "override", "server"),
        *("approval", "granted", "freeze", "seal"),
    }


def test_a_database_that_is_up_to_date_is_left_alone(path: Path) -> None:
    with opened(path) as connection:
        migrate(connection, MANY)
        before = list(connection.iterdump())
        migrate(connection, MANY)

        assert list(connection.iterdump()) == before
    assert content_of(path)[0] == 3
    assert content_of(path)[2] == [("first",)]


def test_an_old_database_gets_only_what_is_missing(path: Path) -> None:
    with opened(path) as connection:
        migrate(connection, MANY[:1])
        connection.execute("INSERT INTO one VALUES ('kept')")
        migrate(connection, MANY)

    assert content_of(path)[2] == [("first",), ("kept",)]


def statements_of(path: Path, steps: tuple[Migration, ...]) -> int:
    """How many statements it takes, so that each of them can be the last."""
    with opened(path, life=10_000) as connection:
        migrate(connection, steps)
        assert isinstance(connection, Mortal)
        assert connection.left is not None
        return 10_000 - connection.left


@pytest.mark.parametrize("steps", [MANY, migrations()], ids=["three of them", "ours"])
def test_a_process_killed_at_any_statement_leaves_a_whole_version(tmp_path: Path, steps: tuple[Migration, ...]) -> None:
    complete = tmp_path / "complete.db"
    statements = statements_of(complete, steps)
    whole = {0: []} | {upto: _schema_after(tmp_path / f"{upto}.db", steps[:upto]) for upto in range(1, len(steps) + 1)}

    for life in range(statements):
        path = tmp_path / f"killed-{life}.db"
        with opened(path, life) as connection, pytest.raises(Killed):
            migrate(connection, steps)
        version, schema, _ = content_of(path)
        assert schema == whole[version]
        with opened(path) as connection:
            migrate(connection, steps)
        assert content_of(path) == content_of(complete)


def test_a_real_process_killed_at_any_statement_of_any_migration_loses_nothing_and_the_next_completes_it(
    tmp_path: Path,
) -> None:
    ours = migrations()
    command = [sys.executable, "-m", "tests.store.child_migrator", str(tmp_path)]
    kills = int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120).stdout)
    left = sorted(tmp_path.glob("killed-*.db"))

    assert len(left) == kills >= sum(len(each.sql.split(";\n")) for each in ours)
    for path in left:
        version = int(path.stem.split("-")[1])
        before = _everything_in(tmp_path / f"old-{version - 1}.db")
        with opened(path) as connection:
            found = list(connection.iterdump())
            assert found == before, path.name
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            migrate(connection, ours[:version])
        assert _everything_in(path) == _everything_in(_brought_to(version, tmp_path)), path.name


def _everything_in(path: Path) -> list[str]:
    with opened(path) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID if version else 0,)
        return list(connection.iterdump())


def _brought_to(version: int, folder: Path) -> Path:
    """The database of the version before, migrated by somebody whom nobody killed."""
    path = folder / f"complete-{version}.db"
    if not path.exists():
        shutil.copy(folder / f"old-{version - 1}.db", path)
        with opened(path) as connection:
            migrate(connection, migrations()[:version])
    return path


@pytest.mark.parametrize("known", range(1, len(migrations())))
def test_a_program_that_knows_fewer_of_our_versions_refuses_a_newer_database(path: Path, known: int) -> None:
    newest = len(migrations())
    with opened(path) as connection:
        migrate(connection, migrations())
        before = list(connection.iterdump())
        with pytest.raises(StoreUnavailable, match=f"version {newest} and .* up to {known}: install the Interlock"):
            migrate(connection, migrations()[:known])

        assert list(connection.iterdump()) == before


def _schema_after(path: Path, steps: tuple[Migration, ...]) -> list[str]:
    with opened(path) as connection:
        migrate(connection, steps)
    return content_of(path)[1]


def test_a_migration_that_fails_changes_nothing_and_says_why(path: Path) -> None:
    wrong = Migration(2, "CREATE TABLE three (a TEXT);\nINSERT INTO nowhere VALUES (1);")
    with opened(path) as connection:
        with pytest.raises(sqlite3.OperationalError, match="nowhere"):
            migrate(connection, (MANY[0], wrong))

        assert not connection.in_transaction
    assert content_of(path)[:2] == (1, _schema_after(path.with_name("b.db"), MANY[:1]))


class Late(sqlite3.Connection):
    """A connection that always finds that another process began, and finished, just before it."""

    def execute(self, *arguments: object) -> sqlite3.Cursor:
        if arguments == ("BEGIN IMMEDIATE",):
            (_, _, file) = super().execute("PRAGMA database_list").fetchone()
            with opened(Path(file)) as faster:
                migrate(faster, MANY)
        return super().execute(*arguments)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_a_migration_that_another_process_has_done_meanwhile_is_not_done_again(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None, factory=Late)) as connection:
        migrate(connection, MANY)

    assert content_of(path)[2] == [("first",)]


def test_two_processes_that_start_at_once_migrate_once(path: Path) -> None:
    together = threading.Barrier(4)
    problems: list[BaseException] = []

    def start() -> None:
        try:
            with opened(path) as connection:
                together.wait()
                migrate(connection, MANY)
        except BaseException as problem:
            problems.append(problem)

    _in_threads(start, 4)

    assert problems == []
    assert content_of(path)[2] == [("first",)]


def _in_threads(function: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=function) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_newer_database_is_refused_with_what_to_do(path: Path) -> None:
    with opened(path) as connection:
        migrate(connection, MANY)
        before = list(connection.iterdump())
        with pytest.raises(StoreUnavailable, match=r"version 3 .* up to 2: install the Interlock that wrote it"):
            migrate(connection, MANY[:2])

        assert list(connection.iterdump()) == before


@pytest.mark.parametrize("statement", ["CREATE TABLE theirs (a)", "PRAGMA user_version = 1", "PRAGMA user_version = 9"])
def test_a_database_of_another_program_is_refused_and_left_alone(path: Path, statement: str) -> None:
    with opened(path) as connection:
        connection.execute(statement)
        before = list(connection.iterdump())
        with pytest.raises(StoreUnavailable, match="belongs to another program"):
            migrate(connection, migrations())

        assert list(connection.iterdump()) == before


@pytest.mark.parametrize("name", ["pragma_user_version(user_version)", "pragma_application_id(application_id)"])
def test_a_view_that_is_named_like_a_pragma_is_not_asked(tmp_path: Path, name: str) -> None:
    path = tmp_path / "interlock.db"
    endless = "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, migrations())
        connection.execute(f"CREATE VIEW {name} AS {endless}")
        version, known = versions(connection)

    assert version == known
