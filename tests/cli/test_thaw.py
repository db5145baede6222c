"""`interlock thaw`: each stop is lifted by itself."""

from tests.cli.running import Beside, Interlock

READ = ("call", "tool-read", "--tool-name", "up:echo")


def test_a_server_is_thawed_while_a_caller_stays_frozen(il: Interlock, beside: Beside) -> None:
    il("freeze", "--server", "up")
    il("freeze", "--caller", "operator-agent")
    server, still = il("thaw", "--server", "up"), il(*READ)
    caller, again = il("thaw", "--caller", "operator-agent"), il(*READ)

    assert (server.exit, server.err) == (0, "Server 'up' may be called again.\n")
    assert still.exit == 10
    assert (caller.exit, caller.err) == (0, "Caller 'operator-agent' may call again.\n")
    assert again.exit == 0


def test_what_was_stopped_is_printed_in_json(il: Interlock, beside: Beside) -> None:
    il("freeze", "--reason", "a test")
    done = il("thaw", "--json")

    assert (done.exit, done.json["kind"], done.json["reason"]) == (0, "all", "a test")
    assert done.err == "Everything may be called again.\n"


def test_what_is_not_frozen_cannot_be_thawed(il: Interlock, beside: Beside) -> None:
    done = il("thaw", "--server", "up")

    assert (done.exit, done.out) == (2, "")
    assert "there is no freeze of" in done.err
    assert "`interlock status`" in done.err
