"""`interlock freeze`: the emergency stop."""

from collections.abc import Generator

import pytest

from tests.cli.holding import Rest
from tests.cli.running import Beside, Interlock

READ = ("call", "tool-read", "--tool-name", "up:echo")


@pytest.fixture
def stopped(il: Interlock, beside: Beside) -> Generator[Beside]:
    """A gateway on which everything that a test has frozen is thawed again."""
    yield beside
    for each in Rest(beside.running).get("/freezes")["items"]:
        named = [(f"--{kind}", each[kind]) for kind in ("server", "caller") if each[kind] is not None]
        il("thaw", *(word for pair in named for word in pair))


def test_everything_stands_still_until_it_is_thawed(il: Interlock, stopped: Beside) -> None:
    before = stopped.sent()
    done = il("freeze", "--reason", "records vanish")
    call, after = il(*READ), stopped.sent()
    il("thaw")

    assert (done.exit, done.out) == (0, "")
    assert done.err == "Everything is frozen: calls are refused until `interlock thaw`.\n"
    assert call.exit == 10
    assert "records vanish" in call.err
    assert after == before
    assert il(*READ).exit == 0


def test_one_server_stands_still_and_the_others_go_on(il: Interlock, stopped: Beside) -> None:
    done = il("freeze", "--server", "odd")

    assert done.err == "Server 'odd' is frozen: calls are refused until `interlock thaw --server odd`.\n"
    assert il("call", "tool-read", "--tool-name", "odd:get_typed").exit == 10
    assert il(*READ).exit == 0


def test_one_caller_stands_still(il: Interlock, stopped: Beside) -> None:
    done = il("freeze", "--caller", "operator-agent", "--json")

    assert (done.exit, done.json["caller"], done.json["by"]) == (0, "operator-agent", "operator")
    assert il(*READ).exit == 10


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--server", "odd", "--caller", "x"), "argument --caller: not allowed with argument --server\n"),
        (("--server", "od"), "Server 'od' not found. Did you mean 'odd'?\n"),
        (("--caller", "operator-agnt"), "Caller 'operator-agnt' not found. Did you mean 'operator-agent'?\n"),
    ],
)
def test_what_there_is_not_cannot_be_frozen(il: Interlock, stopped: Beside, words: tuple[str, ...], error: str) -> None:
    done = il("freeze", *words)

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith(error)
    assert Rest(stopped.running).get("/freezes")["items"] == []


def test_a_stop_that_was_given_without_a_gateway_counts_when_one_runs(il: Interlock) -> None:
    done = il("freeze")

    assert done.exit == 0
    assert il("call", "tool-read", "--tool-name", "sample:list_notes").exit == 10
